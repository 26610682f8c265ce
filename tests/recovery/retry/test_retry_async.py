"""The retry loop of coroutines: the same behaviour, and an event loop that is never blocked."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from analyzer.recovery import ContextRecovery, Policy, RateGuard, RateLimitedError, Retry, WaitCancelledError
from tests.recovery.simulated import (
    OVERFLOW,
    FakeClock,
    Flaky,
    HttpError,
    Log,
    alone,
    conversation,
    limited,
    settled,
    threads_at_state_files,
)


def test_a_coroutine_recovers_as_a_function_does(settings: dict[str, Any], clock: FakeClock, log: Log) -> None:
    """Backoff, a limit on the guard, an overflow with its help; one chain in the log."""
    flaky = Flaky(HttpError(503), limited(5), HttpError(400, OVERFLOW), "fine")
    retry = Retry("planner", compress=ContextRecovery().compress, **settings)
    messages = conversation()
    assert asyncio.run(retry.call_async(flaky.later, messages)) == "fine"
    assert sum(clock.slept) == pytest.approx(0.1 + 5.1)
    assert len(messages) < len(flaky.calls[0][0])
    assert (settled(log)["outcome"], settled(log)["attempts"]) == ("recovered", 4)
    assert [each["delay_seconds"] for each in log.payloads("retry.scheduled")] == pytest.approx([0.1, 5.1, 0])


def test_a_decorated_coroutine_function_stays_one(settings: dict[str, Any]) -> None:
    """The decorator tells functions and coroutine functions apart."""
    flaky = Flaky(HttpError(503), "fine")

    @Retry("planner", **settings)
    async def ask(question: str) -> str:
        return f"{await flaky.later()} {question}"

    assert asyncio.iscoroutinefunction(ask)
    assert asyncio.run(ask("what")) == "fine what"


def test_a_block_can_be_the_call(settings: dict[str, Any], log: Log) -> None:
    """`async for` over the attempts."""

    async def main() -> list[int]:
        flaky, numbers = Flaky(HttpError(503), "fine"), []
        async for attempt in Retry("planner", **settings).attempts():
            with attempt:
                numbers.append(attempt.number)
                await flaky.later()
        return numbers

    assert asyncio.run(main()) == [1, 2]
    assert settled(log)["outcome"] == "recovered"


def test_the_helps_may_be_coroutine_functions(settings: dict[str, Any]) -> None:
    """A probe that has to be awaited is awaited."""
    probed = []

    async def reprobe(*_: object) -> None:
        await asyncio.sleep(0)
        probed.append(1)

    retry = Retry("mcp", reprobe=reprobe, **settings)
    assert asyncio.run(retry.call_async(Flaky(RuntimeError("Unknown tool: x"), "fine").later)) == "fine"
    assert probed == [1]


def test_errors_surface_as_they_were_raised(settings: dict[str, Any], log: Log) -> None:
    """The object itself, with its note."""
    error = HttpError(401)
    with pytest.raises(HttpError) as caught:
        asyncio.run(Retry("planner", **settings).call_async(Flaky(error).later))
    assert caught.value is error
    assert "ANTHROPIC_API_KEY" in error.__notes__[0]
    assert alone(log)["outcome"] == "surfaced"


@pytest.mark.parametrize("where", ["call", "wait"])
def test_a_cancelled_task_is_aborted(log: Log, where: str) -> None:
    """In the first call, which is no chain yet, as in a wait: the cancellation passes, and the log says aborted."""

    begun = asyncio.Event()

    class Waiting(FakeClock):
        async def sleep_async(self, seconds: float, cancel: threading.Event | None = None) -> None:
            begun.set()
            await asyncio.sleep(600)

    async def call() -> None:
        if where == "call":
            begun.set()
            await asyncio.sleep(600)
        raise limited(30)

    async def main() -> None:
        task = asyncio.create_task(Retry("planner", log=log, clock=Waiting()).call_async(call))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    if where == "call":
        assert alone(log)["outcome"] == "aborted"
    else:
        assert (settled(log)["outcome"], settled(log)["attempts"]) == ("aborted", 1)
        assert settled(log)["waited_seconds"] == 0


def test_a_cancel_flag_of_another_thread_ends_a_wait(log: Log) -> None:
    """Long before the wait is over."""
    cancel = threading.Event()
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    with pytest.raises(WaitCancelledError):
        asyncio.run(Retry("planner", log=log, cancel=cancel).call_async(Flaky(limited(600)).later))
    timer.join()
    assert settled(log)["outcome"] == "aborted"
    assert settled(log)["waited_seconds"] < 300


def test_a_short_circuit_and_a_wait_before_the_first_call(settings: dict[str, Any], clock: FakeClock) -> None:
    """As the policy says: refuse at once, or wait for the guard."""
    guard = RateGuard(clock=clock)
    guard.record("anthropic", limited=True, wait_seconds=30)
    with pytest.raises(RateLimitedError):
        asyncio.run(Retry("planner", guard=guard, **settings).call_async(Flaky("never").later))
    settings["policy"] = Policy(wait_when_blocked=True)
    assert asyncio.run(Retry("planner", guard=guard, **settings).call_async(Flaky("fine").later)) == "fine"
    assert 30.08 <= sum(clock.slept) <= 30.12


def test_the_event_loop_goes_on_while_the_guard_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording a limit waits for another process's lock in another thread, as looking at one does."""
    seen = threads_at_state_files(monkeypatch)
    retry = Retry("planner", provider="anthropic", guard=RateGuard(tmp_path))
    assert asyncio.run(retry.call_async(Flaky(limited(0.05), "fine").later)) == "fine"
    assert seen
    assert threading.get_ident() not in seen
