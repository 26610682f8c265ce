"""Sessions that are one document each: Auggie's (`~/.augment/sessions/*.json`), Amp's threads
(`~/.local/share/amp/threads/T-*.json`), sessions of Cline CLI and Continue.

An exchange of Auggie that is not complete may be at work, stopped or failed: the log does not say
which. Amp writes how each reply ended; newer programs keep threads on its server. Neither writes
retries. Sources: the programs of npm @augmentcode/auggie 0.36.0, and of @sourcegraph/amp
0.0.1767830505 of January 2026, as newer ones cannot be read; Amp's places are those of ccusage,
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from analyzer.agent_stream import content_text, mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.failures import number
from analyzer.importers.records import ANTHROPIC, RecordReader, identity_of, session_of
from analyzer.importers.shapes.rows import listed

_RESULT, _TOOL_USE, _TOKEN_USAGE = 1, 5, 10
"""Types of the nodes that are read, of a request and of a response."""
_TOKENS = "inputTokens outputTokens cacheReadInputTokens cacheCreationInputTokens"
_KIND_BY_STATUS = {
    "error": None,
    "cancelled": "cancelled",
    "rejected-by-user": "refused",  # Amp's
    "errored": None,
    "canceled": "cancelled",  # Continue's
}


class AuggieReader(RecordReader, name="auggie", agent="auggie", visibility="none"):
    """Reads a session of exchanges: requests, and responses made of nodes."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.session = text(record.get("sessionId")) or session_of(self.source.path)
        model = text(mapping(record.get("agentState")).get("modelId"))
        self.begin(self.session, model=model)
        events: list[Event] = []
        for place, item in enumerate(listed(record.get("chatHistory"))):
            exchange = mapping(item.get("exchange"))
            self.time(item.get("finishedAt"))
            unique = self.session, text(exchange.get("request_id")) or place
            if item.get("isHistorySummary") is True:
                self.count_session()
                events += self.compacted({}, *unique)
                continue
            for node in listed(exchange.get("request_nodes")):
                if node.get("type") == _RESULT:
                    events += self._tool_result(mapping(node.get("tool_result_node")))
            self.count_session(requests=int(item.get("completed") is True))
            for node in listed(exchange.get("response_nodes")):
                used = mapping(node.get("tool_use"))
                if node.get("type") == _TOOL_USE:
                    self.called(text(used.get("tool_name")), text(used.get("tool_use_id")))
                elif node.get("type") == _TOKEN_USAGE:
                    events += self.spent_as(node.get("token_usage"), ANTHROPIC, *unique)
        return events

    def _tool_result(self, result: Mapping[str, Any]) -> list[Event]:
        call = text(result.get("tool_use_id"))
        tool = self.tool_of(call)
        if result.get("is_error") is not True:
            return []
        return self.tool_failed(tool, result.get("content"), self.session, call or identity_of(result))


