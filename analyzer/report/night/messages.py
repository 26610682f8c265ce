"""A night as messages: to chats what is new, worse or over; to on-call services what opens and what resolves.

The forms are those of https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, of an Adaptive Card as
Teams' workflows take it (https://adaptivecards.io/explorer), of https://discord.com/developers/docs/resources/webhook,
of PagerDuty's Events API v2 (https://developer.pagerduty.com/docs/events-api-v2-overview), and of Alertmanager's API v2
(https://prometheus.io/docs/alerting/latest/alerts_api).
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any, cast

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.nightly.night import Night
from analyzer.events.times import format_time
from analyzer.plurals import counted
from analyzer.report.escape import bare_markdown_code, bare_markdown_text, chat_code, chat_text, each_text, one_line
from analyzer.report.overview_words import draft_words

MAX_TEXT_FINDINGS = 10


def webhook_body(night: Night) -> dict[str, Any]:
    """JSON-ready: `text` with what is new, worse or over, and the keys of `analyzer.check/1`."""
    lines = [f"*{chat_text(night.headline)}*"]
    news = night.news()
    shown = news[:MAX_TEXT_FINDINGS]
    for one in shown:
        state = f"{one.state}, worse" if one.worse else one.state
        lines.append(f"• {one.severity}, {state}: {chat_text(one.explanation or one.kind.title)}{_end(one)}")
    if len(news) > len(shown):
        lines.append(f"… and {len(news) - len(shown)} more")
    if len(night.findings) > len(news):
        lines.append(f"{len(night.findings) - len(news)} more go on as before")
    return {"text": "\n".join(lines), **night.to_dict()}


def _end(found: Finding) -> str:
    draft = f"; {chat_text(said)}" if (said := draft_words(found)) else ""
    return draft + (f" → {chat_code(command)}" if (command := found.command_in_chats) else "")


MAX_SLACK_SECTION = 3_000
"""Characters of one block of text."""
MAX_DISCORD_COMMAND = 300
"""Characters of a command that an embed has room for."""
_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵"}
_COLOURS = {"critical": 0xB42318, "warning": 0xB54708, "info": 0x175CD3}
_TEAMS_COLOURS = {"critical": "attention", "warning": "warning", "info": "accent"}


def slack_message(night: Night) -> dict[str, Any]:
    """A header and a section for each finding; `text` is what notifications show."""
    shown, rest = _shown(night)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": _cut(_title(night), 150), "emoji": False}}
    ]
    for one in shown:
        text = f"{_sign(one)} *{one.severity}, {_state(one)}*: {chat_text(_said(one))}"
        if command := one.command_in_chats:
            text += f"\n{chat_code(command)}"
        section = {"type": "mrkdwn", "text": _cut(text, MAX_SLACK_SECTION), "verbatim": True}
        blocks.append({"type": "section", "text": section})
    if rest:
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": chat_text(rest)}]})
    return {"text": chat_text(_title(night)), "blocks": blocks}


def teams_message(night: Night) -> dict[str, Any]:
    """An Adaptive Card of version 1.4 in the envelope that a workflow's webhook takes."""
    shown, rest = _shown(night)
    body: list[dict[str, Any]] = [
        {
            "type": "TextBlock",
            "text": bare_markdown_text(_title(night)),
            "size": "large",
            "weight": "bolder",
            "wrap": True,
        }
    ]
    for one in shown:
        head = {"type": "TextBlock", "text": f"{_sign(one)} {one.severity}, {_state(one)}", "weight": "bolder"}
        body.append({**head, "color": _TEAMS_COLOURS[one.severity], "spacing": "medium"})
        body.append({"type": "TextBlock", "text": bare_markdown_text(_said(one)), "wrap": True, "spacing": "none"})
        if command := one.command_in_chats:
            text = {"type": "TextBlock", "text": bare_markdown_code(command), "fontType": "monospace"}
            body.append({**text, "wrap": True, "spacing": "none"})
    if rest:
        body.append({"type": "TextBlock", "text": bare_markdown_text(rest), "isSubtle": True, "wrap": True})
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def discord_message(night: Night) -> dict[str, Any]:
    """An embed for each finding, ten at most, coloured by severity; nobody is mentioned, whatever a log says."""
    shown, rest = _shown(night)
    embeds = []
    for one in shown:
        embed = {
            "title": _cut(f"{_sign(one)} {one.severity}, {_state(one)}", 256),
            # Ten descriptions, titles and fields together may have 6,000 characters.
            "description": _cut(
                bare_markdown_text(_said(one)), 520 - min(len(one.command_in_chats), MAX_DISCORD_COMMAND)
            ),
            "color": _COLOURS[one.severity],
        }
        if command := one.command_in_chats:
            # Half a command does another thing than the whole.
            embed |= {"footer": {"text": command}} if len(command) <= MAX_DISCORD_COMMAND else {}
        embeds.append(embed)
    content = f"**{bare_markdown_text(_title(night))}**" + (f"\n{bare_markdown_text(rest)}" if rest else "")
    return {"content": _cut(content, 2_000), "embeds": embeds, "allowed_mentions": {"parse": []}}


def _title(night: Night) -> str:
    return one_line(night.headline)


def _shown(night: Night) -> tuple[tuple[Finding, ...], str]:
    """The findings that are told, and what there is to say of the others."""
    news = night.news()
    said = [f"{len(news) - MAX_TEXT_FINDINGS} more"] if len(news) > MAX_TEXT_FINDINGS else []
    if others := len(night.findings) - len(news):
        said.append(f"{counted(others, 'finding')} as before")
    return news[:MAX_TEXT_FINDINGS], f"And {', '.join(said)}." if said else ""


def _state(found: Finding) -> str:
    return f"{found.state}, worse" if found.worse else found.state


def _sign(found: Finding) -> str:
    return _SIGNS[found.severity] if found.is_open else "✅"


def _said(found: Finding) -> str:
    return one_line(found.explanation or found.kind.title)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


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
