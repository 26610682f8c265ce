"""A night of `analyzer check` becomes the body of a webhook: `text` for chats, all else for programs."""

from __future__ import annotations

from typing import Any

from analyzer.analysis.nightly.findings import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.report.escape import chat_text

MAX_TEXT_FINDINGS = 10


def webhook_body(night: Night) -> dict[str, Any]:
    """JSON-ready: `text`, and the keys of `analyzer.check/1`."""
    lines = [f"*{chat_text(night.headline)}*"]
    shown = night.findings[:MAX_TEXT_FINDINGS]
    lines += [
        f"• {one.severity}, {one.state}: {chat_text(one.explanation or one.kind.title)}{_end(one)}" for one in shown
    ]
    if len(night.findings) > len(shown):
        lines.append(f"… and {len(night.findings) - len(shown)} more")
    return {"text": "\n".join(lines), **night.to_dict()}


def _end(found: Finding) -> str:
    return f" → `{found.advice}`" if found.advice.startswith("analyzer ") else ""
