"""Detect changes by statistics, without SQL and without rendering: take counts, return findings.

The method: docs/explanation/detection.md.
"""

from analyzer.analysis.detection.burst import bursts
from analyzer.analysis.detection.causes import Flip, causes, flips
from analyzer.analysis.detection.detection import Detection, Settings, frame, schema
from analyzer.analysis.detection.shares import DetectionError, detect
from analyzer.analysis.detection.signals.relays import relay_frequency
from analyzer.analysis.detection.signals.retries import retry_payoff
from analyzer.analysis.detection.statistics.onsets import Onset, onset

__all__ = [
    "Detection",
    "DetectionError",
    "Flip",
    "Onset",
    "Settings",
    "bursts",
    "causes",
    "detect",
    "flips",
    "frame",
    "onset",
    "relay_frequency",
    "retry_payoff",
    "schema",
]
