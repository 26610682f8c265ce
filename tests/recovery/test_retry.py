"""The retry loop of threads: what each reason leads to, what is raised, and what the log says."""

from __future__ import annotations

import threading
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as st

from analyzer.errors import AnalyzerError
from analyzer.recovery import (
    Backoff,
    Compression,
    ContextRecovery,
    Credential,
    IterationBudget,
    IterationBudgetExhaustedError,
    Policy,
    RateGuard,
    RateLimitedError,
    Retry,
    WaitCancelledError,
)
from tests.recovery.simulated import OVERFLOW, FakeClock, Flaky, HttpError, Log, limited

STEADY = Policy(backoff=Backoff(jitter=0))


@pytest.fixture
def settings(clock: FakeClock, log: Log) -> dict[str, Any]:
    """What most loops here have in common: simulated time, a log, no jitter."""
    return {"provider": "anthropic", "policy": STEADY, "clock": clock, "log": log, "session": "s-1"}


def settled(log: Log) -> dict[str, Any]:
    """The end of the one chain in a log."""
    (payload,) = log.payloads("retry.settled")
    return payload


def note(error: BaseException) -> str:
    """What the loop says to the person."""
    (text,) = error.__notes__
    return text


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


def test_three_transient_errors_end_as_network_permanent(settings: dict[str, Any], log: Log) -> None:
    """The third call's own error is raised; the chain ends as permanent, the errors keep their reason."""
    last = ConnectionResetError("the third")
    call = Flaky(ConnectionResetError("1"), ConnectionResetError("2"), last, "never")
    with pytest.raises(ConnectionResetError, match="the third") as caught:
        Retry("planner", **settings).call(call)
    assert caught.value is last
    assert {each["reason"] for each in log.payloads("error.classified")} == {"network_transient"}
    end = settled(log)
    assert (end["reason"], end["outcome"], end["attempts"]) == ("network_permanent", "exhausted", 3)
    assert note(last).startswith("planner: cannot reach anthropic; gave up after 3 calls")


def test_a_servers_own_wait_is_kept(settings: dict[str, Any], clock: FakeClock) -> None:
    """A 503 with Retry-After is not asked earlier."""
    call = Flaky(HttpError(503, headers={"retry-after": "4"}), "fine")
    assert Retry("planner", **settings).call(call) == "fine"
    assert clock.slept == [4]


def test_a_rate_limit_waits_on_the_guard(settings: dict[str, Any], clock: FakeClock, log: Log, tmp_path: Path) -> None:
    """Until the headers' reset, then the jitter of attempt 0; siblings know of the limit."""
    guard = RateGuard(tmp_path / "limits", clock=clock)
    known: list[float] = []

    def call() -> str:
        if not known:
            known.append(0)
            raise limited(20)
        known.append(RateGuard(tmp_path / "limits", clock=clock).state("anthropic").wait_seconds)
        return "fine"

    clock.at_sleep = lambda _: known.append(RateGuard(tmp_path / "limits", clock=clock).state("anthropic").wait_seconds)
    assert Retry("planner", guard=guard, **settings).call(call) == "fine"
    assert sum(clock.slept) == pytest.approx(20.1)
    assert max(known) == 19
    assert known[-1] == 0
    (scheduled,) = log.payloads("retry.scheduled")
    assert scheduled["delay_seconds"] == pytest.approx(20.1)
    assert settled(log)["waited_seconds"] == pytest.approx(20.1)


def test_behind_a_block_the_jitter_starts_at_attempt_0(settings: dict[str, Any], clock: FakeClock, log: Log) -> None:
    """Two transient errors, then a limit: the wait behind its block is the first one again."""
    call = Flaky(HttpError(503), HttpError(503), limited(5), "fine")
    assert Retry("planner", **settings).call(call) == "fine"
    delays = [each["delay_seconds"] for each in log.payloads("retry.scheduled")]
    assert delays == pytest.approx([0.1, 0.2, 5.1])


