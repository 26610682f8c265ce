"""The state file: whole at any moment, shared by processes, closed to others."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analyzer.recovery.limits.guard import RateGuard
from analyzer.recovery.limits.pool import AgentPool, Exhaustion
from analyzer.recovery.limits.state_file import State, StateBusyError, StateError, StateFile
from tests.recovery.supervised import ENVIRONMENT


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )


def counted(state: State) -> State:
    """One more."""
    return {**state, "count": state.get("count", 0) + 1}


def test_a_state_stays_where_it_is_when_the_program_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is found once, for the shared limits and the pool as for any state file."""
    monkeypatch.chdir(tmp_path)
    file, guard, pool = StateFile("state.json"), RateGuard("limits"), AgentPool("pool.json")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file.update(counted)
    guard.record("anthropic", limited=True)
    pool.remove(Exhaustion("claude", "out", datetime.now(UTC), None, 1))
    assert not list((tmp_path / "elsewhere").iterdir())
    assert StateFile(tmp_path / "state.json").read() == {"count": 1}
    assert not RateGuard(tmp_path / "limits").state("anthropic").ready
    assert AgentPool(tmp_path / "pool.json").out("claude")


def test_a_state_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    """What update returns is what the next reader reads."""
    file = StateFile(tmp_path / "deep" / "state.json")
    assert file.read() == {}
    assert file.update(lambda _: {"a": [1, "ä"]}) == {"a": [1, "ä"]}
    assert StateFile(file.path).read() == {"a": [1, "ä"]}


def test_files_and_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    """State and lock have mode 0600, the folder made for them 0700, whatever the umask allows."""
    before = os.umask(0)
    try:
        file = StateFile(tmp_path / "limits" / "state.json")
        file.update(counted)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in file.path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_a_change_that_raises_changes_nothing(tmp_path: Path) -> None:
    """The state stays, and the lock is free again."""
    file = StateFile(tmp_path / "state.json", give_up_after_seconds=0.5)
    file.update(counted)
    with pytest.raises(ZeroDivisionError):
        file.update(lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    assert file.update(counted) == {"count": 2}


def test_threads_lose_no_update(tmp_path: Path) -> None:
    """Four threads of a hundred increments each give four hundred."""
    file = StateFile(tmp_path / "state.json")
    threads = [threading.Thread(target=lambda: [file.update(counted) for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read() == {"count": 400}


INCREMENT = """
import sys
from analyzer.recovery.limits.state_file import StateFile
file = StateFile(sys.argv[1])
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    file.update(lambda state: dict.fromkeys(("count", "same"), state.get("count", 0) + 1) | {"pad": "x" * 5000})
"""


def test_processes_lose_no_update(tmp_path: Path) -> None:
    """Three processes of a hundred increments each give three hundred."""
    path = str(tmp_path / "state.json")
    workers = [python(INCREMENT, path, "100") for _ in range(3)]
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["ready\n"] * 3
    assert StateFile(path).read()["count"] == 300


def test_kill_9_at_any_point_leaves_a_whole_state(tmp_path: Path) -> None:
    """Writers killed at twelve different moments leave a state that reads, goes on growing, and holds no lock."""
    file = StateFile(tmp_path / "state.json")
    # Were a dead writer's lock still held, it would give up.
    patient = StateFile(file.path, stale_after_seconds=3_600)
    last = 0
    for round_ in range(12):
        writer = python(INCREMENT, str(file.path), "1000000")
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        while file.read().get("count", 0) <= last:  # the machine may be busy, and the writer not begun
            time.sleep(0.001)
        time.sleep(0.007 * round_)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        state = file.read()
        assert state["count"] == state["same"] > last
        last = patient.update(counted)["count"]
        file.update(lambda state: {**state, "same": state["count"]})
    assert not list(tmp_path.glob("*.damaged"))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_holder_that_does_not_move_is_overruled(tmp_path: Path) -> None:
    """A stopped holder keeps others waiting for the stale time only, and cannot write over them once it goes on."""
    path = tmp_path / "state.json"
    holder = python(
        """
import os, signal, sys
from analyzer.recovery.limits.state_file import StateFile, StateBusyError
def stop(state):
    print("holding", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    return {"by": "the stopped one"}
try:
    StateFile(sys.argv[1]).update(stop)
except StateBusyError:
    print("refused")
""",
        str(path),
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holding\n"
    begun = time.monotonic()
    StateFile(path, stale_after_seconds=0.3).update(lambda _: {"by": "the next one"})
    assert 0.3 < time.monotonic() - begun < 60
    holder.send_signal(signal.SIGCONT)
    assert holder.communicate(timeout=30)[0] == "refused\n"
    assert StateFile(path).read() == {"by": "the next one"}


def test_a_child_forked_under_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    """The lock is free once its taker lets go, though a forked child still has the descriptor."""
    program = """
import os, sys, time
from analyzer.recovery.limits.state_file import StateFile
def fork(state):
    child = os.fork()
    if child == 0:
        os.close(1)
        time.sleep(300)
        os._exit(0)
    print(child)
    return {"forked": True}
StateFile(sys.argv[1]).update(fork)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "state.json")]
    child = int(subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True).stdout)
    try:
        StateFile(tmp_path / "state.json", stale_after_seconds=3_600).update(counted)
    finally:
        os.kill(child, signal.SIGKILL)


def test_who_cannot_have_the_lock_is_told(tmp_path: Path) -> None:
    """A holder that keeps giving signs of life is not overruled; who waits too long gets an error, not a hang."""
    file = StateFile(tmp_path / "state.json")
    taken, done = threading.Event(), threading.Event()

    def hold(state: State) -> State:
        taken.set()
        assert done.wait(30)
        return state

    holder = threading.Thread(target=file.update, args=(hold,))
    holder.start()
    assert taken.wait(30)
    try:
        with pytest.raises(StateBusyError, match="locked by other processes") as caught:
            StateFile(file.path, give_up_after_seconds=0.1).update(counted)
    finally:
        done.set()
        holder.join()
    assert caught.value.exit_code == 75


def test_who_was_overruled_touches_nobody_s_draft(tmp_path: Path) -> None:
    """It goes on in the very moment in which its successor has written a draft: the successor's state is what stays."""
    path = tmp_path / "state.json"
    overruled = StateFile(path)
    with overruled._locked() as former:
        (tmp_path / "state.json.lock").unlink()

        class Successor(StateFile):
            def _holds(self, lock: int) -> bool:
                if list(tmp_path.glob("*.tmp")):
                    with pytest.raises(StateBusyError):
                        overruled._store({"by": "the overruled one"}, former)
                return super()._holds(lock)

        Successor(path).update(lambda _: {"by": "the successor"})
    assert json.loads(path.read_text()) == {"by": "the successor"}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00\x00", '{"a": 1}{', '{"a": NaN}', '{"a": [-1e999]}'])
def test_a_damaged_file_is_set_aside(tmp_path: Path, text: str) -> None:
    """It reads as no state; the next writer keeps it under another name."""
    path = tmp_path / "state.json"
    path.write_text(text)
    assert StateFile(path).read() == {}
    assert StateFile(path).update(counted) == {"count": 1}
    assert (tmp_path / "state.json.damaged").read_text() == text
    assert json.loads(path.read_text()) == {"count": 1}


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path) -> None:
    """A folder, a FIFO and a symbolic link in the file's place are errors with a hint, and are not replaced."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "target").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for name in ("folder", "fifo", "link"):
        with pytest.raises(StateError, match="cannot use the state file") as caught:
            StateFile(tmp_path / name).update(counted)
        assert caught.value.hint
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "{}"
