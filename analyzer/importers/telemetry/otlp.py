"""OpenTelemetry as JSON: requests a line, requests in a capture's envelope, resources one after another, SDK objects.

One line may hold many events and spans of many sessions. Numbers come as texts and as numbers.

A span covers all that an SDK did inside of it, so that tries which it made again vanish. The AI SDK alone makes a span
of each try (source: the package ai 6.0.326); a try that stands beside a failed one below the same span is its retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.records import identity_of, moment_of
from analyzer.importers.telemetry.model_calls import AGENTS, Attributes, TelemetryReader, figure, nanoseconds, whole

_DEEPEST = 8
_LISTS = ("resourceLogs", "resourceSpans")
_KNOWN_PREFIXES = ("claude_code.", "codex.", "gemini_cli.", "qwen-code.", "gen_ai.")


def unwrapped(value: object, depth: int = 0) -> Any:
    """A value without its wrapping by type: `{"intValue": "529"}` is 529."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return None
    for kind, inner in value.items():
        if kind == "intValue":
            return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() and len(inner) < 25 else inner
        if kind in ("stringValue", "doubleValue", "boolValue"):
            return inner
        if kind == "arrayValue":
            values = mapping(inner).get("values")
            return [unwrapped(item, depth + 1) for item in values] if isinstance(values, list) else []
        if kind == "kvlistValue":
            return attributes_of(mapping(inner).get("values"), depth + 1)
    return None


def attributes_of(found: object, depth: int = 0) -> dict[str, Any]:
    """Make one mapping of attributes: a list of keys and wrapped values, or pairs, or a mapping already."""
    if isinstance(found, Mapping):
        return dict(found)
    attributes: dict[str, Any] = {}
    for item in found if isinstance(found, list) else ():
        if isinstance(item, list) and len(item) == 2:
            key, value = item
        else:
            key, value = mapping(item).get("key"), unwrapped(mapping(item).get("value"), depth)
        if isinstance(key, str):
            attributes[key] = value
    return attributes


def _of_span(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes; fragolaSDK (2025-12) tells its calls of a model by the span's name alone."""
    attributes = attributes_of(span.get("attributes"))
    called = {"gen_ai.operation.name": "chat"} if span.get("name") == "fragola.agent.modelInvocation" else {}
    return called | attributes


def _listed(holder: Mapping[str, Any], *keys: str) -> Iterator[Mapping[str, Any]]:
    for key in keys:
        found = holder.get(key)
        yield from (item for item in found if isinstance(item, Mapping)) if isinstance(found, list) else ()


_MODEL_CALLS = frozenset({"chat", "text_completion", "generate_content"})
_TRIES = (".doGenerate", ".doStream")
"""How the AI SDK's names of calls of a model end."""
_WITH_OWN_LOGS = frozenset({*AGENTS.values(), "codex", "opencode", "kilo"})
"""Agents whose own logs tell tools and tokens; their spans would tell them once more."""
_STOPS = ("Abort", "Cancel", "cancel")
"""What a type of error has in it that was a stop."""
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
        "ai.usage.cachedInputTokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "ai.usage.inputTokenDetails.cacheWriteTokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
        "llm.token_count.completion_details.reasoning",
    ),
}
"""By the conventions for GenAI (which named what is written to a cache anew in 2026), the AI SDK and OpenInference."""


def is_model_call(attributes: Attributes) -> bool:
    """Tell whether a span is a call of a model, by GenAI's conventions, the AI SDK, OpenInference or OpenLLMetry."""
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return text(operation) in _MODEL_CALLS
    if "ai.operationId" in attributes:
        return str(attributes["ai.operationId"]).endswith(_TRIES)
    if "openinference.span.kind" in attributes:
        return bool(attributes["openinference.span.kind"] == "LLM")
    return "traceloop.span.kind" not in attributes and attributes.get("llm.request.type") in ("chat", "completion")


