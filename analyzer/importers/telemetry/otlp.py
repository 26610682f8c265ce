"""OpenTelemetry as JSON: requests, requests in the envelope of a capture, resources, SDK objects.

One line may hold many events and spans of many sessions. Numbers come as texts and as numbers.

A span covers all that an SDK did inside it, so that its retries do not show. Only the AI SDK makes
a span of each try (source: the package ai 6.0.326); a try after a failed one below the same span is
its retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.times import format_time
from analyzer.importers.base import MOST_OPEN, forget_oldest
from analyzer.importers.records import identity_of, kept, moment_of
from analyzer.importers.telemetry.model_calls import AGENTS, Attributes, TelemetryReader, figure, nanoseconds, whole

_DEEPEST = 8
_LISTS = ("resourceLogs", "resourceSpans")
_KNOWN_PREFIXES = ("claude_code.", "codex.", "gemini_cli.", "qwen-code.", "gen_ai.")


def unwrapped(value: object, depth: int = 0) -> Any:
    """Return a value without its wrapping by type: `{"intValue": "529"}` is 529."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return None
    for kind, inner in value.items():
        if kind == "intValue":
            is_digits = isinstance(inner, str) and len(inner) < 25 and inner.lstrip("-").isdigit()
            return int(inner) if is_digits else inner
        if kind in ("stringValue", "doubleValue", "boolValue"):
            return inner
        if kind == "arrayValue":
            values = mapping(inner).get("values")
            return [unwrapped(item, depth + 1) for item in values] if isinstance(values, list) else []
        if kind == "kvlistValue":
            return attributes_of(mapping(inner).get("values"), depth + 1)
    return None


def attributes_of(value: object, depth: int = 0) -> dict[str, Any]:
    """Make a dict of attributes: a list of keys and wrapped values, pairs, or a mapping."""
    if isinstance(value, Mapping):
        return dict(value)
    attributes: dict[str, Any] = {}
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and len(item) == 2:
            key, attribute = item
        else:
            key = mapping(item).get("key")
            attribute = unwrapped(mapping(item).get("value"), depth)
        if isinstance(key, str):
            attributes[key] = attribute
    return attributes


def _of_span(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes; of fragolaSDK (2025-12) only the name shows a call of a model."""
    attributes = attributes_of(span.get("attributes"))
    called = {"gen_ai.operation.name": "chat"} if span.get("name") == "fragola.agent.modelInvocation" else {}
    return called | attributes


def _listed(holder: Mapping[str, Any], *keys: str) -> Iterator[Mapping[str, Any]]:
    for key in keys:
        items = holder.get(key)
        if isinstance(items, list):
            yield from (item for item in items if isinstance(item, Mapping))


def _exceptions(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the attributes of the exceptions among a span's events."""
    for event in _listed(record, "events"):
        if event.get("name") == "exception":
            yield attributes_of(event.get("attributes"))


_MODEL_CALLS = frozenset({"chat", "text_completion", "generate_content"})
_TRIES = (".doGenerate", ".doStream")
"""The ends of the AI SDK's names of calls of a model."""
_WITH_OWN_LOGS = frozenset({*AGENTS.values(), "codex", "opencode", "kilo"})
"""Agents whose own logs have tools and tokens, which are not read from their spans again."""
_STOPS = ("Abort", "Cancel", "cancel")
"""Parts of types of errors that are stops by the user."""
_TOKENS = {
    "prompt": (
        "gen_ai.usage.input_tokens",
        "ai.usage.inputTokens",
        "llm.token_count.prompt",
        "gen_ai.usage.prompt_tokens",
        "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "ai.usage.outputTokens",
        "llm.token_count.completion",
        "gen_ai.usage.completion_tokens",
        "ai.usage.completionTokens",
    ),
    "cache_read_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "gen_ai.usage.details.cache_read_input_tokens",
        "gen_ai.usage.details.cached_tokens",
        "ai.usage.cachedInputTokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
        "ai.usage.inputTokenDetails.cacheWriteTokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "ai.usage.reasoningTokens",
        "llm.token_count.completion_details.reasoning",
    ),
}
"""Attributes of the conventions for GenAI, OpenLLMetry, pydantic-ai, the AI SDK and OpenInference.

The conventions renamed the tokens that are written to a cache in 2026.
"""


