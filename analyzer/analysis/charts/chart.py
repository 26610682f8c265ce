"""Define `Chart`: marks over scales, with words; and its colours.

Invariants: texts are plain and may hold anything that a log has: each writer escapes them. Titles
hold only our own words. The note says what a chart leaves out, and a symbol, a dash or a pattern
repeats what a colour says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeAlias

import polars as pl

from analyzer.analysis.tables import Table
from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen
from analyzer.readable import cut, terminal_safe

AMBER, SKY, PLUM, GREEN, BLUE, OLIVE = "#e69f00", "#56b4e9", "#aa3377", "#009e73", "#0072b2", "#bbaa33"
SILVER, VERMILION, AZURE, ROSE, OCHRE = "#9aa1ab", "#d55e00", "#1a80c4", "#b8488a", "#b8860b"
GREY, SLATE, WATER = "#8a929e", "#5f6772", "#2f8fd0"
INK = "#78808c"
"""Colour of texts and marks that belong to no series, on light and dark paper."""
GRID = "rgba(128,136,148,.25)"
MARK = "rgba(255,255,255,.75)"
"""Colour of the pattern on a bar."""
SHADE = "rgba(47,143,208,.22)"
"""Colour of the band of expected values."""
HALO = "white"
"""Colour of the edge around a symbol."""
DARK = {
    AMBER: "#e69f00",
    SKY: "#56b4e9",
    PLUM: "#d175a8",
    GREEN: "#1fb38a",
    BLUE: "#4a9fd8",
    OLIVE: "#c9ba4d",
    SILVER: "#9aa1ab",
    VERMILION: "#f07f2e",
    AZURE: "#5aaae3",
    ROSE: "#d977b0",
    OCHRE: "#d3a02a",
    GREY: "#8a929e",
    SLATE: "#7d8693",
    WATER: "#5aaae3",
}
"""The colours of series on dark paper. A notebook, which cannot tell light from dark, keeps the
light ones."""


At: TypeAlias = date | float | str
"""A position along an axis: a day or a moment, a number, or the name of a category."""
Style: TypeAlias = tuple[str, str]
"""The fill of a bar: a colour, and the shape of a pattern that tells it apart without colour
(empty: none)."""
Side: TypeAlias = Literal["left", "center", "right"]

MAX_DAYS = 366
MAX_DAILY = 120
"""The most days that are bars of their own; more are summed by week."""
DAY_MILLISECONDS = 86_400_000
OTHER = "other"
OTHER_STYLE = (SLATE, "")
LOWER_TOP, UPPER_BOTTOM = 0.28, 0.4
"""Top of the lower and bottom of the upper of two plots, as parts of the height."""
_LONGEST = 32
_EPOCH = datetime.fromisoformat("1970-01-01")


@frozen
class Axis:
    """A scale, with its title and the format of its ticks."""

    title: str = ""
    kind: Literal["number", "date", "category"] = "number"
    form: str = ""
    """Format of its values: of d3 (`,d`, `,~r`, `~s`, `.0%`), for dates of strftime, with `%-d`."""
    ends: tuple[float, float] | None = None
    """Both ends, of dates in milliseconds since 1970; None: the drawn values decide."""
    from_zero: bool = False
    most_ticks: int | None = None
    step: float | None = None
    """Distance between ticks, in the units of `ends`."""
    ticks: tuple[float, ...] = ()
    """All ticks, if they are chosen by hand."""
    grid: bool = True
    standoff: int = 0
    """Additional pixels between the text of a tick and the plot."""


@frozen
class Bars:
    """A series of bars: vertical, or horizontal if the vertical axis has categories."""

    name: str
    style: Style
    at: tuple[At, ...]
    lengths: tuple[float, ...]
    tips: tuple[str, ...]
    """The hover text of each bar."""
    width: float = 0.0
    """Width of vertical bars in units of the axis, of dates in milliseconds; 0: the default."""
    centred: bool = True
    """True if a bar is centred on its position; else it begins there."""
    lower: bool = False
    """True if it is in the lower of two plots."""
    intervals: tuple[tuple[float, float], ...] = ()
    """Both ends of each bar's whisker."""


@frozen
class Points:
    """A series of points: joined by a line, as marks, or both. A point without a value is a gap."""

    name: str
    colour: str
    at: tuple[At, ...]
    values: tuple[float | None, ...]
    tips: tuple[str, ...] = ()
    width: float = 0.0
    """Width of the line in pixels; 0: only marks."""
    dash: Literal["", "dash", "dot"] = ""
    stepped: bool = False
    """True if the line changes its value half-way between two points."""
    size: float = 0.0
    """Size of the marks in pixels; 0: only a line."""
    symbol: str = ""
    """Shape of the marks, with a halo; empty: dots."""
    texts: tuple[str, ...] = ()
    """The text beside each mark."""
    floor: tuple[float, ...] = ()
    """Values down to which the area is shaded; its edges are lines."""
    faint: bool = False
    keyed: bool = True
    """True if it has an entry in the legend, as all bars have."""
    group: str = ""
    """Series of one group are shown and hidden together in plotly."""
    opening: str = ""
    """The common beginning of its tips; the tip of the line if it has too many points for tips."""


