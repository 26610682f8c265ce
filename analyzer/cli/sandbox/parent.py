"""This side starts the process that answers, and ends it when it takes too much time, memory, or space for its answer.

Invariants: this process loads no database and holds no more of the answer than a chunk; whatever happens here, the
other process is dead and reaped afterwards; its answer is used whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any

from analyzer.command_lines import LAKE
from analyzer.errors import LIMIT, UNREADABLE, AnalyzerError, LimitError
from analyzer.interpreter import start

_KEPT = ("PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""All of the environment that an interpreter may need to start; tokens and proxies stay here."""
_OF_OBJECT_STORES = ("AWS_", "AZURE_", "GOOGLE_")
"""How the names begin of settings by which the files of a lake are reached."""
_OWN = {
    "LC_ALL": "C.UTF-8",
    "PYTHONUTF8": "1",
    # Each of these would reserve address space by the number of processors.
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
_LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One query and its limits."""

    store: str
    sql: str
    rows: int | None
    row_format: str
    width: int | None
    seconds: float
    """On the wall clock."""
    memory: int
    """Bytes beyond what the program itself takes; of the answer, too."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A rendered answer."""

    rows: int
    truncated: bool
    """Whether the limit of rows cut some off."""
    content: IO[bytes]
    """At its beginning; closed with the context."""


@contextlib.contextmanager
def answer(request: Request) -> Iterator[Answered]:
    """The answer to one reading statement over a store.

    Raises:
        QueryError: it is more or less than one statement, does not only read, or the database refuses it.
        LimitError: it took more time, memory or space than the request allows.
        StoreError: the store cannot be opened; StoreBusyError: another process is writing to it.
    """
    # A nameless file, that no other user can open: the limit on the size of files bounds it, and no pipe can fill up.
    with tempfile.TemporaryFile() as content:
        code = _run(request, content)
        content.seek(0)
        header = _header(content.readline(_LONGEST_HEADER))
        if code != 0 or header is None:
            raise _ended(code, request)
        if header["exit_code"] != 0:
            raise _error_of(header, request)
        yield Answered(header["rows"], header["truncated"], content)


def _run(request: Request, content: IO[bytes]) -> int:
    """The exit code of the process that answers; negative for a signal."""
    process = start(
        "-m",
        "analyzer.cli.sandbox.child",
        environment={**_kept(request.store), **_OWN},
        stdin=subprocess.PIPE,
        stdout=content,
        stderr=None if os.environ.get("ANALYZER_DEBUG") else subprocess.DEVNULL,
        close_fds=True,
        # Ctrl-C reaches this process alone, which then ends the other one without asking.
        process_group=0,
    )
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(json.dumps(asdict(request)).encode(), timeout=request.seconds)
            return process.returncode
        raise LimitError.of_time(request.seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _kept(store: str) -> dict[str, str]:
    """What the other process is to have of this one's environment."""
    keys = _OF_OBJECT_STORES if store.startswith(LAKE) else ()
    return {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(keys)}


def _header(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _error_of(header: dict[str, Any], request: Request) -> AnalyzerError:
    """The error that the other process met."""
    if header["exit_code"] == LIMIT:
        return _too_much(header["message"], request)
    return AnalyzerError(header["message"], header["hint"], exit_code=header["exit_code"])


def _ended(code: int, request: Request) -> AnalyzerError:
    """What a process without an answer died of."""
    if code in {-signal.SIGXCPU, -signal.SIGALRM}:
        return LimitError.of_time(request.seconds)
    if code == LIMIT:
        return _too_much("the answer is too large", request)
    if code < 0:
        return _too_much(
            f"the query crashed the database ({signal.Signals(-code).name}), or ran out of memory", request
        )
    return AnalyzerError(f"the query's process ended with {code}", "ANALYZER_DEBUG=1 shows why", exit_code=UNREADABLE)


def _too_much(message: str, request: Request) -> LimitError:
    allowed = f"{request.memory / 1e6:,.0f} MB"
    return LimitError(f"{message} (limit: {allowed})", "ask for fewer rows, columns or groups; or allow more: --memory")
