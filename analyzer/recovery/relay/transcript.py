"""What an instance has said and done, as its summarizer reads it: turns out of the records of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.agent_stream.values import mapping, text
from analyzer.recovery.relay.checkpoint import Checkpoint, estimate_tokens
from analyzer.redaction import redact, redact_value


class SummarizerLimitError(Exception):
    """The session is more than the summarizer may read, or its checkpoint more than a fresh instance may be given."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, tool call or tool result."""

    role: str
    """`assistant`, `user`, `tool` (a call) or `result` (its answer)."""
    text: str
    tool: str | None = None
    """Name of the tool of a call."""
    arguments: Mapping[str, Any] | None = None
    """What a tool was called with."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said and done in a session so far."""

    task: str
    """What was asked for: a prompt or a command."""
    turns: tuple[Turn, ...]
    checkpoint: Checkpoint | None = None
    """What the session began with, where it is itself a continuation."""

    def render(self) -> str:
        """The transcript as text."""
        parts = [f"TASK: {self.task}"]
        if self.checkpoint is not None:
            parts.append(f"BEGAN FROM:\n{self.checkpoint.render()}")
        parts += (f"{turn.role.upper()}{f' {turn.tool}' if turn.tool else ''}: {turn.text}" for turn in self.turns)
        return "\n\n".join(parts) + "\n"

    @property
    def tokens(self) -> int:
        """An estimate of the tokens of the transcript."""
        return estimate_tokens(self.render())


def transcript(
    task: str, records: Iterable[Mapping[str, Any]], checkpoint: Checkpoint | None, token_cap: int
) -> Transcript:
    """The transcript of a stream's records.

    Raises:
        SummarizerLimitError: it is longer than `token_cap`; it is not read on from there.
    """
    turns = []
    tokens = estimate_tokens(task) + (checkpoint.tokens if checkpoint else 0)
    for record in records:
        for turn in turns_of(record):
            tokens += estimate_tokens(turn.text) + 2
            if tokens > token_cap:
                raise SummarizerLimitError(f"the session has more than the summarizer's {token_cap:,} tokens")
            turns.append(turn)
    return Transcript(task, tuple(turns), checkpoint)


def turns_of(record: Mapping[str, Any]) -> Iterator[Turn]:
    """The turns in one record of a stream, secrets taken out; those of subagents stay with their own agents."""
    role = record.get("type")
    if role not in ("assistant", "user") or record.get("parent_tool_use_id"):
        return
    content = mapping(record.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in map(mapping, blocks if isinstance(blocks, list) else ()):
        kind = block.get("type")
        if kind == "text" and text(block.get("text")):
            yield Turn(role, redact(str(block["text"])))
        elif kind == "tool_use":
            arguments = redact_value(mapping(block.get("input")))
            yield Turn("tool", json.dumps(dict(arguments), ensure_ascii=False), text(block.get("name")), arguments)
        elif kind == "tool_result":
            yield Turn("result", redact(_said(block.get("content"))))


def tool_calls(record: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Ids of the tools that a record calls, and of those that it answers."""
    content = mapping(record.get("message")).get("content")
    called, answered = set(), set()
    for block in map(mapping, content if isinstance(content, list) else ()):
        if block.get("type") == "tool_use":
            called.add(str(block.get("id")))
        elif block.get("type") == "tool_result":
            answered.add(str(block.get("tool_use_id")))
    return called, answered


def _said(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in map(mapping, blocks))
