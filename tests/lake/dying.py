"""The analyzer's command line, killed by SIGKILL just before its n-th step on the storage: `python -m tests.lake.dying
N …`. With N of 0 it lives, and says on the last line of stderr how many steps there were."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from analyzer.cli import main
from analyzer.lake import log
from analyzer.lake.batch import LakeBatch

STEPS = ((LakeBatch, "_write"), (log.Swap, "_swap"), (log, "_follow"))
"""Whatever a process writes below a lake, but for the making of its tables."""


def counting(before: Callable[[int], None], patch: Callable[[Any, str, Any], None]) -> None:
    """Call a function before each step with its number, from 1 on; `patch` sets attributes."""
    count = 0
    for home, name in STEPS:
        found = getattr(home, name)

        def step(*given: Any, real: Any = found, **named: Any) -> Any:
            nonlocal count
            count += 1
            before(count)
            return real(*given, **named)

        patch(home, name, step)


if __name__ == "__main__":
    last = int(sys.argv.pop(1))
    counting(lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == last else None, setattr)
    main()
