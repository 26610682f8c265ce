"""What one would write or install instead; all of them see the same distinct groups under the same rules as ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from statistics import fmean, stdev

import polars as pl

_HISTORY = 28
_COLUMNS = ("caller", "day", "groups", "unknown_groups_replayed")
_SCHEMA = {"day": pl.Date, "caller": pl.String, "finding": pl.String}


def _callers(counts: pl.DataFrame) -> Iterator[tuple[str, list[tuple]]]:
    for (caller,), rows in counts.sort("caller", "day").group_by(["caller"], maintain_order=True):
        yield str(caller), rows.select(_COLUMNS[1:]).rows()


def _found(rows: list[tuple]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def z_score(counts: pl.DataFrame, _templates: pl.DataFrame) -> pl.DataFrame:
    """The day's share is more than three standard deviations above the mean of the 28 days before."""
    found = []
    for caller, days in _callers(counts):
        shares = [unknown / groups for _, groups, unknown in days]
        for index in range(7, len(days)):
            before = shares[max(0, index - _HISTORY) : index]
            if shares[index] > fmean(before) + 3 * stdev(before):
                found.append((days[index][0], caller, "spike"))
    return _found(found)


def fixed_share(counts: pl.DataFrame, _templates: pl.DataFrame) -> pl.DataFrame:
    """The day's share is above fifteen per cent."""
    return _found(
        [
            (day, caller, "spike")
            for caller, days in _callers(counts)
            for day, groups, unknown in days
            if unknown > 0.15 * groups
        ]
    )


def adwin() -> Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]:
    """ADWIN of river with its defaults over groups, one at a time, in random order within a day; rises alone count.

    Raises ImportError where river is not installed.
    """
    from river.drift import ADWIN

    def detect(counts: pl.DataFrame, _templates: pl.DataFrame) -> pl.DataFrame:
        found = []
        for caller, days in _callers(counts):
            detector, random = ADWIN(), Random(caller)  # noqa: S311 - no secret
            for day, groups, unknown in days:
                stream = [1] * unknown + [0] * (groups - unknown)
                random.shuffle(stream)
                before, risen = detector.estimation, False
                for value in stream:
                    detector.update(value)
                    risen = risen or (detector.drift_detected and detector.estimation > before)
                if risen:
                    found.append((day, caller, "drift"))
        return _found(found)

    return detect
