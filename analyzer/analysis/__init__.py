"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing."""

from analyzer.analysis.check import check, each_night
from analyzer.analysis.findings import Finding
from analyzer.analysis.night import Night
from analyzer.analysis.overview import Completeness, Overview, Totals, Verdict, overview
from analyzer.analysis.spikes import Spike, Spikes, find_spikes, spikes
from analyzer.analysis.tables import Table, json_rows, json_value, table
from analyzer.analysis.templates import group
from analyzer.analysis.unknowns import UnknownGroup, Unknowns, unknowns
from analyzer.analysis.window import Window, window

__all__ = [
    "Completeness",
    "Finding",
    "Night",
    "Overview",
    "Spike",
    "Spikes",
    "Table",
    "Totals",
    "UnknownGroup",
    "Unknowns",
    "Verdict",
    "Window",
    "check",
    "each_night",
    "find_spikes",
    "group",
    "json_rows",
    "json_value",
    "overview",
    "spikes",
    "table",
    "unknowns",
    "window",
]
