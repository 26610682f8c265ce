"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing."""

from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.hourly.check_hours import check_hours
from analyzer.analysis.kinds.cost import Cost
from analyzer.analysis.kinds.finding import Finding, Handling, Kind, Scope, Wording
from analyzer.analysis.nightly.check import check, each_night
from analyzer.analysis.nightly.handling import findings, handle
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.rules.alarms import Alarm, AlarmChanges, alarm_changes
from analyzer.analysis.rules.churn import ChangedShare, Churn, Rejudged, churn
from analyzer.analysis.rules.drafts import RuleDraft, Taken
from analyzer.analysis.rules.template_merging import group
from analyzer.analysis.rules.unknowns import Neighbour, UnknownGroup, Unknowns, unknowns
from analyzer.analysis.summary.cases import Case
from analyzer.analysis.summary.drifts import Drift, Drifts
from analyzer.analysis.summary.latest_day import LatestDay
from analyzer.analysis.summary.overview import Completeness, Overview, Totals, Verdict, overview
from analyzer.analysis.summary.spikes import Spikes, spikes
from analyzer.analysis.tables import Table, json_rows, json_value, table
from analyzer.analysis.window import Window, WindowWords, as_window, window

__all__ = [
    "Alarm",
    "AlarmChanges",
    "Case",
    "ChangedShare",
    "Churn",
    "Completeness",
    "Cost",
    "Detection",
    "Drift",
    "Drifts",
    "Finding",
    "Handling",
    "Kind",
    "LatestDay",
    "Neighbour",
    "Night",
    "Overview",
    "Rejudged",
    "RuleDraft",
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
    "each_night",
    "findings",
    "group",
    "handle",
    "json_rows",
    "json_value",
    "overview",
    "spikes",
    "table",
    "unknowns",
    "window",
]
