"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing.

Names are loaded on first use: a window wants no detection.
"""

from typing import TYPE_CHECKING

from analyzer.lazy import face

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
    from analyzer.analysis.summary.day_figures import LatestDay
    from analyzer.analysis.summary.leading import Leading
    from analyzer.analysis.summary.overview import Completeness, Overview, Totals, Verdict, overview
    from analyzer.analysis.summary.window_findings import Case, Spikes, spikes
    from analyzer.analysis.tables import Table, Window, WindowWords, as_window, json_rows, json_value, table, window

__getattr__, __dir__ = face(
    __name__,
    {
        "comparison": "ComparedFigure ComparedSide Comparison OneSidedMessage compare",
        "detection.detection": "Detection",
        "kinds.causes": "Drift Drifts",
        "kinds.finding": "Finding Kind Scope",
        "kinds.finding_fields": "Cost Handling Wording",
        "nightly.check": "check check_hours each_night",
        "nightly.decisions": "findings handle",
        "nightly.night": "Night",
        "rules.drafts": "Recoveries RuleDraft Taken",
        "rules.ruleset_changes": "Alarm AlarmChanges ChangedShare Churn Rejudged alarm_changes churn",
        "rules.similar_templates": "group",
        "rules.unknowns": "Neighbour UnknownGroup Unknowns unknowns",
        "run_verdict": "RunEvidence RunVerdict run_verdict",
        "summary.day_figures": "LatestDay",
        "summary.leading": "Leading",
        "summary.overview": "Completeness Overview Totals Verdict overview",
        "summary.window_findings": "Case Spikes spikes",
        "tables": "Table Window WindowWords as_window json_rows json_value table window",
    },
)

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
