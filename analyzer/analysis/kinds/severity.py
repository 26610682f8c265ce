"""How grave a day of an incident is: how far from what was expected, and in how many sessions."""

from __future__ import annotations

from analyzer.analysis.detection.detection import Detection

GREAT_DIVERGENCE = 0.1
"""Bits between two mixes of reasons from which on a change of the mix is a warning."""


def info(_day: Detection) -> str:
    """The severity of what a night reports without failing by default."""
    return "info"


def warning(_day: Detection) -> str:
    """The severity from which on a night fails by default."""
    return "warning"


def of_rise(day: Detection) -> str:
    """A rise of the unknown share is critical where it is far above what was expected and hits ten sessions."""
    observed, expected = day.observed or 0.0, day.expected or 0.0
    far = observed >= 0.25 or observed >= 5 * max(expected, 0.01)
    return "critical" if far and (day.sessions or 0) >= 10 else "warning"


def of_volume(day: Detection) -> str:
    """Many more errors are critical where they are four times as many as expected and hit ten sessions."""
    far = (day.observed or 0.0) >= 4 * (day.expected or 0.0)
    return "critical" if far and (day.sessions or 0) >= 10 else "warning"


def of_message(day: Detection) -> str:
    """A new message is a warning in five sessions."""
    return "warning" if (day.sessions or 0) >= 5 else "info"


def of_mix(day: Detection) -> str:
    """A change of the mix is a warning where the two mixes are far apart."""
    return "warning" if (day.observed or 0.0) >= GREAT_DIVERGENCE else "info"
