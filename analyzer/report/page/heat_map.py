"""The counts of the heat map of the page: errors by caller and reason, and how dark each cell is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt

from analyzer.analysis import Overview
from analyzer.classifier import REASONS

MAX_CALLERS = 30
_DARKEST = 60
"""Percent of the shade's colour in the fullest cell."""
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class Row:
    """One caller."""

    caller: str
    cells: tuple[tuple[int, int], ...]
    """Errors by reason, in the order of the map's reasons, each with its shade: percent of the colour."""
    errors: int
    """All of them."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Errors by caller and reason; without rows where there is no error."""

    query: str
    """Its name in the catalogue."""
    reasons: tuple[str, ...]
    """Those that occur."""
    rows: tuple[Row, ...]
    """The callers with the most errors, at most `MAX_CALLERS`."""
    callers: int
    """All there are."""


def heat_map(overview: Overview) -> HeatMap:
    """The map of an overview; reasons that no rule of today gives are counted together."""
    query = "errors-by-reason-caller-outcome"
    cells: Counter[tuple[str, str]] = Counter()
    callers: Counter[str] = Counter()
    for row in overview.tables[query].frame.iter_rows(named=True):
        cells[row["caller"], row["reason"] if row["reason"] in REASONS else _OTHER] += row["errors"]
        callers[row["caller"]] += row["errors"]
    occurring = {reason for _, reason in cells}
    reasons = tuple(reason for reason in (*REASONS, _OTHER) if reason in occurring)
    top = max(cells.values(), default=0)
    ranked = sorted(callers.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple(
        Row(caller, tuple((cells[caller, reason], _shade(cells[caller, reason], top)) for reason in reasons), errors)
        for caller, errors in ranked[:MAX_CALLERS]
    )
    return HeatMap(query, reasons, rows, len(ranked))


def _shade(errors: int, top: int) -> int:
    # By the root: one loud caller must not leave all others white.
    return max(4, round(_DARKEST * sqrt(errors / top)))
