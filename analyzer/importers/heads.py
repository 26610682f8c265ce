"""The beginning of a source, and how it tells the format: what the records of each kind of log hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.agent_stream import mapping
from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.importers.shapes.files import first_records, looks_like_document

HEAD_BYTES = 512 * 1024
"""How much of a source is looked at; one line of a transcript may be larger than any smaller head."""
_LOOKED_AT = 60

Record = Mapping[str, Any]
Test = Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a source."""

    data: bytes
    objects: tuple[Record, ...]
    """The JSON objects among its first lines; none of a document."""
    elements: tuple[Record, ...] = ()
    """The first objects of a document: of an array, or of objects that take many lines each."""


def head_of(data: bytes) -> Head:
    """The head of a source from its first bytes; a line that is cut off at their end does not count."""
    if looks_like_document(data[:64]) and (elements := first_records(data, _LOOKED_AT)):
        return Head(data, (), elements)
    lines = data.split(b"\n")
    if len(data) >= HEAD_BYTES and len(lines) > 2:
        lines.pop()
    shown = [line for line in lines if line.strip()][:_LOOKED_AT]
    decoded = (decode_object(line.removeprefix(b"\xef\xbb\xbf"), unique_keys=False) for line in shown)
    return Head(data, tuple(record for record in decoded if not isinstance(record, Reject)))


def lines(test: Test) -> Callable[[Head], bool]:
    """Recognise a log of lines by any record among the first ones."""
    return lambda head: any(test(record) for record in head.objects)


def records(test: Test, *marks: bytes) -> Callable[[Head], bool]:
    """Recognise a log of lines, or a document with such records.

    A document of one object that is longer than the head has no whole record there: then the marks decide.
    """

    def recognises(head: Head) -> bool:
        if any(test(record) for record in head.elements or head.objects):
            return True
        cut_off = bool(marks) and len(head.data) >= HEAD_BYTES
        one = cut_off and (looks_like_document(head.data[:64]) or b"\n" not in head.data)
        return one and all(mark in head.data for mark in marks)

    return recognises


def tables(*names: str) -> Callable[[Head], bool]:
    """Recognise a database by its tables."""
    return lines(lambda record: set(names) <= set(mapping(record.get("sqlite")).get("tables") or ()))


# What a record holds -------------------------------------------------------------------------------------------------

_CONDITION = re.compile(r"(?P<no>!?)(?P<path>[\w$.]*)(?:(?P<how>[=^~:<])(?P<what>.+))?")
_TYPES: Mapping[str, tuple[type, str]] = {
    "text": (str, "a text"),
    "object": (dict, "an object"),
    "list": (list, "a list"),
    "number": (int, "a number"),
    "flag": (bool, "a boolean"),
}
_WORDS = {"^": "that begins with", "~": "that has in it"}


def has(*ways: str) -> Test:
    """Recognise a record that is as any of these ways say: conditions with spaces between them.

    `key` is there, dots lead into objects; `key=a,b` is one of these texts, or a number that is written so; `key^a`
    begins so, and `key~a` has that in it; `key:text` is of that type; `key<a,b` has no other keys than these, and the
    record itself has none where no key is named. `!` denies a condition; of several with `|` between one is enough.
    """
    tests = [[_any([_condition(each) for each in term.split("|")]) for term in way.split()] for way in ways]

    def recognises(record: Record) -> bool:
        # Loops, as a generator costs more than most of what it would ask: each head meets each format.
        for way in tests:
            for term in way:
                if not term(record):
                    break
            else:
                return True
        return False

    return recognises


def _any(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda record: any(test(record) for test in tests)


def _condition(written: str) -> Test:
    found = _CONDITION.fullmatch(written)
    assert found is not None, written
    *path, key = found["path"].split(".")
    test = _of_value(found["how"], found["what"], key)

    def holds(record: Record) -> bool:
        for name in path:
            record = mapping(record.get(name))
        return test(record)

    plain = holds if path else test
    return (lambda record: not plain(record)) if found["no"] else plain


def _of_value(how: str | None, what: str, key: str) -> Test:
    """The test of the object that has the key."""
    if how is None:
        return lambda record: key in record
    if how == "=":
        values = frozenset(what.split(","))
        return lambda record: isinstance(value := record.get(key), str | int) and str(value) in values
    if how == ":":
        kind = _TYPES[what][0]
        return lambda record: isinstance(record.get(key), kind)
    if how == "<":
        known = frozenset(what.split(","))
        return lambda record: (mapping(record.get(key)) if key else record).keys() <= known
    if how == "^":
        return lambda record: isinstance(value := record.get(key), str) and value.startswith(what)
    return lambda record: isinstance(value := record.get(key), str) and what in value


def described(*ways: str) -> str:
    """The ways of `has` in words, for the reference page."""
    return "; ".join(", ".join(" or ".join(map(_worded, term.split("|"))) for term in way.split()) for way in ways)


def _worded(written: str) -> str:
    found = _CONDITION.fullmatch(written)
    assert found is not None, written
    path, how, what = f"`{found['path']}`", found["how"], found["what"]
    if how == "<":
        return f"no other keys {'in ' + path if found['path'] else 'beside'}".removesuffix(" beside")
    words = path
    if how == "=":
        words = f"{path} = {'/'.join(f'`{value}`' for value in what.split(','))}"
    elif how == ":":
        words = f"{_TYPES[what][1]} {path}"
    elif how is not None:
        words = f"{path} {_WORDS[how]} `{what}`"
    return f"no {words.removeprefix('a ').removeprefix('an ')}" if found["no"] else words


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
