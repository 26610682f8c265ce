"""The counts of the heat map of the page: errors by caller and reason, and how dark each cell is."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import polars as pl

from analyzer.analysis import Overview
from analyzer.classifier import REASONS
from analyzer.command_lines import Asking
from analyzer.report.sections.part import part_of

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

    command: str
    """What gives its numbers, as it is pasted into a shell."""
    reasons: tuple[str, ...]
    """Those that occur."""
    rows: tuple[Row, ...]
    """The callers with the most errors, at most `MAX_CALLERS`."""
    callers: int
    """All there are."""


def heat_map(overview: Overview, asking: Asking) -> HeatMap:
    """The map of an overview; reasons that no rule of today gives are counted together."""
    query = "errors-by-reason-caller-outcome"
    callers = overview.tables["errors-by-caller"].frame
    ranked = callers.select("caller", "errors").head(MAX_CALLERS)
    reason = pl.when(pl.col("reason").is_in(REASONS)).then("reason").otherwise(pl.lit(_OTHER)).alias("reason")
    cells = overview.tables[query].frame.select("caller", reason, "errors")
    occurring = set(cells["reason"].unique())
    reasons = tuple(name for name in (*REASONS, _OTHER) if name in occurring)
    shown = cells.filter(pl.col("caller").is_in(ranked["caller"].to_list()))
    shown = shown.group_by("caller", "reason").agg(pl.col("errors").sum())
    top = max(shown["errors"], default=0)
    counts = {(caller, name): errors for caller, name, errors in shown.iter_rows()}
    rows = tuple(
        Row(caller, tuple((found := counts.get((caller, name), 0), _shade(found, top)) for name in reasons), errors)
        for caller, errors in ranked.iter_rows()
    )
    return HeatMap(part_of(overview, query).asked(overview, asking).command, reasons, rows, len(callers))


def _shade(errors: int, top: int) -> int:
    # By the root: one loud caller must not leave all others white.
    return max(4, round(_DARKEST * sqrt(errors / top)))