class AmpReader(RecordReader, name="amp", agent="amp", visibility="terminal"):
    """Reads a thread: replies with their ends and tokens, and results of tools."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.begin(text(record.get("id")) or session_of(self.source.path))
        tree = next(listed(mapping(mapping(record.get("env")).get("initial")).get("trees")), {})
        self.work_in(unquote((text(tree.get("uri")) or "").removeprefix("file://")) or None)
        self.time(record.get("created"))
        events: list[Event] = []
        for place, message in enumerate(listed(record.get("messages"))):
            name = text(message.get("messageId")) or number(message.get("messageId"))
            unique = self.session, place if name is None else name
            at = text(mapping(message.get("usage")).get("timestamp"))
            if at := at or mapping(message.get("meta")).get("sentAt"):
                self.time(at)
            if message.get("role") == "assistant":
                events += self._reply(message, unique)
            for part in listed(message.get("content")):
                if part.get("type") == "tool_use":
                    self.called(text(part.get("name")), text(part.get("id")))
                elif part.get("type") == "tool_result":
                    events += self._tool_result(part)
                elif part.get("type") == "summary" and mapping(part.get("summary")).get("type") == "message":
                    self.count_session()
                    events += self.compacted({}, *unique)
        return events

    def _reply(self, message: Mapping[str, Any], unique: tuple[object, ...]) -> list[Event]:
        state, usage = mapping(message.get("state")), mapping(message.get("usage"))
        self.known = present({**self.known, "model": text(usage.get("model"))})
        self.count_session(requests=1, aborted=int(state.get("type") == "cancelled"))
        spent = self.spent_as(usage, _TOKENS, *unique)
        if state.get("type") != "error":
            return spent
        error = mapping(state.get("error"))
        facts = {"type": text(error.get("type")), "message": text(error.get("message"))}
        return [*spent, self.failed(facts, *unique)]

    def _tool_result(self, part: Mapping[str, Any]) -> list[Event]:
        run, call = mapping(part.get("run")), text(part.get("toolUseID"))
        tool, status = self.tool_of(call), text(run.get("status"))
        if status not in _KIND_BY_STATUS:
            return []
        message = text(mapping(run.get("error")).get("message")) or text(run.get("error"))
        output = message or text(run.get("reason"))
        return self.tool_failed(tool, output, self.session, call, kind=_KIND_BY_STATUS[status])


class ClineCliReader(RecordReader, name="cline_cli", agent="cline", visibility="none"):
    """Reads a session's messages, whose blocks are Anthropic's.

    Cline CLI's sessions (`~/.cline/data/sessions/*/*.messages.json`): one document a session, no
    failed calls.

    Source: cline/cline, `sdk/packages/core/docs/messages-contract-v1.md`, August 2026. A turn that
    fails before any output leaves no message, and a retry that works leaves only its answer.
    """

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.session = text(record.get("sessionId")) or session_of(self.source.path)
        self.role = "subagent" if record.get("agent") in ("subagent", "teammate") else None
        self.begin(self.session)
        events: list[Event] = []
        for message in listed(record.get("messages")):
            self.time(message.get("ts") or (record.get("updated_at") if not self.timed else None))
            model = mapping(message.get("modelInfo"))
            self.learn(model=model.get("id"), provider=model.get("provider"))
            self.count_session(requests=int(message.get("role") == "assistant"))
            events += block_events(self, message.get("content"))
        return events


def block_events(reader: RecordReader, content: object) -> list[Event]:
    """Count the calls of tools among Anthropic's blocks, and return the events of failed ones.

    Some programs write the keys in camel case.
    """
    events = []
    for block in listed(content):
        if block.get("type") == "tool_use":
            reader.called(text(block.get("name")), text(block.get("id")))
        elif block.get("type") == "tool_result":
            call = text(block.get("tool_use_id")) or text(block.get("toolUseId"))
            tool = reader.tool_of(call)
            if block.get("is_error") is True or block.get("isError") is True:
                events += reader.tool_failed(tool, content_text(block.get("content")), reader.session, call)
    return events


class ContinueReader(RecordReader, name="continue", agent="continue", visibility="none"):
    """Reads a session's history.

    Continue's sessions (`~/.continue/sessions/*.json`): one document a session, without times and failed calls.

    Source: continuedev/continue, `core/index.d.ts` and `core/util/paths.ts`, June 2026.
    """

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.begin(text(record.get("sessionId")) or session_of(self.source.path))
        self.work_in((text(record.get("workspaceDirectory")) or "").removeprefix("file://") or None)
        events: list[Event] = []
        for place, item in enumerate(listed(record.get("history"))):
            self.count_session(requests=int(mapping(item.get("message")).get("role") == "assistant"))
            for call in listed(item.get("toolCallStates")):
                tool = text(mapping(mapping(call.get("toolCall")).get("function")).get("name"))
                unique, status = text(call.get("toolCallId")) or identity_of(call), call.get("status")
                self.count_calls(tool)
                if isinstance(status, str) and status in _KIND_BY_STATUS:
                    outputs = (text(part.get("content")) for part in listed(call.get("output")))
                    output = next(outputs, None)
                    kind = _KIND_BY_STATUS[status]
                    events += self.tool_failed(tool, output, self.session, unique, kind=kind)
            if text(item.get("conversationSummary")):
                events += self.compacted({}, self.session, place)
        return events
