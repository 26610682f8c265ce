"""The retry loop of threads: what each reason leads to, what is raised, and what the log says."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from analyzer.errors import AnalyzerError
from analyzer.recovery import (
    Backoff,
    ContextRecovery,
    IterationBudget,
    IterationBudgetExhaustedError,
    Policy,
    Retry,
    WaitCancelledError,
)
from tests.recovery.simulated import (
    OVERFLOW,
    FakeClock,
    Flaky,
    HttpError,
    Log,
    conversation,
    limited,
    note,
    settled,
)


def test_a_call_that_works_leaves_no_trace(settings: dict[str, Any], log: Log) -> None:
    """One call, its result, no event."""
    call = Flaky("fine")
    assert Retry("planner", **settings).call(call, 1, 2) == "fine"
    assert call.calls == [(1, 2)]
    assert log.types() == []


def test_transient_errors_back_off_and_recover(settings: dict[str, Any], clock: FakeClock, log: Log) -> None:
    """100 ms, then 200 ms; the chain is in the log with the waits as they were."""
    call = Flaky(ConnectionResetError("reset"), HttpError(503), "fine")
    assert Retry("planner", **settings).call(call) == "fine"
    assert clock.slept == pytest.approx([0.1, 0.2])
    assert log.types() == ["error.classified", "retry.scheduled"] * 2 + ["retry.settled"]
    assert [(each["attempt"], each["max_attempts"]) for each in log.payloads("error.classified")] == [(1, 3), (2, 3)]
    assert [each["delay_seconds"] for each in log.payloads("retry.scheduled")] == [0.1, 0.2]
    end = settled(log)
    assert (end["reason"], end["outcome"], end["attempts"], end["waited_seconds"]) == (
        "network_transient",
        "recovered",
        3,
        0.3,
    )
    assert len({event.payload["operation"] for event in log.events()}) == 1
    assert {(event.session_id, event.payload["caller"]) for event in log.events()} == {("s-1", "planner")}


def test_a_servers_own_wait_is_kept(settings: dict[str, Any], clock: FakeClock) -> None:
    """A 503 with Retry-After is not asked earlier."""
    call = Flaky(HttpError(503, headers={"retry-after": "4"}), "fine")
    assert Retry("planner", **settings).call(call) == "fine"
    assert clock.slept == [4]


def test_each_reason_has_its_own_allowance(settings: dict[str, Any], log: Log) -> None:
    """Two transient errors do not use up what a rate limit and an overflow may have; the chain still ends."""
    call = Flaky(HttpError(503), limited(1), HttpError(503), HttpError(400, OVERFLOW), limited(1), HttpError(503))
    with pytest.raises(HttpError):
        Retry("planner", compress=ContextRecovery().compress, **settings).call(call, conversation())
    assert call.answers == []
    assert all(each["attempt"] <= each["max_attempts"] for each in log.payloads("error.classified"))
    assert (settled(log)["attempts"], settled(log)["outcome"]) == (6, "exhausted")


FAILURES = (
    lambda: HttpError(503),
    lambda: limited(1),
    lambda: HttpError(400, OVERFLOW),
    lambda: RuntimeError("Unknown tool: x"),
    lambda: HttpError(401),
    lambda: HttpError(422, "no"),
    lambda: RuntimeError("Canvas shard 4 is parked"),
)


@given(st.lists(st.integers(0, len(FAILURES) - 1) | st.integers(0, 3), min_size=8, max_size=8))
@settings_of(deadline=None)
def test_every_chain_of_failures_ends(failures: list[int]) -> None:
    """Whatever fails in whatever order: at most seven calls, then the last call's own error, with one note."""
    call = Flaky(*[FAILURES[number]() for number in failures])
    answers = list(call.answers)
    retry = Retry("x", clock=FakeClock(), compress=ContextRecovery().compress, reprobe=lambda *_: None)
    with pytest.raises((HttpError, RuntimeError)) as caught:
        retry.call(call, conversation(40))
    assert len(call.calls) <= 7
    assert caught.value is answers[len(call.calls) - 1]
    assert note(caught.value)


def test_a_help_that_raises_ends_the_chain(settings: dict[str, Any], log: Log) -> None:
    """Its error is raised from the call's, no further call is made, and the chain has an end."""

    def compress(*_: object) -> None:
        raise ZeroDivisionError

    cause = HttpError(400, OVERFLOW)
    with pytest.raises(ZeroDivisionError) as caught:
        Retry("planner", compress=compress, **settings).call(Flaky(cause, "never"))
    assert caught.value.__cause__ is cause
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("surfaced", 1)


def test_attempts_can_be_set_by_reason(settings: dict[str, Any], log: Log) -> None:
    """Where the table's figures do not fit; a reason that is not tried again cannot be given attempts."""
    settings["policy"] = Policy(backoff=Backoff(jitter=0), max_attempts={"network_transient": 2})
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(HttpError(503), HttpError(503), "never"))
    assert settled(log)["attempts"] == 2
    with pytest.raises(AnalyzerError, match="auth_error is not tried again"):
        Policy(max_attempts={"auth_error": 3})
    with pytest.raises(AnalyzerError, match="unknown reason") as caught:
        Policy(max_attempts={"rate_limit": 3})
    assert "did you mean 'rate_limited'" in caught.value.hint


