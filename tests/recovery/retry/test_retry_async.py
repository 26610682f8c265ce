"""The retry loop of coroutines: the same behaviour, and an event loop that is never blocked."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.recovery import ContextRecovery, Policy, RateGuard, RateLimitedError, Retry, WaitCancelledError
from analyzer.recovery.limits.state_file import StateFile
from tests.recovery.simulated import OVERFLOW, FakeClock, Flaky, HttpError, Log, alone, conversation, limited, settled


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

    async def call() -> None:
        if where == "call":
            await asyncio.sleep(30)
        raise limited(30)

    async def main() -> None:
        task = asyncio.create_task(Retry("planner", log=log).call_async(call))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 25
    if where == "call":
        assert alone(log)["outcome"] == "aborted"
    else:
        assert (settled(log)["outcome"], settled(log)["attempts"]) == ("aborted", 1)
        assert settled(log)["waited_seconds"] < 5


def test_a_cancel_flag_of_another_thread_ends_a_wait(log: Log) -> None:
    """Within a fraction of a second."""
    cancel = threading.Event()
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(WaitCancelledError):
        asyncio.run(Retry("planner", log=log, cancel=cancel).call_async(Flaky(limited(30)).later))
    timer.join()
    assert time.monotonic() - begun < 25
    assert settled(log)["outcome"] == "aborted"


def test_a_short_circuit_and_a_wait_before_the_first_call(settings: dict[str, Any], clock: FakeClock) -> None:
    """As the policy says: refuse at once, or wait for the guard."""
    guard = RateGuard(clock=clock)
    guard.record("anthropic", limited=True, wait_seconds=30)
    with pytest.raises(RateLimitedError):
        asyncio.run(Retry("planner", guard=guard, **settings).call_async(Flaky("never").later))
    settings["policy"] = Policy(wait_when_blocked=True)
    assert asyncio.run(Retry("planner", guard=guard, **settings).call_async(Flaky("fine").later)) == "fine"
    assert 30.08 <= sum(clock.slept) <= 30.12


def test_the_event_loop_goes_on_while_the_guard_is_locked(tmp_path: Path) -> None:
    """Recording a limit waits for another process's lock in a thread."""
    held = threading.Event()

    def hold(state: dict[str, Any]) -> dict[str, Any]:
        held.set()
        time.sleep(0.5)
        return state

    holder = threading.Thread(target=StateFile(tmp_path / "anthropic.json").update, args=(hold,))
    holder.start()
    assert held.wait(10)
    retry = Retry("planner", provider="anthropic", guard=RateGuard(tmp_path))

    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        ticking = asyncio.create_task(tick())
        assert await retry.call_async(Flaky(limited(0.05), "fine").later) == "fine"
        ticking.cancel()
        return ticks

    assert asyncio.run(main()) > 15
    holder.join()
