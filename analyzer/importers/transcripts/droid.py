"""Droid's sessions (`~/.factory/sessions/*/*.jsonl`): messages and compactions, and no failed calls of the service.

Tokens stand in `*.settings.json` beside it, for a session as a whole, and are not read. Source: the program of npm
@factory/cli 0.225.2, as it writes and reads a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.records import RecordReader, identity_of, session_of
from analyzer.importers.transcripts.cline_cli import block_events


class DroidReader(RecordReader):
    """Reads the lines of a session; the first one names it and the folder that it works in."""

    name: ClassVar[str] = "droid"
    agent: str = "droid"
    visibility: ClassVar[str] = "none"

    def events(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of one line."""
        kind = record.get("type")
        if kind == "session_start":
            self.session = text(record.get("id"))
            self.role = "subagent" if text(record.get("callingSessionId")) else None
            self.known = {"agent": self.agent}
            self.work_in(record.get("cwd"))
            return ()
        self.session = self.session or session_of(self.source.path)
        unique = self.session, text(record.get("id")) or identity_of(record)
        if kind == "message":
            message = mapping(record.get("message"))
            self.time(record.get("timestamp"))
            self.see(requests=int(message.get("role") == "assistant"))
            return block_events(self, message.get("content"))
        if kind == "compaction_state":
            self.time(record.get("timestamp"))
            self.see()
            return self.compacted({}, unique)
        return ()
