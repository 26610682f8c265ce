"""Droid's sessions (`~/.factory/sessions/*/*.jsonl`): messages, compactions, and for which reason a turn ended.

A turn that failed names its reason and no words, and shows no retries before it. Turns that waited in line and ended
with it are lines of their own, which say the same: they count once. Tokens stand in `*.settings.json` beside it, for a
session as a whole, and are not read. Source: the program of npm @factory/cli 0.225.2, as it writes and reads a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.records import RecordReader, identity_of, kept, session_of
from analyzer.importers.transcripts.cline_cli import block_events

_WORDS = {"model_usage_exhausted": "usage limit reached"}
"""What a reason means, where no rule knows it by its name."""


class DroidReader(RecordReader, name="droid", agent="droid", visibility="terminal"):
    """Reads the lines of a session; the first one names it and the folder that it works in."""

    _last: str | None = kept()
    """The time of the last message, as ends of turns name none."""
    _ended: str | None = kept()
    """How the last turn ended, until another message comes."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        kind = record.get("type")
        if kind == "session_start":
            self.session = text(record.get("id"))
            self.role = "subagent" if text(record.get("callingSessionId")) else None
            self.known = {"agent": self.agent}
            self.work_in(record.get("cwd"))
            return ()
        self.session = self.session or session_of(self.source.path)
        self._last = text(record.get("timestamp")) or self._last
        self.time(self._last)
        if kind == "message":
            message, self._ended = mapping(record.get("message")), None
            self.see(requests=int(message.get("role") == "assistant"))
            return block_events(self, message.get("content"))
        if kind == "compaction_state":
            self.see()
            return self.compacted({}, self.session, text(record.get("id")) or identity_of(record))
        return self._turn(record) if kind == "agent_turn_outcome" else ()

    def _turn(self, record: Mapping[str, Any]) -> list[Event]:
        """A turn that was stopped, or that failed for the sake of a model; other reasons are the program's own."""
        reason, before = text(record.get("reason")) or "", self._ended
        self._ended = reason
        if reason == before:
            return []
        self.see(aborted=int(reason == "cancelled"))
        if reason not in ("error", "prompt_rejected") and not reason.startswith("model_"):
            return []
        unique = self.session, text(record.get("turnId")) or identity_of(record)
        facts = {"type": reason if reason != "error" else None, "message": _WORDS.get(reason)}
        failure = self.failed(facts, *unique)
        return [failure, *([self.exhausted(failure, *unique)] if reason in _WORDS else [])]