def tool_called(attributes: Attributes) -> str | None:
    """The tool whose call a span is; None where it is none, or names none."""
    if attributes.get("gen_ai.operation.name") == "execute_tool":
        tool = text(attributes.get("gen_ai.tool.name")) or ""
        return None if tool.startswith("(merged") else tool or None  # ADK's span round several calls of tools
    if attributes.get("ai.operationId") == "ai.toolCall":
        return text(attributes.get("ai.toolCall.name"))
    if attributes.get("openinference.span.kind") == "TOOL":
        return text(attributes.get("tool.name"))
    return text(attributes.get("traceloop.entity.name")) if attributes.get("traceloop.span.kind") == "tool" else None


class SpanReader(TelemetryReader):
    """Reads spans that whoever inherits has unwrapped, each once its resource and its time are taken."""

    def span(
        self,
        attributes: Attributes,
        status: Mapping[str, Any],
        events: Iterable[Attributes],
        unique: tuple[str | None, str | None],
        parent: object = None,
    ) -> list[Event]:
        """The events of a span: its exceptions are `events`, its trace and its own name `unique`."""
        thrown = [unwrapped for unwrapped in events if unwrapped]
        found = {"status.message": status.get("message"), **(thrown[-1] if thrown else {}), **attributes}
        coded = status.get("code") in (2, "2", "STATUS_CODE_ERROR", "ERROR")
        kind = text(found.get("error.type")) or text(found.get("exception.type"))
        failed = coded or bool(thrown) or text(attributes.get("error.type")) is not None
        if is_model_call(attributes):
            return self._model_called(found, unique, failed, kind, f"{unique[0]}/{text(parent)}")
        if attributes.get("gen_ai.operation.name") == "compact_events":
            said = text(found.get("exception.message")) or text(found.get("status.message"))
            self.see()
            began = {"caller": self._caller(attributes), "trigger": text(attributes.get("gen_ai.compaction.trigger"))}
            return self.compacted(began, unique, cause=(said or "the compaction failed") if failed else None)
        tool = tool_called(attributes)
        if tool is None and "ai.operationId" in attributes and failed:
            return self.settled("exhausted", chain="/".join(map(str, unique)))
        if tool is None or self.program in _WITH_OWN_LOGS:
            return []
        self.see_calls(tool)
        said = text(found.get("exception.message")) or text(found.get("error.message"))
        said = said or text(found.get("status.message"))
        return self.tool_failed(tool, said, unique, hint=kind) if failed else []

    def _model_called(
        self, found: Attributes, unique: tuple[str | None, str | None], failed: bool, kind: str | None, chain: str
    ) -> list[Event]:
        """The events of a call of a model; of a try of the AI SDK in the chain of those below the same span."""
        tried = str(found.get("ai.operationId")).endswith(_TRIES)
        self.see(requests=1)
        again = [self.scheduled("again", unique, chain=chain)] if tried and chain in self.chains else []
        if failed and (
            found.get("copilot_chat.canceled") in (True, "true") or any(word in (kind or "") for word in _STOPS)
        ):
            return [*again, *self._cancelled(found, unique), *self.settled("aborted", chain=chain)]
        events = [*again, *self._compacted_before(found, unique)]
        if self.program not in _WITH_OWN_LOGS:
            events += self._spent(found, unique)
        if failed:
            return [*events, self._failure_of(found, unique, **({"chain": chain} if tried else {}))]
        return [*events, *self.settled("recovered", chain=chain, made=1)]

    def _spent(self, found: Attributes, unique: tuple[str | None, str | None]) -> list[Event]:
        tokens = {
            name: next((max(number, 0) for key in keys if (number := whole(found.get(key))) is not None), 0)
            for name, keys in _TOKENS.items()
        }
        return self.spent(*unique, cost_usd=figure(found.get("gen_ai.usage.cost")) or None, **tokens)

    def _compacted_before(self, found: Attributes, unique: object) -> list[Event]:
        """The compaction before a call, by GenAI's conventions: they set the flag where it is true alone."""
        if found.get("gen_ai.conversation.compacted") not in (True, "true"):
            return []
        begun = self.relay({"strategy": "compact", "caller": self._caller(found)}, "before", unique)
        return [begun, self.resumed(begun.id, whole(found.get("gen_ai.usage.input_tokens")))]


