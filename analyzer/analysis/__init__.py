"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing."""

from analyzer.analysis.check import check, each_night
from analyzer.analysis.findings import Finding
from analyzer.analysis.night import Night
from analyzer.analysis.overview import Completeness, Overview, Totals, Verdict, overview
from analyzer.analysis.spikes import Spike, Spikes, find_spikes, spikes
from analyzer.analysis.tables import Table, json_rows, json_value, table
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
    "Verdict",
    "Window",
    "check",
    "each_night",
    "find_spikes",
    "json_rows",
    "json_value",
    "overview",
    "spikes",
    "table",
    "window",
]
