"""The sentences that a report opens with."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from analyzer.analysis import Overview, overview
from analyzer.analysis.summary.leading import failure_cost, whole_cost
from analyzer.analysis.tables import Table
from analyzer.classifier.recovery_table import advice
from analyzer.events.times import now
from analyzer.store import Store, open_store
from tests.analysis.histories import line

Errors = list[dict[str, Any]]
BROKE_OFF = "Calls that broke off and were sent again may have cost"


def report_on(errors: Errors, tmp_path: Any) -> Overview:
    """A report on errors, each of a session of its own on the day before unless they say otherwise."""
    day = now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    lines = []
    for number, error in enumerate(errors):
        given = {"caller": "probe", "session": f"s-{number}", **error}
        at = day - timedelta(days=given.pop("ago", 0))
        lines.append(line(f"e-{number}", at=at.isoformat(), **given))
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    store: Store
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path)])
        return overview(store)


def overloaded(outcome: str = "exhausted", **more: Any) -> dict[str, Any]:
    """An error of an overloaded provider."""
    facts = {"status": 529, "message": "Overloaded"}
    return {"reason": "network_transient", "detail": "overloaded", "outcome": outcome, "facts": facts, **more}


def refused(**more: Any) -> dict[str, Any]:
    """An error of a key that is refused."""
    return {
        "reason": "auth_error",
        "outcome": "surfaced",
        "facts": {"status": 401, "message": "invalid x-api-key"},
        **more,
    }


def test_what_left_most_sessions_without_an_answer_comes_first(tmp_path: Any) -> None:
    """One session that repeats an error is one, and what recovered is no failure; the advice is that of its reason."""
    errors = [refused(), refused(), *[overloaded(session="loop")] * 5, *[overloaded("recovered") for _ in range(4)]]
    most, whose = report_on(errors, tmp_path).leading
    assert most.text == "Most failures: one auth_error message, 2 times in 2 of 7 sessions; all failed."
    assert (most.topic, most.quote, most.advice) == ("most", "invalid x-api-key", advice("auth_error", None))
    assert whose.text == "Errors by cause: the provider 81.8%, your account 18.2%."


def test_what_a_user_stopped_is_no_failure(tmp_path: Any) -> None:
    """Whose it was is said all the same."""
    stopped = {"reason": "unknown", "detail": "aborted", "facts": {"message": "Request was aborted by user"}}
    (whose,) = report_on([stopped, stopped], tmp_path).leading
    assert whose.text == "Errors by cause: people who stopped it 100.0%."


def test_without_an_error_nothing_is_said(tmp_path: Any) -> None:
    """A relay is no error."""
    relay = {"kind": "relay.completed", "step_id": "a"}
    assert report_on([relay], tmp_path).leading == ()


def test_where_no_error_is_told_the_tool_that_fails_most_is(tmp_path: Any) -> None:
    """By the number of its failures, which is told with its command and what that said."""
    asked = {"kind": "tool.failed", "tool": "Bash"}
    failures = [{**asked, "command": "go test", "message": "Exit code 1: FAIL", "exit_code": 1} for _ in range(2)]
    (most,) = report_on([*failures, {**asked, "message": "no"}], tmp_path).leading
    assert most.text == "Most failures: the tool Bash running go test, 2 times in 2 sessions."
    assert (most.topic, most.quote) == ("most", "Exit code 1: FAIL")


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        ([], None),
        ([None], None),
        ([0.001], None),
        ([1.5, None, 2.0], "All requests cost $3.50; failures wasted none of it, as far as the logs show."),
    ],
)
def test_a_cost_that_no_failure_has_a_part_of_is_told(costs: list[float | None], text: str | None) -> None:
    """Of models with a price; a sum that is shown as nothing is not."""
    frame = pl.DataFrame({"cost_usd": costs}, schema={"cost_usd": pl.Float64})
    found = whole_cost(Table("cost-by-model", "", "", {}, frame))
    assert (found.text if found else None) == text


@pytest.mark.parametrize("before", [9, 12])
def test_a_week_is_held_against_the_one_before(before: int, tmp_path: Any) -> None:
    """By the share of sessions with errors; of fewer than ten sessions in either nothing is said."""
    calm = {"kind": "tool.failed", "tool": "Bash", "message": "no"}
    errors = [refused(ago=9), *[{**calm, "ago": 10} for _ in range(before - 1)]]
    errors += [refused(ago=2), refused(ago=1), refused(ago=3), *[{**calm, "ago": 2} for _ in range(9)]]
    said = [one.text for one in report_on(errors, tmp_path).leading if one.topic == "change"]
    text = "Sessions with errors in the last 7 days: 25.0% of 12; a week before 8.3% of 12."
    assert said == ([text] if before == 12 else [])


def seen(version: str, ago: int, *failed: dict[str, Any], sessions: int = 40, agent: str = "probe") -> Errors:
    """Sessions of a version so many days ago, the first of which met these errors."""
    names = [f"{agent}-{version}-{number}" for number in range(sessions)]
    work = {"agent": agent, "agent_version": version, "ago": ago}
    observed = [{"kind": "session.observed", "session": name, "requests": 1, **work} for name in names]
    errors = [{**error, "session": name, **work} for name, error in zip(names, failed, strict=False)]
    return [*observed, *errors]


def invalid() -> dict[str, Any]:
    """An error that the request itself is the cause of."""
    return {
        "reason": "validation",
        "outcome": "surfaced",
        "facts": {"status": 400, "message": "tools.0: Field required"},
    }


@pytest.mark.parametrize("elsewhere", [9, 10])
def test_company_speaks_where_there_is_enough_of_it(elsewhere: int, tmp_path: Any) -> None:
    """One session beside another one says nothing of whose fault an error was."""
    observed = {"kind": "session.observed", "requests": 1, "provider": "openai"}
    errors = [{**invalid(), "provider": "anthropic"}, *[observed for _ in range(elsewhere)]]
    said = {one.topic: one.text for one in report_on(errors, tmp_path).leading}
    assert said["whose"] == "Errors by cause: your requests 100.0%."
    assert said.get("blame", "").startswith("Likely your requests: 1 of 1 session at anthropic") == (elsewhere == 10)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([invalid()] * 3, [invalid()] * 20, True),
        ([invalid()] * 10, [invalid()] * 14, False),
        ([invalid()] * 20, [invalid()] * 3, False),
        ([], [overloaded()] * 30, False),
        ([], [refused()] * 30, False),
    ],
    ids=["worse", "within noise", "better", "the provider's", "the account's"],
)
def test_a_version_that_does_worse_is_named(before: Errors, after: Errors, said: bool, tmp_path: Any) -> None:
    """By sessions with errors that a version can be the cause of: what a provider or an account did is none."""
    history = [*seen("1.9.0", 20, *before), *seen("1.10.0", 2, *after), *seen("7.0", 20, agent="other")]
    told = [one.text for one in report_on(history, tmp_path).leading if one.topic == "version"]
    assert bool(told) == said
    if said:
        assert told[0].startswith("Worse since probe 1.10.0, ")
        assert told[0].endswith(
            ": 50.0% of 40 sessions met errors that are not the provider's; 7.5% of 40 under 1.9.0."
        )


def test_a_version_of_few_sessions_is_not_judged(tmp_path: Any) -> None:
    """Nine sessions, all failed, are passed over for the version before."""
    history = [*seen("1", 20), *seen("2", 2, *[invalid()] * 9, sessions=9)]
    assert [one for one in report_on(history, tmp_path).leading if one.topic == "version"] == []


def test_of_many_agents_chance_alone_names_none(tmp_path: Any) -> None:
    """What is rare for one agent is not rare among twenty."""
    few = [*seen("1", 20, sessions=20), *seen("2", 2, *[invalid()] * 7, sessions=20)]
    many = [
        one
        for number in range(20)
        for version, ago in (("1", 20), ("2", 2))
        for one in seen(version, ago, sessions=10, agent=f"a{number}")
    ]
    assert [one.topic for one in report_on(few, tmp_path).leading][-1] == "version"
    (tmp_path / "many").mkdir()
    assert "version" not in [one.topic for one in report_on([*few, *many], tmp_path / "many").leading]


def spent(**more: Any) -> dict[str, Any]:
    """Rows of `cost-of-failure` in part."""
    row = {"cause": "sent_again", "basis": "estimated", "reason": "x", "never_recovered": True}
    return {**row, "tokens": 1_000, "cost_usd": 0.0, "of_cost_usd": 236.0, **more}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], None),
        (
            [spent(cost_usd=5.0, caller="a"), spent(cost_usd=4.0), spent(cost_usd=2.0, never_recovered=False)],
            f"Failures wasted $0.00 of $236.00 spent. {BROKE_OFF} $11.00 more.",
        ),
        (
            [spent(cause="tool_loop", basis="measured", reason="Bash", never_recovered=None, cost_usd=1.5)],
            "Failures wasted $1.50 of $236.00 spent, all in commands of Bash that kept failing.",
        ),
        (
            [spent(), spent(tokens=3_000, never_recovered=False)],
            "Failures wasted 4,000 tokens, 75.0% of them in retries of x; they are not billed.",
        ),
        (
            [spent(cost_usd=None, of_cost_usd=None, never_recovered=False)],
            "Failures wasted 1,000 tokens, 100.0% of them in retries of x; their models have no price.",
        ),
    ],
)
def test_what_failures_cost_is_one_sentence(rows: Errors, text: str | None) -> None:
    """What most of it was spent on is summed up over callers; an estimate comes on top of what logs show."""
    schema = {"cause": pl.String, "tokens": pl.Int64, "cost_usd": pl.Float64, "of_cost_usd": pl.Float64}
    frame = pl.DataFrame(rows, schema_overrides=schema if rows else None, infer_schema_length=None)
    found = failure_cost(Table("cost-of-failure", "", "", {}, frame))
    assert (found.text if found else None) == text