def test_a_limit_that_names_its_time_only_in_words_is_waited_for(settings: dict[str, Any], clock: FakeClock) -> None:
    """A duration in the text counts, and so does a moment."""
    call = Flaky(HttpError(429, "Rate limit reached. Please try again in 7s."), "fine")
    Retry("planner", **settings).call(call)
    assert sum(clock.slept) == pytest.approx(7.1)
    begun = clock.now()
    reset = int((begun + timedelta(seconds=90)).timestamp())
    Retry("planner", **settings).call(Flaky(RuntimeError(f"Claude AI usage limit reached|{reset}"), "fine"))
    assert (clock.now() - begun).total_seconds() == pytest.approx(90, abs=1.2)


def test_three_rate_limits_exhaust_the_chain(settings: dict[str, Any], log: Log, clock: FakeClock) -> None:
    """It ends as rate_limited; the last limit is still kept for the siblings."""
    guard = RateGuard(clock=clock)
    with pytest.raises(HttpError):
        Retry("planner", guard=guard, **settings).call(Flaky(limited(1), limited(1), limited(9)))
    assert (settled(log)["reason"], settled(log)["outcome"]) == ("rate_limited", "exhausted")
    assert guard.state("anthropic").wait_seconds == 9


def test_a_limit_that_holds_too_long_surfaces_at_once(settings: dict[str, Any], clock: FakeClock, log: Log) -> None:
    """Nobody wants a call that sleeps for five hours."""
    with pytest.raises(HttpError) as caught:
        Retry("planner", **settings).call(Flaky(limited(18_000)))
    assert clock.slept == []
    assert settled(log)["outcome"] == "surfaced"
    assert "anthropic is rate limited" in note(caught.value)


def test_a_limit_that_grows_too_long_while_it_is_waited_for_surfaces(
    settings: dict[str, Any], clock: FakeClock, log: Log
) -> None:
    """A sibling learns of hours: the wait ends, and the error is the call's own."""
    guard = RateGuard(clock=clock)
    clock.at_sleep = lambda _: guard.record("anthropic", limited=True, wait_seconds=50_000) and None
    with pytest.raises(HttpError):
        Retry("planner", guard=guard, **settings).call(Flaky(limited(5)))
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("surfaced", 1)
    assert settled(log)["waited_seconds"] == 1


def test_a_guard_that_already_says_no_short_circuits_the_call(
    settings: dict[str, Any], clock: FakeClock, log: Log
) -> None:
    """The call is not made; the event and the error say until when."""
    guard = RateGuard(clock=clock)
    guard.record("anthropic", limited=True, wait_seconds=30)
    call = Flaky("never")
    with pytest.raises(RateLimitedError) as caught:
        Retry("planner", guard=guard, **settings).call(call)
    assert call.calls == []
    assert caught.value.reset_at == clock.now() + timedelta(seconds=30)
    assert log.types() == ["call.short_circuited"]
    (payload,) = log.payloads("call.short_circuited")
    assert payload == {
        "caller": "planner",
        "provider": "anthropic",
        "reason": "rate_limited",
        "reset_at": "2026-11-02T08:00:30.000Z",
    }


def test_a_guard_that_cannot_be_used_stops_nobody(settings: dict[str, Any], clock: FakeClock, tmp_path: Path) -> None:
    """With a broken folder the loop waits as the error says, and goes on."""
    (tmp_path / "limits").write_text("a file")
    guard = RateGuard(tmp_path / "limits", clock=clock)
    assert Retry("planner", guard=guard, **settings).call(Flaky(limited(3), "fine")) == "fine"
    assert sum(clock.slept) == pytest.approx(3.1)


def conversation(turns: int = 10) -> list[dict[str, str]]:
    """A system message and turns of equal length."""
    messages = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        messages.append({"role": "user", "content": f"question {number} " + "x" * 400})
        messages.append({"role": "assistant", "content": f"answer {number} " + "y" * 400})
    return [*messages, {"role": "user", "content": "the last question"}]


