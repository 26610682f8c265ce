"""Results → plotly figures: counts in, `Figure` out. Imported lazily, because plotly takes its time."""

from analyzer.analysis.charts.base import label
from analyzer.analysis.charts.errors import errors_timeline_chart, outcomes_chart, retries_chart
from analyzer.analysis.charts.findings import finding_chart
from analyzer.analysis.charts.relays import relays_chart, utilization_chart
from analyzer.analysis.charts.rules import rules_chart
from analyzer.analysis.charts.shares import unknown_share_chart

__all__ = [
    "errors_timeline_chart",
    "finding_chart",
    "label",
    "outcomes_chart",
    "relays_chart",
    "retries_chart",
    "rules_chart",
    "unknown_share_chart",
    "utilization_chart",
]
