"""Why a line gives no event: the closed list, and telling exactly what is wrong with a line that no parser takes.

Diagnosis is only ever paid for by bad lines. It is total, and its memory is bounded by the line's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

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
