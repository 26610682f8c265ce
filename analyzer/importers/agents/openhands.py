"""OpenHands' events: a file for each event, or one exported array. Their times name no zone.

Retries are never written. A tool's answer with an error is read by the model: no call of the
service failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import content_text, mapping, text
from analyzer.events import Event
from analyzer.importers.base import Source
from analyzer.importers.failures import first_digits, number
from analyzer.importers.records import RecordReader, moment_here

_STATUS = re.compile(r'"code": ?(\d{3})\b|\b(?:status|code):? (\d{3})\b')
_FAILED_STATES = frozenset({"error", "rate_limited"})


class OpenHandsReader(RecordReader, name="openhands", agent="openhands", visibility="terminal"):
    """Reads events, old and new; the folder names the session."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        folders = source.path.replace("\\", "/").split("/")[:-1]
        self.begin(folders[-2] if folders[-1:] == ["events"] and len(folders) > 1 else None)

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.clock(moment_here(record.get("timestamp")))
        kind, extras = record.get("kind"), mapping(record.get("extras"))
        unique = self.session, str(record.get("id")), str(record.get("timestamp"))
        if kind == "ConversationErrorEvent":
            return self._failed(text(record.get("code")), text(record.get("detail")), unique)
        if kind == "Condensation" or record.get("action") == "condensation":
            return self.compacted({"strategy": "condense"}, unique)
        if record.get("observation") == "agent_state_changed" and extras.get("agent_state") in _FAILED_STATES:
            state = text(extras.get("agent_state"))
            return self._failed(state if state != "error" else None, text(extras.get("reason")), unique)
        if failed := self._tool_failed(record, extras, unique):
            return failed
        if record.get("source") == "agent" and (kind == "ActionEvent" or isinstance(record.get("action"), str)):
            self.count_session(requests=1)
            self.count_calls(_tool(record))
        return ()

    def _tool_failed(self, record: Mapping[str, Any], extras: Mapping[str, Any], unique: object) -> list[Event]:
        """Record a failed call of a tool, as newer and as older versions write it."""
        kind, observation = record.get("kind"), record.get("observation")
        tool = _tool(record)
        if kind == "AgentErrorEvent":
            return self.tool_failed(tool, text(record.get("error")), unique)
        if kind == "UserRejectObservation" or observation == "user_rejected":
            return self.tool_failed(tool, text(record.get("rejection_reason")), unique, kind="refused")
        if kind == "ObservationEvent":
            outcome = mapping(observation)
            code = number(outcome.get("exit_code")) or number(mapping(outcome.get("metadata")).get("exit_code"))
            failed = outcome.get("is_error") is True or outcome.get("error") is True or bool(code)
            message = (
                f"Exit code {code}\n{content_text(outcome.get('content'))}" if code else text(outcome.get("error"))
            )
            return self.tool_failed(tool, message, unique) if failed else []
        if observation == "error":
            return self.tool_failed(tool, text(record.get("message")) or text(record.get("content")), unique)
        code = number(mapping(extras.get("metadata")).get("exit_code")) if observation == "run" else None
        return (
            self.tool_failed(tool, f"Exit code {code}\n{content_text(record.get('content'))}", unique) if code else []
        )

    def _failed(self, kind: str | None, message: str | None, unique: object) -> list[Event]:
        self.count_session()
        facts = {"status": first_digits(_STATUS.search(message or "")), "type": kind, "message": message}
        return [self.failed(facts, unique)]


def _tool(record: Mapping[str, Any]) -> str | None:
    """Return the tool of a call or of its answer, as newer and as older versions name it."""
    return text(record.get("tool_name")) or text(mapping(record.get("tool_call_metadata")).get("function_name"))
