"""Work that ends by SIGKILL before its n-th moment, for n = 1, 2, ... until it gets through.

A moment is a statement of the database, or a change of the file system's names. The process that dies is forked from
one that has everything loaded and nothing open, as a start of its own costs more than the work.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, Self

from analyzer.store.db.engine import duckdb
from tests import LONG_RUNS, REPOSITORY

EVERY = 30
"""Each so manieth statement is a moment, in long runs each one; what makes others last always is one."""
STEP = 3
"""Each so manieth moment is met, in long runs each one."""
TURNING = ("commit", "checkpoint")
PRELUDE = "from analyzer.store import open_store, rebuild\n"


class Victims:
    """Runs work that is killed. Use as a context manager."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.store.killing"]
        self._process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def killed(self, work: str, at: int, every: int = EVERY) -> bool:
        """Whether the work met its n-th moment, counted from its call of `arm()`, and died there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([work, at, 1 if LONG_RUNS > 1 else every]) + "\n")
        self._process.stdin.flush()
        code, said = json.loads(self._process.stdout.readline())
        assert code in (0, -signal.SIGKILL), said
        return bool(code)

    def killed_at_each_moment(self, work: str, check: Callable[[int], None], every: int = EVERY) -> int:
        """Run the work again and again, some moments further each time, and a check after each; how many there were."""
        for at in range(1, 1_000, 1 if LONG_RUNS > 1 else STEP):
            killed = self.killed(work, at, every)
            check(at)
            if not killed:
                return at - 1
        raise AssertionError("it never ends")


class _Clock:
    """Counts moments, and stops at the one that it was set to."""

    def __init__(self, left: int, every: int) -> None:
        self.left, self.armed, self._statements, self._every = left, False, 0, every

    def arm(self) -> None:
        """Count from here."""
        self.armed = True

    def statement(self, sql: str) -> None:
        """A statement is about to be executed."""
        # Comments of columns are half of what makes a store, and change nothing that another process could see.
        if sql.startswith("comment on ") and LONG_RUNS == 1:
            return
        self._statements += self.armed
        if sql.lstrip().startswith(TURNING) or self._statements % self._every == 0:
            self.moment()

    def moment(self) -> None:
        """Die, or go on."""
        self.left -= self.armed
        if self.armed and not self.left:
            os.kill(os.getpid(), signal.SIGKILL)


class _Counting:
    """A connection whose statements are moments."""

    def __init__(self, real: duckdb.DuckDBPyConnection, clock: _Clock) -> None:
        self._real, self._clock = real, clock

    def execute(self, sql: str, *rest: Any) -> Any:
        self._clock.statement(sql)
        return self._real.execute(sql, *rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._real.close()


_kept: list[object] = []


def _live(work: str, at: int, every: int) -> dict[str, Any]:
    """The work, in the child; whatever it has not closed is still open in what comes back."""
    clock = _Clock(at, every)
    connect: Any = duckdb.connect
    duckdb.connect = lambda *a, **k: _Counting(connect(*a, **k), clock)  # type: ignore[assignment]
    for name in ("replace", "unlink", "fsync"):
        setattr(os, name, _counted(getattr(os, name), clock))
    names: dict[str, Any] = {"arm": clock.arm}
    exec(PRELUDE + work, names)
    return names


def _counted(real: Callable[..., Any], clock: _Clock) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        clock.moment()
        return real(*arguments, **named)

    return call


def _requests() -> Iterator[tuple[str, int, int]]:
    for line in sys.stdin:
        work, at, every = json.loads(line)
        yield work, at, every


def main() -> None:
    """Fork, wait, tell; one line a request."""
    import analyzer.store  # noqa: F401 - loaded once, for all children

    for request in _requests():
        told, tell = os.pipe()
        child = os.fork()
        if not child:
            code = 0
            try:
                _kept.append(_live(*request))
            except BaseException:
                code = 1
                os.write(tell, traceback.format_exc()[-2_000:].encode())
            os._exit(code)
        os.close(tell)
        with os.fdopen(told, "rb") as said:
            text = said.read().decode()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, text]), flush=True)


if __name__ == "__main__":
    main()
