"""Antigravity's transcripts (`~/.gemini/antigravity-cli/brain/*/.system_generated/logs/transcript.jsonl`).

No source of it is open: its steps are read as recordings of June 2026 show them. Checkpoint 0 is written at the end of
each session's first turn, however short, and is no compaction; those with a higher number are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import text
from analyzer.events import Event
from analyzer.importers.base import Source
from analyzer.importers.failures import number
from analyzer.importers.records import MAIN, RecordReader, folder_of, identity_of, session_of
from analyzer.importers.shapes.rows import listed

_CHECKPOINT = re.compile(r"^\{\{ CHECKPOINT [1-9]\d{0,5} \}\}")
_ENDED = re.compile(r"\bcommand failed with (exit code: -?\d{1,6})")
_HEAD = re.compile(r"^(?:(?:Created|Completed) At: .*\n)*\s*")
_LOOKED_AT = 400


class AntigravityReader(RecordReader, name="antigravity", agent="antigravity", visibility="terminal"):
    """Reads the steps of a conversation; a folder names it."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.session = folder_of(source.path, 3) or session_of(source.path)
        self.known |= {"agent": self.agent}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("created_at"))
        self.see()
        kind, said = record.get("type"), text(record.get("content")) or ""
        unique = self.session, number(record.get("step_index")), identity_of(record)
        if kind == "PLANNER_RESPONSE":
            self.see(requests=1)
            self.see_calls(*(text(call.get("name")) for call in listed(record.get("tool_calls"))))
            again = [self.scheduled(*unique)] if MAIN in self.chains else []
            return [*again, *self.settled("recovered", made=1)]
        if kind == "ERROR_MESSAGE":
            again = [self.scheduled(*unique)] if MAIN in self.chains else []
            return [*again, self.failed({"message": said.removeprefix("Error: ")}, *unique, chain=MAIN)]
        if kind == "USER_INPUT":
            return self.settled("exhausted")
        if kind == "CHECKPOINT" and _CHECKPOINT.match(said):
            return self.compacted({}, *unique)
        if record.get("source") == "MODEL" and isinstance(kind, str):
            ended = _ENDED.search(said[:_LOOKED_AT])
            if ended or record.get("status") == "ERROR":
                shown = ended[1].replace("exit code:", "Exit code") if ended else _HEAD.sub("", said)
                return [self.tool_failed(kind.lower()[:100], shown, *unique)]
        return ()