def is_model_call(attributes: Attributes) -> bool:
    """Tell whether a span is a call of a model.

    Its attributes are those of GenAI's conventions, the AI SDK, OpenInference or OpenLLMetry.
    """
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return text(operation) in _MODEL_CALLS
    if "ai.operationId" in attributes:
        return str(attributes["ai.operationId"]).endswith(_TRIES)
    if "openinference.span.kind" in attributes:
        return bool(attributes["openinference.span.kind"] == "LLM")
    return "traceloop.span.kind" not in attributes and attributes.get("llm.request.type") in ("chat", "completion")


def tool_called(attributes: Attributes) -> str | None:
    """Return the tool whose call a span is; None if it is no such call, or names no tool."""
    if attributes.get("gen_ai.operation.name") == "execute_tool":
        tool = text(attributes.get("gen_ai.tool.name")) or ""
        if tool.startswith("(merged"):  # ADK's span round several calls of tools
            return None
        return tool or None
    if attributes.get("ai.operationId") == "ai.toolCall":
        return text(attributes.get("ai.toolCall.name"))
    if attributes.get("openinference.span.kind") == "TOOL":
        return text(attributes.get("tool.name"))
    if attributes.get("traceloop.span.kind") == "tool":
        return text(attributes.get("traceloop.entity.name"))
    return None


