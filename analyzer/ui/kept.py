"""Keep what was made of a store until the store changes."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from analyzer.store import Store

MAX_ANSWERS = 32
_T = TypeVar("_T")


class Kept:
    """The answers to the latest questions, for one store; its callers take turns."""

    def __init__(self) -> None:
        self._answers: OrderedDict[object, tuple[object, float, object]] = OrderedDict()

    def of(self, store: Store, question: object, make: Callable[[], _T], seconds: float = float("inf")) -> _T:
        """Return the answer to a question, which `make` gives unless it is there and at most so many seconds old."""
        status, now = os.stat(store.path), time.monotonic()
        version = status.st_mtime_ns, status.st_size
        former = self._answers.pop(question, None)
        if former is None or former[0] != version or now - former[1] > seconds:
            former = version, now, make()
        self._answers[question] = former
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
        return former[2]  # type: ignore[return-value]  # of the same question
