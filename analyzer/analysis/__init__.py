"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing."""

from analyzer.analysis.nightly.check import check, each_night
from analyzer.analysis.nightly.findings import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.rules.template_merging import group
from analyzer.analysis.rules.unknowns import UnknownGroup, Unknowns, unknowns
from analyzer.analysis.summary.cases import Case
from analyzer.analysis.summary.overview import Completeness, Overview, Totals, Verdict, overview
from analyzer.analysis.summary.spikes import Spikes, spikes
from analyzer.analysis.tables import Table, json_rows, json_value, table
from analyzer.analysis.window import Window, window

__all__ = [
    "Case",
    "Completeness",
    "Finding",
    "Night",
    "Overview",
    "Spikes",
    "Table",
    "Totals",
    "UnknownGroup",
    "Unknowns",
    "Verdict",
    "Window",
    "check",
    "each_night",
    "group",
    "json_rows",
    "json_value",
    "overview",
    "spikes",
    "table",
    "unknowns",
    "window",
]
