"""The document that one instance of an agent leaves to the next: five sections of Markdown.

Invariant: a checkpoint is parsed and checked before it is handed over; `parse(render(c)) == c`.

A transcript is the record of an instance's messages and tool calls, as its summarizer reads it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.errors import AnalyzerError, system_text
from analyzer.events.appending.places import make_folder
from analyzer.frozen import frozen
from analyzer.redaction import redact, redact_value

TITLE = "# Relay Checkpoint"
SECTIONS = ("Completed Work", "Current State", "Modified Files", "Remaining Work", "Resume Instructions")
CHARS_PER_TOKEN = 4
"""English prose and code have about four characters a token."""

_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")


class CheckpointError(AnalyzerError):
    """A document that is no checkpoint."""


@frozen
class Checkpoint:
    """The state of a piece of work, for the instance that goes on with it. Each item is one line of text."""

    completed_work: tuple[str, ...]
    current_state: tuple[str, ...]
    modified_files: tuple[str, ...]
    remaining_work: tuple[str, ...]
    """Steps in the order in which they are to be done; never empty."""
    resume_instructions: str
    """The first thing that the next instance should do; never empty."""

    def render(self) -> str:
        """Return the checkpoint as a Markdown document."""
        numbered = (f"{number}. {_one_line(item)}" for number, item in enumerate(self.remaining_work, 1))
        bodies = (
            _bullets(self.completed_work),
            _bullets(self.current_state),
            _bullets(self.modified_files),
            "\n".join(numbered),
            self.resume_instructions.strip(),
        )
        parts = (f"## {name}\n{body}".rstrip() for name, body in zip(SECTIONS, bodies, strict=True))
        return "\n\n".join([TITLE, *parts]) + "\n"

    @property
    def tokens(self) -> int:
        """Estimate the tokens of the document."""
        return estimate_tokens(self.render())


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text) // CHARS_PER_TOKEN)


def parse(text: str) -> Checkpoint:
    """Parse a document. Text around the checkpoint and a code fence are ignored.

    Raises:
        CheckpointError: it has no title, lacks a section or has one twice, or does not say what remains.
    """
    lines = text.splitlines()
    titles = [number for number, line in enumerate(lines) if line.strip() == TITLE]
    if not titles:
        raise CheckpointError(f"no {TITLE!r} in it", f"the document begins with that title; its sections: {_names()}")
    bodies: dict[str, list[str]] = {}
    section: list[str] | None = None
    begins = titles[-1] + 1
    for line in lines[begins : _end_of_fence(lines, begins)]:
        heading = line[2:].strip().rstrip("#").rstrip() if line.startswith("## ") else ""
        if heading in SECTIONS:
            if heading in bodies:
                raise CheckpointError(f"the section {heading!r} is in it twice", "write each section once")
            section = bodies[heading] = []
        elif section is not None:
            section.append(line)
    missing = [name for name in SECTIONS if name not in bodies]
    if missing:
        raise CheckpointError(f"no section {missing[0]!r} in it", f"it takes all of: {_names()}")
    instructions = "\n".join(bodies["Resume Instructions"]).strip()
    remaining = _items(bodies["Remaining Work"])
    if not remaining or not instructions:
        raise CheckpointError(
            "it does not say what remains and how to go on", "Remaining Work and Resume Instructions may not be empty"
        )
    completed, state, files = (_items(bodies[name]) for name in SECTIONS[:3])
    return Checkpoint(completed, state, files, remaining, instructions)


def write(checkpoint: Checkpoint, folder: str | os.PathLike[str], name: str) -> Path:
    """Write the document, redacted and with mode 0600, in one step; return its path.

    Raises:
        CheckpointError: it cannot be written there, or others may write to the folder.
    """
    path = Path(folder) / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.md"
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        make_folder(os.path.abspath(folder), synced=False)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        with os.fdopen(os.open(draft, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(redact(checkpoint.render()))
        os.replace(draft, path)
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be written: {system_text(error)}", "it needs a folder that you, and nobody else, may write"
        ) from error
    return path


def _end_of_fence(lines: list[str], begins: int) -> int:
    """Return the line of the end of the fence around the document.

    The number of lines if there is none.
    """
    before = next((line for line in reversed(lines[: begins - 1]) if line.strip()), "")
    fences = [number for number in range(begins, len(lines)) if lines[number].strip() == "```"]
    return fences[-1] if before.strip().startswith("```") and fences else len(lines)


def _items(lines: Iterable[str]) -> tuple[str, ...]:
    """Return list items, each on one line; a line that begins no item continues the one before."""
    items: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if _ITEM.match(line) or not items:
            items.append(_ITEM.sub("", line).strip())
        else:
            items[-1] += " " + line.strip()
    return tuple(item for item in items if item)


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {_one_line(item)}" for item in items)


def _one_line(item: str) -> str:
    return " ".join(item.split())


def _names() -> str:
    return ", ".join(SECTIONS)


class SummarizerLimitError(Exception):
    """A session that the summarizer cannot hold,
    or a checkpoint that a fresh instance may not be given.
    """


@frozen
class Turn:
    """One message, tool call or tool result."""

    role: str
    """`assistant`, `user`, `tool` (a call) or `result` (its answer)."""
    text: str
    tool: str | None = None
    """Name of the tool in a call."""
    arguments: Mapping[str, Any] | None = None
    """The arguments of a call."""


@frozen
class Transcript:
    """The messages and tool calls of a session so far."""

    task: str
    """The prompt or the command that was asked for."""
    turns: tuple[Turn, ...]
    checkpoint: Checkpoint | None = None
    """The checkpoint that the session began with, if it is itself a continuation."""

    def render(self) -> str:
        """Return the transcript as text."""
        parts = [f"TASK: {self.task}"]
        if self.checkpoint is not None:
            parts.append(f"BEGAN FROM:\n{self.checkpoint.render()}")
        parts += (f"{turn.role.upper()}{f' {turn.tool}' if turn.tool else ''}: {turn.text}" for turn in self.turns)
        return "\n\n".join(parts) + "\n"

    @property
    def tokens(self) -> int:
        """Estimate the tokens of the transcript."""
        return estimate_tokens(self.render())


def transcript(
    task: str, records: Iterable[Mapping[str, Any]], checkpoint: Checkpoint | None, token_cap: int
) -> Transcript:
    """Make the transcript of a stream's records.

    Raises:
        SummarizerLimitError: it is longer than `token_cap`; the rest is not read.
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
    """Yield the turns in one record of a stream, redacted; those of subagents are left out."""
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
            yield Turn("result", redact(_result_text(block.get("content"))))


def tool_calls(record: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the ids of the tool calls that a record makes, and of those that it answers."""
    content = mapping(record.get("message")).get("content")
    called, answered = set(), set()
    for block in map(mapping, content if isinstance(content, list) else ()):
        if block.get("type") == "tool_use":
            called.add(str(block.get("id")))
        elif block.get("type") == "tool_result":
            answered.add(str(block.get("tool_use_id")))
    return called, answered


def _result_text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in map(mapping, blocks))
