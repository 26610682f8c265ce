"""`cost-of-failure`: what each kind of failure costs, each request once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.analysis.summary.leading import failure_cost
from analyzer.analysis.tables import Table
from analyzer.events import Event
from analyzer.events.codec import encode
from analyzer.store import open_store

START = datetime(2026, 11, 3, 10)
PROMPT, REPLY = 100_000, 1_000
DUE = 0.5 + 0.025
"""What such a request costs by the list price of `MODEL`; the prompt has the first part of it."""
MODEL = "claude-opus-4-5"

Tell = Callable[..., None]
Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of one agent."""
    return tmp_path / "log.jsonl"


@pytest.fixture
def tell(log: Path) -> Tell:
    """Write an event that happens so many seconds after the start."""

    def write(name: str, at: float, **payload: Any) -> None:
        with log.open("ab") as handle:
            number = handle.tell()
            session = payload.pop("session", "s")
            given = {"caller": "agent", "project": "shop", **payload}
            handle.write(encode(Event(name, START + timedelta(seconds=at), session, given, f"e-{number}")))

    return write


@pytest.fixture
def ask(log: Path) -> Ask:
    """The answer in the columns that are named."""

    def answer(*columns: str, **params: Any) -> list[tuple[Any, ...]]:
        with open_store(":memory:") as store:
            store.ingest([str(log)])
            return store.query("cost-of-failure", **params).select(*columns).rows()

    return answer


def spend(tell: Tell, at: float, **more: Any) -> None:
    """A request with a prompt and a reply of the usual size."""
    tell("usage.recorded", at, model=MODEL, input_tokens=PROMPT, output_tokens=REPLY, **more)


def fail(tell: Tell, at: float, attempt: int, **more: Any) -> None:
    """A failed call of a chain of retries."""
    given = {"reason": "network_transient", "operation": "op", "attempt": attempt, "facts": {"message": "reset"}}
    tell("error.classified", at, **{**given, **more})


def test_a_failed_request_costs_what_its_log_states(tell: Tell, ask: Ask) -> None:
    """It is the request of the same moment; what answered has no part in it."""
    spend(tell, 1)
    fail(tell, 1, 1, operation=None)
    spend(tell, 2)
    ((cause, basis, requests, tokens, cost, of),) = ask(
        "cause", "basis", "requests", "tokens", "cost_usd", "of_cost_usd"
    )
    assert (cause, basis, requests, tokens) == ("failed_request", "measured", 1, PROMPT + REPLY)
    assert (cost, of) == (pytest.approx(DUE), pytest.approx(2 * DUE))


def test_a_prompt_that_is_sent_again_is_estimated_by_the_next_one(tell: Tell, ask: Ask) -> None:
    """Each failed call of a chain is; a connection that broke may have been billed."""
    fail(tell, 1, 1)
    tell("retry.scheduled", 1.1, operation="op", attempt=1, reason="network_transient")
    fail(tell, 2, 2)
    tell("retry.scheduled", 2.1, operation="op", attempt=2, reason="network_transient")
    tell("retry.settled", 3, operation="op", attempts=3, outcome="recovered", reason="network_transient")
    spend(tell, 3)
    columns = ("cause", "basis", "never_recovered", "requests", "tokens", "cost_usd")
    assert ask(*columns) == [("sent_again", "estimated", False, 2, 2 * PROMPT, pytest.approx(2 * 0.5))]


@pytest.mark.parametrize("answer", [{"facts": {"status": 529, "message": "x"}}, {"reason": "auth_error"}])
def test_an_answer_that_is_an_error_costs_nothing(tell: Tell, ask: Ask, answer: dict[str, Any]) -> None:
    """Its tokens were sent in vain, and no provider bills them; a chain that ends without success never recovered."""
    fail(tell, 1, 1, **answer)
    tell("retry.scheduled", 1.1, operation="op", attempt=1)
    fail(tell, 2, 2, **answer)
    tell("retry.settled", 2, operation="op", attempts=2, outcome="exhausted", reason="network_permanent")
    spend(tell, 60)
    assert ask("cause", "never_recovered", "tokens", "cost_usd") == [("sent_again", True, 2 * PROMPT, 0.0)]


