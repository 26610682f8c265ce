"""Lines and events, both ways, and why a line gives no event."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any, TypeGuard

import msgspec

from analyzer.events.model import SCHEMA_VERSION, STANDS_IN, Event, Origin, derived_id
from analyzer.events.times import format_time, parse_time
from analyzer.redaction.unfolding import mended

WHYS: dict[str, str] = {
    "torn": "breaks off in the middle, or a broken record stands in front of an intact one",
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
"""Why a line, or a part of it, is in quarantine: the whole list."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A line that gives no event."""

    why: str
    """A code of `WHYS`."""
    detail: str = ""
    """What exactly, for a person."""


LONGEST_DIAGNOSED = 1024 * 1024
"""Bytes; of longer lines only the parser's own words are told."""
_BOM = b"\xef\xbb\xbf"
_TRUNCATED = "Input data was truncated"
_OUT_OF_RANGE = "out of range"


class _RepeatedKeyError(Exception):
    pass


class _NoNumberError(Exception):
    pass


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) != len({key for key, _ in pairs}):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)


def _refused(constant: str) -> None:
    raise _NoNumberError(constant)


def _unread(_digits: str) -> None:
    """Take a number unread: only keys are looked for, and very long numbers cost time."""


_keys = json.JSONDecoder(object_pairs_hook=_once, parse_int=_unread, parse_float=_unread)
_values = json.JSONDecoder(parse_int=_unread, parse_float=_unread, parse_constant=_refused)


def repeated_key(line: bytes) -> str | None:
    """A key that stands twice in one object of this valid line, or None."""
    try:
        _keys.decode(line.decode("utf-8").strip())
    except _RepeatedKeyError as error:
        return str(error)
    except (ValueError, RecursionError):
        return None
    return None


def diagnosed(line: bytes, words: str) -> Reject:
    """The reject of a line that is no JSON, with what is wrong and where; `words` are the parser's."""
    text = line.strip()
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
    rest = decoded[end:].strip()
    if not rest:
        return Reject("not_json", words)
    if rest[0] in "{[":
        return Reject("glued", f"a second record from character {end + 1} on")
    return Reject("trailing_garbage", f"{len(rest)} characters behind the record")


MAX_DEPTH = 64
"""Deeper nesting is refused: some readers of JSON recurse, and crash on a hostile line."""
MOST_ITEMS = 500_000
"""Of a line, in all its objects and lists together: three bytes of a list of empty lists take eighty in memory."""
CRC_MARK = b',"crc":"'
_CRC_LENGTH = len(CRC_MARK) + 8 + 2

_SHORT = 16
"""Bytes of a line that is looked up before it is looked at."""
_QUOTE = ord('"')
_STRUCTURE = re.compile(rb'[,\[{]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
"""What begins an item, or a text from its first quote to its last."""
_KNOWN = frozenset(
    {"v", "id", "type", "timestamp", "sessionId", "writer", "seq", "payload", "crc", "origin", "time_source"}
)
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(event: Event, payload_json: bytes | None = None) -> bytes:
    """Encode the event as a line with checksum and newline; `payload_json` is its payload where that is JSON already.

    Raises:
        TypeError, ValueError, RecursionError: the payload is not JSON-ready (the appender sanitizes first).
    """
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
    record.update({key: value for key, value in event.extra.items() if key not in _KNOWN})
    record["payload"] = event.payload if payload_json is None else msgspec.Raw(payload_json)
    return sealed_line(_encoder.encode(record)[:-1])


def sealed_line(body: bytes) -> bytes:
    """Close a JSON object that lacks its last brace with its checksum, and end the line."""
    return b'%s%s%08x"}\n' % (body, CRC_MARK, zlib.crc32(body))


def decode(line: bytes, file_time: datetime) -> Event | Reject:
    """One line without its newline as an event, or why not.

    `file_time` (naive UTC) stands in where the line names no time. A line with a `crc` must carry the right one; such a
    line is ours, and only lines of others are searched for keys that stand twice.
    """
    ours = crc_holds(line)
    record = decode_object(line, unique_keys=not ours)
    if isinstance(record, Reject):
        return record
    if "crc" in record and not ours:
        return Reject("crc_mismatch", "the checksum does not fit the bytes before it")
    return event_from(record, line, file_time)


def decode_object(line: bytes, *, unique_keys: bool = True) -> dict[str, Any] | Reject:
    """One line as a JSON object of bounded depth, no key of which stands twice (unless told), or why not."""
    if len(line) <= _SHORT and (known := _reject_of_short(line, unique_keys=unique_keys)) is not None:
        return known
    return _decode_object(line, unique_keys=unique_keys)


@lru_cache(1_024)
def _reject_of_short(line: bytes, *, unique_keys: bool) -> Reject | None:
    """A file that is no log has very many short lines, and many of them are the same."""
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
    """Whether as many quotes came out of a line as stand in it. False where that takes a closer look.

    A key that stands twice takes two of them along. Inside of texts a quote is one in the encoding as well, unless it
    is written by its number.
    """
    if b"\\u0022" in line:
        return False
    try:
        again = _encoder.encode(record)
        return again == line or again.count(b'"') == line.count(b'"')
    except (ValueError, OverflowError, RecursionError):
        return False


def parsed(text: object) -> Any:
    """JSON inside of a record as a value; None where it is none, or no text."""
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
    """Check the envelope of a decoded line and make an event of it, or a reject that says what is wrong."""
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
        extra={key: value for key, value in record.items() if key not in _KNOWN},
    )


def line_id(line: bytes) -> str:
    """The id of a line without one: a digest of its bytes."""
    return derived_id("line", line.strip().decode("utf-8"))


def _counts(value: object, limit: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit


def crc_holds(line: bytes) -> bool:
    """Whether the line ends in the checksum of the bytes before it (CRC-32, eight lower-case hex digits)."""
    line = line.strip()
    tail = line[-_CRC_LENGTH:]
    return tail.startswith(CRC_MARK) and tail == b'%s%08x"}' % (CRC_MARK, zlib.crc32(line[:-_CRC_LENGTH]))


def _origin(value: object) -> Origin | None:
    if not isinstance(value, dict):
        return None
    line = value.get("line")
    return Origin(str(value.get("format")), str(value.get("path")), line if isinstance(line, int) else None)


def _more_items_than(limit: int, line: bytes) -> bool:
    """Whether a line of JSON has more items than that, told without making any of them."""
    if line.count(b",") + line.count(b"[") + line.count(b"{") <= limit:
        return False
    # Those inside of texts are none.
    items = (found for found in _STRUCTURE.finditer(line) if line[found.start()] != _QUOTE)
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
