"""The chart of a finding: each kind has the form that answers what it asks."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go

from analyzer.analysis.charts.finding.burst import burst_chart
from analyzer.analysis.charts.finding.hand_offs import hand_offs_chart
from analyzer.analysis.charts.finding.message import message_chart
from analyzer.analysis.charts.finding.mix import mix_chart
from analyzer.analysis.charts.finding.recovery import recovery_chart
from analyzer.analysis.charts.finding.share import share_chart
from analyzer.analysis.summary.cases import Case

CHARTS: dict[str, Callable[[Case], go.Figure]] = {
    "spike": share_chart,
    "drift": share_chart,
    "template": message_chart,
    "burst": burst_chart,
    "reasons": mix_chart,
    "relays": hand_offs_chart,
    "recovery_fell": recovery_chart,
    "retry_in_vain": recovery_chart,
    "retry_would_pay": recovery_chart,
}
"""By kind of finding."""


def finding_chart(case: Case) -> go.Figure:
    """The chart of a finding with numbers."""
    return CHARTS[case.finding.finding](case)