def test_the_third_failure_of_a_command_is_a_loop(tell: Tell, ask: Ask) -> None:
    """The request that asked for it is wasted; tests and builds may fail as often as they like."""
    for number in range(4):
        spend(tell, number)
        told = {"tool": "Bash", "command": "gh api", "exit_code": 1, "kind": "exit_code", "message": "no such thing"}
        tell("tool.failed", number + 0.5, **told)
        tell("tool.failed", number + 0.6, **{**told, "kind": "tests", "command": "pytest"})
    assert ask("cause", "reason", "requests", "cost_usd") == [("tool_loop", "Bash", 2, pytest.approx(2 * DUE))]


def test_the_prompt_behind_a_compaction_is_read_again(tell: Tell, ask: Ask) -> None:
    """The first one alone, and not its reply; a hand-off that failed threw nothing away."""
    spend(tell, 1)
    tell("relay.triggered", 2, relay="r", strategy="compact", pre_tokens=9)
    tell("relay.resumed", 3, relay="r", post_tokens=5)
    spend(tell, 4)
    spend(tell, 5)
    tell("relay.triggered", 6, relay="q", strategy="compact", pre_tokens=9)
    tell("relay.halted", 7, relay="q")
    spend(tell, 8)
    assert ask("cause", "requests", "tokens", "cost_usd") == [("compaction", 1, PROMPT, pytest.approx(0.5))]


def test_a_session_that_stopped_in_the_middle_wasted_its_last_request(tell: Tell, ask: Ask) -> None:
    """A request has one cause: the first of a context is no second row where the session stopped at it."""
    tell("relay.triggered", 2, relay="r", strategy="compact", pre_tokens=9)
    tell("relay.resumed", 3, relay="r", post_tokens=5)
    spend(tell, 4)
    fail(tell, 5, 1, operation=None)
    seen = {"started_at": "2026-11-03T10:00:00Z", "ended_at": "2026-11-03T10:00:05Z", "part": "p", "requests": 2}
    tell("session.observed", 5, **seen)
    later = {**seen, "started_at": "2026-11-03T13:00:00Z", "ended_at": "2026-11-03T15:00:00Z"}
    tell("session.observed", 18_000, session="t", **later)
    assert ask("cause", "reason", "requests", "cost_usd") == [("unfinished", "after_error", 1, pytest.approx(DUE))]


def test_without_tokens_nothing_is_told(tell: Tell, ask: Ask) -> None:
    """Failures of logs that count no tokens have no row; tokens without a price have no cost."""
    fail(tell, 1, 1)
    tell("retry.scheduled", 1.1, operation="op", attempt=1)
    fail(tell, 2, 2)
    assert ask("cause") == []
    tell("usage.recorded", 3, model="nobodys-model", input_tokens=5)
    assert ask("tokens", "cost_usd", "of_cost_usd") == [(10, None, None)]
    assert ask("tokens", until="2026-11-03T10:00:02Z") == [(5,)]
    assert ask("tokens", caller="another") == []


def test_an_error_without_a_chain_was_not_sent_again(tell: Tell, ask: Ask) -> None:
    """A session that shows an error to its user and goes on later sends another prompt, and the old one once."""
    fail(tell, 1, 1, operation=None)
    spend(tell, 60)
    assert ask("cause") == []


@pytest.mark.parametrize(
    "facts", [{"status": 500, "message": "x"}, {"message": "API Error: 500 Internal server error"}]
)
def test_an_error_of_a_server_is_free_also_where_tokens_are_stated(tell: Tell, ask: Ask, facts: dict[str, Any]) -> None:
    """The tokens of the refused request are shown at a cost of 0."""
    spend(tell, 1)
    fail(tell, 1, 1, operation=None, facts=facts, detail="server_error")
    spend(tell, 2)
    assert ask("cause", "tokens", "cost_usd") == [("failed_request", PROMPT + REPLY, 0.0)]


