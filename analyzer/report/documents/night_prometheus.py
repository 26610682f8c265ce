"""A night of `analyzer check` becomes gauges for Prometheus' node exporter, by the official client."""

from __future__ import annotations

from itertools import product

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from analyzer.analysis.kinds.severity import SEVERITIES
from analyzer.analysis.nightly.findings import STATES
from analyzer.analysis.nightly.night import Night

MAX_FINDINGS = 100
"""Series of single findings; what is beyond them is in the counts."""


def render_prometheus(night: Night) -> bytes:
    """The exposition of one night, in the text format 0.0.4."""
    registry = CollectorRegistry()
    count = Gauge("analyzer_findings", "Findings of the last judged night.", ("severity", "state"), registry=registry)
    for severity, state in product(SEVERITIES, STATES):
        found = sum(one.severity == severity and one.state == state for one in night.findings)
        count.labels(severity=severity, state=state).set(found)
    single = Gauge(
        "analyzer_finding_observed",
        "What each open finding observed, in its own unit.",
        ("id", "finding", "caller", "severity"),
        registry=registry,
    )
    for one in [one for one in night.findings if one.state != "resolved"][:MAX_FINDINGS]:
        labels = {"id": one.id, "finding": one.finding, "caller": one.scope.caller or "", "severity": one.severity}
        single.labels(**labels).set(one.latest.observed or 0.0)
    for name, words, value in (
        ("analyzer_callers_judged", "Callers with anything to judge that night.", night.callers),
        ("analyzer_late_events", "Events that came after the night was judged.", night.late_events),
        ("analyzer_night_judged_seconds", "When the night was judged, Unix time.", night.judged_at_seconds),
        ("analyzer_night_day_seconds", "Beginning of the judged day, Unix time in UTC.", night.day_seconds),
    ):
        Gauge(name, words, registry=registry).set(value)
    if night.false_alarms_per_thousand is not None:
        Gauge(
            "analyzer_false_alarms_per_thousand",
            "False alarms per 1,000 caller-days that the settings would have had on this history.",
            registry=registry,
        ).set(night.false_alarms_per_thousand)
    return generate_latest(registry)
