"""Rate limits in the retry loop: the wait on the guard, its bounds, and the call that is not made."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.recovery import RateGuard, RateLimitedError, Retry
from tests.recovery.simulated import FakeClock, Flaky, HttpError, Log, alone, limited, note, settled


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
    assert alone(log)["outcome"] == "surfaced"
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
