"""The five callers of the integration table, each with its policy."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.recovery import PROFILES, RateGuard, Retry
from tests.recovery.simulated import FakeClock, Flaky, Log, limited


@pytest.fixture
def guard(clock: FakeClock) -> RateGuard:
    """A guard that knows of a limit of half a minute."""
    guard = RateGuard(clock=clock)
    guard.record("figma", limited=True, wait_seconds=30)
    return guard


def loop(profile: str, clock: FakeClock, log: Log, **more: Any) -> Retry:
    """The loop of a caller."""
    return Retry(profile, provider="figma", policy=PROFILES[profile], clock=clock, log=log, **more)


def test_a_silent_caller_is_silent_about_a_guard_that_says_no(clock: FakeClock, log: Log, guard: RateGuard) -> None:
    """The call is not made, and nothing is raised."""
    call = Flaky("never")
    assert loop("silent", clock, log, guard=guard).call(call) is None
    assert call.calls == []
    assert log.types() == ["call.short_circuited"]


def test_a_silent_callers_limit_holds_its_siblings_back(clock: FakeClock, log: Log) -> None:
    """What it learned goes to the guard."""
    guard = RateGuard(clock=clock)
    loop("silent", clock, log, guard=guard).call(Flaky(limited(12)))
    assert guard.state("figma").wait_seconds == 12
