"""How long to wait before the next try: exponential, capped, jittered.

Invariant: a pure function of the attempt and the random numbers that it is given.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from analyzer.errors import AnalyzerError


@dataclass(frozen=True, slots=True)
class Backoff:
    """`min(cap, base · factorⁿ) · (1 ± jitter)` seconds before the retry after attempt n, counted from 0.

    The jitter stands outside of the cap, so that those who reached the cap together do not come back together.
    """

    base_seconds: float = 0.1
    factor: float = 2.0
    cap_seconds: float = 30.0
    jitter: float = 0.2
    """Half the width of the band, as a share: 0.2 is ±20 %."""

    def __post_init__(self) -> None:
        sound = self.base_seconds >= 0 and self.factor >= 1 and self.cap_seconds >= 0 and 0 <= self.jitter <= 1
        if not sound:
            raise AnalyzerError(
                f"no such backoff: {self}", "base_seconds and cap_seconds from 0, factor from 1, jitter from 0 to 1."
            )

    def delay_seconds(self, attempt: int, rng: random.Random | None = None) -> float:
        """Seconds to wait after failed attempt `attempt`, 0-based."""
        try:
            delay = self.base_seconds * self.factor ** max(0, attempt)
        except OverflowError:
            delay = self.cap_seconds
        draw = (rng or random).uniform(-self.jitter, self.jitter)
        return min(self.cap_seconds, delay) * (1 + draw)
