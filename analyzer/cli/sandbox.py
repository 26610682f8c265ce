"""Ad-hoc SQL runs in a process of its own: one side starts and bounds it, the other one answers.

`answer` starts the other process, and ends it when it takes too much time, memory, or space for its answer. It loads no
database and holds no more of the answer than a chunk; whatever happens here, the other process is dead and reaped
afterwards; its answer is used whole or not at all.

`python -m analyzer.cli.sandbox` is the other process: a request stands on standard input as one JSON object; on
standard output go one line of JSON, how it went, and the rendered answer. Nothing of the store or of the query is
touched before its limits stand, and they cannot be lifted again; it gives up writing to files, for good, where the
kernel has Landlock (Linux 5.13 and later).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from analyzer.command_lines import LAKE
from analyzer.errors import LIMIT, UNREADABLE, AnalyzerError, LimitError
from analyzer.interpreter import start

if TYPE_CHECKING:
    import duckdb

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
        "analyzer.cli.sandbox",
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


_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""Numbers of the system calls, the same on every architecture."""
_ASK_VERSION = 1
_NO_NEW_PRIVILEGES = 38
# From <linux/landlock.h>: write a file, remove a folder, remove a file, make a character device, folder, file, socket,
# pipe, block device, link.
_WRITING = 1 << 1 | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
"""Linking across folders, and truncating: known from versions 2 and 3 on."""
_CONNECTING = 1 << 0 | 1 << 1
"""To bind and to connect TCP sockets: known from version 4 on."""


def forbid_writing(*, connecting: bool = False) -> bool:
    """Forbid this thread, and those it starts, to change files, and to use TCP unless it is `connecting`; whether the
    kernel holds them to it.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # 8 ms, for the process that answers

    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return False
    files = _WRITING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    network = _CONNECTING if version >= 4 and not connecting else 0
    # What is named here and allowed by no rule is forbidden; an older kernel knows the first of both numbers alone.
    handled = (ctypes.c_uint64 * 2)(files, network)
    ruleset = libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(16 if version >= 4 else 8), 0)
    if ruleset < 0:
        return False
    try:
        zero = ctypes.c_ulong(0)
        if libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero) != 0:
            return False
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


THREADS = 4
_GRACE_SECONDS = 2
"""What the parent gets to end this process, before it ends by itself; for a parent that is no more."""
_OPEN_FILES, _FILES_OF_LAKE = 64, 1_024
_RECURSION = 10_000
_DATABASE_SHARE = 0.75
"""Of the memory; the rest is for the frame and its text."""


def main() -> None:
    """Answer the request on standard input."""
    request = Request(**json.load(sys.stdin))
    # A tree of a statement is as deep as the statement; this process does nothing but to walk it.
    sys.setrecursionlimit(_RECURSION)
    try:
        header, body = _answer(request)
    except AnalyzerError as error:
        header, body = {"exit_code": error.exit_code, "message": error.message, "hint": error.hint}, b""
    except MemoryError:
        # There is no memory left to say so with.
        os._exit(LIMIT)
    try:
        with open(sys.stdout.fileno(), "wb", closefd=False) as out:
            out.write(json.dumps(header).encode() + b"\n")
            out.write(body)
    except OSError:
        # Past the limit on files, or the disk is full.
        os._exit(LIMIT)
    # DuckDB's binding prints a page about leaks when the interpreter is torn down.
    os._exit(0)


def _answer(request: Request) -> tuple[dict[str, object], bytes]:
    # What the program itself needs is loaded before memory is measured and limited.
    import polars  # noqa: F401 - an answer becomes a frame

    from analyzer.report import render_rows
    from analyzer.store.query.adhoc import load_classify, run

    load_classify(request.sql)
    show, remote = _opening(request.store)
    # The parsed tree and the database's own settings stand against writing, too: this holds if both fail.
    forbid_writing(connecting=remote)
    threads = min(os.cpu_count() or 1, THREADS)
    _limit(request, threads)
    settings = {
        "threads": str(threads),
        "memory_limit": f"{int(request.memory * _DATABASE_SHARE)}B",
        "temp_directory": "",
    }
    with contextlib.closing(show(settings)) as connection:
        answer = run(connection, request.sql, request.rows)
    text = render_rows(
        answer.frame, request.row_format, name="analyzer.sql/1", truncated=answer.truncated, width=request.width
    )
    body = text.encode("utf-8") if isinstance(text, str) else text
    return {"exit_code": 0, "rows": answer.frame.height, "truncated": answer.truncated}, body


def _opening(store: str) -> tuple[Callable[[dict[str, str]], duckdb.DuckDBPyConnection], bool]:
    """How to open a store with some settings, and whether its files are asked for over the network.

    Where the files of a lake are is looked up here: its library needs room and threads of its own.
    """
    if not store.startswith(LAKE):
        from analyzer.store.db.connection import connect

        return lambda settings: connect(store, read_only=True, settings=settings, closed=True), False
    from analyzer.lake.location import lake_of
    from analyzer.lake.store import connected, snapshot

    lake = lake_of(store)
    return partial(connected, snapshot(lake)), lake.remote


def _limit(request: Request, threads: int) -> None:
    """Limits of the kernel, which no SQL can lift."""
    import resource  # not there on Windows

    seconds = int(request.seconds) + _GRACE_SECONDS
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    limits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, request.memory),
        (resource.RLIMIT_NOFILE, _FILES_OF_LAKE if request.store.startswith(LAKE) else _OPEN_FILES),
        (resource.RLIMIT_CPU, seconds * threads),
    ]
    if sys.platform == "linux":
        # Elsewhere address space is no measure of memory, or cannot be limited at all.
        limits.append((resource.RLIMIT_AS, _address_space() + request.memory))
    for which, value in limits:
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def _address_space() -> int:
    """Bytes that this process has mapped."""
    import resource

    with open("/proc/self/statm", "rb") as handle:
        return int(handle.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main()
