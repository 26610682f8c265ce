"""Mistral Vibe's sessions (`~/.vibe/logs/session/*/messages.jsonl`): messages without times, and no failed calls.

A compaction begins a new session with an injected message. Source: mistralai/mistral-vibe, `vibe/core/compaction.py`
and `vibe/core/utils/tags.py`, July 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import re2

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.base import Source
from analyzer.importers.records import RecordReader, identity_of, session_of
from analyzer.importers.shapes.rows import listed

_FAILED = re.compile(r"^<(tool_error|user_cancellation)>(?:\S{1,100} failed: )?((?s:.*?))</\1>")
_RETURNED = re.compile(r"^Command failed: .*\nReturn code: (-?\d{1,6})")
_SUMMARY = "<compaction_summary>"
_TELLING = re2.compile(rb'"role": ?"assistant"|<tool_error>|<user_cancellation>|<compaction_summary>')


class VibeReader(RecordReader, name="vibe", agent="mistral-vibe", visibility="none"):
    """Reads messages; the folder names the session."""

    telling: ClassVar[Any] = _TELLING

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.session = session_of(source.path)
        self.known |= {"agent": self.agent}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        role, said = record.get("role"), text(record.get("content")) or ""
        unique = self.session, text(record.get("message_id")) or identity_of(record)
        if role == "assistant":
            self.see(requests=1)
            for call in listed(record.get("tool_calls")):
                self.called(text(mapping(call.get("function")).get("name")), text(call.get("id")))
        elif role == "tool":
            tool = text(record.get("name")) or self.tool_of(text(record.get("tool_call_id")))
            if failed := _FAILED.match(said):
                returned = _RETURNED.match(failed[2])
                kind = "cancelled" if failed[1] == "user_cancellation" else None
                return [
                    self.tool_failed(tool, f"Exit code {returned[1]}" if returned else failed[2], unique, kind=kind)
                ]
        elif record.get("injected") is True and _SUMMARY in said:
            self.see()
            return self.compacted({}, unique)
        return ()
