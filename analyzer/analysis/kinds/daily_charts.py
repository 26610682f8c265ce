"""Charts of findings by day: above what a finding is about, below what it rests on, with the onset marked in both."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

import polars as pl

from analyzer.analysis.charts.chart import (
    SILVER,
    SLATE,
    VERMILION,
    WATER,
    Axis,
    Bars,
    Chart,
    Mark,
    Points,
    Upright,
    as_number,
    day_axis,
    day_bars,
    milliseconds,
    with_gaps,
)
from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding import Charted, Finding
from analyzer.analysis.periods import BASELINE_DAYS
from analyzer.readable import percent

LINE = VERMILION
HOUR_MILLISECONDS = 3_600_000
EXPECTED = WATER
MARKED = (LINE, "/")
USUAL = (SILVER, "")
OTHER = (SLATE, "\\")
DAY = {"day": "day in the time zone of the window"}
SINCE_BASELINE = f"From {BASELINE_DAYS} days before the onset on."


def bars(rows: pl.DataFrame, column: str, name: str, style: tuple[str, str], *, lower: bool = False) -> Bars:
    """Draw a column of counts by `day`, in the upper or the lower plot."""
    return day_bars(dict(rows.select("day", column).iter_rows()), name, style, lower=lower)


def share_line(rows: pl.DataFrame, name: str, unit: str) -> Points:
    """Draw a line of shares.

    `rows` has four columns: the day, the share, and the part and the whole of it, counted in `unit`.
    """
    drawn = [tuple(row.values()) for row in with_gaps(rows.iter_rows(named=True))]
    days, shares, *_ = zip(*drawn, strict=True)
    tips = tuple("" if share is None else f"{day}: {part:,} of {whole:,} {unit}" for day, share, part, whole in drawn)
    return Points(name, LINE, days, shares, tips, width=2.5, size=6)


def dashes(name: str, days: Iterable[date], values: Iterable[float], *, stepped: bool = False) -> Points:
    """Draw what was expected as a dashed line."""
    return Points(name, EXPECTED, tuple(days), tuple(values), width=1.5, dash="dash", stepped=stepped)


def band(
    name: str, days: Iterable[date], low: Iterable[float], high: Iterable[float], *, stepped: bool = False
) -> Points:
    """Draw the area between two lines, with dots along its ends: a shade is faint in print."""
    values, floor = tuple(high), tuple(low)
    return Points(name, EXPECTED, tuple(days), values, width=1, dash="dot", floor=floor, stepped=stepped)


def share_band(case: Charted, middle: float | None, name: str, *, of_days: bool = False) -> list[Points]:
    """Draw a dashed line at `middle`, a share named `name`, and the interval of the latest day.

    `of_days`: the band is where 39 of 40 days lie, from nothing on, and no interval of the share.
    """
    if middle is None:
        return []
    latest, shown = case.finding.latest, _shown(case)
    days = min(shown) - timedelta(days=1), max(shown) + timedelta(days=1)
    line = dashes(f"{name}: {percent(middle)}", days, (middle, middle))
    if latest.low is None or latest.high is None:
        return [line]
    text = f"normal range: {percent(latest.low)} to {percent(latest.high)}"
    if of_days:
        text = f"normal range, up to {percent(latest.high)}"
    return [line, band(text, days, [latest.low] * 2, [latest.high] * 2)]


def _shown(case: Charted) -> list[date]:
    """Return the days that a chart stretches over.

    Its last one is the last day of all, whether or not the finding shows on it.
    """
    return [*case.numbers["day"], case.finding.onset, case.last]


def panels(
    case: Charted, title: str, marks: Iterable[Mark], upper: Axis, lower: str, *, note: str = "", marked: str = "onset"
) -> Chart:
    """Build the chart with its frame.

    `lower` names the lower axis, and the onset, called `marked`, is a vertical line.
    """
    shown, onset = _shown(case), case.finding.onset
    late = (onset - min(shown)).days > (max(shown) - min(shown)).days / 2
    below = Axis(lower, form=",d", from_zero=True, most_ticks=4)
    upright = Upright(milliseconds(onset, -0.5), f"{marked} {onset}", left=late)
    return Chart(title, note, day_axis(shown), upper, tuple(marks), below, uprights=(upright,), height=400)


def counts_chart(
    case: Charted,
    title: str,
    upper: tuple[str, str, str],
    lower: tuple[str, str, str],
    *,
    rows: pl.DataFrame | None = None,
    note: str = "",
    marked: str = "onset",
) -> Chart:
    """Draw a column of counts by day, and below it the one that it rests on.

    `upper` and `lower` name the column, its bars in the legend, and its axis. `rows` are those of the
    finding, if they are not to be others.
    """
    drawn = case.numbers if rows is None else rows
    (column, name, axis), (column_below, name_below, axis_below) = upper, lower
    marks = (bars(drawn, column, name, MARKED), bars(drawn, column_below, name_below, USUAL, lower=True))
    highest = max(drawn[column], default=0)
    return panels(case, title, marks, counts_axis(axis, highest), axis_below, note=note, marked=marked)


def hours_chart(rows: pl.DataFrame, name: str, below: str) -> Chart:
    """Draw counts by hour, those of the incident marked, and below them what they rest on.

    `rows` has the columns `at` (an hour of the finding's zone), `errors`, `sessions`, `inside` and `normal`.
    """
    hour = timedelta(hours=1)
    begin, end, normal = rows["at"].min(), rows["at"].max(), float(rows["normal"][0])
    assert isinstance(begin, datetime) and isinstance(end, datetime), "an incident has hours"

    def series(kept: pl.DataFrame, column: str, text: str, style: tuple[str, str], *, lower: bool = False) -> Bars:
        hours, counts = tuple(kept["at"]), tuple(kept[column])
        tips = tuple(f"{at:%H:%M}: {count:,} {text}" for at, count in zip(hours, counts, strict=True))
        return Bars(text, style, hours, counts, tips, width=0.85 * HOUR_MILLISECONDS, centred=False, lower=lower)

    marks = (
        dashes(f"normal: {normal:,.1f} an hour", (begin, end + hour), (normal, normal)),
        series(rows.filter("inside"), "errors", name, MARKED),
        series(rows.filter(~pl.col("inside")), "errors", "before and after", OTHER),
        series(rows, "sessions", below, USUAL, lower=True),
    )
    ends = as_number(begin), as_number(end + hour)
    return Chart(
        "By the hour",
        "",
        Axis("hour", "date", "%H:%M\n%-d %b", ends, grid=False),
        counts_axis(name, float(max(rows["errors"]))),
        marks,
        Axis("sessions", form=",d", from_zero=True, most_ticks=4),
        height=400,
    )


def counts_axis(title: str, highest: float) -> Axis:
    """Build an upper axis of counts, with room for the onset's date above the highest."""
    return Axis(title, form=",~r", ends=(0, 1.25 * max(1.0, highest)), most_ticks=5)


def shares_axis(title: str, highest: float) -> Axis:
    """Build an upper axis of shares, 0..1, with room for the onset's date."""
    return Axis(title, form=".0%", ends=(0, min(1.12, 1.25 * max(0.1, highest))), most_ticks=5)


def counted_beside_expected(latest: Detection, what: str, form: str) -> str:
    """Say a count and what was expected of it; empty if nothing was."""
    if latest.observed is None or latest.expected is None or latest.high is None:
        return ""
    return (
        f"{latest.observed:,.0f} {what} up to {latest.day}. "
        f"Normal: {latest.expected:{form}}, rarely more than {latest.high:,.0f}."
    )


def of_caller_around(days: pl.DataFrame, finding: Finding, last: date) -> pl.DataFrame:
    """Select the rows of a caller from the baseline of the onset to the last day."""
    return days.filter((pl.col("caller") == finding.scope.caller) & around(finding, last))


def around(finding: Finding, last: date) -> pl.Expr:
    """Select the days between the beginning of the onset's baseline and the last day."""
    return pl.col("day").is_between(finding.onset - timedelta(days=BASELINE_DAYS), last)


def sums_by_day(days: Iterable[pl.DataFrame], **sums: tuple[pl.DataFrame, str]) -> pl.DataFrame:
    """Sum columns of frames by day, 0 where a frame has no row.

    `days` are frames with the days of the result, `sums` the frame and its column by name.
    """
    rows = pl.concat([frame.select("day") for frame in days]).unique()
    for name, (frame, column) in sums.items():
        daily = frame.group_by("day").agg(pl.col(column).sum().alias(name))
        rows = rows.join(daily, on="day", how="left").with_columns(pl.col(name).fill_null(0))
    return rows.sort("day")
