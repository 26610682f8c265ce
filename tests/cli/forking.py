"""Runs many command lines quickly: each in a fork of one process that has loaded all commands and runs none."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HUNG = "hung"
LOADED = (
    "analysis.charts",
    "analysis.nightly",
    "analysis.summary",
    "classifier.batch",
    "cli.inputs",
    "importers.agents",
    "importers.claude",
    "importers.eventlog",
    "importers.places",
    "importers.telemetry.otlp",
    "importers.agents.wave",
    "report.overview",
    "report.store_work",
    "store",
    "store.db.tables.schema",
    "store.sums.daily",
    "store.upkeep.catching_up",
)
"""Rooms that commands load when they need them: here once for all, which is a quarter of a command on samples.

The threads that polars has from its import on wait, and hold no lock.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, and what is done to it."""

    arguments: Sequence[str]
    cwd: str
    stdin: str | None = None
    """The file that it reads from; nothing for None."""
    stdout: str | None = None
    """The file that it writes to, instead of one that is read here."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside those of the process that forks."""
    unset: Sequence[str] = ()
    """Variables of that process that are taken away."""
    signals: Sequence[tuple[float, int]] = ()
    """Seconds after its start, and numbers."""
    file_limit: int | None = None
    """The largest size of a file that it may write."""
    umask: int | None = None
    """What it finds set, in place of that of the process that forks."""
    without_folder: bool = False
    """Whether its working directory is removed before it starts."""
    seconds: float = 60.0
    """It is called hung after so long."""


@dataclass(frozen=True, slots=True)
class Done:
    """How it ended."""

    code: int | str
    """Negative for a signal, `hung` for one that had to be killed."""
    stdout: str
    stderr: str


class Forks:
    """The process that forks. Use as a context manager."""

    def __init__(self, *options: str) -> None:
        self._options = options
        """Of the interpreter."""

    def __enter__(self) -> Self:
        command = [sys.executable, *self._options, "-m", "tests.cli.forking"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def run(self, line: Line) -> Done:
        """Run it to its end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(line)).encode() + b"\n")
        self._process.stdin.flush()
        return Done(**json.loads(self._process.stdout.readline()))


def _serve() -> None:
    """Answer requests on stdin, one a line, until it ends."""
    from importlib import import_module

    from analyzer.cli import COMMANDS, command_named

    for name in COMMANDS:
        command_named(name)
    for name in LOADED:
        import_module(f"analyzer.{name}")
    for name in ("jinja2", "plotly.graph_objects", "rich.cells"):
        import_module(name)
    # A child need not look through all of this again, nor copy it by doing so.
    gc.freeze()
    # Later versions of Python warn of every fork where there is a thread.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    for request in sys.stdin.buffer:
        line = Line(**json.loads(request))
        print(json.dumps(asdict(_run(line))), flush=True)
    gc.unfreeze()


def _run(line: Line) -> Done:
    with contextlib.ExitStack() as open_files:
        outputs = [open_files.enter_context(open(os.memfd_create(name), "w+b")) for name in ("stdout", "stderr")]
        # What is sent before the command line begins would meet the harness.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        child = os.fork()
        if child == 0:
            _become(line, outputs[0].fileno(), outputs[1].fileno())
        code = _wait(child, line)
        texts = [_content(output) for output in outputs]
    return Done(code, *texts)


def _content(output: Any) -> str:
    output.seek(0)
    return str(output.read(1 << 28).decode("utf-8", "surrogateescape").encode("utf-8", "backslashreplace").decode())


def _wait(child: int, line: Line) -> int | str:
    """The child's exit code; whoever it leaves in its group is ended with it."""
    began = time.monotonic()
    moments = sorted(line.signals)
    descriptor = os.pidfd_open(child)
    code: int | str = HUNG
    try:
        while (left := began + line.seconds - time.monotonic()) > 0:
            until = min(left, began + moments[0][0] - time.monotonic()) if moments else left
            if select.select([descriptor], [], [], max(0.0, until))[0]:
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                break
            if moments and moments[0][0] <= time.monotonic() - began:
                os.kill(child, moments.pop(0)[1])
    finally:
        os.close(descriptor)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if code == HUNG:
            os.waitpid(child, 0)
    return code


def _become(line: Line, stdout: int, stderr: int) -> None:
    """The command line, in this process."""
    try:
        os.setpgid(0, 0)
        for name in line.unset:
            os.environ.pop(name, None)
        os.environ.update(line.environment)
        time.tzset()
        os.chdir(line.cwd)
        reading = os.open(line.stdin or os.devnull, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(reading, True)
        os.dup2(reading, 0)
        os.dup2(os.open(line.stdout, os.O_WRONLY) if line.stdout else stdout, 1)
        os.dup2(stderr, 2)
        if line.file_limit is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, (line.file_limit, line.file_limit))
        if line.umask is not None:
            os.umask(line.umask)
        if line.without_folder:
            Path(line.cwd).rmdir()
        from analyzer.cli import main
        from analyzer.errors import INTERRUPTED

        sys.argv = ["analyzer", *line.arguments]
        # Shells have what they start in the background ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        except KeyboardInterrupt:
            os._exit(INTERRUPTED)  # it came before there was a command
        main()
    except SystemExit as stop:
        sys.stdout.flush()
        os._exit(stop.code if isinstance(stop.code, int) else 0)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
        os._exit(255)


if __name__ == "__main__":
    _serve()
