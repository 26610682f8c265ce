"""Rate limits of supervised commands: recorded for all who share the guard, and waited for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.recovery import Limits, RateGuard, Retry
from tests.recovery.process.test_supervise import Bench, bench, python
from tests.recovery.simulated import Flaky
from tests.recovery.supervised import empty_stdin

__all__ = ["bench", "empty_stdin"]


@pytest.fixture
def guard(bench: Bench, tmp_path: Path) -> RateGuard:
    """A guard in a folder, on the time of the bench."""
    return RateGuard(tmp_path / "limits", clock=bench.clock)


def limited(folder: Path, said: str = "429 Too Many Requests, retry after 20 seconds") -> tuple[str, ...]:
    """A command that is refused when it is started first, and works from then on."""
    seen = folder / "seen"
    return python(
        f"import pathlib, sys; seen = pathlib.Path({str(seen)!r}); again = seen.exists(); seen.touch(); "
        f"sys.exit(0 if again else {said!r})"
    )


def test_a_refused_command_waits_on_the_guard(bench: Bench, guard: RateGuard, tmp_path: Path) -> None:
    """The limit is on record under the provider's name; behind it comes the jitter of a first retry."""
    done = bench.run(*limited(tmp_path), guard=guard, provider="example", limits=Limits(retries=2))
    assert (done.outcome, done.attempts) == ("recovered", 2)
    assert 20 + 0.8 <= done.waited_seconds <= 20 + 1.2
    (state,) = (tmp_path / "limits").glob("*.json")
    assert json.loads(state.read_text())["provider"] == "example"


def test_who_is_not_to_try_again_tells_its_siblings(bench: Bench, guard: RateGuard, tmp_path: Path) -> None:
    """Without retries the failure surfaces, and a call of another program is held back all the same."""
    assert bench.run(*limited(tmp_path), guard=guard, provider="example").outcome == "surfaced"
    call = Flaky("never")
    with pytest.raises(Exception, match="example is rate limited"):
        Retry("planner", provider="example", guard=guard, clock=bench.clock).call(call)
    assert call.calls == []


def test_a_limit_without_a_time_holds_for_a_minute(bench: Bench, tmp_path: Path) -> None:
    """As it does for calls; also where nobody shares the guard."""
    done = bench.run(*limited(tmp_path, "429 Too Many Requests"), limits=Limits(retries=1))
    assert done.outcome == "recovered"
    assert 60 <= done.waited_seconds < 62


def test_a_known_limit_is_waited_for_before_the_start(bench: Bench, guard: RateGuard) -> None:
    """As long as a run may wait; the wait belongs to no chain."""
    guard.record("example", limited=True, wait_seconds=30)
    done = bench.run("true", guard=guard, provider="example")
    assert (done.exit_code, done.attempts, done.waited_seconds) == (0, 1, 0)
    assert 30 <= sum(bench.clock.slept) < 32
    assert [event["type"] for event in bench.events()] == ["session.observed"]


def test_a_known_limit_that_lasts_starts_nothing(bench: Bench, guard: RateGuard, tmp_path: Path) -> None:
    """75, an event that says until when, and an error that says so too."""
    guard.record("example", limited=True, wait_seconds=3_000)
    done = bench.run("touch", str(tmp_path / "started"), guard=guard, provider="example")
    assert (done.exit_code, done.outcome) == (75, "short_circuited")
    assert not (tmp_path / "started").exists()
    assert done.error is not None
    assert "example is rate limited until 2026-11-02T08:50" in done.error.message
    (event,) = bench.events("call.short_circuited")
    assert (event["payload"]["provider"], event["payload"]["reset_at"]) == ("example", "2026-11-02T08:50:00.000Z")


def test_a_limit_that_grows_too_long_surfaces(bench: Bench, guard: RateGuard, tmp_path: Path) -> None:
    """A sibling learns of hours while a run waits: its chain ends as surfaced, and nothing is started."""
    bench.clock.at_sleep = lambda _: guard.record("example", limited=True, wait_seconds=9_000) and None
    done = bench.run(*limited(tmp_path), guard=guard, provider="example", limits=Limits(retries=2))
    assert (done.outcome, done.attempts) == ("surfaced", 1)
    (settled,) = bench.events("retry.settled")
    assert (settled["payload"]["outcome"], settled["payload"]["reason"]) == ("surfaced", "rate_limited")


def test_a_guard_that_cannot_be_used_holds_nobody_back(bench: Bench, tmp_path: Path) -> None:
    """The provider will say it itself; the wait is the same."""
    (tmp_path / "limits").touch()
    guard = RateGuard(tmp_path / "limits", clock=bench.clock)
    done = bench.run(*limited(tmp_path), guard=guard, limits=Limits(retries=1))
    assert done.outcome == "recovered"
    assert 20 < done.waited_seconds < 22
