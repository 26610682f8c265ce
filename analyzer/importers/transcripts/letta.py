"""Letta Code's conversations without a server (`~/.letta/lc-local-backend/conversations/*/messages.jsonl`).

Each line is a message as pi's entries hold it, and is read as in `pi`. A reply that fails gives way to the one that is
tried after it, so that only the last of a chain is there; a file is written anew with each change.
Source: npm @letta-ai/letta-code 0.25.9, `messages.jsonl` of the format `pi-ai-message-jsonl`, version 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.importers.agents.pi import PiReader
from analyzer.importers.base import Source
from analyzer.importers.records import session_of


class LettaReader(PiReader, name="letta", agent="letta-code", visibility="terminal"):
    """Reads messages; the folder names the conversation."""

    glance: ClassVar[Any] = None

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.session = session_of(source.path)
        self.known |= {"agent": self.agent}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        compaction = mapping(mapping(record.get("metadata")).get("compaction"))
        if compaction:
            self.time(record.get("timestamp"))
            self.see()
            stats, unique = mapping(compaction.get("stats")), (self.session, text(record.get("id")) or "")
            began = {"pre_tokens": count(stats.get("context_tokens_before"))}
            return self.compacted(began, *unique, post_tokens=count(stats.get("context_tokens_after")))
        named = {key: record.get(key) for key in ("id", "timestamp")}
        return super()._events_of({**named, "type": "message", "message": record})
