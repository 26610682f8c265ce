"""Draw results as charts: take counts, return a `Chart` or its plotly figure.

plotly is imported only when a figure is made.
"""

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
    with_changes,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_Arguments = ParamSpec("_Arguments")


class _ChartedFinding(Protocol):
    """A finding with numbers."""

    @property
    def chart(self) -> Chart:
        """Return the chart of its numbers."""


def finding(case: _ChartedFinding) -> Chart:
    """Return the chart of a finding with numbers."""
    return case.chart


def _figure_function(chart: Callable[_Arguments, Chart]) -> Callable[_Arguments, Figure]:
    """Return a function with the same arguments that returns the chart's plotly figure."""

    @wraps(chart)
    def figure(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Figure:
        from analyzer.analysis.charts import figures

        return figures.figure_of(chart(*args, **kwargs))

    return figure


errors_timeline_chart = _figure_function(errors_timeline)
finding_chart = _figure_function(finding)
outcomes_chart = _figure_function(outcomes)
relays_chart = _figure_function(relays)
retries_chart = _figure_function(retries)
rules_chart = _figure_function(rules)
unknown_share_chart = _figure_function(unknown_share)
utilization_chart = _figure_function(utilization)

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
    "with_changes",
]
