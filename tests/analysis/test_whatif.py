"""What if: chains whose ends are known by their making, replayed under other policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis.whatif import RetryPolicy, replay, whatif_model, whatif_retry
from analyzer.errors import AnalyzerError
from analyzer.report.changes import whatif_model_document, whatif_retry_document
from analyzer.report.writers.text import to_text
from analyzer.store import Store, open_store

CHAINS = [
    ("planner", "rate_limited", "recovered", [2.0]),
    *[("planner", "rate_limited", "recovered", [2.0])] * 9,
    *[("planner", "rate_limited", "recovered", [2.0, 4.0, 8.0])] * 4,
    *[("planner", "rate_limited", "exhausted", [2.0, 4.0, 8.0])] * 3,
    *[("planner", "rate_limited", "surfaced", [2.0, 4.0])] * 2,
    ("planner", "rate_limited", "aborted", [2.0]),
    *[("coder", "network_transient", "exhausted", [1.0, 1.0])] * 2,
]
"""Caller, reason, outcome, and the waits between the calls."""


def chain(native: Callable[..., bytes], number: int, caller: str, reason: str, outcome: str, waits: list[float]) -> Any:
    """Yield the lines of a chain; each failed call of `coder` cost half a dollar."""
    names: dict[str, Any] = {"session": f"s-{number}", "caller": caller, "operation": f"o-{number}"}
    failed = len(waits) + (outcome != "recovered")
    for call in range(failed):
        at = f"2026-11-{1 + number % 20:02}T08:{call:02}:00"
        facts = {"message": "connection reset", "provider": "anthropic"}
        yield native(f"e-{number}-{call}", at=at, reason=reason, attempt=call + 1, facts=facts, **names)
        if caller == "coder":
            spent = {"session": names["session"], "caller": caller, "cost_usd": 0.5, "input_tokens": 10}
            yield native(f"u-{number}-{call}", "usage.recorded", at=at, **spent)
        if call < len(waits):
            wait = {"attempt": call + 1, "delay_seconds": waits[call], "reason": reason}
            yield native(f"w-{number}-{call}", "retry.scheduled", at=at[:-2] + "01", **wait, **names)
    end = {"outcome": outcome, "attempts": len(waits) + 1, "waited_seconds": sum(waits), "reason": reason}
    yield native(f"x-{number}", "retry.settled", at=f"2026-11-{1 + number % 20:02}T09:00:00", **end, **names)


@pytest.fixture(scope="module")
def history(native: Callable[..., bytes], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store of `CHAINS`."""
    lines = [line for number, made in enumerate(CHAINS) for line in chain(native, number, *made)]
    path = tmp_path_factory.mktemp("chains") / "log.jsonl"
    path.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    with open_store(":memory:") as store:
        store.ingest([str(path)])
        yield store


@pytest.mark.parametrize(
    ("attempts", "backoff", "kept", "lost", "unclear", "cut", "calls_saved", "seconds_saved"),
    [
        # Four recoveries at the fourth call are lost; they and three failures save eight seconds each.
        (3, None, 10, 4, 0, 0, 7, 56.0),
        (2, None, 10, 4, 0, 0, 18, 94.0),
        (4, None, 14, 0, 0, 2, 0, 0.0),
        (9, None, 14, 0, 0, 5, 0, 0.0),
        # Calls at 0, 5 and 10 s: between the failure after 6 s and the success after 14 s nobody knows.
        (3, "5..5", 10, 0, 4, 2, 3, -26.0),
        (3, "0", 0, 14, 0, 0, -3, 134.0),
    ],
)
def test_a_policy_keeps_and_saves_what_history_shows(
    history: Store,
    attempts: int,
    backoff: str | None,
    kept: int,
    lost: int,
    unclear: int,
    cut: int,
    calls_saved: int,
    seconds_saved: float,
) -> None:
    """Every figure is the one that follows from how the chains were made."""
    total = whatif_retry(history, attempts, backoff).total
    assert (total.chains, total.recovered, total.kept, total.lost) == (21, 14, kept, lost)
    assert (total.unclear, total.cut, total.calls_saved, total.seconds_saved) == (
        unclear,
        cut,
        calls_saved,
        seconds_saved,
    )
    assert total.seconds_low <= total.seconds_saved <= total.seconds_high


def test_groups_have_their_own_dollars_and_the_document_says_what_is_unknown(history: Store) -> None:
    """A call less costs what a failed call of its reason and caller cost on average."""
    result = whatif_retry(history, 2)
    assert [(group.caller, group.calls_saved, group.usd_saved) for group in result.groups] == [
        ("planner", 16, None),
        ("coder", 2, 1.0),
    ]
    assert (result.left_out, result.most_attempts) == (1, 4)
    text = to_text(whatif_retry_document(whatif_retry(history, 9)), 80)
    assert "14 of 14 recoveries kept" in text
    assert "More than 4 calls: no chain made more." in text
    assert "5 chains failed where the old limit cut them" in text
    assert "1 chain left out" in text


def test_a_chain_without_waits_in_its_log_is_replayed_only_where_waits_do_not_matter() -> None:
    """Fewer calls, or other waits, are unclear; as many calls as before change nothing."""
    fates = [
        replay("recovered", 3, None, policy).fate
        for policy in (RetryPolicy(3), RetryPolicy(2), RetryPolicy(3, 1.0, 2.0))
    ]
    assert fates == ["kept", "unclear", "unclear"]


@pytest.mark.parametrize(
    ("attempts", "backoff"), [(0, None), (101, None), (3, "x"), (3, "5..2"), (3, "-1"), (3, "nan")]
)
def test_a_policy_that_is_none_is_refused(memory: Store, attempts: int, backoff: str | None) -> None:
    """The error names what was given."""
    with pytest.raises(AnalyzerError, match=backoff or str(attempts)):
        whatif_retry(memory, attempts, backoff)


def test_an_empty_history_says_so(memory: Store) -> None:
    """There is nothing to replay, and no interval."""
    result = whatif_retry(memory, 3)
    assert (result.total.chains, result.total.kept_share, result.groups) == (0, None, ())
    assert to_text(whatif_retry_document(result), 80).startswith("No chain of retries ended in this window")


def test_a_model_is_priced_at_anothers_list_prices(memory: Store, samples: Path) -> None:
    """Opus 4.5 costs 5 and 25 dollars a million tokens, Sonnet 4.5 costs 3 and 15: three fifths."""
    memory.ingest([str(samples)])
    result = whatif_model(memory, "claude-opus-4-5", "claude-sonnet-4-5")
    own = memory.sql("select sum(cost_usd) from usage where model = 'claude-opus-4-5'").item()
    assert result.sums["cost_usd"] == pytest.approx(own)
    assert result.sums["other_usd"] == pytest.approx(0.6 * own)
    assert "less, at list prices." in " ".join(to_text(whatif_model_document(result), 80).split())
    for model, other, message in (
        ("claude-opus", "claude-sonnet-4-5", "did you mean 'claude-opus-4-5'"),
        ("claude-opus-4-5", "none-such", "no list price"),
        ("claude-opus-4-5", "claude-opus-4-5", "twice"),
    ):
        with pytest.raises(AnalyzerError) as error:
            whatif_model(memory, model, other)
        assert message in f"{error.value.message} {error.value.hint}"
