"""The agent pool: who has run into its usage limit is out until it resets, for all processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from analyzer.classifier import classify
from analyzer.recovery.limits.pool import UNKNOWN_RESET_SECONDS, AgentPool, Exhaustion, exhaustion
from analyzer.recovery.waiting import WaitCancelledError
from tests import REPOSITORY
from tests.recovery.simulated import FakeClock

AT = datetime(2026, 2, 11, 12, tzinfo=UTC)


def found(text: str, exit_code: int = 1, at: datetime = AT) -> Exhaustion | None:
    """What a run with this on stdout says."""
    return exhaustion("claude", classify({"exit_code": exit_code, "stdout": text}, at=at), exit_code, at)


def gone(agent: str = "claude", seconds: float | None = 3_600) -> Exhaustion:
    """An agent whose limit resets after so many seconds."""
    return Exhaustion(agent, "usage limit reached", AT, None if seconds is None else AT + timedelta(seconds=seconds), 1)


def test_today_s_dialect_resolves_against_the_run_s_own_time() -> None:
    """A wall-clock time becomes a moment."""
    out = found("You've hit your session limit · resets 2:40pm (America/Chicago)")
    assert out is not None
    assert out.reset_at == datetime(2026, 2, 11, 20, 40, tzinfo=UTC)


@pytest.mark.parametrize("text", ["Claude AI usage limit reached|9999999999", "You've hit your session limit"])
def test_a_reset_that_is_unknown_or_absurd_is_an_hour(text: str) -> None:
    """An agent is never out for ever: without a reset that can be believed it is asked again after an hour."""
    out = found(text)
    assert out is not None
    assert "does not say when it resets" in out.reason_text
    assert out.reset_at is None
    assert out.back_at == AT + timedelta(seconds=UNKNOWN_RESET_SECONDS)


def test_waiting_for_an_agent(tmp_path: Path) -> None:
    """A wait within what is allowed ends with the agent back; a longer one is none; a cancelled one raises."""
    clock = FakeClock(AT)
    pool = AgentPool(tmp_path / "pool.json", clock=clock)
    pool.remove(gone(seconds=600))
    assert pool.wait_for("claude", 599) == gone(seconds=600)
    assert clock.slept == []
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(WaitCancelledError):
        pool.wait_for("claude", 600, cancel)
    assert pool.wait_for("claude", 600) is None
    assert clock.slept == [600]
    pool.remove(gone(seconds=1_200))
    assert pool.wait_for("claude", float("inf")) is None


@pytest.mark.parametrize(
    "agents",
    [
        [],
        {"claude": 7},
        {"claude": {}},
        {"claude": {"exhausted_at": "soon"}},
        {"claude": {"exhausted_at": "2199-01-01T00:00:00Z", "reason_text": "?"}},
        {"claude": {"exhausted_at": "2026-02-11T11:00:00Z", "reset_at": "2199-01-01T00:00:00Z"}},
    ],
)
def test_entries_that_make_no_sense_keep_nobody_out(tmp_path: Path, agents: object) -> None:
    """What somebody else wrote into the file, or a clock far ahead, removes no agent."""
    path = tmp_path / "pool.json"
    path.write_text(json.dumps({"agents": agents}))
    pool = AgentPool(path, clock=FakeClock(AT))
    assert pool.out("claude") is None
    pool.remove(gone())
    assert pool.out("claude") == gone()


def test_processes_share_the_pool(tmp_path: Path) -> None:
    """Agents that several processes take out at the same time are all out."""
    program = """if True:
        import sys
        from datetime import UTC, datetime, timedelta
        from analyzer.recovery.limits.pool import Exhaustion
        from analyzer.recovery.limits.pool import AgentPool
        at = datetime.now(UTC)
        for number in range(10):
            gone = Exhaustion(f"{sys.argv[2]}-{number}", "full", at, at + timedelta(hours=1), 1)
            AgentPool(sys.argv[1]).remove(gone)
    """
    path = tmp_path / "pool.json"
    command = [sys.executable, "-c", program, str(path)]
    running = [subprocess.Popen([*command, f"p{number}"], cwd=REPOSITORY) for number in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert len(AgentPool(path).everyone_out()) == 40
