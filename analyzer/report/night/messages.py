"""Write a night as messages to chats and to on-call services.

Chats get what is new, worse or resolved, on-call services what opens and what resolves.

The forms are those of https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, of
an Adaptive Card as Teams' workflows take it (https://adaptivecards.io/explorer), of
https://discord.com/developers/docs/resources/webhook, of PagerDuty's Events API v2
(https://developer.pagerduty.com/docs/events-api-v2-overview), and of Alertmanager's API v2
(https://prometheus.io/docs/alerting/latest/alerts_api).
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any, cast

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.nightly.night import Night
from analyzer.events.times import format_time
from analyzer.readable import counted
from analyzer.report.document import Block, FindingBlock, Heading, Paragraph
from analyzer.report.escape import (
    bare_markdown_code,
    bare_markdown_text,
    chat_code,
    chat_text,
    each_text,
    one_line,
    plain_text,
)
from analyzer.report.overview_words import entry_of

MAX_TEXT_FINDINGS = 10
MAX_SLACK_SECTION = 3_000
"""The most characters of a block of text."""
MAX_DISCORD_COMMAND = 300
"""The most characters of a command in an embed."""
_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "resolved": "✅"}
_COLOURS = {"critical": 0xB42318, "warning": 0xB54708, "info": 0x175CD3}
_TEAMS_COLOURS = {"critical": "attention", "warning": "warning", "info": "accent"}


def news_document(night: Night) -> list[Block]:
    """Return the findings of a night that are new, worse or resolved, and the number of others."""
    news = night.news()
    more = [f"{len(news) - MAX_TEXT_FINDINGS} more"] if len(news) > MAX_TEXT_FINDINGS else []
    if others := len(night.findings) - len(news):
        more.append(f"{counted(others, 'finding')} as before")
    rest = [Paragraph(f"And {', '.join(more)}.")] if more else []
    return [Heading(night.headline), *map(Paragraph, night.opening), *map(entry_of, news[:MAX_TEXT_FINDINGS]), *rest]


def webhook_body(night: Night) -> dict[str, Any]:
    """Make the body of a webhook: `text` for people, `analyzer.check/1` for programs."""
    lines = []
    for block in news_document(night):
        if isinstance(block, FindingBlock):
            command = f" → {one_line(block.command_in_chats)}" if block.command_in_chats else ""
            lines.append(f"• {_state(block)}: {plain_text(f'{block.title}. {_sentence(block)}')}{command}")
        elif isinstance(block, Heading | Paragraph):
            lines.append(plain_text(block.text))
    return {"text": "\n".join(lines), **night.to_dict()}


def slack_message(night: Night) -> dict[str, Any]:
    """Make a message for Slack: a header and a section for each finding.

    Notifications show `text`.
    """
    blocks: list[dict[str, Any]] = []
    for block in news_document(night):
        if isinstance(block, FindingBlock):
            text = f"{_SIGNS[block.level]} *{_state(block)}*: {chat_text(_sentence(block))}"
            if block.command_in_chats:
                text += f"\n{chat_code(block.command_in_chats)}"
            section = {"type": "mrkdwn", "text": _cut(text, MAX_SLACK_SECTION), "verbatim": True}
            blocks.append({"type": "section", "text": section})
        elif isinstance(block, Heading):
            head = {"type": "plain_text", "text": _cut(one_line(block.text), 150), "emoji": False}
            blocks.append({"type": "header", "text": head})
        elif isinstance(block, Paragraph):
            blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": chat_text(block.text)}]})
    return {"text": chat_text(one_line(night.headline)), "blocks": blocks}


def teams_message(night: Night) -> dict[str, Any]:
    """Make an Adaptive Card of version 1.4 in the envelope that a workflow's webhook takes."""
    body: list[dict[str, Any]] = []
    for block in news_document(night):
        if isinstance(block, FindingBlock):
            body.append(_teams_text(f"{_SIGNS[block.level]} {_state(block)}", weight="bolder", spacing="medium"))
            body[-1]["color"] = _TEAMS_COLOURS[block.severity]
            body.append(_teams_text(bare_markdown_text(_sentence(block)), spacing="none"))
            if block.command_in_chats:
                command = bare_markdown_code(block.command_in_chats)
                body.append(_teams_text(command, fontType="monospace", spacing="none"))
        elif isinstance(block, Heading):
            body.append(_teams_text(bare_markdown_text(one_line(block.text)), size="large", weight="bolder"))
        elif isinstance(block, Paragraph):
            body.append(_teams_text(bare_markdown_text(block.text), isSubtle=True))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _teams_text(text: str, **looks: object) -> dict[str, Any]:
    return {"type": "TextBlock", "text": text, "wrap": True, **looks}


def discord_message(night: Night) -> dict[str, Any]:
    """Make an embed for each finding, ten at most, coloured by severity.

    No text of a log can mention anybody.
    """
    embeds, content = [], []
    for block in news_document(night):
        if isinstance(block, FindingBlock):
            command = block.command_in_chats
            embed: dict[str, Any] = {
                "title": _cut(f"{_SIGNS[block.level]} {_state(block)}", 256),
                # Ten descriptions, titles and fields together may have 6,000 characters.
                "description": _cut(bare_markdown_text(_sentence(block)), 520 - min(len(command), MAX_DISCORD_COMMAND)),
                "color": _COLOURS[block.severity],
            }
            # A command that is cut off could do something else.
            embed |= {"footer": {"text": command}} if command and len(command) <= MAX_DISCORD_COMMAND else {}
            embeds.append(embed)
        elif isinstance(block, Heading | Paragraph):
            text = bare_markdown_text(one_line(block.text))
            content.append(f"**{text}**" if isinstance(block, Heading) else text)
    return {"content": _cut("\n".join(content), 2_000), "embeds": embeds, "allowed_mentions": {"parse": []}}


CHATS = {"webhook": webhook_body, "slack": slack_message, "teams": teams_message, "discord": discord_message}
"""The functions that make the message of a night, by the form of delivery."""


def _state(entry: FindingBlock) -> str:
    return f"{entry.severity}, {entry.state}"


def _sentence(entry: FindingBlock) -> str:
    """Return the sentence of a finding, and the rule that would name its errors."""
    return one_line(f"{entry.sentence} {entry.draft}")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


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
    return one_line(finding.explanation or finding.kind.title)