Mark: TypeAlias = Bars | Points


@frozen
class Note:
    """A text at a point of the upper plot."""

    text: str
    x: At
    y: At
    side: Side = "left"
    """The side of the text that is at the point."""
    up: int = 0
    """Pixels above the point, joined to it by a line; 0: the text is beside the point."""
    colour: str = INK
    strong: bool = False


@frozen
class Upright:
    """A vertical line through the upper plot, with a text beside its top."""

    at: float
    """Position on the axis, of dates in milliseconds since 1970."""
    text: str
    left: bool
    """True if the text is on its left."""
    colour: str = INK
    width: float = 2.0
    dash: Literal["dash", "dot"] = "dot"


@frozen
class Chart:
    """A chart; `lower` is the vertical axis of a second plot below, on the same horizontal one."""

    title: str
    note: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    lower: Axis | None = None
    notes: tuple[Note, ...] = ()
    uprights: tuple[Upright, ...] = ()
    stacked: bool = True
    """True if bars of one position are stacked; else they are side by side."""
    gap: float = 0.2
    """The part of a category that its horizontal bars leave empty."""
    height: int = 340
    """Height in pixels, with title and legend."""

    @property
    def keyed(self) -> tuple[Mark, ...]:
        """Return the series with an entry in the legend."""
        return tuple(mark for mark in self.marks if isinstance(mark, Bars) or mark.keyed)

    @property
    def lying(self) -> bool:
        """Return whether bars are horizontal."""
        return self.y.kind == "category"


def rows_of(source: Table | pl.DataFrame, query: str, *columns: str) -> pl.DataFrame:
    """Return the rows of a report's table, or of a frame that a store returned for the query.

    Raises:
        AnalyzerError: the rows lack one of the columns.
    """
    rows = source.frame if isinstance(source, Table) else source
    if missing := [name for name in columns if name not in rows.columns]:
        raise AnalyzerError(f"nothing to draw without {', '.join(missing)}", f'give store.query("{query}")')
    return rows


def short(text: object) -> str:
    """Shorten a text from a log to one line, with invisible characters as codes."""
    return cut(terminal_safe(" ".join(str(text).split())), _LONGEST)


def with_gaps(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows by `day`, with a row of nulls before missing days, so that lines have gaps."""
    before: date | None = None
    for row in rows:
        if before is not None and (row["day"] - before).days > 1:
            yield {name: before + timedelta(days=1) if name == "day" else None for name in row}
        yield row
        before = row["day"]


def day_bars(counts: Mapping[date, int], name: str, style: Style, *, lower: bool = False, weekly: bool = False) -> Bars:
    """Return bars as wide as days: by default a single day would be very thin or very wide.

    If they are `weekly`, the days of each week from Monday on are one bar.
    """
    sums: Counter[date] = Counter()
    for day, number in counts.items():
        sums[day - timedelta(days=day.weekday()) if weekly else day] += number
    days = tuple(sorted(sums))
    tips = tuple(f"{'week of ' if weekly else ''}{day}: {sums[day]:,} {name}" for day in days)
    at = tuple(day + timedelta(days=3) for day in days) if weekly else days
    width = DAY_MILLISECONDS * 0.8 * (7 if weekly else 1)
    return Bars(name, style, at, tuple(sums[day] for day in days), tips, width=width, lower=lower)


def counts(title: str) -> Axis:
    """Return a vertical axis of whole numbers."""
    return Axis(title, form=",d", from_zero=True)


def day_axis(days: Sequence[date]) -> Axis:
    """Return an axis of whole days, with room at both ends and ticks only at midnights."""
    if not days:
        return Axis("day")
    first, last = min(days), max(days)
    span = (last - first).days
    room = max(0.6, (7 - span) / 2)
    ends = milliseconds(first, -room), milliseconds(last, room)
    # At most four horizontal dates fit side by side on a phone.
    step = DAY_MILLISECONDS * (1 if span < 4 else 2) if span < 8 else None
    return Axis("day", "date", "%-d %b\n%Y", ends, step=step, most_ticks=None if step else 6, grid=False)


def milliseconds(day: date, days: float = 0) -> float:
    """Return the Unix milliseconds `days` after the start of a day, without a time zone."""
    return (day.toordinal() - _EPOCH.toordinal() + days) * DAY_MILLISECONDS


def as_number(at: At) -> float:
    """Return a number as it is, and a day or a moment in Unix milliseconds."""
    if isinstance(at, datetime):
        return (at - _EPOCH) / timedelta(milliseconds=1)
    return milliseconds(at) if isinstance(at, date) else float(at)


def round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 and their tenfolds that is at least `least`."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(step * size for step in (1.0, 2.0, 5.0, 10.0) if step * size >= least * (1 - 1e-9))
