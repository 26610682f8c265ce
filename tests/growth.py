"""Time as growth: whether work is linear in its size, and bounds of processor time whatever the load of a machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Size = TypeVar("Size")

_TRIES = 6
_FOURFOLD = 9.0
"""Four times the size takes four times as long where it is linear, sixteen times where it is quadratic."""
_LEAST_SECONDS = 0.002
"""What takes less is told from nothing by no clock."""


def assert_linear(work: Callable[[Size], object], small: Size, fourfold: Size) -> None:
    """Fail where work on four times as much takes more than nine times the processor time, in each of six tries."""
    best_small = best_large = float("inf")
    for _ in range(_TRIES):
        best_small = min(best_small, _seconds(lambda: work(small)))
        best_large = min(best_large, _seconds(lambda: work(fourfold)))
        if best_large < _FOURFOLD * max(best_small, _LEAST_SECONDS):
            return
    raise AssertionError(f"{best_small:.4f} s, and {best_large:.4f} s for four times as much")


def assert_takes(work: Callable[[], object], at_most: float, what: str = "it") -> None:
    """Fail where work takes more than so many seconds of this process's processors in each of six tries."""
    best = float("inf")
    for _ in range(_TRIES):
        best = min(best, _seconds(work))
        if best < at_most:
            return
    raise AssertionError(f"{what} takes {best:.3f} s where {at_most:.3f} s are allowed")


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
