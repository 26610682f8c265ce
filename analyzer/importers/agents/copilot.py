"""Copilot CLI's sessions (`~/.copilot/session-state/*/events.jsonl`). Retries are not in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream.values import count, mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.base import Source
from analyzer.importers.foreign import classify_foreign, number
from analyzer.importers.records import RecordReader, identity_of

_IN_HAND = 63
"""Calls of tools that are remembered until they end."""


class CopilotReader(RecordReader):
    """Reads a session."""

    name: ClassVar[str] = "copilot"
    agent: str = "copilot"
    visibility: ClassVar[str] = "terminal"

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._calls: dict[str, str] = dict(mapping(state.get("calls")))
        """Tools by calls that have not ended."""

    def remembered(self) -> dict[str, Any]:
        """Calls of tools that have not ended."""
        return {**super().remembered(), "calls": self._calls}

    def events(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of one record."""
        self.time(record.get("timestamp"))
        kind, data = record.get("type"), mapping(record.get("data"))
        unique = self.session, text(record.get("id")), identity_of(record)
        if kind == "session.start":
            self._started(data)
        elif kind == "session.model_change":
            self.known |= present({"model": text(data.get("newModel"))})
        elif kind == "session.error":
            return self._failed(data, unique)
        elif kind == "session.compaction_complete":
            after = count(data.get("postCompactionTokens"))
            return self._compacted("compact", data.get("preCompactionTokens"), after, data, unique)
        elif kind == "session.truncation":
            after = count(data.get("postTruncationTokensInMessages"))
            return self._compacted("truncate", data.get("preTruncationTokensInMessages"), after, {}, unique)
        elif kind == "assistant.message":
            self.see(requests=1)
        elif kind == "tool.execution_start":
            return self._tool_began(data)
        elif kind == "tool.execution_complete":
            return self._tool_ended(data, unique)
        elif kind == "abort":
            self.see(aborted=1)
        return ()

    def _started(self, data: Mapping[str, Any]) -> None:
        context = mapping(data.get("context"))
        self.session = text(data.get("sessionId")) or self.session
        self.known = present(
            {
                "agent": self.agent,
                "agent_version": text(data.get("copilotVersion")),
                "model": text(data.get("selectedModel")),
                "branch": text(context.get("branch")),
            }
        )
        self.work_in(context.get("cwd"))
        self.see()

    def _tool_began(self, data: Mapping[str, Any]) -> list[Event]:
        tool, call = text(data.get("toolName")), text(data.get("toolCallId"))
        self.see_calls(tool)
        if tool and call:
            self._calls = {**dict(list(self._calls.items())[-_IN_HAND:]), call: tool}
        return []

    def _tool_ended(self, data: Mapping[str, Any], unique: object) -> list[Event]:
        """The end of a call, which names the tool by its beginning."""
        tool = self._calls.pop(text(data.get("toolCallId")) or "", None) or text(
            mapping(mapping(data.get("toolTelemetry")).get("properties")).get("tool")
        )
        if data.get("success") is not False:
            return []
        error = mapping(data.get("error"))
        said, hint = text(error.get("message")), text(error.get("code"))
        return [self.tool_failed(tool, said, unique, hint=hint)]

    def _failed(self, data: Mapping[str, Any], unique: object) -> list[Event]:
        self.see()
        kind, status = text(data.get("errorType")), number(data.get("statusCode"))
        facts = {
            "status": status,
            "type": kind if kind != "query" else None,
            "message": text(data.get("message")),
            "is_error": True,
        }
        verdict, payload = classify_foreign(present(facts), self.at, caller=self.caller, outcome="surfaced")
        events = [self.event("error.classified", payload, unique)]
        if kind == "quota":
            exhausted = {
                "caller": self.caller,
                "reason_text": verdict.facts.message,
                "reset_at": payload.get("reset_at"),
            }
            events.append(self.event("agent.exhausted", exhausted, unique))
        return events

    def _compacted(
        self, strategy: str, before: object, after: int | None, data: Mapping[str, Any], unique: object
    ) -> list[Event]:
        self.see()
        begun = self.relay({"caller": self.caller, "strategy": strategy, "pre_tokens": count(before) or None}, unique)
        rest: dict[str, Any] = {"relay": begun.id, "caller": self.caller}
        if data.get("success") is False:
            cause = text(data.get("error")) or "the compaction failed"
            return [begun, self.event("relay.halted", {**rest, "cause": cause}, unique)]
        return [begun, self.event("relay.resumed", {**rest, "post_tokens": after or None}, unique)]
