"""A push that is killed by SIGKILL just before its n-th write: `python -m tests.store.fleet.dying N STORE LOG TABLE`.

A write is a commit to the table, or what the store remembers of it; parts have ten events.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

from analyzer.store.fleet import ship
from analyzer.store.fleet.table import EventTable
from tests.store.fleet.machines import push

WRITES = itertools.count(1)


def kill_before(number: int, home: Any, name: str) -> None:
    """Replace a function that writes: the n-th write of all kills the process instead."""
    write = getattr(home, name)

    def counted(*given: Any) -> Any:
        if next(WRITES) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(*given)

    setattr(home, name, counted)


if __name__ == "__main__":
    ship.PART_EVENTS = 10
    kill_before(int(sys.argv[1]), EventTable, "append")
    kill_before(int(sys.argv[1]), ship, "_remember")
    push(Path(sys.argv[2]), Path(sys.argv[3]), to=sys.argv[4])
