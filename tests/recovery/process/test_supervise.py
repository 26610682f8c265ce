"""A supervised command: bytes, exit codes, ends, retries."""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import AnalyzerError
from analyzer.events import EventLog
from analyzer.recovery import Limits, Run, Streams, supervise
from analyzer.recovery.process import streams as process_stdin
from analyzer.recovery.process.group import OutputError, held_back
from analyzer.recovery.process.step_error import StepError
from analyzer.recovery.waiting import WaitCancelledError
from tests import each_row
from tests.recovery.simulated import FakeClock
from tests.recovery.supervised import agent, empty_stdin, events, time_over_once

__all__ = ["empty_stdin"]


class Bench:
    """Runs commands with a log and files for their output."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        self.clock = FakeClock()
        self._out, self._err = folder / "out", folder / "err"

    def run(self, *command: str, **options: Any) -> Run:
        """One supervised run."""
        with self._out.open("wb") as out, self._err.open("wb") as err, EventLog(self.log) as log:
            streams = Streams(out.fileno(), err.fileno())
            return supervise(command, log=log, streams=streams, clock=self.clock, **options)

    @property
    def out(self) -> bytes:
        """What arrived on stdout."""
        return self._out.read_bytes()

    @property
    def err(self) -> bytes:
        """What arrived on stderr."""
        return self._err.read_bytes()

    def events(self, *types: str) -> list[dict[str, Any]]:
        """What the log holds."""
        return events(self.log, *types)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A place to run commands."""
    return Bench(tmp_path)


def python(code: str) -> tuple[str, ...]:
    """A command of a few lines."""
    return (sys.executable, "-c", code)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def survivors(ids: Path) -> list[int]:
    """Those of the listed processes that run on: SIGKILL is sent at once, and takes effect when the machine can."""
    pids = list(map(int, ids.read_text().split()))
    until = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return list(filter(alive, pids))


@each_row("seconds", [float("nan"), float("inf"), 1e10, -1.0])
@each_row("name", ["timeout_seconds", "grace_seconds", "max_wait_seconds"])
def test_a_limit_that_is_no_time_is_refused(name: str, seconds: float) -> None:
    """What no timer of the system can hold is said before anything is started."""
    with pytest.raises(AnalyzerError, match=r"no (timeout|grace|max_wait) of") as caught:
        Limits(**{name: seconds})
    assert caught.value.hint


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 15)", 143),
    ],
)
def test_exit_codes_are_the_command_s(bench: Bench, code: str, exit_code: int) -> None:
    """The exit code passes through; that of a signal is 128 and its number, as in a shell."""
    assert bench.run(*python(code)).exit_code == exit_code


@pytest.mark.parametrize("options", [{}, {"limits": Limits(retries=1)}])
def test_bytes_pass_untouched(bench: Bench, options: dict[str, Any]) -> None:
    """NUL bytes, broken UTF-8, lines without an end: both streams arrive as they were written."""
    code = """if True:
        import sys
        sys.stdout.buffer.write(bytes(range(256)) * 999)
        sys.stderr.buffer.write(b"\\xff\\0\\n\\r")
    """
    bench.run(*python(code), **options)
    assert bench.out == bytes(range(256)) * 999
    assert bench.err == b"\xff\0\n\r"


def test_a_command_that_cannot_be_started(bench: Bench) -> None:
    """No such command: 127, and an event that says so."""
    done = bench.run("no-such-command-anywhere")
    assert done.exit_code == 127
    (event,) = bench.events("error.classified")
    assert (event["payload"]["detail"], event["payload"]["outcome"]) == ("command_not_found", "surfaced")


def test_step_error_propagation(bench: Bench) -> None:
    """The step's word, its tokens and what to do are in the error and in the event alike."""
    done = bench.run(*agent("context_exhaustion"))
    assert isinstance(done.error, StepError)
    assert done.error.failure_reason == "context_exhaustion"
    (event,) = bench.events("error.classified")
    payload = event["payload"]
    assert payload["failure_reason"] == "context_exhaustion"
    assert payload["remediation"] == done.error.remediation
    assert (payload["input_tokens"], payload["current_tokens"], payload["max_tokens"]) == (1_200, 207_000, 200_000)
    assert event["sessionId"] == done.session == "s-full"


