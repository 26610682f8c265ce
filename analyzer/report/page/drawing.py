"""A chart in the parts that a page has of it: its legend, its picture, and the script that draws it again.

Invariant: what becomes an id or code is our own; data reaches the script as plotly's JSON alone, `<` and `>` escaped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from analyzer.analysis.charts import Chart
from analyzer.report.svg.element import Svg
from analyzer.report.svg.looks import swatch
from analyzer.report.svg.picture import picture

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
