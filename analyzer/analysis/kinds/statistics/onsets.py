"""Find the day, or the moment, at which a share most likely began to be higher."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple


class Onset(NamedTuple):
    """The first day of the second segment."""

    position: int
    """Index into the counts."""
    share: float
    """Share from that day on, smoothed."""
    gain: float
    """Gain in log-likelihood over no change; 0 without a rise."""


def onset(counts: Sequence[tuple[int, int]], before: float | None = None) -> Onset:
    """Return the day since which a share is higher, by two-segment likelihood (Hinkley 1970).

    `counts` are (unknown, all) by day, at least one day. `before` is the share of the first segment
    if a baseline gives it; else it is estimated from the days themselves.
    """
    total_k, total_n = (sum(column) for column in zip(*counts, strict=True))
    best = Onset(len(counts) - 1, (total_k + 0.5) / (total_n + 1), float("-inf"))
    left_k = left_n = 0
    for index, (k, n) in enumerate(counts):
        right_k, right_n = total_k - left_k, total_n - left_n
        after = (right_k + 0.5) / (right_n + 1)
        # The smoothing keeps every share off 0 and 1, where a log-likelihood has no value.
        first = before if before is not None else (left_k + 0.5) / (left_n + 1)
        if right_n and after > first:
            if before is not None:
                gain = _log_likelihood(right_k, right_n, after) - _log_likelihood(right_k, right_n, first)
            else:
                pooled = (total_k + 0.5) / (total_n + 1)
                gain = (
                    _log_likelihood(left_k, left_n, first)
                    + _log_likelihood(right_k, right_n, after)
                    - _log_likelihood(total_k, total_n, pooled)
                )
            if gain > best.gain:
                best = Onset(index, after, gain)
        left_k, left_n = left_k + k, left_n + n
    return best._replace(gain=max(0.0, best.gain))


def _log_likelihood(k: int, n: int, share: float) -> float:
    return k * log(share) + (n - k) * log(1 - share)
