"""A night of `analyzer check` becomes the body of a webhook: `text` for chats, all else for programs."""

from __future__ import annotations

from typing import Any

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.report.escape import chat_code, chat_text
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
