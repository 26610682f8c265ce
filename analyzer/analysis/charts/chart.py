"""`Chart`: what a chart shows, as marks over scales and in words; and its colours.

Invariants: texts are plain, whatever a log put into them: each writer escapes them. Titles hold our own words alone.
What a chart leaves out stands in its note, and what colour says, a symbol, a dash or a pattern says too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, TypeAlias

import polars as pl

from analyzer.analysis.tables import Table
from analyzer.errors import AnalyzerError
from analyzer.readable import terminal_safe

AMBER, SKY, PLUM, GREEN, BLUE, OLIVE = "#e69f00", "#56b4e9", "#aa3377", "#009e73", "#0072b2", "#bbaa33"
SILVER, VERMILION, AZURE, ROSE, OCHRE = "#9aa1ab", "#d55e00", "#1a80c4", "#b8488a", "#b8860b"
GREY, SLATE, WATER = "#8a929e", "#5f6772", "#2f8fd0"
INK = "#78808c"
"""Of texts and marks that belong to no series, on both."""
GRID = "rgba(128,136,148,.25)"
MARK = "rgba(255,255,255,.75)"
"""Of the pattern on a bar."""
SHADE = "rgba(47,143,208,.22)"
"""Of a band of what was expected."""
HALO = "white"
"""Around a symbol."""
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
"""What a page puts for each colour of a series on dark paper. A notebook, which cannot tell, keeps the first."""


At: TypeAlias = date | float | str
"""A place along an axis: a day or a moment, a number, or the name of a category."""
Style: TypeAlias = tuple[str, str]
"""How a bar is filled: a colour, and the shape of a pattern that tells it apart without (empty: none)."""
Side: TypeAlias = Literal["left", "center", "right"]

MAX_DAYS = 366
DAY_MILLISECONDS = 86_400_000
OTHER = "other"
OTHER_STYLE = (SLATE, "")
LOWER_TOP, UPPER_BOTTOM = 0.28, 0.4
"""Where the lower of two plots ends and the upper one begins, as parts of the height."""
_LONGEST = 32
_EPOCH = datetime.fromisoformat("1970-01-01")


@dataclass(frozen=True, slots=True)
class Axis:
    """One scale, with the words and the form of its ticks."""

    title: str = ""
    kind: Literal["number", "date", "category"] = "number"
    form: str = ""
    """How its values read: a format of d3 (`,d`, `,~r`, `~s`, `.0%`), of dates one of strftime, with `%-d`."""
    ends: tuple[float, float] | None = None
    """Both ends, of dates in milliseconds since 1970; None: what is drawn says where it ends."""
    from_zero: bool = False
    most_ticks: int | None = None
    step: float | None = None
    """Between ticks, in the units of `ends`."""
    ticks: tuple[float, ...] = ()
    """All ticks, where they are chosen by hand."""
    grid: bool = True
    standoff: int = 0
    """Pixels between the words of a tick and the plot, beyond the usual ones."""


@dataclass(frozen=True, slots=True)
class Bars:
    """One series of bars: upright, or lying where the vertical axis has categories."""

    name: str
    style: Style
    at: tuple[At, ...]
    lengths: tuple[float, ...]
    tips: tuple[str, ...]
    """What each says under a pointer."""
    width: float = 0.0
    """Of upright ones, in units of the axis, of dates in milliseconds."""
    centred: bool = True
    """Whether a bar stands around its place, and not from it onwards."""
    lower: bool = False
    """Whether it stands in the lower of two plots."""
    intervals: tuple[tuple[float, float], ...] = ()
    """Both ends of the whisker of each."""


@dataclass(frozen=True, slots=True)
class Points:
    """One series of points: joined by a line, as marks, or both. A point without a value is a gap."""

    name: str
    colour: str
    at: tuple[At, ...]
    values: tuple[float | None, ...]
    tips: tuple[str, ...] = ()
    width: float = 0.0
    """Pixels of the line; 0: there are marks alone."""
    dash: Literal["", "dash", "dot"] = ""
    stepped: bool = False
    """Whether it changes half-way between two points."""
    size: float = 0.0
    """Pixels of the marks; 0: there is a line alone."""
    symbol: str = ""
    """What the marks are, with a halo; empty: dots."""
    texts: tuple[str, ...] = ()
    """What stands beside each mark."""
    floor: tuple[float, ...] = ()
    """Values down to which the area is shaded: a band, whose edges are lines."""
    faint: bool = False
    keyed: bool = True
    """Whether it has an entry in the legend, as all bars have."""
    group: str = ""
    """Series of one group come and go together in plotly."""
    opening: str = ""
    """What all tips begin with: the tip of the line where its points are too many to have some."""


Mark: TypeAlias = Bars | Points


@dataclass(frozen=True, slots=True)
class Note:
    """Words at a point of the upper plot."""

    text: str
    x: At
    y: At
    side: Side = "left"
    """Which side of the words is at the point."""
    up: int = 0
    """Pixels above the point, to which a stroke leads; 0: they stand beside it."""
    colour: str = INK
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Upright:
    """A vertical line through the upper plot, with words beside its top."""

    at: float
    """Of dates in milliseconds since 1970."""
    text: str
    left: bool
    """Whether the words stand on its left."""
    colour: str = INK
    width: float = 2.0
    dash: Literal["dash", "dot"] = "dot"


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart; `lower` is the vertical axis of a second plot below, over the same horizontal one."""

    title: str
    note: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    lower: Axis | None = None
    notes: tuple[Note, ...] = ()
    uprights: tuple[Upright, ...] = ()
    stacked: bool = True
    """Whether bars of one place stand on each other; else they stand side by side."""
    gap: float = 0.2
    """The share of a category that its lying bars leave empty."""
    height: int = 340
    """Pixels, with title and legend."""

    @property
    def keyed(self) -> tuple[Mark, ...]:
        """The series that the legend names."""
        return tuple(mark for mark in self.marks if isinstance(mark, Bars) or mark.keyed)

    @property
    def lying(self) -> bool:
        """Whether bars go to the right."""
        return self.y.kind == "category"