class OtlpReader(SpanReader):
    """Reads requests of the OpenTelemetry protocol, logs and spans; metrics say nothing of a single call."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        return [event for resource in self._resources(record) for event in self._of_resource(resource)]

    def _resources(self, record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if "resource" in record:
            yield record
        for holder in (record, *map(mapping, record.values())):
            yield from _listed(holder, *_LISTS)

    def _of_resource(self, found: Mapping[str, Any]) -> Iterator[Event]:
        resource = attributes_of(mapping(found.get("resource")).get("attributes"))
        for scope in _listed(found, "scopeLogs", "instrumentationLibraryLogs"):
            for record in _listed(scope, "logRecords", "logs"):
                yield from self._log(record, resource)
        for scope in _listed(found, "scopeSpans", "instrumentationLibrarySpans"):
            for span in _listed(scope, "spans"):
                attributes = _of_span(span)
                self.of_resource(resource, attributes)
                self.clock(nanoseconds(span.get("endTimeUnixNano")) or nanoseconds(span.get("startTimeUnixNano")))
                thrown = (
                    attributes_of(item.get("attributes"))
                    for item in _listed(span, "events")
                    if item.get("name") == "exception"
                )
                unique = text(span.get("traceId")), text(span.get("spanId"))
                yield from self.span(attributes, mapping(span.get("status")), thrown, unique, span.get("parentSpanId"))

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
        self.see()
        name = text(attributes.get("event.name"))
        if name is None:
            known = isinstance(body, str) and body.startswith(_KNOWN_PREFIXES)
            name = str(body) if known else text(record.get("eventName"))
        if name is None:
            return ()
        sequence = attributes.get("event.sequence")
        # The trace alone names no event: one span holds several.
        unique = (
            (self.session, sequence)
            if self.session is not None and sequence is not None
            else (record.get("traceId"), record.get("spanId"), self.at, identity_of(attributes))
        )
        return self.told(self.named(name), attributes, (name, unique))


class SdkReader(OtlpReader, agent="gemini-cli", visibility="full"):
    """Reads the objects of OpenTelemetry's SDK for JavaScript, as programs write them to a file or to a console."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        resource = mapping(record.get("resource"))
        told = attributes_of(resource.get("_rawAttributes") or resource.get("attributes"))
        attributes = _of_span(record)
        scope = text(mapping(record.get("instrumentationScope")).get("name"))
        if scope and str(told.get("service.name", "unknown_service")).startswith("unknown_service"):
            told["service.name"] = scope  # a program that names itself nowhere has the name of what traces it
        self.of_resource(told, attributes)
        self.clock(_pair(record.get("hrTime")) or _pair(record.get("endTime")) or _end(record))
        if "hrTime" in record:
            return self.log(record, attributes, record.get("body", record.get("_body")))
        context = mapping(record.get("_spanContext")) or record
        thrown = (
            attributes_of(item.get("attributes"))
            for item in _listed(record, "events")
            if item.get("name") == "exception"
        )
        unique = text(context.get("traceId")), text(context.get("spanId")) or text(context.get("id"))
        parent = record.get("parentSpanId") or mapping(record.get("parentSpanContext")).get("spanId")
        return self.span(attributes, mapping(record.get("status")), thrown, unique, parent)


class CopilotSpansReader(SdkReader, agent="copilot-chat", visibility="terminal"):
    """Reads the spans that Copilot Chat keeps in a database (`agent-traces.db`), one row each."""


def _pair(value: object) -> Any:
    """A time as seconds and nanoseconds."""
    if not isinstance(value, list) or len(value) != 2 or not all(type(part) is int for part in value):
        return None
    return nanoseconds(value[0] * 1_000_000_000 + value[1])


def _end(record: Mapping[str, Any]) -> Any:
    """The end of a span as a console prints it, begin and length in microseconds; else the begin as a pair."""
    began, took = record.get("timestamp"), record.get("duration")
    if type(began) is not int:
        return _pair(record.get("startTime"))
    return nanoseconds((began + (int(took) if isinstance(took, int | float) and abs(took) < 1e15 else 0)) * 1_000)
