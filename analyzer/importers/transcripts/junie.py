"""Junie's sessions (`~/.junie/sessions/*/events.jsonl`): failures that ended a task, and steps as they change.

Its source is not open: the events are read as programs that read them have them, in August 2026 (junhoyeo/tokscale,
`crates/tokscale-core/src/sessions/junie.rs`, and tests of others with lines that it has written). Retries are not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import re2

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.base import Source
from analyzer.importers.failures import number
from analyzer.importers.records import RecordReader, folder_of, identity_of, kept
from analyzer.importers.shapes.rows import listed

_TOKENS = "inputTokens outputTokens cacheInputTokens cacheCreateTokens"
_BLOCK = "BlockUpdatedEvent"
_TELLING = re2.compile(
    rb"UserPromptEvent|CurrentDirectoryUpdatedEvent|LlmResponseMetadataEvent|AgentFailureEvent|BlockUpdatedEvent"
)


class JunieReader(RecordReader, name="junie", agent="junie", visibility="terminal"):
    """Reads the events of a session; the folder names it."""

    telling: ClassVar[Any] = _TELLING
    _steps: dict[str, bool] = kept({})
    """The last steps, and whether each was told as one that failed or was stopped."""
    _asked: str | None = kept()
    """The last request, as Junie may write an event twice."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.session = folder_of(source.path, 1)
        self.known |= {"agent": self.agent}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        told = mapping(mapping(record.get("event")).get("agentEvent"))
        kind = text(told.get("kind")) or ""
        self.time(record.get("timestampMs"))
        if record.get("kind") == "UserPromptEvent":
            self.see()
        elif kind == "CurrentDirectoryUpdatedEvent":
            self.work_in(told.get("currentDirectory"))
        elif kind == "LlmResponseMetadataEvent":
            return self._request(told, identity_of(record))
        elif kind == "AgentFailureEvent":
            self.see()
            code = text(told.get("errorCode"))
            facts = {"code": code if code != "ExitEarly" else None, "message": text(told.get("message"))}
            return [self.failed(facts, self.session, identity_of(record))]
        elif kind.endswith(_BLOCK):
            return self._step(told, kind.removesuffix(_BLOCK).lower())
        return ()

    def _request(self, told: Mapping[str, Any], unique: str) -> list[Event]:
        if unique == self._asked:
            return []
        self._asked, events = unique, list[Event]()
        for place, usage in enumerate(listed(told.get("modelUsage"))):
            self.known |= {"model": model} if (model := text(usage.get("model"))) else {}
            self.see(requests=1)
            events += self.spent_as(usage, _TOKENS, self.session, unique, place)
        return events

    def _step(self, told: Mapping[str, Any], tool: str) -> list[Event]:
        """A step, which comes again as it goes on: a call of a tool, or a result, which may be a stop."""
        step = text(told.get("stepId")) or identity_of(told)
        if tool == "result":
            if told.get("cancelled") is True and not self._steps.get(step):
                self._steps[step] = True
                self.see(aborted=1)
            return []
        if "status" not in told:
            return []
        if step not in self._steps:
            self._steps[step] = False
            self.see_calls(tool)
        code = number(told.get("exitCode"))
        if self._steps[step] or not (told.get("status") == "FAILED" or code):
            return []
        self._steps[step] = True
        said = f"Exit code {code}" if code else text(told.get("output")) or text(told.get("details"))
        return [self.tool_failed(tool, said, self.session, step, command=told.get("command"))]
