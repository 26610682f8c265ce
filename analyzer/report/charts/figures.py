"""The key figures of the page with their trends, and the heat map of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import polars as pl

from analyzer.analysis import Overview
from analyzer.analysis.kinds.sentences import LEAST_USD
from analyzer.analysis.summary.day_figures import LatestDay
from analyzer.analysis.summary.leading import failure_usd, whole_usd
from analyzer.classifier import REASONS
from analyzer.command_lines import Asking
from analyzer.readable import counted, percent
from analyzer.report.charts.elements import Svg, element, pixels
from analyzer.report.overview_words import ended_chains, sessions_words
from analyzer.report.rows import count
from analyzer.report.sections import part_of

WIDTH, HEIGHT = 120, 28
"""The size of the drawing in its own units; the page's style says how large they are."""
_EDGE = 3.0
"""The room for the dot at the end and half a stroke, in units."""
_MOST_TILES = 7
"""The number of tiles in one row of a wide window."""


def sparkline(values: Sequence[float | None], name: str, shown: Callable[[float], str] | None = None) -> Svg:
    """Draw values from left to right; empty without any value.

    None is a gap without data, never a zero. `name` says in our own words what the values are
    (`Errors of each of the last 14 days`); the sentence that is read aloud adds the first and the
    last value, the range, and the gaps. `shown` writes a value, by default as a count. The scale
    begins at zero, or at the lowest value if that is below zero.
    """
    shown = shown or (lambda value: count(round(value)))
    present = [value for value in values if value is not None]
    if not present:
        return Svg("")
    low, high = min(0.0, *present), max(0.0, *present)
    span = (high - low) or 1.0
    step = (WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    points = [
        None if value is None else (_EDGE + index * step, HEIGHT - _EDGE - (value - low) / span * (HEIGHT - 2 * _EDGE))
        for index, value in enumerate(values)
    ]
    words = f"{name}: from {shown(present[0])} to {shown(present[-1])}"
    words += f", between {shown(min(present))} and {shown(max(present))}"
    if missing := len(values) - len(present):
        words += f"; {counted(missing, 'gap')} without data"
    (x, y) = next(point for point in reversed(points) if point is not None)
    return element(
        "svg",
        element("title", f"{words}."),
        element("path", d=_path(points), class_="trend"),
        element("circle", cx=x, cy=y, r=2.5, class_="now"),
        class_="sparkline",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        preserveAspectRatio="xMaxYMid meet",
    )


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """Draw one stroke for each stretch without a gap; the round ends make a single value a dot."""
    steps: list[str] = []
    for index, point in enumerate(points):
        if point is None:
            continue
        is_first = index == 0 or points[index - 1] is None
        is_single = is_first and (index + 1 == len(points) or points[index + 1] is None)
        steps.append(f"{'M' if is_first else 'L'}{pixels(point[0])} {pixels(point[1])}{'h0' if is_single else ''}")
    return "".join(steps)


_NO_LINE = Svg("")


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure of the window."""

    anchor: str
    """The id of the section that it links to."""
    name: str
    figure: str
    more: str
    """The words below the figure, as the whole that it is a part of."""
    trend: str = ""
    """The compared days against the same days of the week before; empty without any to compare."""
    line: Svg = _NO_LINE
    """The sparkline of the last 14 days; empty if there is nothing to draw."""


def tiles(overview: Overview) -> list[Tile]:
    """Return the tiles of the key figures of the window."""
    totals, coverage, latest = overview.totals, overview.completeness, overview.latest
    recovered, ended = ended_chains(overview)
    still = sum(case.is_open for case in overview.cases)
    made = [
        Tile(
            "findings" if overview.cases else "latest",
            "Open findings",
            count(still),
            f"{count(len(overview.cases) - still)} resolved by now",
        ),
        Tile(
            "errors",
            "Errors",
            count(totals.errors),
            f"{counted(totals.callers, 'caller')}, {sessions_words(overview)}" if totals.errors else "",
            *_course(latest, "errors", "", "Errors a day"),
        ),
        *_cost_tile(overview),
    ]
    if totals.counted_errors:
        made.append(
            Tile(
                "unknown",
                "Unknown share",
                percent(totals.unknown_share),
                f"{count(totals.unknown_errors)} of {count(totals.counted_errors)} that count",
                *_course(latest, "unknown_errors", "counted_errors", "Unknown share a day"),
            )
        )
    if ended:
        made.append(
            Tile(
                "retries",
                "Retries recovered",
                percent(recovered / ended),
                f"{count(recovered)} of {counted(ended, 'retried call')} that ended",
                *_course(latest, "recovered_chains", "ended_chains", "Share of retries that recovered a day"),
            )
        )
    if totals.tool_failures:
        of = f"of {count(totals.tool_calls)}, " if totals.tool_calls else ""
        within = f"in {counted(totals.tool_sessions, 'session')}" if totals.tool_sessions else "in no named session"
        made.append(Tile("tools", "Failed tool calls", count(totals.tool_failures), f"{of}{within}"))
    if totals.relays or totals.exhaustions:
        made.append(
            Tile(
                "relays" if totals.relays else "exhaustions",
                "Handed off or compacted",
                count(totals.relays),
                f"usage limit reached {counted(totals.exhaustions, 'time')}" if totals.exhaustions else "",
                *_course(latest, "relays", "", "Hand-offs and compactions a day"),
            )
        )
    unreadable = f"{count(coverage.quarantined)} unreadable" if coverage.quarantined else "all of them readable"
    lines = Tile("completeness", "Lines read", count(coverage.lines - coverage.quarantined), unreadable)
    # A full row leaves this tile out, since the verdict says, too, how many lines were read.
    return [*made, lines] if len(made) < _MOST_TILES else made


def _cost_tile(overview: Overview) -> list[Tile]:
    """Return the tile of what failures cost, or if none did, of what all requests cost.

    None without a price.
    """
    usd, whole = failure_usd(overview.tables["cost-of-failure"]), whole_usd(overview.tables["cost-by-model"])
    if usd >= LEAST_USD:
        more = f"of ${whole:,.2f}, at list prices or as logged"
        return [Tile("cost", "Cost of failures", f"${usd:,.2f}", more)]
    more = "all requests, at list prices or as logged"
    return [Tile("cost", "Cost", f"${whole:,.2f}", more)] if whole >= LEAST_USD else []


def _course(latest: LatestDay | None, part: str, whole: str, name: str) -> tuple[str, Svg]:
    """Return the trend and the sparkline of a count, or of its share of a `whole`.

    `part` and `whole` are names of a day's figures; without a `whole` it is the count.
    """
    if latest is None:
        return "", _NO_LINE
    shown = percent if whole else None
    values = latest.course(part)
    if whole:
        pairs = zip(values, latest.course(whole), strict=True)
        values = [a / b if b and a is not None else None for a, b in pairs]
    # One day is no course.
    drawn = sum(value is not None for value in values) > 1
    line = sparkline(values, f"{name}, of the last 14 days", shown) if drawn else _NO_LINE
    (now, before), (all_now, all_before) = latest.weeks(part), latest.weeks(whole) if whole else (1, 1)
    if before is None or not all_now or not all_before:
        return "", line
    rate, rate_before = now / all_now, before / all_before
    words = (percent(rate), percent(rate_before)) if whole else (count(round(rate)), count(round(rate_before)))
    return _against(latest, *words, rate - rate_before), line


def _against(latest: LatestDay, now: str, before: str, change: float) -> str:
    days = "Last day" if latest.compared == 1 else f"Last {latest.compared} days"
    course = "as the week before" if now == before else f"{'up' if change > 0 else 'down'} from {before}"
    # Part of a week is no week.
    had = f" on {counted(latest.days_before, 'day')}" if latest.days_before < latest.compared else ""
    return f"{days}: {now}, {course}{had}"


MAX_CALLERS = 30
_DARKEST = 60
"""The percent of the shade's colour in the fullest cell."""
_OTHER = "other"


def heat_map(overview: Overview, asking: Asking) -> dict[str, Any]:
    """Return the heat map as its template takes it.

    `command` gives its numbers, `reasons` are those that occur, and `callers` is the number of all.
    `rows` are those of the callers with the most errors, with errors and shade (percent of the
    colour) by reason. Reasons that no rule of today gives are counted together.
    """
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
    rows = []
    for caller, errors in ranked.iter_rows():
        numbers = [counts.get((caller, name), 0) for name in reasons]
        rows.append(
            {"caller": caller, "cells": [(number, _shade(number, top)) for number in numbers], "errors": errors}
        )
    command = part_of(overview, query).with_command(overview, asking).command
    return {"command": command, "reasons": reasons, "rows": rows, "callers": len(callers)}


def _shade(errors: int, top: int) -> int:
    # The root keeps a single loud caller from leaving all others white.
    return max(4, round(_DARKEST * sqrt(errors / top)))