def test_a_prompt_that_has_a_cause_measures_no_other_call(tell: Tell, ask: Ask) -> None:
    """The prompt after a broken chain and an expired cache counts as the expired cache only."""
    cached = {"model": MODEL, "output_tokens": REPLY, "cache_write_tokens": PROMPT}
    tell("usage.recorded", 0, **cached)
    fail(tell, 1, 1)
    tell("retry.scheduled", 1.1, operation="op", attempt=1, reason="network_transient")
    fail(tell, 2, 2)
    tell("retry.settled", 2.1, operation="op", attempts=2, outcome="surfaced", reason="network_transient")
    tell("usage.recorded", 900, **cached)
    assert ask("cause", "requests") == [("expired_cache", 1)]


happenings = st.lists(
    st.tuples(
        st.sampled_from(["spend", "cached", "fail", "refuse", "tool", "compact", "stop"]),
        st.integers(0, 900),
        st.sampled_from(["s", "t"]),
    ),
    max_size=25,
)


@settings(max_examples=15)
@given(happened=happenings)
def test_parts_never_exceed_the_whole(happened: list[tuple[str, int, str]], log: Path, tell: Tell) -> None:
    """Measured causes cost no more than all requests, which cost what `cost-by-model` sums up; so says the headline."""
    log.write_bytes(b"")
    at = 0
    for number, (what, wait, session) in enumerate(happened):
        at += wait

        cached = {"model": MODEL, "output_tokens": REPLY, "cache_write_tokens": PROMPT, "session": session}
        chain = {"session": session, "operation": f"op-{session}", "attempt": number + 1}
        relay = {"session": session, "relay": f"r-{number}"}
        if what == "spend":
            spend(tell, at, session=session)
        elif what == "cached":
            tell("usage.recorded", at, **cached)
        elif what in {"fail", "refuse"}:
            fail(tell, at, facts={"status": 500 if what == "refuse" else None, "message": "x"}, **chain)
            tell("retry.scheduled", at + 0.1, reason="network_transient", **chain)
        elif what == "tool":
            tell("tool.failed", at, session=session, tool="Bash", command="gh api", exit_code=1, kind="exit_code")
        elif what == "compact":
            tell("relay.triggered", at, strategy="compact", pre_tokens=9, **relay)
            tell("relay.resumed", at, post_tokens=5, **relay)
        else:
            spend(tell, at, session=session)
            fail(tell, at, 1, session=session, operation=None)
    with open_store(":memory:") as store:
        store.ingest([str(log)])
        causes, models = store.query("cost-of-failure"), store.query("cost-by-model")
    whole = models["cost_usd"].sum()
    measured = causes.filter(causes["basis"] == "measured")
    assert measured["cost_usd"].sum() <= whole + 1e-6
    assert measured["requests"].sum() <= models["requests"].sum()
    assert all(of == pytest.approx(whole) for of in causes["of_cost_usd"])
    sentence = failure_cost(Table("cost-of-failure", "", "", {}, causes))
    if sentence and "cost" in sentence.text:
        assert sentence.text.startswith(f"Failures wasted ${measured['cost_usd'].sum():,.2f} of ${whole:,.2f}")


@pytest.mark.parametrize(
    ("wait", "hour", "failed", "expired"),
    [(400, 0, True, True), (200, 0, True, False), (400, PROMPT, True, False), (400, 0, False, False)],
)
def test_a_prompt_whose_cache_expired_behind_a_failure_is_written_again(
    wait: int, hour: int, failed: bool, expired: bool, tell: Tell, ask: Ask
) -> None:
    """After more than five minutes, or an hour where it was kept so long; a wait that no failure caused is nobody's."""
    cached = {"model": MODEL, "input_tokens": 0, "output_tokens": REPLY}
    tell("usage.recorded", 0, cache_write_tokens=PROMPT, cache_write_hour_tokens=hour, **cached)
    if failed:
        tell("error.classified", 1, reason="rate_limited", facts={"status": 429, "message": "Too Many Requests"})
    tell("usage.recorded", wait, cache_write_tokens=PROMPT, **cached)
    found = [row for row in ask("cause", "reason", "tokens") if row[0] == "expired_cache"]
    assert found == ([("expired_cache", "rate_limited", PROMPT)] if expired else [])
