"""The iteration budget: what retries may spend in all, so that a fix loop that never ends does not burn for ever.

Invariant: `remaining` = limit − consumed + refunded, never below zero and never above the limit.
"""

from __future__ import annotations

import threading

from analyzer.errors import AnalyzerError

DEFAULT_LIMIT = 50


class IterationBudgetExhaustedError(AnalyzerError):
    """No iteration is left for another retry."""

    def __init__(self, limit: int, consumed: int, refunded: int) -> None:
        super().__init__(
            f"the iteration budget of {limit} is used up: {consumed} consumed, {refunded} refunded",
            "The retries have become a cycle; look at what fails before you give them more.",
        )
        self.limit = limit
        self.consumed = consumed
        self.refunded = refunded

    def __reduce__(self) -> tuple[type[IterationBudgetExhaustedError], tuple[int, int, int]]:
        """Copies and pickles are made of the figures, not of the message."""
        return type(self), (self.limit, self.consumed, self.refunded)


class IterationBudget:
    """Iterations that the retries of one task share. Safe between threads; belongs to one process."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 0:
            raise AnalyzerError(f"no such iteration budget: {limit}", "Give a number from 0.")
        self.limit = limit
        self._consumed = 0
        self._refunded = 0
        self._lock = threading.Lock()

    @property
    def consumed(self) -> int:
        """Iterations taken so far."""
        return self._consumed

    @property
    def refunded(self) -> int:
        """Iterations given back so far."""
        return self._refunded

    @property
    def remaining(self) -> int:
        """Iterations that can still be taken."""
        return self.limit - self._consumed + self._refunded

    def consume(self, count: int = 1) -> int:
        """Take iterations before the work that they pay for; returns how many remain.

        Raises:
            IterationBudgetExhaustedError: fewer than `count` remain; nothing is taken.
        """
        with self._lock:
            if count > self.remaining:
                raise IterationBudgetExhaustedError(self.limit, self._consumed, self._refunded)
            self._consumed += count
            return self.remaining

    def refund(self, count: int = 1) -> int:
        """Gives iterations back, because a cache answered; the number that remains. No more than were taken."""
        with self._lock:
            self._refunded += min(count, self._consumed - self._refunded)
            return self.remaining
