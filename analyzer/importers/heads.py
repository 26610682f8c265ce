"""The beginning of a source, and how it tells the format: what the records of each kind of log hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from analyzer.agent_stream import mapping
from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.importers.conditions import Record, Test
from analyzer.importers.shapes.documents import first_records

HEAD_BYTES = 512 * 1024
"""How much of a source is looked at; one line of a transcript may be larger than any smaller head."""
_LOOKED_AT = 60
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,32}(?:\[|\{[ \t\r]{0,32}\n)")


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a source."""

    data: bytes
    objects: tuple[Record, ...]
    """The JSON objects among its first lines; none of a document."""
    elements: tuple[Record, ...] = ()
    """The first objects of a document: of an array, or of objects that take many lines each."""


def looks_like_document(data: bytes) -> bool:
    """Tell whether the first bytes of a file begin an array, or an object whose brace stands alone on its line."""
    return _BEGINS.match(data) is not None


def head_of(data: bytes) -> Head:
    """The head of a source from its first bytes; a line that is cut off at their end does not count."""
    if looks_like_document(data[:64]) and (elements := first_records(data, _LOOKED_AT)):
        return Head(data, (), elements)
    lines = data.split(b"\n")
    if len(data) >= HEAD_BYTES and len(lines) > 2:
        lines.pop()
    shown = [line for line in lines if line.strip()][:_LOOKED_AT]
    decoded = (decode_object(line.removeprefix(b"\xef\xbb\xbf"), unique_keys=False) for line in shown)
    objects = tuple(record for record in decoded if not isinstance(record, Reject))
    # A document on one line that cannot be read as a whole; a line break in a text of it makes two of it.
    return Head(data, objects, () if objects else first_records(data, _LOOKED_AT))


def lines(test: Test) -> Callable[[Head], bool]:
    """Recognise a log of lines by any record among the first ones."""
    return lambda head: any(test(record) for record in head.objects)


def records(test: Test, *marks: bytes) -> Callable[[Head], bool]:
    """Recognise a log of lines, or a document with such records.

    A document of one object that is longer than the head, or breaks off, has no whole record there: then the marks
    decide.
    """

    def recognises(head: Head) -> bool:
        if any(test(record) for record in head.elements or head.objects):
            return True
        cut_off = len(head.data) >= HEAD_BYTES or not (head.elements or head.objects)
        one = looks_like_document(head.data[:64]) or b"\n" not in head.data.rstrip()
        return bool(marks) and cut_off and one and all(mark in head.data for mark in marks)

    return recognises


def tables(*names: str) -> Callable[[Head], bool]:
    """Recognise a database by its tables."""
    return lines(lambda record: set(names) <= set(mapping(record.get("sqlite")).get("tables") or ()))


def exported(test: Test) -> Test:
    """Recognise a run of a tracing platform, or a record that holds such ones."""

    def recognises(record: Record) -> bool:
        held = (record.get(key) for key in ("data", "observations", "runs", "calls"))
        return test(record) or any(test(mapping(found[0])) for found in held if isinstance(found, list) and found)

    return recognises


def langfuse(record: Record) -> bool:
    """An observation of Langfuse's, whose kinds are in capitals."""
    named = str(record.get("type")).isupper() and {"id", "level"} <= record.keys()
    return named and ({"traceId", "startTime"} <= record.keys() or {"trace_id", "start_time"} <= record.keys())


_REQUESTS = frozenset({"resourceLogs", "resourceSpans", "resourceMetrics"})


def otlp(record: Record) -> bool:
    """A request of the OpenTelemetry protocol, one inside a capture's envelope, or one of its resources."""
    if _REQUESTS & record.keys() or ("resource" in record and {"scopeLogs", "scopeSpans"} & record.keys()):
        return True
    return any(isinstance(inner, dict) and bool(_REQUESTS & inner.keys()) for inner in record.values())


def openhands(record: Record) -> bool:
    """An event of OpenHands: by its kind, or by what was done or seen, as before 2025's end."""
    kind = record.get("kind")
    if isinstance(kind, str):
        others = "apiVersion" in record or "timestampMs" in record  # Kubernetes', and Junie's
        return (kind.endswith("Event") or kind in ("Condensation", "CondensationRequest")) and not others
    seen = isinstance(record.get("action"), str) or isinstance(record.get("observation"), str)
    return seen and {"timestamp", "source", "message"} <= record.keys()


HERMES_LINE = re.compile(
    rb"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]{4,8}(?: \[\S{1,200}\])? "
    rb"(?:hermes_\w{1,60}|run_agent|agent\.conversation_loop): "
)
"""A line of one of Hermes' own modules."""


def document(head: Head) -> bool:
    """Whether it begins as a document of JSON does."""
    return head.data.lstrip()[:1] in {b"{", b"["}


def binary(head: Head) -> bool:
    """Whether it is neither text nor JSON."""
    return not head.objects and not head.elements and (b"\0" in head.data or not _is_text(head.data))


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4  # a character cut off at the end of the head
    return True
