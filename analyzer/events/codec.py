"""Conversion of lines and events, both ways, and the reasons why a line gives no event."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, TypeGuard

import msgspec

from analyzer.events.model import SCHEMA_VERSION, STANDS_IN, Event, Origin, derived_id
from analyzer.events.times import format_time, parse_time
from analyzer.frozen import frozen
from analyzer.redaction.unfolding import mended

WHYS: dict[str, str] = {
    "torn": "breaks off in the middle, or a broken record comes before an intact one",
    "torn_tail": "the last line breaks off, and whoever wrote it is gone",
    "glued": "two records on one line",
    "trailing_garbage": "something follows the record",
    "not_json": "no JSON",
    "not_an_object": "a JSON list, text, number, boolean or null instead of an object",
    "nul_bytes": "NUL bytes, as a crashed machine leaves them",
    "byte_order_mark": "a byte order mark in front of a line that is not the first",
    "invalid_utf8": "bytes that are no UTF-8",
    "lone_surrogate": "half of a UTF-16 pair, as earlier versions kept it; a retry reads it",
    "bad_number": "NaN, Infinity, or a number beyond all bounds",
    "too_deep": "nested too deeply",
    "too_many_items": "more than half a million items in one record",
    "duplicate_key": "a key stands twice in one object, and which of them counts is anyone's guess",
    "crc_mismatch": "the checksum does not fit",
    "missing_type": "no text under `type`",
    "bad_payload": "`payload` is no object",
    "bad_count": "a number of tokens that is a text, a list, below 0 or beyond all bounds",
    "bad_session": "`sessionId` is no text",
    "bad_timestamp": "`timestamp` is no moment",
    "line_too_long": "over the cap of 64 MiB",
    "upcast_failed": "an older version that could not be brought up to date",
    "conflict": "the id of another event with other content",
    "poison": "the database fails on it",
}
"""All reasons why a line, or a part of it, is in quarantine."""


@frozen
class Reject:
    """A line that gives no event."""

    why: str
    """A code of `WHYS`."""
    detail: str = ""
    """The exact fault, for a person."""


LONGEST_DIAGNOSED = 1024 * 1024
"""The longest line in bytes that is diagnosed;
for longer lines only the parser's words are reported.
"""
_BOM = b"\xef\xbb\xbf"
SPACE = b" \t\r\n"
"""The bytes that JSON allows around a record (RFC 8259, section 2): a form feed is no space."""
_TRUNCATED = "Input data was truncated"
_OUT_OF_RANGE = "out of range"


class _RepeatedKeyError(Exception):
    pass


class _NoNumberError(Exception):
    pass


def _check_unique(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) != len({key for key, _ in pairs}):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)


def _refuse_constant(constant: str) -> None:
    raise _NoNumberError(constant)


def _skip_number(_digits: str) -> None:
    """Take a number unread: only keys are checked, and very long numbers cost time."""


_keys = json.JSONDecoder(object_pairs_hook=_check_unique, parse_int=_skip_number, parse_float=_skip_number)
_values = json.JSONDecoder(parse_int=_skip_number, parse_float=_skip_number, parse_constant=_refuse_constant)


def repeated_key(line: bytes) -> str | None:
    """Return a key that is repeated in one object of this valid line, or None."""
    try:
        _keys.decode(line.decode("utf-8"))
    except _RepeatedKeyError as error:
        return str(error)
    except (ValueError, RecursionError):
        return None
    return None


def diagnosed(line: bytes, words: str) -> Reject:
    """Return the reject of a line that is no JSON, with the fault and its position.

    `words` are the parser's.
    """
    text = line.strip(SPACE)
    if text.startswith(_BOM):
        return Reject("byte_order_mark", "a byte order mark in front of the record")
    if _OUT_OF_RANGE in words:
        return Reject("bad_number", words)
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return Reject("invalid_utf8", f"byte {error.start}: {error.reason}")
    if len(text) > LONGEST_DIAGNOSED:
        return Reject("torn" if words == _TRUNCATED else "not_json", words)
    try:
        _, end = _values.raw_decode(decoded)
    except _NoNumberError as error:
        return Reject("bad_number", f"{error} is no JSON")
    except RecursionError:
        return Reject("too_deep", "nested too deeply to read")
    except ValueError:
        torn = words == _TRUNCATED and text[:1] == b"{"
        return Reject("torn" if torn else "not_json", "the record breaks off" if torn else words)
    rest = decoded[end:].strip(SPACE.decode())
    if not rest:
        return Reject("not_json", words)
    if rest[0] in "{[":
        return Reject("glued", f"a second record from character {end + 1} on")
    return Reject("trailing_garbage", f"{len(rest)} characters after the record")


MAX_DEPTH = 64
"""The deepest nesting that is read: some readers of JSON recurse, and crash on a hostile line."""
MOST_ITEMS = 500_000
"""The most items in all objects and lists of a line: in a list of empty lists,
three bytes take eighty in memory.
"""
CRC_MARK = b',"crc":"'
_CRC_LENGTH = len(CRC_MARK) + 8 + 2

_SHORT = 16
"""Bytes of a line that is looked up in a cache before it is decoded."""
_QUOTE = ord('"')
_STRUCTURE = re.compile(rb'[,\[{]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
"""The beginning of an item, or a whole text."""
_ENVELOPE = frozenset(
    {"v", "id", "type", "timestamp", "sessionId", "writer", "seq", "payload", "crc", "origin", "time_source"}
)
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(event: Event, payload_json: bytes | None = None) -> bytes:
    """Encode the event as a line with checksum and newline.

    `payload_json` is its payload if that is JSON already.

    Raises:
        TypeError, ValueError, RecursionError: the payload is not JSON-ready (the appender sanitizes first).
    """
    return sealed_line(encode_open(event, payload_json)[:-1])


def encode_open(event: Event, payload_json: bytes | None = None) -> bytes:
    """Encode the event as `encode` does, without checksum and newline."""
    record: dict[str, Any] = {
        "v": event.v,
        "id": event.id,
        "type": event.type,
        "timestamp": format_time(event.occurred_at),
        "sessionId": event.session_id,
    }
    if event.writer is not None:
        record["writer"] = event.writer
        record["seq"] = event.seq
    if event.time_source != "event":
        record["time_source"] = event.time_source
    if event.origin is not None:
        record["origin"] = {"format": event.origin.format, "path": event.origin.path, "line": event.origin.line}
        if event.origin.host:
            record["origin"]["host"] = event.origin.host
    record.update({key: value for key, value in event.extra.items() if key not in _ENVELOPE})
    record["payload"] = event.payload if payload_json is None else msgspec.Raw(payload_json)
    return _encoder.encode(record)


def sealed_line(body: bytes) -> bytes:
    """Close a JSON object that lacks its last brace with its checksum, and end the line."""
    return b'%s%s%08x"}\n' % (body, CRC_MARK, zlib.crc32(body))


def decode(line: bytes, file_time: datetime) -> Event | Reject:
    """Decode one line without its newline; a `Reject` says why it gives no event.

    `file_time` (naive UTC) is used if the line names no time. A `crc` must be right; a line with one is ours, and only
    lines of other programs are searched for repeated keys.
    """
    ours = crc_holds(line)
    record = decode_object(line, unique_keys=not ours)
    if isinstance(record, Reject):
        return record
    if "crc" in record and not ours:
        return Reject("crc_mismatch", "the checksum does not fit the bytes before it")
    return event_from(record, line, file_time)


def decode_object(line: bytes, *, unique_keys: bool = True) -> dict[str, Any] | Reject:
    """Decode one line as a JSON object of bounded depth.

    With `unique_keys` a repeated key is a reject.
    """
    if len(line) <= _SHORT and (reject := _reject_of_short(line, unique_keys=unique_keys)) is not None:
        return reject
    return _decode_object(line, unique_keys=unique_keys)


@lru_cache(1_024)
def _reject_of_short(line: bytes, *, unique_keys: bool) -> Reject | None:
    """Return the reject of a short line, cached:
    files that are no logs repeat short lines very often.
    """
    decoded = _decode_object(line, unique_keys=unique_keys)
    return decoded if isinstance(decoded, Reject) else None


def _decode_object(line: bytes, *, unique_keys: bool) -> dict[str, Any] | Reject:
    if b"\0" in line:
        return Reject("nul_bytes", f"{line.count(0)} NUL bytes")
    if len(line) > MOST_ITEMS and _more_items_than(MOST_ITEMS, line):
        return Reject("too_many_items", f"more than {MOST_ITEMS:,} items in one record")
    try:
        record = _decoder.decode(line)
    except msgspec.DecodeError as error:
        whole = mended(line)
        if whole is line:
            return diagnosed(line, str(error))
        return _decode_object(whole, unique_keys=unique_keys)
    except UnicodeDecodeError as error:
        return diagnosed(line, str(error))
    except RecursionError:
        return Reject("too_deep", "nested too deeply to read")
    if not isinstance(record, dict):
        return Reject("not_an_object", f"the line is a JSON {type(record).__name__}")
    if _deeper_than(record, MAX_DEPTH, line):
        return Reject("too_deep", f"nested deeper than {MAX_DEPTH} levels")
    if unique_keys and not _surely_unique(record, line) and (key := repeated_key(line)) is not None:
        return Reject("duplicate_key", f"the key {key[:80]!r} stands twice in one object")
    return record


def _surely_unique(record: dict[str, Any], line: bytes) -> bool:
    """Return true if encoding a record again gives as many quotes as its line has; false if that is unsure.

    A repeated key is lost with two quotes. A quote inside a text is one quote in the encoding as well, unless it is
    written by its number.
    """
    if b"\\u0022" in line:
        return False
    try:
        again = _encoder.encode(record)
        return again == line or again.count(b'"') == line.count(b'"')
    except (ValueError, OverflowError, RecursionError):
        return False


def parsed(text: object) -> Any:
    """Decode JSON inside a record; None if the text is no JSON, or the value no text."""
    if not isinstance(text, str | bytes):
        return None
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        raw = text.encode() if isinstance(text, str) else text
        whole = mended(raw)
        return None if whole is raw else parsed(whole)
    except (UnicodeError, RecursionError):
        return None


def event_from(record: Mapping[str, Any], line: bytes, file_time: datetime) -> Event | Reject:
    """Make an event of a decoded line; a `Reject` says what is wrong with its envelope."""
    kind = record.get("type")
    if not isinstance(kind, str) or not kind:
        return Reject("missing_type", "no text under `type`")
    payload = record.get("payload", {})
    if not isinstance(payload, dict):
        return Reject("bad_payload", "`payload` is not an object")
    session = record.get("sessionId")
    if session is not None and not isinstance(session, str):
        return Reject("bad_session", "`sessionId` is not a text")
    try:
        moment = parse_time(record.get("timestamp"))
    except ValueError as error:
        return Reject("bad_timestamp", str(error))
    stated = record.get("time_source")
    time_source = str(stated) if stated in STANDS_IN else "event"
    if moment is None:
        moment, time_source = file_time, "file"
    event_id = record.get("id")
    version = record.get("v")
    seq = record.get("seq")
    writer = record.get("writer")
    return Event(
        type=kind,
        occurred_at=moment,
        session_id=session,
        payload=payload,
        id=event_id if isinstance(event_id, str) and event_id else line_id(line),
        v=version if _counts(version, 2**31) else SCHEMA_VERSION,
        writer=writer if isinstance(writer, str) else None,
        seq=seq if _counts(seq, 2**62) else None,
        time_source=time_source,
        origin=_origin(record.get("origin")),
        extra={key: value for key, value in record.items() if key not in _ENVELOPE},
    )


def line_id(line: bytes) -> str:
    """Return the id of a line without one: a digest of its bytes."""
    return derived_id("line", line.strip(SPACE).decode("utf-8"))


def _counts(value: object, limit: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit


def crc_holds(line: bytes) -> bool:
    """Return true if the line ends in the checksum of the bytes before it (CRC-32,
    eight lower-case hex digits).
    """
    line = line.strip(SPACE)
    tail = line[-_CRC_LENGTH:]
    return tail.startswith(CRC_MARK) and tail == b'%s%08x"}' % (CRC_MARK, zlib.crc32(line[:-_CRC_LENGTH]))


def _origin(value: object) -> Origin | None:
    if not isinstance(value, dict):
        return None
    line, host = value.get("line"), value.get("host")
    return Origin(
        str(value.get("format")),
        str(value.get("path")),
        line if isinstance(line, int) else None,
        host if isinstance(host, str) else None,
    )


def _more_items_than(limit: int, line: bytes) -> bool:
    """Return true if a line of JSON has more items than `limit`, without making any of them."""
    if line.count(b",") + line.count(b"[") + line.count(b"{") <= limit:
        return False
    # Signs inside texts begin no items.
    items = (match for match in _STRUCTURE.finditer(line) if line[match.start()] != _QUOTE)
    return next(islice(items, limit, None), None) is not None


def _deeper_than(value: object, levels: int, line: bytes) -> bool:
    # A line with few brackets cannot be deep, and nearly every line has few.
    if line.count(b"{") + line.count(b"[") <= levels:
        return False
    layer: list[Any] = [value]
    for _ in range(levels):
        below: list[Any] = []
        for item in layer:
            if isinstance(item, dict):
                below.extend(child for child in item.values() if isinstance(child, dict | list))
            else:
                below.extend(child for child in item if isinstance(child, dict | list))
        if not below:
            return False
        layer = below
    return True
