"""The five callers of the integration table, each with its policy."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.recovery import PROFILES, RateGuard, RateLimitedError, Retry
from tests.recovery.simulated import FakeClock, Flaky, HttpError, Log, alone, limited


@pytest.fixture
def guard(clock: FakeClock) -> RateGuard:
    """A guard that knows of a limit of half a minute."""
    guard = RateGuard(clock=clock)
    guard.record("figma", limited=True, wait_seconds=30)
    return guard


def loop(profile: str, clock: FakeClock, log: Log, **more: Any) -> Retry:
    """The loop of a caller."""
    return Retry(profile, provider="figma", policy=PROFILES[profile], clock=clock, log=log, **more)


def test_a_pre_spawn_check_short_circuits_before_any_spawn(clock: FakeClock, log: Log, guard: RateGuard) -> None:
    """Upstream is limited already: nothing is started."""
    spawn = Flaky("never")
    with pytest.raises(RateLimitedError):
        loop("pre_spawn", clock, log, guard=guard).call(spawn)
    assert spawn.calls == []
    assert log.types() == ["call.short_circuited"]
    assert log.payloads("call.short_circuited")[0]["reason"] == "rate_limited"


@pytest.mark.parametrize("profile", ["probe", "fetch"])
def test_a_probe_and_a_fetcher_retry_wait_and_stop(profile: str, clock: FakeClock, log: Log, guard: RateGuard) -> None:
    """They back off from transient errors, wait for limits (a known one too), and stop at a credential with a note."""
    retry = loop(profile, clock, log, guard=guard)
    assert retry.call(Flaky(HttpError(503), limited(5), "fine")) == "fine"
    assert 35 < sum(clock.slept) < 36
    error = HttpError(401, "Token expired")
    with pytest.raises(HttpError):
        retry.call(Flaky(error, "never"))
    assert "FIGMA_API_KEY; renew it" in error.__notes__[0]


def test_a_fetcher_meets_validation_on_a_stale_etag(clock: FakeClock, log: Log) -> None:
    """A 304 raised as an error is not tried again."""
    with pytest.raises(HttpError):
        loop("fetch", clock, log).call(Flaky(HttpError(304, "Not Modified"), "never"))
    assert (alone(log)["reason"], alone(log)["outcome"]) == ("validation", "surfaced")


@pytest.mark.parametrize("error", [HttpError(401), HttpError(503), limited(5), ConnectionResetError("x")])
def test_a_silent_caller_classifies_and_logs_but_does_not_surface(clock: FakeClock, log: Log, error: Exception) -> None:
    """One call, one event with the action `record`, no error, no wait."""
    assert loop("silent", clock, log).call(Flaky(error, "never")) is None
    assert clock.slept == []
    logged = alone(log)
    assert (logged["action"], logged["caller"]) == ("record", "silent")
    assert "outcome" not in logged
    assert not getattr(error, "__notes__", None)


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


def test_a_transport_maps_a_missing_tool_to_one_re_issue_behind_a_probe(clock: FakeClock, log: Log) -> None:
    """It probes the connection, calls once more, stops at a credential, and retries what is transient."""
    probes: list[int] = []
    retry = loop("transport", clock, log, reprobe=lambda *_: probes.append(1))
    assert retry.call(Flaky(RuntimeError("Unknown tool: get_metadata"), HttpError(503), "fine")) == "fine"
    assert probes == [1]
    with pytest.raises(RuntimeError):
        retry.call(Flaky(*[RuntimeError("Unknown tool: get_metadata") for _ in range(2)], "never"))
    with pytest.raises(HttpError):
        retry.call(Flaky(HttpError(401), "never"))
    assert probes == [1, 1]
