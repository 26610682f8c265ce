"""Write documents as messages to chats.

The forms are those of https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, of
an Adaptive Card as Teams' workflows take it (https://adaptivecards.io/explorer), and of
https://discord.com/developers/docs/resources/webhook. Chats have no tables: a row is a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzer.readable import cut
from analyzer.report.document import Command, Document, FindingBlock, Heading, Items, Paragraph, Plain, TableBlock, flat
from analyzer.report.escape import (
    bare_markdown_code,
    bare_markdown_text,
    chat_code,
    chat_text,
    one_line,
    plain_text,
)

MAX_SLACK_SECTION = 3_000
"""The most characters of a block of text."""
MAX_DISCORD_COMMAND = 300
"""The most characters of a command in an embed."""
_SIGNS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "resolved": "✅"}
_COLOURS = {"critical": 0xB42318, "warning": 0xB54708, "info": 0x175CD3}
_TEAMS_COLOURS = {"critical": "attention", "warning": "warning", "info": "accent"}


def to_chat(document: Document) -> str:
    """Write a document as plain text for the `text` of a webhook, a line a block."""
    lines = []
    for block in flat(document):
        if isinstance(block, FindingBlock):
            command = f" → {one_line(block.command_in_chats)}" if block.command_in_chats else ""
            lines.append(f"• {_state(block)}: {plain_text(_sentence(block))}{command}")
        else:
            lines += map(plain_text, _lines(block))
    return "\n".join(lines)


def to_slack(document: Document) -> dict[str, Any]:
    """Write a message for Slack: a header and a section for each finding.

    Notifications show `text`.
    """
    blocks: list[dict[str, Any]] = []
    heads = [one_line(block.text) for block in flat(document) if isinstance(block, Heading)]
    for block in flat(document):
        if isinstance(block, FindingBlock):
            text = f"{_SIGNS[block.level]} *{_state(block)}*: {chat_text(_sentence(block))}"
            if block.command_in_chats:
                text += f"\n{chat_code(block.command_in_chats)}"
            section = {"type": "mrkdwn", "text": cut(text, MAX_SLACK_SECTION), "verbatim": True}
            blocks.append({"type": "section", "text": section})
        elif isinstance(block, Heading):
            head = {"type": "plain_text", "text": cut(one_line(block.text), 150), "emoji": False}
            blocks.append({"type": "header", "text": head})
        elif lines := [*_lines(block)]:
            text = cut("\n".join(chat_text(one_line(line)) for line in lines), MAX_SLACK_SECTION)
            blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": text}]})
    return {"text": chat_text("".join(heads[:1])), "blocks": blocks}


def to_teams(document: Document) -> dict[str, Any]:
    """Write an Adaptive Card of version 1.4 in the envelope that a workflow's webhook takes."""
    body: list[dict[str, Any]] = []
    for block in flat(document):
        if isinstance(block, FindingBlock):
            body.append(_teams_text(f"{_SIGNS[block.level]} {_state(block)}", weight="bolder", spacing="medium"))
            body[-1]["color"] = _TEAMS_COLOURS[block.severity]
            body.append(_teams_text(bare_markdown_text(_sentence(block)), spacing="none"))
            if block.command_in_chats:
                command = bare_markdown_code(block.command_in_chats)
                body.append(_teams_text(command, fontType="monospace", spacing="none"))
        elif isinstance(block, Heading):
            body.append(_teams_text(bare_markdown_text(one_line(block.text)), size="large", weight="bolder"))
        else:
            body += [_teams_text(bare_markdown_text(line), isSubtle=True) for line in _lines(block)]
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


def to_discord(document: Document) -> dict[str, Any]:
    """Write an embed for each finding, ten at most, coloured by severity.

    No text of a log can mention anybody.
    """
    embeds: list[dict[str, Any]] = []
    content = []
    for block in flat(document):
        if isinstance(block, FindingBlock):
            command = block.command_in_chats
            embed: dict[str, Any] = {
                "title": cut(f"{_SIGNS[block.level]} {_state(block)}", 256),
                # Ten descriptions, titles and fields together may have 6,000 characters.
                "description": cut(bare_markdown_text(_sentence(block)), 520 - min(len(command), MAX_DISCORD_COMMAND)),
                "color": _COLOURS[block.severity],
            }
            # A command that is cut off could do something else.
            embed |= {"footer": {"text": command}} if command and len(command) <= MAX_DISCORD_COMMAND else {}
            embeds.append(embed)
        else:
            bold = "**" if isinstance(block, Heading) else ""
            content += [f"{bold}{bare_markdown_text(one_line(line))}{bold}" for line in _lines(block)]
    return {"content": cut("\n".join(content), 2_000), "embeds": embeds[:10], "allowed_mentions": {"parse": []}}


CHATS = {"slack": to_slack, "teams": to_teams, "discord": to_discord}
"""The writers of messages by the form of delivery."""


def _lines(block: Plain) -> Iterator[str]:
    """Yield the texts of a block that is no finding."""
    match block:
        case Heading() | Paragraph():
            yield from [] if isinstance(block, Heading) and block.repeats else [block.text]
        case Command():
            yield _words(block)
        case Items():
            yield from filter(None, (" ".join(filter(None, (block.word, block.name))), *map(_words, block.shown)))
        case TableBlock() if not block.repeats:
            for index, row in enumerate(block.rows):
                yield " · ".join(filter(None, row))
                yield from map(_words, block.notes[index] if block.notes else ())
            if block.more:
                yield block.more


def _words(text: str | Command) -> str:
    return ": ".join(filter(None, (text.purpose, text.text))) if isinstance(text, Command) else text


def _state(entry: FindingBlock) -> str:
    return f"{entry.severity}, {entry.state}"


def _sentence(entry: FindingBlock) -> str:
    """Return the title and the sentence of a finding, and the rule that would name its errors."""
    return one_line(f"{entry.title}. {entry.sentence} {entry.draft}")
