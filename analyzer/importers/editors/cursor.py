"""Cursor's transcripts (`~/.cursor/projects/*/agent-transcripts/**/*.jsonl`): messages without times, ends of turns.

An end says whether the turn was done, stopped or failed, and why; results of tools and retries are not written.
Transcripts that older versions wrote as text are not read. No source of it is open: lines are read as public readers of
it show them, such as kenn-io/agentsview, `internal/parser/cursor.go`, 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.records import RecordReader, kept, session_of
from analyzer.importers.shapes.rows import listed


class CursorReader(RecordReader, name="cursor", agent="cursor", visibility="terminal"):
    """Reads a transcript; its file is named for the session."""

    _turn: int = kept(0)
    """How many turns have ended."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        path = self.source.path.replace("\\", "/")
        self.session, self.known = session_of(path), {"agent": self.agent}
        self.role = "subagent" if "/subagents/" in path else None
        if record.get("type") != "turn_ended":
            parts = [*listed(mapping(record.get("message")).get("content"))]
            self.see(requests=int(record.get("role") == "assistant"))
            self.see_calls(*(text(part.get("name")) for part in parts if part.get("type") == "tool_use"))
            return ()
        self._turn += 1
        self.see(aborted=int(record.get("status") == "aborted"))
        said = text(record.get("error"))
        return (
            [self.failed({"message": said}, self.session, self._turn, said)] if record.get("status") == "error" else ()
        )