def test_grandchildren_that_keep_the_output_open_are_not_waited_for(bench: Bench) -> None:
    """The command has ended: who still holds its stdout and says nothing is given the grace, and left alone."""
    done = bench.run("sh", "-c", "sleep 600 & echo $!", limits=Limits(grace_seconds=0.3))
    assert done.exit_code == 0
    assert alive(int(bench.out))
    os.kill(int(bench.out), signal.SIGKILL)


def test_grandchildren_are_heard_after_the_command_has_ended(bench: Bench) -> None:
    """Output of a background job that still comes is handed on to its end."""
    bench.run("sh", "-c", "(sleep 0.3; echo late) & echo early", limits=Limits(grace_seconds=60))
    assert bench.out == b"early\nlate\n"


def test_a_reader_that_has_gone_ends_the_command(bench: Bench) -> None:
    """Where nobody reads our output any more, the command gets SIGPIPE, as it would without us."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with EventLog(bench.log) as log:
            done = supervise(("yes",), streams=Streams(writing, None), log=log)
    finally:
        os.close(writing)
    assert (done.exit_code, done.outcome) == (128 + signal.SIGPIPE, "aborted")
    assert bench.events("error.classified") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_ends_the_command() -> None:
    """A full disk is told as such, and the command does not go on."""
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OutputError, match="No space left"):
            supervise(("yes",), streams=Streams(full, None))
    finally:
        os.close(full)


def test_a_reader_that_leaves_after_the_timeout_hides_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads slowly and goes before all has been handed on still learns that the command was timed out."""
    reading, writing = os.pipe()
    time_over_once(
        monkeypatch.setattr, lambda: bool(select.select([reading], [], [], 60)[0]), lambda: os.close(reading)
    )
    with EventLog(bench.log) as log:
        done = supervise(
            python("import os\nwhile True: os.write(1, b'x' * 65_536)"),
            limits=Limits(timeout_seconds=600, grace_seconds=0.2),
            streams=Streams(writing, None),
            log=log,
        )
    os.close(writing)
    assert isinstance(done.error, StepError)
    assert (done.exit_code, done.error.failure_reason) == (124, "timeout")


