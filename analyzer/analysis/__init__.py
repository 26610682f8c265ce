"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing.

Names are loaded on first use: a window wants no detection.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.analysis.comparison import ComparedFigure, ComparedSide, Comparison, OneSidedMessage, compare
    from analyzer.analysis.detection.detection import Detection
    from analyzer.analysis.kinds.causes import Drift, Drifts
    from analyzer.analysis.kinds.finding import Finding, Kind, Scope
    from analyzer.analysis.kinds.finding_fields import Cost, Handling, Wording
    from analyzer.analysis.nightly.check import check, check_hours, each_night
    from analyzer.analysis.nightly.decisions import findings, handle
    from analyzer.analysis.nightly.night import Night
    from analyzer.analysis.rules.drafts import Recoveries, RuleDraft, Taken
    from analyzer.analysis.rules.ruleset_changes import (
        Alarm,
        AlarmChanges,
        ChangedShare,
        Churn,
        Rejudged,
        alarm_changes,
        churn,
    )
    from analyzer.analysis.rules.similar_templates import group
    from analyzer.analysis.rules.unknowns import Neighbour, UnknownGroup, Unknowns, unknowns
    from analyzer.analysis.run_verdict import RunEvidence, RunVerdict, run_verdict
    from analyzer.analysis.summary.cases import Case
    from analyzer.analysis.summary.day_figures import LatestDay
    from analyzer.analysis.summary.leading import Leading
    from analyzer.analysis.summary.overview import Completeness, Overview, Totals, Verdict, overview
    from analyzer.analysis.summary.window_findings import Spikes, spikes
    from analyzer.analysis.tables import Table, Window, WindowWords, as_window, json_rows, json_value, table, window

_HOMES = {
    name: module
    for module, names in {
        "analyzer.analysis.comparison": "ComparedFigure ComparedSide Comparison OneSidedMessage compare",
        "analyzer.analysis.detection.detection": "Detection",
        "analyzer.analysis.kinds.causes": "Drift Drifts",
        "analyzer.analysis.kinds.finding": "Finding Kind Scope",
        "analyzer.analysis.kinds.finding_fields": "Cost Handling Wording",
        "analyzer.analysis.nightly.check": "check check_hours each_night",
        "analyzer.analysis.nightly.decisions": "findings handle",
        "analyzer.analysis.nightly.night": "Night",
        "analyzer.analysis.rules.drafts": "Recoveries RuleDraft Taken",
        "analyzer.analysis.rules.ruleset_changes": "Alarm AlarmChanges ChangedShare Churn Rejudged alarm_changes churn",
        "analyzer.analysis.rules.similar_templates": "group",
        "analyzer.analysis.rules.unknowns": "Neighbour UnknownGroup Unknowns unknowns",
        "analyzer.analysis.run_verdict": "RunEvidence RunVerdict run_verdict",
        "analyzer.analysis.summary.cases": "Case",
        "analyzer.analysis.summary.day_figures": "LatestDay",
        "analyzer.analysis.summary.leading": "Leading",
        "analyzer.analysis.summary.overview": "Completeness Overview Totals Verdict overview",
        "analyzer.analysis.summary.window_findings": "Spikes spikes",
        "analyzer.analysis.tables": "Table Window WindowWords as_window json_rows json_value table window",
    }.items()
    for name in names.split()
}

__all__ = [
    "Alarm",
    "AlarmChanges",
    "Case",
    "ChangedShare",
    "Churn",
    "ComparedFigure",
    "ComparedSide",
    "Comparison",
    "Completeness",
    "Cost",
    "Detection",
    "Drift",
    "Drifts",
    "Finding",
    "Handling",
    "Kind",
    "LatestDay",
    "Leading",
    "Neighbour",
    "Night",
    "OneSidedMessage",
    "Overview",
    "Recoveries",
    "Rejudged",
    "RuleDraft",
    "RunEvidence",
    "RunVerdict",
    "Scope",
    "Spikes",
    "Table",
    "Taken",
    "Totals",
    "UnknownGroup",
    "Unknowns",
    "Verdict",
    "Window",
    "WindowWords",
    "Wording",
    "alarm_changes",
    "as_window",
    "check",
    "check_hours",
    "churn",
    "compare",
    "each_night",
    "findings",
    "group",
    "handle",
    "json_rows",
    "json_value",
    "overview",
    "run_verdict",
    "spikes",
    "table",
    "unknowns",
    "window",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept: from now on it is found without this function.
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found
