"""A night of `analyzer check` becomes a message in the form of Slack, Teams or Discord: what is new, worse or over.

The forms are those of https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, of an Adaptive Card as
Teams' workflows take it (https://adaptivecards.io/explorer), and of https://discord.com/developers/docs/resources/webhook.
"""

from __future__ import annotations

from typing import Any

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.phrases import counted
from analyzer.report.documents.night_webhook import MAX_TEXT_FINDINGS
from analyzer.report.escape import bare_markdown_code, bare_markdown_text, chat_code, chat_text, one_line

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