class SpanReader(TelemetryReader):
    """Reads spans that subclasses have unwrapped, after their resource and time were set."""

    _model_calls: dict[str, list[list[Any]]] = kept({})
    """The last calls of models by trace and tokens: begin and end, id and parent of each span."""
    began: datetime | None = None
    """The beginning of the span in hand."""

    def _is_told(self, attributes: Attributes, unique: tuple[str | None, str | None], parent: object) -> bool:
        """Tell whether another instrumentation has a span of the same call, around this one or inside it.

        Both have the same tokens. Spans below one parent are calls side by side.
        """
        trace, own = unique
        tokens = [self._counts_of(attributes, name) for name in ("prompt", "output_tokens")]
        if trace is None or own is None or not any(tokens):
            return False
        key = "/".join((trace, *map(str, tokens)))
        span = [format_time(moment) if moment else "" for moment in (self.began, self.at)]
        calls = self._model_calls.setdefault(key, [])
        for other_span, other, other_parent in calls:
            outer, inner = sorted((other_span, span))
            lies_inside = bool(outer[0]) and (inner[1] <= outer[1] or inner[0] == outer[0])
            if parent == other or other_parent == own or (lies_inside and text(parent) != other_parent):
                return True
        calls.append([span, own, text(parent)])
        if len(self._model_calls) > 2 * MOST_OPEN:
            forget_oldest(self._model_calls)
        return False

    def _counts_of(self, attributes: Attributes, name: str) -> int:
        """Return the tokens of a span by their name in the payload; 0 if it states none."""
        numbers = (whole(attributes.get(key)) for key in _TOKENS[name])
        return max(next((number for number in numbers if number is not None), 0), 0)

    def span(
        self,
        attributes: Attributes,
        status: Mapping[str, Any],
        exceptions: Iterable[Attributes],
        unique: tuple[str | None, str | None],
        parent: object = None,
    ) -> list[Event]:
        """Return the events of a span.

        `exceptions` are the attributes of its exceptions, `unique` are its trace and its own id,
        `parent` is the id of the span around it.
        """
        thrown = [exception for exception in exceptions if exception]
        fields = {
            "status.message": status.get("message"),
            **(thrown[-1] if thrown else {}),
            **attributes,
        }
        is_error = status.get("code") in (2, "2", "STATUS_CODE_ERROR", "ERROR")
        kind = text(fields.get("error.type")) or text(fields.get("exception.type"))
        failed = is_error or bool(thrown) or text(attributes.get("error.type")) is not None
        if is_model_call(attributes):
            if self._is_told(attributes, unique, parent):
                return []
            return self._model_called(fields, unique, failed, kind, f"{unique[0]}/{text(parent)}")
        if attributes.get("gen_ai.operation.name") == "compact_events":
            message = text(fields.get("exception.message")) or text(fields.get("status.message"))
            self.count_session()
            trigger = text(attributes.get("gen_ai.compaction.trigger"))
            began = {"caller": self._caller(attributes), "trigger": trigger}
            cause = (message or "the compaction failed") if failed else None
            return self.compacted(began, unique, cause=cause)
        tool = tool_called(attributes)
        if tool is None and "ai.operationId" in attributes and failed:
            return self.settled("exhausted", chain="/".join(map(str, unique)))
        if tool is None or self.program in _WITH_OWN_LOGS:
            return []
        self.count_calls(tool)
        if not failed:
            return []
        messages = (text(fields.get(f"{name}.message")) for name in ("exception", "error", "status"))
        return self.tool_failed(tool, next(filter(None, messages), None), unique, hint=kind)

    def _model_called(
        self,
        attributes: Attributes,
        unique: tuple[str | None, str | None],
        failed: bool,
        kind: str | None,
        chain: str,
    ) -> list[Event]:
        """Return the events of a call of a model.

        A try of the AI SDK is in the `chain` of those below the same span. `kind` is the type of
        its error.
        """
        is_try = str(attributes.get("ai.operationId")).endswith(_TRIES)
        self.count_session(requests=1)
        again = self.again("again", unique, chain=chain) if is_try else []
        is_stop = any(part in (kind or "") for part in _STOPS)
        if failed and (is_stop or attributes.get("copilot_chat.canceled") in (True, "true")):
            stopped = self._cancelled(attributes, unique)
            return [*again, *stopped, *self.settled("aborted", chain=chain)]
        events = [*again, *self._compacted_before(attributes, unique)]
        if self.program not in _WITH_OWN_LOGS:
            events += self._spent(attributes, unique)
        if failed:
            in_chain = {"chain": chain} if is_try else {}
            return [*events, self._failure_of(attributes, unique, **in_chain)]
        return [*events, *self.settled("recovered", chain=chain, made=1)]

    def _spent(self, attributes: Attributes, unique: tuple[str | None, str | None]) -> list[Event]:
        tokens: dict[str, Any] = {name: self._counts_of(attributes, name) for name in _TOKENS}
        cost_usd = figure(attributes.get("gen_ai.usage.cost")) or None
        return self.spent(*unique, cost_usd=cost_usd, **tokens)

    def _compacted_before(self, attributes: Attributes, unique: object) -> list[Event]:
        """Return the events of a compaction before a call, by the flag of GenAI's conventions."""
        if attributes.get("gen_ai.conversation.compacted") not in (True, "true"):
            return []
        began = {"strategy": "compact", "caller": self._caller(attributes)}
        begun = self.relay(began, "before", unique)
        return [begun, self.resumed(begun.id, whole(attributes.get("gen_ai.usage.input_tokens")))]