def rows_of(given: Table | pl.DataFrame, query: str, *columns: str) -> pl.DataFrame:
    """The rows of a report's table, or of what a store answers to the query.

    Raises:
        AnalyzerError: they lack a column that is drawn.
    """
    rows = given.frame if isinstance(given, Table) else given
    if missing := [name for name in columns if name not in rows.columns]:
        raise AnalyzerError(f"nothing to draw without {', '.join(missing)}", f'give store.query("{query}")')
    return rows


def short(text: object) -> str:
    """A text from a log on one line, with what hides in it as codes, and not too long."""
    flat = terminal_safe(" ".join(str(text).split()))
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"


def with_gaps(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rows by `day`, with a row of nothing behind each after which days have none: no line leads over them."""
    before: date | None = None
    for row in rows:
        if before is not None and (row["day"] - before).days > 1:
            yield {name: before + timedelta(days=1) if name == "day" else None for name in row}
        yield row
        before = row["day"]


def day_bars(counts: Mapping[date, int], name: str, style: Style, *, lower: bool = False) -> Bars:
    """Bars as wide as days; without a width a single day would be one hair or one wall."""
    days = tuple(sorted(counts))
    numbers = tuple(counts[day] for day in days)
    tips = tuple(f"{day}: {number:,} {name}" for day, number in zip(days, numbers, strict=True))
    return Bars(name, style, days, numbers, tips, width=DAY_MILLISECONDS * 0.8, lower=lower)


def counts(title: str) -> Axis:
    """A vertical axis of whole numbers."""
    return Axis(title, form=",d", from_zero=True)


def day_axis(days: Sequence[date]) -> Axis:
    """An axis of whole days: half a day of room at both ends, and ticks at midnights alone."""
    if not days:
        return Axis("day")
    first, last = min(days), max(days)
    span = (last - first).days
    room = max(0.6, (7 - span) / 2)
    ends = milliseconds(first, -room), milliseconds(last, room)
    # Four dates at most stand upright side by side on a phone.
    step = DAY_MILLISECONDS * (1 if span < 4 else 2) if span < 8 else None
    return Axis("day", "date", "%-d %b\n%Y", ends, step=step, most_ticks=None if step else 6, grid=False)


def milliseconds(day: date, days: float = 0) -> float:
    """The moment so many days after a day begins, in Unix milliseconds: any date, and no time zone."""
    return (day.toordinal() - _EPOCH.toordinal() + days) * DAY_MILLISECONDS


def as_number(at: At) -> float:
    """A number, or a day or a moment in Unix milliseconds."""
    if isinstance(at, datetime):
        return (at - _EPOCH) / timedelta(milliseconds=1)
    return milliseconds(at) if isinstance(at, date) else float(at)
