"""Make the messages of a night: for chats and webhooks, mail, and on-call services.

Chats and mail get what is new, worse or resolved, on-call services what opens and what resolves, in
the forms of PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/events-api-v2-overview)
and of Alertmanager's API v2 (https://prometheus.io/docs/alerting/latest/alerts_api).
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any, cast

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.nightly.night import Night
from analyzer.events.times import format_time
from analyzer.readable import counted
from analyzer.report.document import Document, Heading, Paragraph
from analyzer.report.escape import each_text, one_line
from analyzer.report.night.document import night_title
from analyzer.report.overview_words import entry_of, head_of
from analyzer.report.writers.chat import CHATS, to_chat

MAX_TEXT_FINDINGS = 10


def news_document(night: Night) -> Document:
    """Return the findings of a night that are new, worse or resolved, and the number of others.

    The title says what is worst, as a lock screen shows only the first 80 characters.
    """
    news = night.news()
    more = [f"{len(news) - MAX_TEXT_FINDINGS} more"] if len(news) > MAX_TEXT_FINDINGS else []
    if others := len(night.findings) - len(news):
        more.append(f"{counted(others, 'finding')} as before")
    rest = [Paragraph(f"And {', '.join(more)}.")] if more else []
    title = night_title(night)
    headline = [Paragraph(night.headline)] if title != night.headline else []
    opening = map(Paragraph, night.opening)
    return [Heading(title), *headline, *map(entry_of, news[:MAX_TEXT_FINDINGS]), *rest, *opening]


def chat_message(form: str, night: Night) -> dict[str, Any]:
    """Make the message for a form of delivery: `slack`, `teams`, `discord` or `webhook`.

    The body of a webhook has `text` for people and `analyzer.check/1` for programs.
    """
    document = news_document(night)
    return {"text": to_chat(document), **night.to_dict()} if form == "webhook" else CHATS[form](document)


SOURCE = "analyzer"
ALERT_HOURS = 36
"""An open alert ends by itself so many hours after its night, unless the next night, which may
be late, sends it again."""
MAX_SUMMARY = 1_024
"""The most characters that PagerDuty takes."""


def pagerduty_events(night: Night, routing_key: str) -> list[tuple[Finding, dict[str, Any]]]:
    """Return each finding that is new, worse or resolved with its event.

    A finding has the same `dedup_key` every night. A resolved finding is reported even if somebody
    acknowledged it here.
    """
    changed = [finding for finding in night.news() if finding.is_open] + list(night.of("resolved"))
    return [(finding, _pagerduty(finding, routing_key)) for finding in changed]


def _pagerduty(finding: Finding, routing_key: str) -> dict[str, Any]:
    action = "trigger" if finding.is_open else "resolve"
    event: dict[str, Any] = {"routing_key": routing_key, "event_action": action, "dedup_key": finding.id}
    if finding.is_open:
        payload = {
            "summary": _summary(finding)[:MAX_SUMMARY],
            "source": finding.scope.who,
            "severity": finding.severity,
            "timestamp": format_time(datetime.combine(finding.onset, time())),
            "component": SOURCE,
            "class": finding.finding,
            "custom_details": {"advice": finding.advice, "command": finding.command, "scope": finding.scope.to_dict()},
        }
        event["payload"] = each_text(payload)
    return event


def alertmanager_alerts(night: Night) -> list[dict[str, Any]]:
    """Return the alerts of all open findings that nobody silenced, and the alerts that are over.

    Alertmanager expects open alerts again every night. Labels name an alert, and only the severity
    changes between nights: if a finding got worse, its alerts of lower severity are over.
    """
    ends_at = night.judged_at + timedelta(hours=ALERT_HOURS)
    alerts = []
    for finding in night.heard():
        if finding.is_open:
            alerts.append(_alert(finding, finding.severity, ends_at))
            lower = SEVERITIES[: SEVERITIES.index(finding.severity)] if finding.worse else ()
            alerts += [_alert(finding, severity, night.judged_at) for severity in lower]
    for finding in night.of("resolved"):
        alerts += [_alert(finding, severity, night.judged_at) for severity in SEVERITIES]
    return alerts


def _alert(finding: Finding, severity: str, ends_at: datetime) -> dict[str, Any]:
    scope = {name: value for name, value in finding.scope.to_dict().items() if value is not None and name != "template"}
    alert = {
        "labels": {
            **scope,
            "alertname": "AgentFinding",
            "finding": finding.finding,
            "finding_id": finding.id,
            "severity": severity,
        },
        "annotations": {"summary": _summary(finding), "advice": finding.advice, "command": finding.command},
        "startsAt": format_time(datetime.combine(finding.onset, time())),
        "endsAt": format_time(ends_at),
    }
    return cast("dict[str, Any]", each_text(alert))


def _summary(finding: Finding) -> str:
    return one_line(finding.explanation or head_of(finding))