class OtlpReader(SpanReader):
    """Reads logs and spans of OpenTelemetry's protocol; metrics have no single calls."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        return [event for resource in self._resources(record) for event in self._of_resource(resource)]

    def _resources(self, record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "resource" in record:
            yield record
        for holder in (record, *map(mapping, record.values())):
            yield from _listed(holder, *_LISTS)

    def _of_resource(self, holder: Mapping[str, Any]) -> Iterator[Event]:
        resource = attributes_of(mapping(holder.get("resource")).get("attributes"))
        for scope in _listed(holder, "scopeLogs", "instrumentationLibraryLogs"):
            for record in _listed(scope, "logRecords", "logs"):
                yield from self._log(record, resource)
        for scope in _listed(holder, "scopeSpans", "instrumentationLibrarySpans"):
            for span in _listed(scope, "spans"):
                attributes = _of_span(span)
                self.of_resource(resource, attributes)
                ended, self.began = (nanoseconds(span.get(f"{end}TimeUnixNano")) for end in ("end", "start"))
                self.clock(ended or self.began)
                yield from self.span(
                    attributes,
                    mapping(span.get("status")),
                    _exceptions(span),
                    (text(span.get("traceId")), text(span.get("spanId"))),
                    span.get("parentSpanId"),
                )

    def _log(self, record: Mapping[str, Any], resource: Attributes) -> Iterable[Event]:
        attributes = attributes_of(record.get("attributes"))
        self.of_resource(resource, attributes)
        self.clock(
            nanoseconds(record.get("timeUnixNano"))
            or nanoseconds(record.get("observedTimeUnixNano"))
            or moment_of(attributes.get("event.timestamp"))
        )
        return self.log(record, attributes, unwrapped(record.get("body")))

    def log(self, record: Mapping[str, Any], attributes: Attributes, body: object) -> Iterable[Event]:
        """Return the events of one log record, whose name stands in one of three places."""
        self.count_session()
        name = text(attributes.get("event.name"))
        if name is None:
            is_name = isinstance(body, str) and body.startswith(_KNOWN_PREFIXES)
            name = str(body) if is_name else text(record.get("eventName"))
        if name is None:
            return ()
        sequence = attributes.get("event.sequence")
        # The ids of the trace and the span name no event: a span holds several.
        unique = (
            (self.session, sequence)
            if self.session is not None and sequence is not None
            else (record.get("traceId"), record.get("spanId"), self.at, identity_of(attributes))
        )
        return self.told(self.named(name), attributes, (name, unique))


class SdkReader(OtlpReader, agent="gemini-cli", visibility="full"):
    """Reads the objects of OpenTelemetry's SDK for JavaScript from a file or a console."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        resource = mapping(record.get("resource"))
        raw = resource.get("_rawAttributes") or resource.get("attributes")
        resource_attributes, attributes = attributes_of(raw), _of_span(record)
        scope = text(mapping(record.get("instrumentationScope")).get("name"))
        service = str(resource_attributes.get("service.name", "unknown_service"))
        if scope and service.startswith("unknown_service"):
            # A program without a name gets that of the library that traces it.
            resource_attributes["service.name"] = scope
        self.of_resource(resource_attributes, attributes)
        self.began = _pair(record.get("startTime"))
        self.clock(_pair(record.get("hrTime")) or _pair(record.get("endTime")) or _end(record))
        if "hrTime" in record:
            return self.log(record, attributes, record.get("body", record.get("_body")))
        context = mapping(record.get("_spanContext")) or record
        unique = text(context.get("traceId")), text(context.get("spanId")) or text(context.get("id"))
        parent = record.get("parentSpanId") or mapping(record.get("parentSpanContext")).get("spanId")
        status = mapping(record.get("status"))
        return self.span(attributes, status, _exceptions(record), unique, parent)


class CopilotSpansReader(SdkReader, agent="copilot-chat", visibility="terminal"):
    """Reads the spans that Copilot Chat keeps in a database (`agent-traces.db`), one row each."""


def _pair(value: object) -> Any:
    """Read a time that is a list of seconds and nanoseconds; None if it is none."""
    if not isinstance(value, list) or len(value) != 2 or not all(type(part) is int for part in value):
        return None
    return nanoseconds(value[0] * 1_000_000_000 + value[1])


def _end(record: Mapping[str, Any]) -> Any:
    """Return the end of a span, from its begin and length in microseconds; else its `startTime`.

    Consoles print spans so.
    """
    began, took = record.get("timestamp"), record.get("duration")
    if type(began) is not int:
        return _pair(record.get("startTime"))
    length = int(took) if isinstance(took, int | float) and abs(took) < 1e15 else 0
    return nanoseconds((began + length) * 1_000)
