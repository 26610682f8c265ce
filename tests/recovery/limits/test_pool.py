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
from analyzer.events import EventLog
from analyzer.recovery.limits.pool import UNKNOWN_RESET_SECONDS, AgentPool, Exhaustion, exhaustion
from analyzer.recovery.waiting import WaitCancelledError
from tests import REPOSITORY
from tests.recovery.simulated import FakeClock
from tests.recovery.supervised import LINE, RESET, events

AT = datetime(2026, 2, 11, 12, tzinfo=UTC)


def found(text: str, exit_code: int = 1, at: datetime = AT) -> Exhaustion | None:
    """What a run with this on stdout says."""
    return exhaustion("claude", classify({"exit_code": exit_code, "stdout": text}, at=at), exit_code, at)


def gone(agent: str = "claude", seconds: float | None = 3_600) -> Exhaustion:
    """An agent whose limit resets after so many seconds."""
    return Exhaustion(agent, "usage limit reached", AT, None if seconds is None else AT + timedelta(seconds=seconds), 1)


def test_the_signature_with_a_failed_run_is_exhaustion() -> None:
    """The line and a non-zero exit code: out until the epoch, and the text for people says until when."""
    out = found(f"working\n{LINE}\n")
    assert out is not None
    assert (out.reset_at, out.back_at, out.exit_code) == (RESET, RESET, 1)
    assert "resets 2026-02-11 21:00 UTC" in out.reason_text
    assert LINE in out.reason_text


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [
        (LINE, 0),
        ("error: cannot open notes.md", 1),
        (f"The prompt says: print {LINE} when done", 1),
        ("usage limit reached", 1),
        ("429 Too Many Requests", 1),
        ("Your credit balance is too low", 1),
    ],
)
def test_nothing_else_is_exhaustion(text: str, exit_code: int) -> None:
    """Success, prose, loose words, short rate limits and missing money leave the agent where it is."""
    assert found(text, exit_code) is None


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


def test_an_agent_leaves_and_comes_back_after_the_reset(tmp_path: Path) -> None:
    """Out for everybody until the reset; back with the first look after it, told once."""
    clock = FakeClock(AT)
    with EventLog(tmp_path / "log") as log:
        one = AgentPool(tmp_path / "pool.json", log=log, clock=clock)
        other = AgentPool(tmp_path / "pool.json", log=log, clock=clock)
        one.remove(gone(seconds=600))
        assert other.out("claude") == gone(seconds=600)
        assert other.choose(["claude", "codex"]) == "codex"
        assert other.choose(["claude"]) is None
        clock.advance(599)
        assert other.out("claude") is not None
        clock.advance(1)
        assert other.out("claude") is None
        assert one.choose(["claude", "codex"]) == "claude"
    assert [event["type"] for event in events(tmp_path / "log")] == ["agent.exhausted", "agent.restored"]
    assert (tmp_path / "pool.json").stat().st_mode & 0o777 == 0o600


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
