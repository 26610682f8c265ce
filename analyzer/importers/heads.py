"""The beginning of a source, and tests that recognise a format by the records in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from analyzer.agent_stream import mapping
from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.frozen import frozen
from analyzer.importers.conditions import Record, Test
from analyzer.importers.shapes.documents import first_records

HEAD_BYTES = 512 * 1024
"""Bytes of a source that are read; a line of a transcript may be larger than a smaller head."""
_LOOKED_AT = 60
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,32}(?:\[|\{[ \t\r]{0,32}\n)")


@frozen
class Head:
    """The beginning of a source."""

    data: bytes
    objects: tuple[Record, ...]
    """The JSON objects on its first lines; empty for a document."""
    elements: tuple[Record, ...] = ()
    """The first objects of a document: an array, or objects of many lines."""


def looks_like_document(data: bytes) -> bool:
    """Tell whether the first bytes of a file begin an array, or an object of several lines."""
    return _BEGINS.match(data) is not None


def head_of(data: bytes) -> Head:
    """Make the head of a source of its first bytes, without a line that is cut off at their end."""
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
    """Return a test that recognises a log of lines by one of its first records."""
    return lambda head: any(test(record) for record in head.objects)


def records(test: Test, *marks: bytes) -> Callable[[Head], bool]:
    """Return a test that recognises a log of lines, or a document, by one of its first records.

    A document of one object that is longer than the head, or breaks off, has no whole record in it:
    then it has to have all marks.
    """

    def recognises(head: Head) -> bool:
        if any(test(record) for record in head.elements or head.objects):
            return True
        is_cut = len(head.data) >= HEAD_BYTES or not (head.elements or head.objects)
        is_document = looks_like_document(head.data[:64]) or b"\n" not in head.data.rstrip()
        return bool(marks) and is_cut and is_document and all(mark in head.data for mark in marks)

    return recognises


def tables(*names: str) -> Callable[[Head], bool]:
    """Return a test that recognises a database by its tables."""

    def recognises(record: Record) -> bool:
        listed = mapping(record.get("sqlite")).get("tables")
        return isinstance(listed, list) and all(name in listed for name in names)

    return lines(recognises)


def exported(test: Test) -> Test:
    """Extend a test of a tracing platform's runs to records that hold a list of runs."""

    def recognises(record: Record) -> bool:
        lists = (record.get(key) for key in ("data", "observations", "runs", "calls"))
        firsts = (runs[0] for runs in lists if isinstance(runs, list) and runs)
        return test(record) or any(test(mapping(first)) for first in firsts)

    return recognises


def langfuse(record: Record) -> bool:
    """Recognise an observation of Langfuse, whose types are in capitals."""
    if not str(record.get("type")).isupper() or not {"id", "level"} <= record.keys():
        return False
    return {"traceId", "startTime"} <= record.keys() or {"trace_id", "start_time"} <= record.keys()


_REQUESTS = frozenset({"resourceLogs", "resourceSpans", "resourceMetrics"})


def otlp(record: Record) -> bool:
    """Recognise a request of the OpenTelemetry protocol, or one of its resources.

    The request may stand in the envelope of a capture.
    """
    if _REQUESTS & record.keys():
        return True
    if "resource" in record and {"scopeLogs", "scopeSpans"} & record.keys():
        return True
    return any(isinstance(inner, dict) and bool(_REQUESTS & inner.keys()) for inner in record.values())


def openhands(record: Record) -> bool:
    """Recognise an event of OpenHands.

    It has a kind, or an action or an observation if it is from before the end of 2025.
    """
    kind = record.get("kind")
    if isinstance(kind, str):
        others = "apiVersion" in record or "timestampMs" in record  # Kubernetes', and Junie's
        return (kind.endswith("Event") or kind in ("Condensation", "CondensationRequest")) and not others
    is_step = any(isinstance(record.get(key), str) for key in ("action", "observation"))
    return is_step and {"timestamp", "source", "message"} <= record.keys()


HERMES_LINE = re.compile(
    rb"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]{4,8}(?: \[\S{1,200}\])? "
    rb"(?:hermes_\w{1,60}|run_agent|agent\.conversation_loop): "
)
"""The beginning of a log line of one of Hermes' own modules."""


def document(head: Head) -> bool:
    """Recognise what begins as a document of JSON."""
    return head.data.lstrip()[:1] in {b"{", b"["}


def binary(head: Head) -> bool:
    """Recognise what is neither text nor JSON."""
    return not head.objects and not head.elements and (b"\0" in head.data or not _is_text(head.data))


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4  # a character cut off at the end of the head
    return True
