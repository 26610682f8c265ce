"""JSON documents as lines: the elements of an array, objects one after another over many lines, the messages of a chat.

Invariant: a record that is whole is one line, whatever is broken beside it; a document that breaks off ends without a
newline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from analyzer.redaction.halves import mended

MOST_BYTES = 256 * 1024 * 1024
"""Of a document, which is held in memory as a whole; larger ones are not read."""
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,32}(?:\[|\{[ \t\r]{0,32}\n)")
_BETWEEN = re.compile(r"[\s,]*")
_raw = json.JSONDecoder()
_encode = msgspec.json.Encoder().encode


def looks_like_document(data: bytes) -> bool:
    """Tell whether the first bytes of a file begin an array, or an object whose brace stands alone on its line."""
    return _BEGINS.match(data) is not None


def first_records(data: bytes, most: int) -> tuple[dict[str, Any], ...]:
    """The first objects of a document, whose end may be missing; none where it does not begin with a whole one."""
    found = list(islice(_records(mended(data).decode("utf-8-sig", "replace")), most))
    return tuple(record for record, _ in found if isinstance(record, dict)) if found and found[0][1] is None else ()


def unfolded(data: bytes) -> bytes:
    """The records of a document, one a line. What is broken between two of them is a line too."""
    lines = bytearray()
    for record, broken in _records(mended(data).decode("utf-8-sig", "replace")):
        if broken is None:
            for part in _parts(record):
                lines += _encode(part) + b"\n"
        else:
            lines += " ".join(broken.split()).encode("utf-8", "replace") + b"\n"
    if _breaks_off(lines):
        del lines[-1:]
    return bytes(lines)


def _breaks_off(lines: bytearray) -> bool:
    """Whether the last line is no whole record: whoever writes the document may be in the middle of it."""
    last = bytes(lines[lines.rfind(b"\n", 0, -1) + 1 :])
    try:
        msgspec.json.decode(last or b"0")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return False


def _parts(record: Any) -> list[Any]:
    """A chat that is one object is its head and its messages."""
    if isinstance(record, dict) and "projectHash" in record and isinstance(record.get("messages"), list):
        return [{key: value for key, value in record.items() if key != "messages"}, *record["messages"]]
    return [record]


def _records(text: str) -> Iterator[tuple[Any, str | None]]:
    """Each record, or the text that is none."""
    at = _after(text, 0)
    array = text.startswith("[", at)
    at += array
    while (at := _after(text, at)) < len(text):
        if array and text[at] == "]":
            array, at = False, at + 1
            continue
        try:
            record, end = _raw.raw_decode(text, at)
        except (ValueError, RecursionError):
            # The next record begins in the same column; what is indented further belongs to this one.
            indent = text[text.rfind("\n", 0, at) + 1 : at]
            end = text.find(f"\n{indent}{{", at) if not indent.strip() else -1
            end = len(text) if end < 0 else end
            yield None, text[at:end]
        else:
            yield record, None
        at = end


def _after(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at
