"""OpenTelemetry as JSON: requests a line, requests in a capture's envelope, resources one after another, SDK objects.

One line may hold many events and spans of many sessions. Numbers come as texts and as numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.records import identity_of, moment_of
from analyzer.importers.telemetry.model_calls import Attributes, nanoseconds
from analyzer.importers.telemetry.spans import SpanReader

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
