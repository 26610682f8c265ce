"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing."""

from analyzer.analysis.cases import Case
from analyzer.analysis.check import check, each_night
from analyzer.analysis.findings import Finding
from analyzer.analysis.night import Night
from analyzer.analysis.overview import Completeness, Overview, Totals, Verdict, overview
from analyzer.analysis.spikes import Spikes, spikes
from analyzer.analysis.tables import Table, json_rows, json_value, table
from analyzer.analysis.templates import group
from analyzer.analysis.unknowns import UnknownGroup, Unknowns, unknowns
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
