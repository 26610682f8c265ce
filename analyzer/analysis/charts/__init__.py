"""Results → charts: counts in; a `Chart` out, or a plotly figure of it. plotly is imported where a figure is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, Protocol

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.charts.tables import (
    errors_timeline,
    outcomes,
    relays,
    retries,
    rules,
    unknown_share,
    utilization,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_Given = ParamSpec("_Given")


class _Case(Protocol):
    """A finding with its numbers."""

    @property
    def chart(self) -> Chart:
        """The chart of its numbers."""


def finding(case: _Case) -> Chart:
    """The chart of a finding with numbers."""
    return case.chart


def _figured(chart: Callable[_Given, Chart]) -> Callable[_Given, Figure]:
    """The function that gives the plotly figure of a chart."""

    @wraps(chart)
    def figure(*args: _Given.args, **kwargs: _Given.kwargs) -> Figure:
        from analyzer.analysis.charts import figures

        return figures.figure_of(chart(*args, **kwargs))

    return figure


errors_timeline_chart = _figured(errors_timeline)
finding_chart = _figured(finding)
outcomes_chart = _figured(outcomes)
relays_chart = _figured(relays)
retries_chart = _figured(retries)
rules_chart = _figured(rules)
unknown_share_chart = _figured(unknown_share)
utilization_chart = _figured(utilization)

__all__ = [
    "Chart",
    "errors_timeline",
    "errors_timeline_chart",
    "finding",
    "finding_chart",
    "outcomes",
    "outcomes_chart",
    "relays",
    "relays_chart",
    "retries",
    "retries_chart",
    "rules",
    "rules_chart",
    "unknown_share",
    "unknown_share_chart",
    "utilization",
    "utilization_chart",
]
