"""Kiro CLI's sessions (`~/.kiro/sessions/cli/*.jsonl`), and the ends of their turns (`*.json`).

Only prompts name a time. Source of the turns: aws/amazon-q-developer-cli, `crates/agent`, April
2026, which Kiro CLI is made of; the lines themselves were looked at in recordings of June and
August 2026.
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
    """Reads the messages or the turns of a session, which has the name of the file."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.time(state.get("last"))

    def remembered(self) -> dict[str, Any]:
        """Return what a checkpoint holds, with the time of the last prompt."""
        return {**super().remembered(), "last": format_time(self.at) if self.timed else None}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if "session_state" in record:
            return list(self._turns(record))
        kind, data = record.get("kind"), mapping(record.get("data"))
        parts = list(listed(data.get("content")))
        if (at := moment_of(mapping(data.get("meta")).get("timestamp"))) is not None:
            self.clock(at)
        if kind == "AssistantMessage":
            self.count_session(requests=1)
            for part in parts:
                if part.get("kind") == "toolUse":
                    call = mapping(part.get("data"))
                    self.called(text(call.get("name")), text(call.get("toolUseId")))
        elif kind == "ToolResults":
            results = [mapping(part.get("data")) for part in parts if part.get("kind") == "toolResult"]
            return [event for result in results for event in self._tool_result(result)]
        elif kind == "Prompt":
            self.count_session()
        return ()

    def _tool_result(self, result: Mapping[str, Any]) -> list[Event]:
        call, output, exit_status = text(result.get("toolUseId")), None, None
        tool = self.tool_of(call)
        for part in listed(result.get("content")):
            exit_status = exit_status or text(mapping(part.get("data")).get("exit_status"))
            output = output or text(part.get("data"))
        if exit_status is not None and exit_status != _FINE:
            output = exit_status.replace("exit status:", "Exit code")
        elif result.get("status") != "error":
            return []
        return self.tool_failed(tool, output, self.session, call or identity_of(result))

    def _turns(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """Yield the events of failed and stopped turns; requests are counted from the messages."""
        self.session = text(record.get("session_id")) or self.session
        self.work_in(record.get("cwd"))
        metadata = mapping(mapping(record["session_state"]).get("conversation_metadata"))
        for turn in listed(metadata.get("user_turn_metadatas")):
            self.time(turn.get("end_timestamp"))
            self.count_session()
            unique = self.session, identity_of(turn.get("loop_id"))
            if turn.get("end_reason") == "Cancelled":
                yield self.observed(f"turn/{identity_of(unique)}", *unique, aborted=1)
            elif error := mapping(mapping(turn.get("result")).get("Err")):
                yield self.failed(_facts(error), *unique)


def _facts(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of the error that ended a turn.

    It is an error of the stream, or a reply that was no JSON.
    """
    stream = mapping(error.get("Stream"))
    kind = stream.get("kind")
    name = kind if isinstance(kind, str) else next(iter(mapping(kind)), None)
    details = next(iter(mapping(kind).values()), None)
    message = text(stream.get("original_message")) or text(details)
    message = message or text(mapping(details).get("message"))
    if message is None and "InvalidJson" in error:
        message = "The model produced invalid JSON"
    return {
        "status": number(stream.get("original_status_code")),
        "type": _KINDS.get(name or "", name) if name != "other" else None,
        "message": message,
    }
