"""Write a night of `analyzer check` as gauges for Prometheus' node exporter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from analyzer.analysis.kinds.finding import STATES
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.objectives import ObjectiveState
from analyzer.analysis.summary.day_figures import NightFigures
from analyzer.report.escape import one_line

MAX_FINDINGS = 100
"""The most findings with series of their own; the counts have all findings."""


def render_prometheus(night: Night, figures: NightFigures, objectives: Sequence[ObjectiveState] = ()) -> bytes:
    """Write the exposition of one night, its figures and the objectives, in the text format 0.0.4."""
    registry = CollectorRegistry()
    count = Gauge("analyzer_findings", "Findings of the last judged night.", ("severity", "state"), registry=registry)
    for severity, state in product(SEVERITIES, STATES):
        number = sum(finding.severity == severity and finding.state == state for finding in night.findings)
        count.labels(severity=severity, state=state).set(number)
    single = Gauge(
        "analyzer_finding_observed",
        "What each open finding observed, in its own unit.",
        ("id", "finding", "caller", "severity"),
        registry=registry,
    )
    unresolved = [finding for finding in night.findings if finding.state != "resolved"]
    for finding in unresolved[:MAX_FINDINGS]:
        caller = one_line(finding.scope.caller or "")
        labelled = single.labels(id=finding.id, finding=finding.finding, caller=caller, severity=finding.severity)
        labelled.set(finding.latest.observed or 0.0)
    for name, words, labels, values in (
        ("analyzer_errors", "Errors of the judged day.", ("caller", "reason"), figures.errors),
        ("analyzer_error_sessions", "Sessions that met them.", ("caller", "reason"), figures.error_sessions),
    ):
        gauge = Gauge(name, words, labels, registry=registry)
        for (caller, reason), amount in values.items():
            # On one line two callers may have the same name.
            gauge.labels(caller=one_line(caller), reason=one_line(reason)).inc(amount)
    by_caller: tuple[tuple[str, str, Mapping[str, float]], ...] = (
        ("analyzer_sessions", "Sessions at work on the judged day, with errors or without.", figures.sessions),
        ("analyzer_unknown_share", "Share of unknown errors of the judged day, 0 to 1.", figures.unknown_share),
    )
    for name, words, of_callers in by_caller:
        gauge = Gauge(name, words, ("caller",), registry=registry)
        for caller, figure in of_callers.items():
            gauge.labels(caller=one_line(caller)).set(figure)
    for name, words, value in (
        ("analyzer_callers_judged", "Callers with anything to judge that night.", night.callers),
        ("analyzer_late_events", "Events that came after the night was judged.", night.late_events),
        ("analyzer_night_judged_seconds", "When the night was judged, Unix time.", night.judged_at_seconds),
        ("analyzer_night_day_seconds", "Beginning of the judged day, Unix time in UTC.", night.day_seconds),
        (
            "analyzer_warnings_a_week",
            "Findings of at least warning that opened a week, over the twelve weeks before.",
            night.warnings_a_week,
        ),
        (
            "analyzer_last_ingest_seconds",
            "When a log last gave anything to read, Unix time.",
            figures.last_ingest_seconds,
        ),
        ("analyzer_quarantine_rows", "Stretches of logs that could not be read.", figures.quarantine_rows),
        ("analyzer_store_bytes", "Size of the store.", figures.store_bytes),
    ):
        if value is not None:
            Gauge(name, words, registry=registry).set(value)
    if objectives:
        _add_objectives(objectives, registry)
    return generate_latest(registry)


def _add_objectives(objectives: Sequence[ObjectiveState], registry: CollectorRegistry) -> None:
    """Add the gauges of objectives; one without a session has none."""
    names = ("objective", "caller")
    words = "Share of the error budget that is left: 1 untouched, 0 spent, negative overspent."
    left = Gauge("analyzer_objective_budget_left", words, names, registry=registry)
    words = "Budget used by the last hours, per what is allowed for their sessions."
    burn = Gauge("analyzer_objective_burn_rate", words, (*names, "hours"), registry=registry)
    for state in objectives:
        labels = {"objective": state.objective.measure, "caller": one_line(state.objective.caller or "")}
        if state.budget_left is not None:
            left.labels(**labels).set(state.budget_left)
        for hours, rate in state.burn_rates.items():
            burn.labels(**labels, hours=str(hours)).set(rate)
