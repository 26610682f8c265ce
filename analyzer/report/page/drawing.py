"""A figure of `analysis.charts` is taken apart: its legend, its picture, and the script that draws it again.

Invariant: what becomes an id or code is our own; data reaches the script as plotly's JSON alone, `<` and `>` escaped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyzer.analysis import Overview, Table
from analyzer.report.sections.part import Part
from analyzer.report.svg.element import Svg
from analyzer.report.svg.figure import picture
from analyzer.report.svg.formats import plain
from analyzer.report.svg.looks import swatch

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
    """A chart, taken apart."""

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


def figure_of(overview: Overview, part: Part) -> Figure:
    """The chart of a part."""
    from analyzer.analysis import charts

    if part.chart == "rules_chart":
        return charts.rules_chart(overview.drifts)
    table: Table = overview.tables[part.query]
    figure: Figure = getattr(charts, part.chart)(table)
    return figure


def draw(figure: Figure, name: str, height: int | None = None, *, interactive: bool = False) -> Drawing:
    """The figure taken apart; `name` becomes the id of its element. `height` in pixels, its own where None.

    Raises:
        AnalyzerError: it has something that `report.svg` does not draw.
    """
    title, note = str(figure.layout.title.text), str(figure.layout.title.subtitle.text or "")
    height = height or int(figure.layout.height) - _LEGEND_HEIGHT
    shown = [trace.to_plotly_json() for trace in figure.data if trace.showlegend is not False]
    # Names are escaped for plotly; the page has its own escaping.
    keys = tuple(
        Key(plain(str(trace["name"])), swatch(trace, f"{name}-key-{place}")) for place, trace in enumerate(shown)
    )
    drawing = Drawing(title, note, keys, height, picture(figure, name, height))
    return _interactive(drawing, figure, name) if interactive else drawing


def _interactive(drawing: Drawing, figure: Figure, name: str) -> Drawing:
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