def test_stdin_that_cannot_be_kept_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk the first command still reads all of it, and no later one is given a part for the whole."""

    def full(_: int, __: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(process_stdin, "write_all", full)
    source, writing = os.pipe()
    os.write(writing, b"all of it")
    os.close(writing)
    stdin = process_stdin.Stdin(source)
    with os.fdopen(stdin.feed(), "rb") as first:
        assert first.read() == b"all of it"
    with pytest.raises(process_stdin.StdinError, match="No space left"):
        stdin.feed()
    stdin.close()
    os.close(source)


def test_stdin_passes_through(bench: Bench, tmp_path: Path) -> None:
    """The command reads our stdin, and each try reads it from its beginning."""
    prompt = tmp_path / "prompt"
    prompt.write_text("do it " * 50_000)
    with prompt.open("rb") as file:
        os.dup2(file.fileno(), 0)
    done = bench.run(*agent("flaky", tmp_path / "starts", 3), limits=Limits(retries=2))
    assert (done.exit_code, done.outcome, done.attempts) == (0, "recovered", 3)
    assert bench.out == f"start 3 read {'do it ' * 50_000!r}\n".encode()


def test_a_flaky_network_recovers(bench: Bench, tmp_path: Path) -> None:
    """Transient failures are tried again with growing waits, and the chain is settled as recovered."""
    done = bench.run(*agent("flaky", tmp_path / "starts", 3), limits=Limits(retries=2))
    assert done.waited_seconds == pytest.approx(sum(bench.clock.slept))
    first, second = bench.clock.slept
    assert 0.8 <= first <= 1.2
    assert 1.6 <= second <= 2.4
    assert [event["payload"]["attempt"] for event in bench.events("error.classified")] == [1, 2]
    (settled,) = bench.events("retry.settled")
    assert settled["payload"] | {"operation": 0, "waited_seconds": 0} == {
        "operation": 0,
        "caller": Path(sys.executable).name,
        "reason": "network_transient",
        "outcome": "recovered",
        "attempts": 3,
        "waited_seconds": 0,
    }


def test_retries_end_where_the_recovery_table_says(bench: Bench, tmp_path: Path) -> None:
    """Three calls in all for a transient failure, whatever was asked for; then the chain ends as permanent."""
    done = bench.run(*agent("flaky", tmp_path / "starts", 99), limits=Limits(retries=9))
    assert (done.exit_code, done.outcome, done.attempts) == (1, "exhausted", 3)
    (settled,) = bench.events("retry.settled")
    assert (settled["payload"]["outcome"], settled["payload"]["reason"]) == ("exhausted", "network_permanent")
    assert len({event["payload"]["operation"] for event in bench.events("error.classified")}) == 1


def test_a_command_that_fails_on_weak_words_is_started_once_more(bench: Bench) -> None:
    """Two starts instead of three, with eight times the first wait between them."""
    done = bench.run("sh", "-c", "echo 'the gateway crashed' >&2; exit 1", limits=Limits(retries=9))
    assert (done.outcome, done.attempts) == ("exhausted", 2)
    assert 6.4 <= sum(bench.clock.slept) <= 9.6


def test_a_command_that_a_strong_rule_objects_to_is_not_started_again(bench: Bench) -> None:
    """The status says that it would be; the field that it misses says that it fails the same way."""
    say = "echo 'API Error: 500 messages: field required' >&2; exit 1"
    done = bench.run("sh", "-c", say, limits=Limits(retries=2))
    assert (done.outcome, done.attempts, bench.clock.slept) == ("surfaced", 1, [])
    (event,) = bench.events("error.classified")
    assert (event["payload"]["reason"], event["payload"]["action"]) == ("network_transient", "surface")


def test_what_no_retry_mends_is_not_tried_again(bench: Bench) -> None:
    """A failure that is not retryable is shown at once, and carries its own outcome."""
    done = bench.run("sh", "-c", "echo 'invalid x-api-key' >&2; exit 1", limits=Limits(retries=2))
    assert (done.outcome, done.attempts, bench.clock.slept) == ("surfaced", 1, [])
    (event,) = bench.events("error.classified")
    assert (event["payload"]["reason"], event["payload"]["outcome"]) == ("auth_error", "surfaced")
    assert bench.events("retry.scheduled", "retry.settled") == []


def test_a_limit_that_resets_too_late_is_not_waited_for(bench: Bench) -> None:
    """A wait longer than allowed is none: the failure is shown."""
    code = "import sys; sys.exit(print('429 Too Many Requests, retry after 90 seconds', file=sys.stderr) or 1)"
    done = bench.run(*python(code), limits=Limits(retries=2, max_wait_seconds=60))
    assert (done.outcome, bench.clock.slept) == ("surfaced", [])
    done = bench.run(*python(code), limits=Limits(retries=1, max_wait_seconds=120))
    assert done.outcome == "exhausted"
    assert 90 <= sum(bench.clock.slept) < 92


def test_cancelling_ends_the_group(bench: Bench, tmp_path: Path) -> None:
    """A cancelled run is ended with all its processes, and raises."""
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    with pytest.raises(WaitCancelledError):
        bench.run(*agent("hang", tmp_path / "ids"), cancel=cancel, limits=Limits(grace_seconds=0.2))
    assert survivors(tmp_path / "ids") == []


def test_signals_wait_until_a_start_is_over() -> None:
    """Ctrl-C while a command is being started comes when it can be ended."""
    reached = []
    with pytest.raises(KeyboardInterrupt), held_back():
        signal.raise_signal(signal.SIGINT)
        reached.append(True)
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_each_run_is_a_session_in_the_log(bench: Bench) -> None:
    """The session is the stream's own, else one that is made up; its times are in the log."""
    bench.run(*agent("bulk", 1))
    bench.run("true")
    named, made_up = bench.events("session.observed")
    assert named["sessionId"] == "s-bulk"
    assert made_up["sessionId"].startswith("run-")
    assert {"started_at", "ended_at", "retry_visibility", "part"} <= set(named["payload"])


def test_a_torn_last_line_is_ended_before_the_next_try(bench: Bench, tmp_path: Path) -> None:
    """Records of two tries never share a line."""
    code = f"""if True:
        import pathlib, sys
        seen = pathlib.Path({str(tmp_path / "seen")!r})
        sys.stdout.write("half")
        if not seen.exists():
            seen.touch()
            sys.exit("ECONNRESET")
    """
    bench.run(*python(code), limits=Limits(retries=1))
    assert bench.out == b"half\nhalf"
