"""A chart as a page has it: its legend, one SVG that is read aloud in sentences, and plotly's script.

What becomes an id or code is our own; data reaches the script as plotly's JSON alone, `<` and `>` escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from analyzer.analysis.charts.chart import Axis, Bars, Chart, Points, as_number
from analyzer.readable import counted, percent
from analyzer.report.page.axes import RIGHT, Frame, frame, number, scale_of
from analyzer.report.page.elements import Svg, element, pattern, swatch
from analyzer.report.page.marks import Stood, bars_of, drawn_bars, drawn_lines, drawn_note, drawn_upright

_ROOM = 1.06
"""The end of an axis that does not say where it ends, over the highest value."""


def picture(chart: Chart, name: str, height: int) -> Svg:
    """The chart, `height` pixels high and as wide as there is room; `name` begins the ids in it."""
    stood, lines = bars_of(chart), [mark for mark in chart.marks if isinstance(mark, Points)]
    drawn = _frame(chart, stood, lines, height)
    fills = [pattern(f"{name}-fill-{place}", series.style) for place, (series, _) in enumerate(stood)]
    parts: list[Svg] = [
        element("title", chart.title, id=f"{name}-title"),
        element("desc", " ".join(_sentences(chart)), id=f"{name}-desc"),
        element("defs", *(defined for _, defined in fills if defined)),
        drawn.grid(),
        *drawn_bars(drawn, stood, [fill for fill, _ in fills], name, lying=chart.lying),
        *drawn_lines(drawn, lines),
        *drawn.labels(),
        *(part for upright in chart.uprights for part in drawn_upright(drawn, upright)),
        *(part for note in chart.notes for part in drawn_note(drawn, note)),
    ]
    return element(
        "svg", *parts, id=name, class_="plot", role="img", aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc", height=height, style=f"--left:{drawn.left:.0f}px;--right:{RIGHT}px",
    )  # fmt: skip


def _frame(chart: Chart, stood: Stood, lines: Sequence[Points], height: int) -> Frame:
    along = [end for _, bars in stood for bar in bars for end in (bar.begin, bar.end)]
    if chart.lying:
        lengths = [end for _, bars in stood for bar in bars for end in (bar.top, *(bar.whisker or ()))]
        x_ends = (0.0, _ROOM * max(lengths, default=1.0) or 1.0)
    else:
        along += (as_number(at) for line in lines for at in line.at)
        x_ends = (min(along, default=0.0), max(along, default=1.0))
        if chart.x.from_zero:
            x_ends = (min(0.0, x_ends[0]), x_ends[1])
    names = tuple(dict.fromkeys(str(at) for series, _ in stood for at in series.at)) if chart.lying else ()
    scales = []
    for axis, lower in ((chart.y, False), (chart.lower, True)):
        if axis is not None:
            values = [bar.top for series, bars in stood if series.lower is lower for bar in bars]
            values += [value for line in lines if not lower for value in line.values if value is not None]
            ends = (min(0.0, *values, 0.0), (_ROOM * max(values, default=1.0)) or 1.0)
            scales.append(scale_of(axis, names, ends))
    return frame(scale_of(chart.x, (), x_ends), scales, height)


def _sentences(chart: Chart) -> Iterator[str]:
    """What is read aloud: each series with its range. The table of the numbers has the rest."""
    for mark in chart.keyed:
        found: Sequence[float | None] = mark.lengths if isinstance(mark, Bars) else mark.values
        if not (values := [value for value in found if value is not None]):
            continue
        form = _measure(chart, mark).form
        low, high = (percent(end) if form.endswith("%") else number(end, form) for end in (min(values), max(values)))
        span = low if low == high else f"{low} to {high}"
        where = ""
        if chart.x.kind == "date":
            begin, end = (f"{at:%Y-%m-%d}" if isinstance(at, date) else str(at) for at in (mark.at[0], mark.at[-1]))
            where = f", {begin}" if begin == end else f", {begin} to {end}"
        yield f"{mark.name}: {counted(len(values), 'point')}{where}, {span}."


def _measure(chart: Chart, mark: Bars | Points) -> Axis:
    """The axis that says how much there is of a mark."""
    if chart.lying:
        return chart.x
    return chart.lower if isinstance(mark, Bars) and mark.lower and chart.lower is not None else chart.y


_FRAGMENT = re.compile(
    r'(<div id="[a-z0-9-]+" class="plotly-graph-div"[^>]*></div>)\s*<script[^>]*>(.*)</script>', re.DOTALL
)
_LEGEND_HEIGHT = 60
"""Pixels that a figure keeps for its legend."""
_CONFIG = {"displayModeBar": False, "responsive": True, "showTips": False, "doubleClick": False}


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    swatch: Svg
    """A piece of what is drawn."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as a page shows it."""

    title: str
    note: str
    """What is left out; empty where nothing is."""
    keys: tuple[Key, ...]
    """The legend."""
    height: int
    """Pixels."""
    picture: Svg
    place: str = ""
    """The element that plotly draws into, where it does."""
    script: str = ""
    """Without its tags."""


def draw(chart: Chart, name: str, height: int | None = None, *, interactive: bool = False) -> Drawing:
    """The chart for a page; `name` becomes the id of its element. `height` in pixels, its own where None."""
    height = height or chart.height - _LEGEND_HEIGHT
    keys = tuple(Key(mark.name, swatch(mark, f"{name}-key-{place}")) for place, mark in enumerate(chart.keyed))
    drawing = Drawing(chart.title, chart.note, keys, height, picture(chart, name, height))
    return _interactive(drawing, chart, name) if interactive else drawing


def _interactive(drawing: Drawing, chart: Chart, name: str) -> Drawing:
    from analyzer.analysis.charts.figures import figure_of

    figure = figure_of(chart)
    # The page itself says title and legend above the chart, where they wrap on a phone.
    figure.update_layout(title=None, showlegend=False, height=drawing.height, margin={"t": 12})
    fragment = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=_CONFIG)
    match = _FRAGMENT.search(fragment)
    assert match is not None, "plotly's fragment is an element and a script"
    return replace(drawing, place=match[1], script=match[2])


def plotly_script() -> str:
    """The source of plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
