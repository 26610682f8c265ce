"""How grave an incident is: how far its days are from what was expected, and what it cost."""

from __future__ import annotations

from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.kinds.cost import Cost

SEVERITIES = ("info", "warning", "critical")
MANY_SESSIONS = 10
"""Sessions from which on many are hit, or have failed."""
GREAT_SHARE = 0.5
"""Share of a caller's sessions from which on many that failed are critical."""
LONG_WAIT_SECONDS, WAIT_SECONDS = 4 * 3_600.0, 3_600.0
"""Time spent waiting in a day from which on a finding is critical, and a warning."""
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
    return "critical" if far and (day.sessions or 0) >= MANY_SESSIONS else "warning"


def of_volume(day: Detection) -> str:
    """Many more errors are critical where they are four times as many as expected and hit ten sessions."""
    far = (day.observed or 0.0) >= 4 * (day.expected or 0.0)
    return "critical" if far and (day.sessions or 0) >= MANY_SESSIONS else "warning"


def of_message(day: Detection) -> str:
    """A new message is a warning in five sessions."""
    return "warning" if (day.sessions or 0) >= 5 else "info"


def of_mix(day: Detection) -> str:
    """A change of the mix is a warning where the two mixes are far apart."""
    return "warning" if (day.observed or 0.0) >= GREAT_DIVERGENCE else "info"


def with_cost(severity: str, day: Detection, cost: Cost) -> str:
    """The severity of a finding, out of that of its figures and of what its last day cost beyond what was expected.

    It is critical where every session fails, where ten failed that are half of all, or where four hours were spent
    waiting, and a warning at least from one hour on. Where retries recovered most of the sessions that met it, and
    fewer than ten failed, it is a warning at most.
    """
    beyond = max(0.0, 1 - (day.expected or 0.0) / day.observed) if day.observed else 1.0
    failed, waited = beyond * cost.sessions_failed, beyond * cost.waited_seconds
    half = cost.sessions_seen is not None and failed >= GREAT_SHARE * cost.sessions_seen
    if cost.every_session or (half and failed >= MANY_SESSIONS) or waited >= LONG_WAIT_SECONDS:
        return "critical"
    if waited >= WAIT_SECONDS:
        return max(severity, "warning", key=SEVERITIES.index)
    recovered = cost.sessions_failed < MANY_SESSIONS and 2 * cost.sessions_failed < cost.error_sessions
    return min(severity, "warning", key=SEVERITIES.index) if recovered else severity
