"""Auggie's sessions (`~/.augment/sessions/*.json`): one document a session, without failed calls of the service.

An exchange that did not complete may be at work, stopped or failed: which one is not told. Source: the program of npm
@augmentcode/auggie 0.36.0, as it saves a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.records import ANTHROPIC, RecordReader, identity_of, session_of
from analyzer.importers.shapes.rows import listed

_RESULT, _TOOL_USE, _TOKEN_USAGE = 1, 5, 10
"""Types of the nodes of a request and a response that are read."""


class AuggieReader(RecordReader):
    """Reads a session: its exchanges, each a request and the nodes of its response."""

    name: ClassVar[str] = "auggie"
    agent: str = "auggie"
    visibility: ClassVar[str] = "none"

    def events(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of a session."""
        self.session = text(record.get("sessionId")) or session_of(self.source.path)
        model = text(mapping(record.get("agentState")).get("modelId"))
        self.known = present({"agent": self.agent, "model": model})
        events: list[Event] = []
        for place, item in enumerate(listed(record.get("chatHistory"))):
            exchange = mapping(item.get("exchange"))
            self.time(item.get("finishedAt"))
            unique = self.session, text(exchange.get("request_id")) or place
            if item.get("isHistorySummary") is True:
                self.see()
                events += self.compacted({}, *unique)
                continue
            for node in listed(exchange.get("request_nodes")):
                events += self._answered(mapping(node.get("tool_result_node"))) if node.get("type") == _RESULT else []
            self.see(requests=int(item.get("completed") is True))
            for node in listed(exchange.get("response_nodes")):
                used = mapping(node.get("tool_use"))
                if node.get("type") == _TOOL_USE:
                    self.called(text(used.get("tool_name")), text(used.get("tool_use_id")))
                elif node.get("type") == _TOKEN_USAGE:
                    events += self.spent_as(node.get("token_usage"), ANTHROPIC, *unique)
        return events

    def _answered(self, result: Mapping[str, Any]) -> list[Event]:
        call = text(result.get("tool_use_id"))
        tool = self.tool_of(call)
        if result.get("is_error") is not True:
            return []
        return [self.tool_failed(tool, result.get("content"), self.session, call or identity_of(result))]
