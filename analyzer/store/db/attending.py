"""Work of a database that somebody waits for: Ctrl-C and a limit of time end it, wherever it is.

Invariant: whoever is told of an end is told once nothing of it runs any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import duckdb

from analyzer.errors import LimitError

_T = TypeVar("_T")
_LISTENED_SECONDS = 0.1
_AGAIN_SECONDS = 0.05
"""An interrupt that comes between two statements is not heard."""


def attended(connection: duckdb.DuckDBPyConnection, work: Callable[[], _T], seconds: float | None = None) -> _T:
    """What `work` gives, done in a thread, because no signal is heard in the middle of one long call.

    Raises:
        LimitError: it takes longer than so many seconds.
        KeyboardInterrupt: somebody asked for its end.
        Exception: whatever `work` raises.
    """
    if seconds is None and threading.current_thread() is not threading.main_thread():
        return work()  # signals are heard in the main thread alone
    given: list[_T] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def run() -> None:
        try:
            given.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is waited for
            failed.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, name="attended", daemon=True)
    thread.start()
    deadline = None if seconds is None else time.monotonic() + seconds
    in_time = False
    try:
        # In small pieces: polars has a handler of its own behind which a long wait hears of no signal.
        while not in_time and (deadline is None or time.monotonic() < deadline):
            left = _LISTENED_SECONDS if deadline is None else max(deadline - time.monotonic(), 0)
            in_time = over.wait(min(left, _LISTENED_SECONDS))
    finally:
        while not in_time and not over.wait(_AGAIN_SECONDS):
            connection.interrupt()
        thread.join()
    if not in_time and seconds is not None:
        raise LimitError.of_time(seconds, "timeout=")
    if failed:
        raise failed[0]
    return given[0]
