"""Where conversations are kept, and a summary of old turns that needs no model.

Invariant: a store gives and takes whole conversations; the summary follows from the messages.
"""

from __future__ import annotations

from typing import Protocol

from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    answers_a_call,
    blocks_of,
    is_tool_output,
    role_of,
    text_of,
)
from analyzer.recovery.context.media import get

OUTLINE_CHARS = 4_000
_LINE_CHARS = 200


class SessionStore(Protocol):
    """What context recovery needs of whoever keeps the conversations."""

    def messages(self, session_id: str) -> Messages:
        """The conversation as it is now; empty for an unknown session."""

    def replace(self, session_id: str, messages: list[Message]) -> None:
        """Puts a smaller conversation in its place."""


class MemorySessions(dict[str, list[Message]]):
    """Conversations in memory, by session. An agent may go on appending to the lists that it put in."""

    def messages(self, session_id: str) -> Messages:
        """See `SessionStore`."""
        return list(self.get(session_id, ()))

    def replace(self, session_id: str, messages: list[Message]) -> None:
        """See `SessionStore`; the list stays the same object."""
        self.setdefault(session_id, [])[:] = messages


def outline(messages: list[Message]) -> str:
    """A summarizer without a model: what was asked, which tools were called, what was answered, one line each."""
    lines = [line for message in messages for line in _lines(message)]
    kept: list[str] = []
    room = OUTLINE_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            kept.append(f"[... {len(lines) - len(kept)} more lines left out ...]")
            break
        kept.append(line)
    return "\n".join(kept)


def _lines(message: Message) -> list[str]:
    role = role_of(message)
    if is_tool_output(message) or answers_a_call(message):
        return []
    label = {"user": "Asked", "assistant": "Answered"}.get(role, role or "Said")
    text = " ".join(text_of(message).split())
    found = [f"{label}: {_short(text)}"] if text else []
    return found + [f"Called: {_short(call)}" for call in _calls(message)]


def _calls(message: Message) -> list[str]:
    blocks = [block for block in blocks_of(message) if get(block, "type") == "tool_use"]
    called = [f"{get(block, 'name')} {get(block, 'input')}" for block in blocks]
    functions = [get(call, "function") for call in get(message, "tool_calls") or ()]
    return called + [f"{get(each, 'name')} {get(each, 'arguments')}" for each in functions]


def _short(text: str) -> str:
    return text if len(text) <= _LINE_CHARS else f"{text[: _LINE_CHARS - 1]}…"
