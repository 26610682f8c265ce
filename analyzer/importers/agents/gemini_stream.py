"""`gemini --output-format stream-json`: what a run of Gemini CLI printed, a record a line.

A run that failed ends with a `result` that says so. Retries are not printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream.values import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.agents.gemini_chat import api_error_facts
from analyzer.importers.base import Source
from analyzer.importers.records import RecordReader, identity_of

_CANCELLED = "FatalCancellationError"
_NAMES_NOTHING = frozenset({"Error", "ApiError"})


class GeminiStreamReader(RecordReader):
    """Reads what runs printed; each begins with the session that it is or resumes."""

    name: ClassVar[str] = "gemini_stream"
    agent: str = "gemini-cli"
    visibility: ClassVar[str] = "terminal"

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._told: str | None = state.get("told")
        """The error of the run in hand, which its end may tell again."""
        self._replying: bool = state.get("replying", False)
        """Whether the reply in hand is counted already: it comes in pieces."""

    def remembered(self) -> dict[str, Any]:
        """The run's error, and whether a reply goes on."""
        return {**super().remembered(), "told": self._told, "replying": self._replying}

    def events(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of one record."""
        self.time(record.get("timestamp"))
        kind = record.get("type")
        unique = self.session, str(record.get("timestamp")), identity_of(record)
        if kind == "init":
            self.session, self._told, self._replying = text(record.get("session_id")), None, False
            self.known = present({"agent": self.agent, "model": text(record.get("model"))})
            self.see()
        elif kind == "tool_use" or (kind == "message" and record.get("role") == "assistant"):
            self.see(requests=int(not self._replying))
            self._replying = True
            if kind == "tool_use":
                self.called(text(record.get("tool_name")), text(record.get("tool_id")))
        elif kind == "tool_result":
            return self._tool_ended(record)
        elif kind == "error":
            return self._failed(record, unique) if record.get("severity") == "error" else ()
        elif kind == "result":
            return self._ended(record, unique)
        else:
            self._replying = False
        return ()

    def _tool_ended(self, record: Mapping[str, Any]) -> list[Event]:
        self._replying = False
        call = text(record.get("tool_id")) or ""
        tool = self.tool_of(call)
        if record.get("status") != "error":
            return []
        error = mapping(record.get("error"))
        said, hint = text(error.get("message")), text(error.get("type"))
        return [self.tool_failed(tool, said, self.session, call, str(record.get("timestamp")), hint=hint)]

    def _ended(self, record: Mapping[str, Any], unique: object) -> list[Event]:
        self._replying = False
        error = mapping(record.get("error"))
        told, self._told = self._told, None
        if record.get("status") != "error":
            return []
        if error.get("type") == _CANCELLED:
            self.see(aborted=1)
            return []
        return [] if told is not None and text(error.get("message")) == told else self._failed(error, unique)

    def _failed(self, error: Mapping[str, Any], unique: object) -> list[Event]:
        self.see()
        said, kind = text(error.get("message")), text(error.get("type"))
        self._told = said
        facts = api_error_facts(said or "")
        if "type" not in facts and kind not in ("error", *_NAMES_NOTHING):
            facts |= present({"type": kind})
        return [self.failed(facts, unique)]
