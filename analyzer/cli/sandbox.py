"""Run ad-hoc SQL in a process of its own: the parent starts and bounds it, the child answers.

`answer` is the parent. It ends the child when that takes too much time, memory, or space for its
answer. It loads no database and holds no more than a chunk of the answer. In every case the child
is dead and reaped afterwards, and its answer is used whole or not at all.

`python -m analyzer.cli.sandbox` is the child. It reads a request from standard input, one JSON
object, and writes a line of JSON with its outcome and then the rendered answer to standard output.
It sets its limits before it touches the store or the query, and cannot lift them again. The database
opens no file once its store is open.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO, Any

from analyzer.errors import LIMIT, UNREADABLE, AnalyzerError, LimitError
from analyzer.frozen import frozen
from analyzer.interpreter import start

_KEPT = ("PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that an interpreter may need to start; tokens and proxies stay with the parent."""
_OWN = {
    "LC_ALL": "C.UTF-8",
    "PYTHONUTF8": "1",
    # Without these limits each reserves address space for every processor.
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
_LONGEST_HEADER = 1 << 20


@frozen
class Request:
    """A query and its limits."""

    store: str
    sql: str
    rows: int | None
    row_format: str
    width: int | None
    seconds: float
    """Seconds of the wall clock."""
    memory: int
    """Bytes of memory beyond those of the program itself.

    It is also the limit for the bytes of the answer.
    """


@frozen
class RenderedAnswer:
    """A rendered answer."""

    rows: int
    truncated: bool
    """True if the limit of rows cut some off."""
    content: IO[bytes]
    """The rendered answer, open at its beginning; closed with the context."""


@contextlib.contextmanager
def answer(request: Request) -> Iterator[RenderedAnswer]:
    """Run one reading statement over a store, and yield its answer.

    Raises:
        QueryError: it is more or less than one statement, does not only read, or the database refuses it.
        LimitError: it took more time, memory or space than the request allows.
        StoreError: the store cannot be opened; StoreBusyError: another process is writing to it.
    """
    # A nameless file, which no other user can open: unlike a pipe it cannot fill up, and the limit
    # on files bounds it.
    with tempfile.TemporaryFile() as content:
        code = _run(request, content)
        content.seek(0)
        header = _header(content.readline(_LONGEST_HEADER))
        if code != 0 or header is None:
            raise _error_of_exit(code, request)
        if header["exit_code"] != 0:
            raise _error_of_header(header, request)
        yield RenderedAnswer(header["rows"], header["truncated"], content)


def _run(request: Request, content: IO[bytes]) -> int:
    """Run the child, and return its exit code; negative for a signal."""
    process = start(
        "-m",
        "analyzer.cli.sandbox",
        environment={**{name: os.environ[name] for name in _KEPT if name in os.environ}, **_OWN},
        stdin=subprocess.PIPE,
        stdout=content,
        stderr=None if os.environ.get("ANALYZER_DEBUG") else subprocess.DEVNULL,
        close_fds=True,
        # Ctrl-C reaches only this process, which then kills the child.
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


def _header(line: bytes) -> dict[str, Any] | None:
    try:
        header = json.loads(line)
    except ValueError:
        return None
    return header if isinstance(header, dict) else None


def _error_of_header(header: dict[str, Any], request: Request) -> AnalyzerError:
    """Return the error that the child reports."""
    if header["exit_code"] == LIMIT:
        return _beyond_memory(header["message"], request)
    return AnalyzerError(header["message"], header["hint"], exit_code=header["exit_code"])


def _error_of_exit(code: int, request: Request) -> AnalyzerError:
    """Return the error for the exit code of a child that gave no answer."""
    if code in {-signal.SIGXCPU, -signal.SIGALRM}:
        return LimitError.of_time(request.seconds)
    if code == LIMIT:
        return _beyond_memory("the answer is too large", request)
    if code < 0:
        return _beyond_memory(
            f"the query crashed the database ({signal.Signals(-code).name}), or ran out of memory", request
        )
    return AnalyzerError(f"the query's process ended with {code}", "ANALYZER_DEBUG=1 shows why", exit_code=UNREADABLE)


def _beyond_memory(message: str, request: Request) -> LimitError:
    allowed = f"{request.memory / 1e6:,.0f} MB"
    return LimitError(f"{message} (limit: {allowed})", "ask for fewer rows, columns or groups; or allow more: --memory")


THREADS = 4
_GRACE_SECONDS = 2
"""The child ends by itself so many seconds after its limit, in case its parent has died."""
_OPEN_FILES = 64
_DATABASE_SHARE = 0.75
"""The database's share of the memory; the rest is for the frame and its text."""


def main() -> None:
    """Answer the request on standard input."""
    request = Request(**json.load(sys.stdin))
    try:
        header, body = _answer(request)
    except AnalyzerError as error:
        header, body = {"exit_code": error.exit_code, "message": error.message, "hint": error.hint}, b""
    except MemoryError:
        # No memory is left for a message.
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
    # The modules are loaded before memory is measured and limited.
    import polars  # noqa: F401 - an answer becomes a frame

    from analyzer.report import render_rows
    from analyzer.store.db.connection import connect
    from analyzer.store.query.adhoc import load_classify, run

    load_classify(request.sql)
    threads = min(os.cpu_count() or 1, THREADS)
    _limit(request, threads)
    settings = {
        "threads": str(threads),
        "memory_limit": f"{int(request.memory * _DATABASE_SHARE)}B",
        "temp_directory": "",
    }
    with contextlib.closing(connect(request.store, read_only=True, settings=settings, closed=True)) as connection:
        answer = run(connection, request.sql, request.rows)
    text = render_rows(
        answer.frame, request.row_format, name="analyzer.sql/1", truncated=answer.truncated, width=request.width
    )
    body = text.encode("utf-8") if isinstance(text, str) else text
    return {"exit_code": 0, "rows": answer.frame.height, "truncated": answer.truncated}, body


def _limit(request: Request, threads: int) -> None:
    """Set limits of the kernel, which no SQL can lift."""
    import resource  # not there on Windows

    seconds = int(request.seconds) + _GRACE_SECONDS
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    limits = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, request.memory),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CPU, seconds * threads),
    ]
    if sys.platform == "linux":
        # Elsewhere address space is no measure of memory, or cannot be limited at all.
        limits.append((resource.RLIMIT_AS, _address_space() + request.memory))
    for name, value in limits:
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


def _address_space() -> int:
    """Return the bytes that this process has mapped."""
    import resource

    with open("/proc/self/statm", "rb") as handle:
        return int(handle.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main()
