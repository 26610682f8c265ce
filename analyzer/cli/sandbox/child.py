"""This side answers: it puts limits upon itself, then opens the store, runs the query and renders the rows.

Run as `python -m analyzer.cli.sandbox.child` by `sandbox`. A request stands on standard input as one JSON object; on
standard output go one line of JSON, how it went, and the rendered answer.

Invariant: nothing of the store or of the query is touched before the limits stand, and they cannot be lifted again.

The process gives up writing to files, for good, where the kernel has Landlock (Linux 5.13 and later).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from analyzer.cli.sandbox.parent import Request
from analyzer.command_lines import LAKE
from analyzer.errors import LIMIT, AnalyzerError

if TYPE_CHECKING:
    import duckdb


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
    from analyzer.lake.connection import connected, snapshot
    from analyzer.lake.location import lake_of

    lake = lake_of(store)
    return partial(connected, snapshot(lake)), lake.remote


def _limit(request: Request, threads: int) -> None:
    """Limits of the kernel, which no SQL can lift."""
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
    with open("/proc/self/statm", "rb") as handle:
        return int(handle.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    main()
