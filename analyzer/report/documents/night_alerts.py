"""A night of `analyzer check` becomes events of an on-call service: what opens and what resolves, by the finding's id.

The forms are PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/events-api-v2-overview) and Alertmanager's
API v2 (https://prometheus.io/docs/alerting/latest/alerts_api).
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any, cast

from analyzer.analysis.kinds.cost import SEVERITIES
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.events.times import format_time
from analyzer.report.escape import each_text, one_line

SOURCE = "analyzer"
ALERT_HOURS = 36
"""An open alert ends by itself so long after its night, unless the next night sends it again: a job may be late."""
MAX_SUMMARY = 1_024
"""Characters that PagerDuty takes."""


def pagerduty_events(night: Night, routing_key: str) -> list[tuple[Finding, dict[str, Any]]]:
    """The event of each finding that is new, worse or over; the same finding has the same `dedup_key` every night.

    What is over is resolved even if somebody had acknowledged it here.
    """
    told = [one for one in night.news() if one.is_open] + list(night.of("resolved"))
    return [(one, _pagerduty(one, routing_key)) for one in told]


def _pagerduty(found: Finding, routing_key: str) -> dict[str, Any]:
    action = "trigger" if found.is_open else "resolve"
    event: dict[str, Any] = {"routing_key": routing_key, "event_action": action, "dedup_key": found.id}
    if found.is_open:
        payload = {
            "summary": _said(found)[:MAX_SUMMARY],
            "source": found.scope.who,
            "severity": found.severity,
            "timestamp": format_time(datetime.combine(found.onset, time())),
            "component": SOURCE,
            "class": found.finding,
            "custom_details": {"advice": found.advice, "command": found.command, "scope": found.scope.to_dict()},
        }
        event["payload"] = each_text(payload)
    return event


def alertmanager_alerts(night: Night) -> list[dict[str, Any]]:
    """All open findings that nobody silenced, which Alertmanager wants to hear of again, and the alerts that are over.

    Labels name an alert. They are the same every night but for the severity: of a finding that got worse, the alerts
    of lower severity are over.
    """
    ends_at = night.judged_at + timedelta(hours=ALERT_HOURS)
    alerts = []
    for one in night.heard():
        if one.is_open:
            alerts.append(_alert(one, one.severity, ends_at))
            lower = SEVERITIES[: SEVERITIES.index(one.severity)] if one.worse else ()
            alerts += [_alert(one, severity, night.judged_at) for severity in lower]
    return alerts + [_alert(one, severity, night.judged_at) for one in night.of("resolved") for severity in SEVERITIES]


def _alert(found: Finding, severity: str, ends_at: datetime) -> dict[str, Any]:
    scope = {name: value for name, value in found.scope.to_dict().items() if value is not None and name != "template"}
    alert = {
        "labels": {
            **scope,
            "alertname": "AgentFinding",
            "finding": found.finding,
            "finding_id": found.id,
            "severity": severity,
        },
        "annotations": {"summary": _said(found), "advice": found.advice, "command": found.command},
        "startsAt": format_time(datetime.combine(found.onset, time())),
        "endsAt": format_time(ends_at),
    }
    return cast("dict[str, Any]", each_text(alert))


def _said(found: Finding) -> str:
    return one_line(found.explanation or found.kind.title)
