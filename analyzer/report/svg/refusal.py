"""What the drawing of figures does not know, it refuses: a chart that shows half of its figure would not be honest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.errors import AnalyzerError

_AXIS = (
    "anchor automargin autorange domain dtick fixedrange gridcolor nticks range rangemode showgrid tickangle "
    "tickformat ticklabelstandoff tickvals title.font.size title.standoff title.text type zeroline"
)
_TRACE = "customdata hovertemplate legendgroup marker.color marker.line.width name opacity showlegend type x y yaxis "
_KNOWN = {
    "bar": _TRACE + "error_x.array error_x.arrayminus error_x.color error_x.thickness error_x.type error_x.width "
    "marker.pattern.fgcolor marker.pattern.fgopacity marker.pattern.shape marker.pattern.size "
    "marker.pattern.solidity offset orientation width",
    "scatter": _TRACE + "cliponaxis fill fillcolor hoverinfo line.color line.dash line.shape line.width "
    "marker.line.color marker.size marker.symbol mode text textposition",
    "xaxis": _AXIS,
    "yaxis": _AXIS,
    "yaxis2": _AXIS,
    "annotations": "arrowcolor arrowhead arrowwidth ax ay font.color font.size showarrow standoff text x xanchor xref "
    "xshift y yanchor yref",
    "shapes": "line.color line.dash line.width type x0 x1 xref y0 y1 yref",
    # What the page says itself, or what only matters to a pointer.
    "layout": "bargap barmode dragmode font.color font.family font.size height hoverlabel.font.family legend.font.size "
    "legend.orientation legend.traceorder legend.x legend.y legend.yanchor margin.b margin.l margin.r margin.t "
    "paper_bgcolor plot_bgcolor showlegend title.subtitle.text title.text title.x title.xref title.y title.yanchor",
}
_CHOICES: dict[str, set[object]] = {
    "annotations.xref": {"x"},
    "annotations.yanchor": {"top"},
    "annotations.yref": {"y", "y domain"},
    "bar.error_x.type": {"data"},
    "bar.offset": {0},
    "bar.orientation": {"h", "v"},
    "layout.barmode": {"stack"},
    "scatter.fill": {"tonexty"},
    "scatter.line.dash": {"dash", "dot"},
    "scatter.line.shape": {"hvh"},
    "scatter.mode": {"lines", "lines+markers", "markers", "markers+text"},
    "scatter.textposition": {"middle right"},
    "shapes.type": {"line"},
    "shapes.xref": {"x"},
    "shapes.yref": {"y domain"},
    "shapes.y0": {0},
    "shapes.y1": {1},
    "xaxis.type": {"date"},
    "yaxis.autorange": {"reversed"},
    "yaxis.type": {"category"},
}
"""The values of a feature that are drawn, where not all are."""


def refused(what: str) -> AnalyzerError:
    """The error that says what cannot be drawn."""
    return AnalyzerError(
        f"the page cannot draw {what}", "leave it out of the chart, or teach it to analyzer/report/svg"
    )


def refuse_unknown(figure: Mapping[str, Any]) -> None:
    """Look through a whole figure, as a dictionary.

    Raises:
        AnalyzerError: it has a kind of trace, a feature, or a value of one, that is not drawn here.
    """
    for trace in figure["data"]:
        if trace["type"] not in ("bar", "scatter"):
            raise refused(f"a trace of the type {trace['type']}")
        _refuse(trace["type"], trace)
    layout = {name: value for name, value in figure["layout"].items() if name != "template"}
    for name in ("annotations", "shapes"):
        for each in layout.pop(name, ()):
            _refuse(name, each)
    for name in ("xaxis", "yaxis", "yaxis2"):
        _refuse(name, layout.pop(name, {}))
    _refuse("layout", layout)


def _refuse(kind: str, part: Mapping[str, Any]) -> None:
    known = _KNOWN[kind].split()
    for path, value in _leaves(part):
        if path not in known:
            raise refused(f"{kind}.{path}")
        choices = _CHOICES.get(f"{kind}.{path}")
        if choices is not None and value not in choices:
            raise refused(f"{kind}.{path} = {value!r}")


def _leaves(part: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in part.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        elif value is not None:
            yield before + name, value