def test_an_overflow_is_compressed_once(settings: dict[str, Any], log: Log, clock: FakeClock) -> None:
    """About half of the tokens goes, oldest turns first, instructions stay; then the call is made again."""
    messages = conversation()
    before = len(str(messages))
    call = Flaky(HttpError(400, OVERFLOW), "fine")
    retry = Retry("planner", compress=ContextRecovery().compress, **settings)
    assert retry.call(call, messages) == "fine"
    first, second = (made[0] for made in call.calls)
    assert second == messages
    assert second[0]["role"] == "system"
    assert second[1:] == first[-len(second) + 1 :]
    assert 0.4 < len(str(second)) / before < 0.6
    assert clock.slept == [0]
    assert log.types() == ["error.classified", "context.recovered", "retry.scheduled", "retry.settled"]
    (change,) = log.payloads("context.recovered")
    assert (change["strategy"], change["attempt"]) == ("drop_oldest_turns", 1)
    assert change["removed_messages"] == len(first) - len(second)
    assert 0.4 < change["post_tokens"] / change["pre_tokens"] < 0.6


def test_a_second_overflow_escalates(settings: dict[str, Any], log: Log) -> None:
    """More compression would destroy information: it goes to a person."""
    retry = Retry("planner", compress=ContextRecovery().compress, **settings)
    call = Flaky(HttpError(400, OVERFLOW), HttpError(400, OVERFLOW), "never")
    with pytest.raises(HttpError) as caught:
        retry.call(call, conversation())
    assert len(call.calls) == 2
    assert (settled(log)["reason"], settled(log)["outcome"], settled(log)["attempts"]) == (
        "context_overflow",
        "escalated",
        2,
    )
    assert "does not fit (210000 of 200000 tokens) again after it was compressed" in note(caught.value)


def test_what_cannot_be_compressed_escalates_at_once(settings: dict[str, Any], log: Log) -> None:
    """There is only one message, and it is not a tool's: no second call."""
    call = Flaky(HttpError(400, OVERFLOW), "never")
    with pytest.raises(HttpError):
        Retry("planner", compress=ContextRecovery().compress, **settings).call(call, [{"role": "user", "content": "x"}])
    assert len(call.calls) == 1
    assert log.types() == ["error.classified", "context.unrecovered", "retry.settled"]
    assert settled(log)["outcome"] == "escalated"


def test_an_overflow_surfaces_where_nobody_can_compress(settings: dict[str, Any], log: Log) -> None:
    """Without `compress` the same prompt would fail the same way."""
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(HttpError(400, OVERFLOW)))
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("surfaced", 1)
    assert log.payloads("error.classified")[0]["action"] == "surface"


@pytest.mark.parametrize(
    ("error", "reason", "said"),
    [
        (HttpError(401, "invalid x-api-key"), "auth_error", "ANTHROPIC_API_KEY; renew it (https://"),
        (HttpError(402, "Your credit balance is too low"), "auth_error", "no credit or quota left"),
        (HttpError(403, "insufficient permissions"), "auth_error", "may not do this at anthropic"),
        (HttpError(404, "not found"), "network_permanent", "cannot reach anthropic. Check the URL"),
        (RuntimeError("Unknown tool: get_metadata"), "tool_not_found", "Unknown tool: get_metadata"),
        (HttpError(422, "temperature: too high"), "validation", "temperature: too high"),
        (RuntimeError("Canvas shard 4 is parked"), "unknown", "no rule knows; it was not tried again: Canvas shard"),
    ],
)
def test_the_rest_surfaces_with_what_to_do(
    settings: dict[str, Any], log: Log, clock: FakeClock, error: Exception, reason: str, said: str
) -> None:
    """One call, the call's own error, and a note that names credential, provider, variable or URL."""
    with pytest.raises(type(error)) as caught:
        Retry("planner", **settings).call(Flaky(error, "never"))
    assert caught.value is error
    assert clock.slept == []
    end = settled(log)
    assert (end["reason"], end["outcome"], end["attempts"]) == (reason, "surfaced", 1)
    assert said in note(error)
    assert note(error) in "".join(traceback.format_exception(error))


def test_a_note_names_the_credential_that_the_caller_told_of(settings: dict[str, Any]) -> None:
    """For a provider that nobody has heard of."""
    error = HttpError(401, "no")
    retry = Retry("planner", credential=Credential("ACME_TOKEN", "https://api.example.com/keys"), **settings)
    with pytest.raises(HttpError):
        retry.call(Flaky(error))
    assert "refused the credential in ACME_TOKEN; renew it (https://api.example.com/keys)" in note(error)