def test_an_empty_budget_ends_the_chain(settings: dict[str, Any], log: Log, clock: FakeClock) -> None:
    """No wait, no call: the budget's error is raised from the call's, and both events are there."""
    cause = HttpError(503)
    with pytest.raises(IterationBudgetExhaustedError) as caught:
        Retry("planner", budget=IterationBudget(1), **settings).call(Flaky(HttpError(503), cause, "never"))
    assert caught.value.__cause__ is cause
    assert log.types()[-2:] == ["budget.exhausted", "retry.settled"]
    (payload,) = log.payloads("budget.exhausted")
    assert (payload["consumed"], payload["refunded"], payload["limit"]) == (1, 0, 1)
    assert payload["operation"] == settled(log)["operation"]
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("exhausted", 2)


def test_a_chain_that_the_budget_ended_says_so(settings: dict[str, Any], log: Log) -> None:
    """Its errors keep their reason, which no retry has shown to be permanent; exception and events name the budget."""
    with pytest.raises(IterationBudgetExhaustedError) as caught:
        Retry("planner", budget=IterationBudget(1), **settings).call(Flaky(*[HttpError(503, "busy")] * 2, "never"))
    assert (settled(log)["reason"], settled(log)["ended_by"]) == ("network_transient", "iteration_budget")
    assert {error["reason"] for error in log.payloads("error.classified")} == {"network_transient"}
    assert "the iteration budget of 1 is used up" in str(caught.value)
    (told,) = caught.value.__notes__
    assert (
        told == "planner: the iteration budget ended the retries after 2 calls; what failed is network_transient: busy"
    )


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_in_a_call_aborts_the_chain(settings: dict[str, Any], log: Log, stop: BaseException) -> None:
    """It passes at once, and the chain is told as aborted."""
    with pytest.raises(type(stop)) as caught:
        Retry("planner", **settings).call(Flaky(HttpError(503), stop, "never"))
    assert caught.value is stop
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("aborted", 2)
    assert log.payloads("error.classified")[-1]["action"] == "record"


def test_an_interrupt_in_a_wait_aborts_the_chain(settings: dict[str, Any], log: Log, clock: FakeClock) -> None:
    """Only what was really waited is counted."""

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    clock.at_sleep = interrupt
    with pytest.raises(KeyboardInterrupt):
        Retry("planner", **settings).call(Flaky(HttpError(503), "never"))
    assert (settled(log)["outcome"], settled(log)["attempts"], settled(log)["waited_seconds"]) == ("aborted", 1, 0.1)
    assert settled(log)["reason"] == "network_transient"


def test_a_decorated_function_keeps_its_name_and_arguments(settings: dict[str, Any]) -> None:
    """The decorator is the same loop."""
    flaky = Flaky(HttpError(503), "fine")

    @Retry("planner", **settings)
    def ask(question: str, *, loudly: bool = False) -> str:
        """Asks."""
        return f"{flaky()} {question} {loudly}"

    assert ask("what", loudly=True) == "fine what True"
    assert (ask.__name__, ask.__doc__) == ("ask", "Asks.")


def test_a_block_can_be_the_call(settings: dict[str, Any], log: Log) -> None:
    """The loop with a context manager counts attempts, returns after the first success, and gives iterations back."""
    flaky, numbers = Flaky(HttpError(503), "fine"), []
    budget = IterationBudget(5)
    for attempt in Retry("planner", budget=budget, **settings).attempts():
        with attempt:
            numbers.append(attempt.number)
            flaky()
            attempt.cache_hit()
    assert numbers == [1, 2]
    assert (budget.consumed, budget.refunded) == (1, 1)
    assert settled(log)["outcome"] == "recovered"


def test_a_loop_without_its_block_ends(settings: dict[str, Any]) -> None:
    """Who forgets `with attempt` gets one round, not an endless one."""
    assert len(list(Retry("planner", **settings).attempts())) == 1


def test_a_real_wait_can_be_cancelled_from_another_thread(log: Log) -> None:
    """With the machine's own clock the wait ends at once, and the chain is aborted."""
    cancel = threading.Event()
    timer = threading.Timer(0.05, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(WaitCancelledError):
        Retry("planner", cancel=cancel, log=log).call(Flaky(limited(600), "never"))
    timer.join()
    assert settled(log)["outcome"] == "aborted"
    assert time.monotonic() - begun < 300


def test_a_block_surfaces_its_own_error(settings: dict[str, Any]) -> None:
    """Also one that would end a loop unseen."""
    for error in (StopIteration("gone"), HttpError(401)):
        with pytest.raises(type(error)) as caught:
            for attempt in Retry("planner", **settings).attempts():
                with attempt:
                    raise error
        assert caught.value is error


def test_one_loop_serves_many_threads(settings: dict[str, Any], log: Log) -> None:
    """Chains do not mix: each has its own operation, attempts and end."""
    settings["policy"] = Policy(backoff=Backoff(base_seconds=0))
    retry = Retry("planner", **settings)
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(retry.call(Flaky(HttpError(503), HttpError(503), "fine"))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["fine"] * 8
    ends = log.payloads("retry.settled")
    assert len({end["operation"] for end in ends}) == 8
    assert {(end["attempts"], end["outcome"]) for end in ends} == {(3, "recovered")}
