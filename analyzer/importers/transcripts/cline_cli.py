"""Cline CLI's sessions (`~/.cline/data/sessions/*/*.messages.json`): one document a session, no failed calls.

Source: cline/cline, `sdk/packages/core/docs/messages-contract-v1.md`, August 2026. By it a turn that fails before any
output leaves no message, and a retry that works leaves its answer alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.agents.gemini import said_by
from analyzer.importers.records import RecordReader, session_of
from analyzer.importers.shapes.rows import listed


class ClineCliReader(RecordReader, name="cline_cli", agent="cline", visibility="none"):
    """Reads a session's messages, whose blocks are Anthropic's."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.session = text(record.get("sessionId")) or session_of(self.source.path)
        self.role = "subagent" if record.get("agent") in ("subagent", "teammate") else None
        self.known = {"agent": self.agent}
        events: list[Event] = []
        for message in listed(record.get("messages")):
            self.time(message.get("ts") or (record.get("updated_at") if not self.timed else None))
            model = mapping(message.get("modelInfo"))
            self.known |= present({"model": text(model.get("id")), "provider": text(model.get("provider"))})
            self.see(requests=int(message.get("role") == "assistant"))
            events += block_events(self, message.get("content"))
        return events


def block_events(reader: RecordReader, content: object) -> list[Event]:
    """The failed calls among blocks as Anthropic's interface has them, some with camel-case keys; all are counted."""
    events = []
    for block in listed(content):
        if block.get("type") == "tool_use":
            reader.called(text(block.get("name")), text(block.get("id")))
        elif block.get("type") == "tool_result":
            call = text(block.get("tool_use_id")) or text(block.get("toolUseId"))
            tool = reader.tool_of(call)
            if block.get("is_error") is True or block.get("isError") is True:
                events.append(reader.tool_failed(tool, said_by(block.get("content")), reader.session, call))
    return events
