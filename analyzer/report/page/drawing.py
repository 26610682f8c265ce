"""A figure of `analysis.charts` is taken apart: its legend, its place in the page, the script that draws it there.

Invariant: what becomes an id or code is our own; data reaches the script as plotly's JSON alone, `<` and `>` escaped.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyzer.analysis import Overview, Table
from analyzer.report.sections.part import Part

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_FRAGMENT = re.compile(
    r'(<div id="[a-z0-9-]+" class="plotly-graph-div"[^>]*></div>)\s*<script[^>]*>(.*)</script>', re.DOTALL
)
_LEGEND_HEIGHT = 60
"""Pixels that a figure keeps for its legend."""
_SYMBOLS = {"diamond": "◆", "square": "■", "triangle-up": "▲", "star": "★", "cross": "✚", "hexagon": "⬢", "x": "✖"}
_PATTERNS = {
    "": "solid",
    "/": "rising",
    "\\": "falling",
    "x": "crossed",
    "-": "lying",
    "|": "standing",
    "+": "squared",
    ".": "dotted",
}
_CONFIG = {"displayModeBar": False, "responsive": True, "showTips": False, "doubleClick": False}


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend."""

    name: str
    colour: str
    """Hexadecimal, our own."""
    look: str
    """`line`, `dashes`, `band`, `symbol`, or the name of a pattern of a bar."""
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, taken apart."""

    title: str
    note: str
    """What is left out; empty where nothing is."""
    keys: tuple[Key, ...]
    """The legend."""
    height: int
    """Pixels."""
    place: str
    """The element that it is drawn into."""
    script: str
    """Without its tags."""


def figure_of(overview: Overview, part: Part) -> Figure:
    """The chart of a part."""
    from analyzer.analysis import charts

    if part.chart == "unknown_share_chart":
        return charts.unknown_share_chart(overview.spikes)
    if part.chart == "rules_chart":
        return charts.rules_chart(overview.drifts)
    table: Table = overview.tables[part.query]
    figure: Figure = getattr(charts, part.chart)(table)
    return figure


def draw(figure: Figure, name: str, height: int | None = None) -> Drawing:
    """The figure taken apart; `name` becomes the id of its element. `height` in pixels, its own where None."""
    title, note = str(figure.layout.title.text), str(figure.layout.title.subtitle.text or "")
    keys = tuple(_key(trace) for trace in figure.data if trace.showlegend is not False)
    height = height or int(figure.layout.height) - _LEGEND_HEIGHT
    # The page itself says title and legend above the chart, where they wrap on a phone.
    figure.update_layout(title=None, showlegend=False, height=height, margin={"t": 12})
    fragment = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config=_CONFIG)
    match = _FRAGMENT.search(fragment)
    assert match is not None, "plotly's fragment is an element and a script"
    return Drawing(title, note, keys, height, match[1], match[2])


def _key(trace: Any) -> Key:
    # Names are escaped for plotly; the page has its own escaping.
    name = html.unescape(str(trace.name))
    if trace.type == "bar":
        return Key(name, str(trace.marker.color), _PATTERNS[trace.marker.pattern.shape or ""])
    if trace.fill:
        return Key(name, str(trace.line.color), "band")
    if str(trace.mode).startswith("lines"):
        return Key(name, str(trace.line.color), "dashes" if trace.line.dash else "line")
    return Key(name, str(trace.marker.color), "symbol", _SYMBOLS[trace.marker.symbol])


def plotly_script() -> str:
    """The source of plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