def test_a_note_names_the_url_without_its_secrets(settings: dict[str, Any]) -> None:
    """Host and path of the request that failed; neither query nor password."""

    class Request:
        url = "https://user:hunter2@api.example.com:8443/v1/x?key=hunter2"

    error = HttpError(404, "not found")
    error.request = Request()  # type: ignore[attr-defined]
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(error))
    assert "cannot reach https://api.example.com:8443/v1/x." in note(error)
    assert "hunter2" not in note(error)


def test_a_missing_tool_is_called_once_more_behind_a_probe(settings: dict[str, Any], log: Log) -> None:
    """With `reprobe`, and once: a tool that is still missing surfaces."""
    probed: list[tuple[Any, ...]] = []
    retry = Retry("mcp", reprobe=lambda *args: probed.append(args), **settings)
    assert retry.call(Flaky(RuntimeError("Unknown tool: x"), "fine"), "x") == "fine"
    assert probed == [("x",)]
    assert [each["action"] for each in log.payloads("error.classified")] == ["retry"]
    with pytest.raises(RuntimeError):
        retry.call(Flaky(RuntimeError("Unknown tool: x"), RuntimeError("Unknown tool: x"), "never"), "x")
    assert len(probed) == 2


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


def test_retries_are_paid_from_the_budget(settings: dict[str, Any]) -> None:
    """A first call is free, each retry costs one iteration, and a cache hit gives its iteration back."""
    budget = IterationBudget(5)
    retry = Retry("planner", budget=budget, was_cached=lambda result: result == "cached", **settings)
    retry.call(Flaky("fine"))
    assert budget.consumed == 0
    retry.call(Flaky(HttpError(503), HttpError(503), "fine"))
    assert (budget.consumed, budget.refunded) == (2, 0)
    retry.call(Flaky(HttpError(503), "cached"))
    assert (budget.consumed, budget.refunded, budget.remaining) == (3, 1, 3)


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


def test_a_cancel_flag_ends_a_wait(settings: dict[str, Any], log: Log) -> None:
    """The chain is aborted, and the error is the wait's."""
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(WaitCancelledError):
        Retry("planner", cancel=cancel, **settings).call(Flaky(HttpError(503), "never"))
    assert settled(log)["outcome"] == "aborted"


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


def test_a_real_wait_can_be_cancelled_from_another_thread() -> None:
    """With the machine's own clock."""
    cancel = threading.Event()
    timer = threading.Timer(0.05, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(WaitCancelledError):
        Retry("planner", cancel=cancel).call(Flaky(limited(60), "never"))
    timer.join()
    assert time.monotonic() - begun < 10


def test_a_block_surfaces_its_own_error(settings: dict[str, Any]) -> None:
    """Also one that would end a loop unseen."""
    for error in (StopIteration("gone"), HttpError(401)):
        with pytest.raises(type(error)) as caught:
            for attempt in Retry("planner", **settings).attempts():
                with attempt:
                    raise error
        assert caught.value is error


def test_without_a_log_the_loop_works_all_the_same(clock: FakeClock) -> None:
    """Events are a by-product."""
    assert Retry("planner", clock=clock).call(Flaky(HttpError(503), "fine")) == "fine"


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


def test_a_compressor_of_ones_own_is_asked_with_the_calls_arguments(settings: dict[str, Any], log: Log) -> None:
    """And its account goes to the log."""
    asked: list[Any] = []

    def compress(prompt: str, *, model: str) -> Compression:
        asked.append((prompt, model))
        return Compression("trim", 100, 50, 0, 1)

    def call(prompt: str, *, model: str) -> str:
        if not asked:
            raise HttpError(400, OVERFLOW)
        return "fine"

    assert Retry("planner", compress=compress, **settings).call(call, "p", model="m") == "fine"
    assert asked == [("p", "m")]
    assert log.payloads("context.recovered")[0]["strategy"] == "trim"
