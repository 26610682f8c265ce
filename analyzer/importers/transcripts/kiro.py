"""Kiro CLI's sessions (`~/.kiro/sessions/cli/*.jsonl`), and beside each what became of its turns (`*.json`).

Only prompts name a time. Source of the turns: aws/amazon-q-developer-cli, `crates/agent`, April 2026, which Kiro CLI is
made of; the lines themselves were looked at in recordings of June and August 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.times import format_time
from analyzer.importers.base import Source
from analyzer.importers.failures import number
from analyzer.importers.records import RecordReader, identity_of, moment_of
from analyzer.importers.shapes.rows import listed

_FINE = "exit status: 0"
_KINDS = {"Interrupted": "interrupted", "contextWindowOverflow": "context_window_overflow", "throttling": "throttling"}


class KiroReader(RecordReader, name="kiro", agent="kiro-cli", visibility="terminal", folder=0):
    """Reads messages, or the turns of a session; the file names the session."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.time(state.get("last"))

    def remembered(self) -> dict[str, Any]:
        """The time of the last prompt."""
        return {**super().remembered(), "last": format_time(self.at) if self.timed else None}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if "session_state" in record:
            return list(self._turns(record))
        kind, data = record.get("kind"), mapping(record.get("data"))
        parts = list(listed(data.get("content")))
        if (at := moment_of(mapping(data.get("meta")).get("timestamp"))) is not None:
            self.clock(at)
        if kind == "AssistantMessage":
            self.see(requests=1)
            for used in (mapping(part.get("data")) for part in parts if part.get("kind") == "toolUse"):
                self.called(text(used.get("name")), text(used.get("toolUseId")))
        elif kind == "ToolResults":
            results = [mapping(part.get("data")) for part in parts if part.get("kind") == "toolResult"]
            return [event for result in results for event in self._answered(result)]
        elif kind == "Prompt":
            self.see()
        return ()

    def _answered(self, result: Mapping[str, Any]) -> list[Event]:
        call, said, ended = text(result.get("toolUseId")), None, None
        tool = self.tool_of(call)
        for part in listed(result.get("content")):
            ended = ended or text(mapping(part.get("data")).get("exit_status"))
            said = said or text(part.get("data"))
        if result.get("status") != "error" and ended in (None, _FINE):
            return []
        shown = ended.replace("exit status:", "Exit code") if ended not in (None, _FINE) and ended else said
        return self.tool_failed(tool, shown, self.session, call or identity_of(result))

    def _turns(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """Turns that failed; their requests are counted from the messages."""
        self.session = text(record.get("session_id")) or self.session
        self.work_in(record.get("cwd"))
        metadata = mapping(mapping(record["session_state"]).get("conversation_metadata"))
        for turn in listed(metadata.get("user_turn_metadatas")):
            self.time(turn.get("end_timestamp"))
            self.see()
            unique = self.session, identity_of(turn.get("loop_id"))
            if turn.get("end_reason") == "Cancelled":
                yield self.observed(f"turn/{identity_of(unique)}", *unique, aborted=1)
            elif error := mapping(mapping(turn.get("result")).get("Err")):
                yield self.failed(_facts(error), *unique)


def _facts(error: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the error that a turn ended with: of the service's stream, or of a reply that was no JSON."""
    stream = mapping(error.get("Stream"))
    kind = stream.get("kind")
    named = kind if isinstance(kind, str) else next(iter(mapping(kind)), None)
    told = next(iter(mapping(kind).values()), None)
    said = text(stream.get("original_message")) or text(told) or text(mapping(told).get("message"))
    broken = "The model produced invalid JSON" if "InvalidJson" in error else None
    return {
        "status": number(stream.get("original_status_code")),
        "type": _KINDS.get(named or "", named) if named != "other" else None,
        "message": said or broken,
    }
