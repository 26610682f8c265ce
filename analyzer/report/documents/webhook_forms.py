"""The findings of a night in the forms that chats and pagers read.

Invariants: what opens and what resolves has the finding's id as its key; texts of logs call nobody and are no links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta
from typing import Any

from analyzer.analysis.kinds.severity import SEVERITIES
from analyzer.analysis.nightly.findings import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.events.times import format_time
from analyzer.report.documents.night_webhook import webhook_body
from analyzer.report.escape import markdown_text, terminal_safe

MAX_DISCORD_CHARS = 2_000
MAX_PAGERDUTY_CHARS = 1_024
HELD_HOURS = 36
"""An alert that no later night renews is over after that."""


def webhook_bodies(night: Night, form: str, moment: datetime, key: str = "") -> list[Any]:
    """The JSON-ready bodies to post, one a request; none where a night has nothing to tell.

    `moment` is now (naive UTC), `key` the routing key of PagerDuty.
    """
    if form == "alertmanager":
        alerts = [alert for one in _followed(night, moment) for alert in _alerts(one, moment)]
        return [alerts] if alerts else []
    if form == "pagerduty":
        return [_event(one, key) for one in _followed(night, moment) if one.state != "ongoing" or one.worse]
    return [_CHATS[form](night)] if night.news(moment) else []


def _followed(night: Night, moment: datetime) -> Iterator[Finding]:
    """What is over, though somebody has acknowledged it: what was opened elsewhere is closed there, too."""
    heard = {one.id for one in night.heard(moment)}
    return (one for one in night.findings if one.id in heard or not one.is_open)


def _lines(night: Night) -> list[str]:
    return str(webhook_body(night)["text"]).splitlines()


def _unescaped(line: str) -> str:
    """A line without Slack's escapes and marks; what breaks names and addresses stays."""
    return line.strip("*").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _slack(night: Night) -> dict[str, Any]:
    return {"text": "\n".join(_lines(night)), "unfurl_links": False}


def _teams(night: Night) -> dict[str, Any]:
    """A card for the workflow that posts what a webhook receives."""
    first, *more = (markdown_text(_unescaped(line)) for line in _lines(night))
    blocks = [{"type": "TextBlock", "text": first, "weight": "bolder", "wrap": True}]
    blocks += [{"type": "TextBlock", "text": line, "wrap": True} for line in more]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _discord(night: Night) -> dict[str, Any]:
    text = "\n".join(markdown_text(_unescaped(line)) for line in _lines(night))
    if len(text) > MAX_DISCORD_CHARS:
        text = text[: MAX_DISCORD_CHARS - 1] + "…"
    return {"content": text, "allowed_mentions": {"parse": []}}


_CHATS: dict[str, Callable[[Night], dict[str, Any]]] = {
    "json": webhook_body,
    "slack": _slack,
    "teams": _teams,
    "discord": _discord,
}
FORMS = (*_CHATS, "pagerduty", "alertmanager")


def _event(one: Finding, key: str) -> dict[str, Any]:
    """An event of PagerDuty's version 2."""
    event = {"routing_key": key, "event_action": "trigger" if one.is_open else "resolve", "dedup_key": one.id}
    if not one.is_open:
        return event
    summary = terminal_safe(one.explanation or one.kind.title)[:MAX_PAGERDUTY_CHARS]
    scope = {name: value for name, value in one.scope.to_dict().items() if value}
    payload = {
        "summary": summary,
        "source": one.scope.who,
        "severity": one.severity,
        "class": one.finding,
        "custom_details": {**scope, "advice": one.advice},
    }
    return {**event, "payload": payload}


def _alerts(one: Finding, moment: datetime) -> Iterator[dict[str, Any]]:
    """Alertmanager's version 2: the alert as grave as it is, and the end of it where it was less so."""
    lower = SEVERITIES[: SEVERITIES.index(one.severity)] if one.worse else ()
    for severity in (one.severity, *lower):
        goes_on = one.is_open and severity == one.severity
        until = moment + timedelta(hours=HELD_HOURS) if goes_on else moment
        began = datetime.combine(one.opened_on, time.min)
        labels = {"alertname": f"analyzer_{one.finding}", "id": one.id, "severity": severity, "who": one.scope.who}
        said = terminal_safe(one.explanation or one.kind.title)
        yield {
            "labels": {name: terminal_safe(value) for name, value in labels.items()},
            "annotations": {"summary": said, "advice": one.advice},
            "startsAt": format_time(min(began, moment)),
            "endsAt": format_time(until),
        }
