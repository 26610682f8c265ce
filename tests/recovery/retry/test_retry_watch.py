"""stamina and tenacity keep retrying as they do; the events are ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import stamina
import tenacity

from analyzer.recovery import RetryWatch
from tests.recovery.simulated import Flaky, HttpError, Log, settled


@pytest.fixture
def watch(log: Log) -> Any:
    """A watch whose hook stamina knows for the time of a test."""
    watch = RetryWatch(log, "planner", session="s-1", provider="openai")
    stamina.instrumentation.set_on_retry_hooks([watch.stamina])
    yield watch
    stamina.instrumentation.set_on_retry_hooks(None)


QUICK: dict[str, Any] = {"attempts": 3, "wait_initial": 0.001, "wait_jitter": 0}


def chain(log: Log) -> tuple[list[str], str, str, int]:
    """What the log says of one chain."""
    assert len({event.payload["operation"] for event in log.events()}) == 1
    end = settled(log)
    return log.types(), end["reason"], end["outcome"], end["attempts"]


FAILED_TWICE = ["error.classified", "retry.scheduled"] * 2


def test_stamina_chains_are_in_the_log(log: Log, watch: RetryWatch) -> None:
    """A decorated function that recovers: two failures, two waits, one end."""
    flaky = Flaky(HttpError(503), HttpError(503), "fine")

    @watch
    @stamina.retry(on=HttpError, **QUICK)
    def ask() -> str:
        return str(flaky())

    assert ask() == "fine"
    assert chain(log) == ([*FAILED_TWICE, "retry.settled"], "network_transient", "recovered", 3)
    assert [each["attempt"] for each in log.payloads("error.classified")] == [1, 2]
    assert settled(log)["waited_seconds"] == pytest.approx(0.003, abs=0.001)


def test_stamina_chains_of_coroutines_are_in_the_log(log: Log, watch: RetryWatch) -> None:
    """An exhausted one ends as network_permanent; tasks do not mix."""

    @watch
    @stamina.retry(on=HttpError, **QUICK)
    async def ask(flaky: Flaky) -> str:
        return str(await flaky.later())

    async def main() -> None:
        calls = [ask(Flaky(*[HttpError(503) for _ in range(3)])) for _ in range(5)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(result) for result in results] == [HttpError] * 5

    asyncio.run(main())
    ends = log.payloads("retry.settled")
    assert len({end["operation"] for end in ends}) == 5
    assert {(end["reason"], end["outcome"], end["attempts"]) for end in ends} == {("network_permanent", "exhausted", 3)}


def test_tenacity_chains_are_in_the_log(log: Log, watch: RetryWatch) -> None:
    """Exhausted with tenacity's own RetryError around the last failure, which is what gets classified."""
    flaky = Flaky(HttpError(503), HttpError(503), HttpError(529, "Overloaded"))

    @watch
    @tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(0.001), before_sleep=watch.tenacity)
    def ask() -> str:
        return str(flaky())

    with pytest.raises(tenacity.RetryError):
        ask()
    assert chain(log) == (
        [*FAILED_TWICE, "error.classified", "retry.settled"],
        "network_permanent",
        "exhausted",
        3,
    )
    assert log.payloads("error.classified")[-1]["facts"]["status"] == 529


def test_a_tenacity_loop_is_watched_as_a_block(log: Log, watch: RetryWatch) -> None:
    """`watch.chain()` around the loop; an error that tenacity does not retry surfaces."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ConnectionError),
        wait=tenacity.wait_none(),
        stop=tenacity.stop_after_attempt(5),
        before_sleep=watch.tenacity,
        reraise=True,
    )
    flaky = Flaky(ConnectionResetError("reset"), HttpError(401))
    with pytest.raises(HttpError), watch.chain():
        for attempt in retrying:
            with attempt:
                flaky()
    assert chain(log) == (
        ["error.classified", "retry.scheduled", "error.classified", "retry.settled"],
        "auth_error",
        "surfaced",
        2,
    )


def test_an_interrupt_is_an_abort(log: Log, watch: RetryWatch) -> None:
    """Whoever retries."""

    @watch
    @stamina.retry(on=HttpError, **QUICK)
    def ask() -> None:
        flaky()

    flaky = Flaky(HttpError(503), KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert chain(log)[1:] == ("network_transient", "aborted", 2)


def test_outside_of_a_watched_call_failures_are_logged_without_a_chain(log: Log, watch: RetryWatch) -> None:
    """stamina's hooks see every function of the program; whose end nobody sees is no chain."""
    flaky = Flaky(HttpError(503), "fine")
    assert stamina.retry(on=HttpError, **QUICK)(lambda: flaky())() == "fine"
    (event,) = log.events()
    assert (event.type, event.payload["reason"]) == ("error.classified", "network_transient")
    assert "operation" not in event.payload


def test_a_call_that_works_leaves_no_trace(log: Log, watch: RetryWatch) -> None:
    """No failure, no event; a retry because of a result is no failure."""
    answers = iter([None, "fine"])

    @watch
    @tenacity.retry(
        retry=tenacity.retry_if_result(lambda result: result is None),
        wait=tenacity.wait_none(),
        before_sleep=watch.tenacity,
    )
    def ask() -> str | None:
        return next(answers)

    assert watch(lambda: 1)() == 1
    assert log.types() == []
    assert ask() == "fine"
    assert "error.classified" not in log.types()
