"""JSON documents as lines: a document is split into its items first, and each item is judged as a line is.

A document gives the elements of an array, objects one after another over many lines, or the messages of a chat. Of
what cannot be read the smallest item is cut out, an object in a list or a member of the document, and becomes a line
of its own, below the keys that lead to it. The rest is read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from analyzer.events import Reject
from analyzer.events.codec import decode_object, parsed
from analyzer.redaction.unfolding import mended

MOST_BYTES = 256 * 1024 * 1024
"""Of a document, which is held in memory as a whole; larger ones are not read."""
_MOST_BROKEN = 1_000
"""Parts of a document that are no records; what follows is one more. Each costs a look at all before it."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a record that is looked into; no longer line is read, either."""
_MOST_NESTED = 16
"""Levels of lists and objects in which an item is looked for."""
_TOGETHER = 64
"""Items that are judged at once before each is by itself; nearly all can be read."""
_BETWEEN = re.compile(r"[\s,]*")
_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A list or an object without others in it is one token, as most are.
_STRUCTURE = rf'[\[{{](?:[^"\[\]{{}}]++|{_TEXT})*+[\]}}]|{_TEXT}|"|[\[\]{{}},]'
_TOKEN, _IN_TEXT = re.compile(_STRUCTURE.encode(), re.DOTALL), re.compile(_STRUCTURE, re.DOTALL)
_KEY = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:\s*', re.DOTALL)
_encode = msgspec.json.Encoder().encode


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:20]} is beyond all bounds")
    return value


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_raw = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)


def first_records(data: bytes, most: int) -> tuple[dict[str, Any], ...]:
    """Return the first objects of a document, without what cannot be read of them; its end may be missing.

    There are none unless it begins with a whole value.
    """
    found: list[dict[str, Any]] = []
    for place, (lines, is_whole) in enumerate(islice(_records(data), most)):
        if not is_whole and place == 0:
            return ()
        found += filter(lambda record: isinstance(record, dict), map(parsed, lines[:1]))
    return tuple(found)


def unfolded(data: bytes) -> bytes:
    """Return the items of a document, one a line. What is broken between two of them is a line too."""
    lines = bytearray()
    is_torn = False
    for found, is_whole in _records(data, of_chats=True):
        lines += b"".join(line + b"\n" for line in found)
        is_torn = not is_whole
    if is_torn:
        del lines[-1:]  # whoever writes the document may be in the middle of it
    return bytes(lines)


def _records(data: bytes, *, of_chats: bool = False) -> Iterator[tuple[list[bytes], bool]]:
    """Yield the lines of each record, or a text that is none; and whether its end is there."""
    text = mended(data).decode("utf-8-sig", "surrogateescape")
    at, left = _after(text, 0), _MOST_BROKEN
    is_item = array = text.startswith("[", at)
    at += array
    while (at := _after(text, at)) < len(text):
        if array and text[at] == "]":
            array, at = False, at + 1
            continue
        try:
            record, end = _raw.raw_decode(text, at)
            lines = [_encode(part) for part in (_parts(record) if of_chats else [record])]
        except (ValueError, RecursionError):
            left -= 1
            end = _end(text, at) if left else len(text)
            raw = text[at:end].encode("utf-8", "surrogateescape")
            is_whole = end < len(text) or not left or _closed(text, at) == end
            lines = _raw_parts(raw) if of_chats and is_whole else [raw]
        else:
            is_whole = True
        is_item = is_item or _after(text, end) < len(text)
        yield [line for part in lines for line in _readable(part, is_item)] if is_whole else [_one_line(raw)], is_whole
        at = end


def _after(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _end(text: str, at: int) -> int:
    """Where a record ends that cannot be decoded.

    The next record begins in the same column; what is indented further belongs to this one. Within a line it ends
    with its last bracket.
    """
    indent = text[text.rfind("\n", 0, at) + 1 : at]
    end = -1 if indent.strip() else text.find(f"\n{indent}{{", at)
    if end < 0 and text[at] in "{[":
        end = _closed(text, at)
    return len(text) if end < 0 else end


def _closed(text: str, at: int) -> int:
    """Where the bracket that stands there is closed; -1 where it is not."""
    depth = 0
    for token in _IN_TEXT.finditer(text, at):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth == 0:
            return token.end()
    return -1


def is_closed(line: bytes) -> bool:
    """Whether a line holds one object to its last bracket, whatever stands in it."""
    text = line.strip().decode("utf-8", "surrogateescape")
    return text[:1] == "{" and text[-1] == "}" and _closed(text, 0) == len(text)


def _parts(record: Any) -> list[Any]:
    """Return the head and the messages of a chat that is one object, or the record."""
    if isinstance(record, dict) and "projectHash" in record and isinstance(record.get("messages"), list):
        return [{key: value for key, value in record.items() if key != "messages"}, *record["messages"]]
    return [record]


def _raw_parts(raw: bytes) -> list[bytes]:
    """Return the same of a record that cannot be decoded."""
    members = dict(_members(raw)) if raw.startswith(b"{") else {}
    messages = members.pop(b'"messages"', b"")
    if b'"projectHash"' not in members or not messages.startswith(b"["):
        return [raw]
    head = b",".join(b"%s:%s" % member for member in members.items())
    return [b"{%s}" % head, *_elements(messages)]


def _readable(raw: bytes, is_item: bool) -> list[bytes]:
    """Return the lines of an item: what can be read of it, and what is cut out of it; the item where nothing can be."""
    cut: list[bytes] = []
    whole = _pruned(raw, b"", b"", cut, is_item=is_item) if raw.startswith(b"{") and len(raw) <= _LONGEST else None
    return [_one_line(line) for line in ([raw] if whole is None else [whole, *cut])]


def _pruned(
    raw: bytes, before: bytes, behind: bytes, cut: list[bytes], *, is_item: bool, level: int = 0
) -> bytes | None:
    """Return a value without the items that cannot be read, which join those `cut`; None where it cannot be read.

    `before` and `behind` are what stands around it where nothing else is. An item is read as a whole or not at all, but
    for the items in lists of its own.
    """
    if _can_be_read(before + raw + behind):
        return raw
    is_list = raw.startswith(b"[")
    if level == _MOST_NESTED or not (is_list or raw.startswith(b"{")):
        return None
    members = [(b"", element) for element in _elements(raw)] if is_list else list(_members(raw))
    is_of_items = is_list and any(value.startswith(b"{") for _, value in members)
    if is_list and not is_of_items and not any(value.startswith(b"[") for _, value in members):
        return None
    kept: list[bytes] = []
    inner: list[bytes] = []
    shape = b"[%s]" if is_list else b"{%s}"
    for start in range(0, len(members), _TOGETHER):
        some = members[start : start + _TOGETHER]
        together = [value if is_list else b"%s:%s" % (key, value) for key, value in some]
        if len(some) > 1 and _can_be_read(before + shape % b",".join(together) + behind):
            kept += together
            continue
        for key, value in some:
            around = (before + b"[", b"]" + behind) if is_list else (before + b"{%s:" % key, b"}" + behind)
            good = _pruned(value, *around, inner, is_item=is_item or is_of_items, level=level + 1)
            if good is not None:
                kept.append(good if is_list else b"%s:%s" % (key, good))
            elif is_of_items or not (is_list or is_item):
                inner.append(around[0] + value + around[1])
            else:
                return None
    whole = shape % b",".join(kept)
    if not _can_be_read(before + whole + behind):
        return None
    cut += inner
    return whole


def _can_be_read(line: bytes) -> bool:
    return not isinstance(decode_object(line, unique_keys=False), Reject)


def _elements(raw: bytes) -> Iterator[bytes]:
    """Yield the elements of a list, or the members of an object, as they are written."""
    depth, begins = 1, 1
    for token in _TOKEN.finditer(raw, 1):
        what = token[0]
        depth += (what in b"{[") - (what in b"}]")
        if (what == b"," and depth == 1) or depth == 0:
            if element := raw[begins : token.start()].strip():
                yield element
            begins = token.end()
            if depth == 0:
                return


def _members(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys of an object, in quotes, and their values; a member without a key has an empty one."""
    for member in _elements(raw):
        key = _KEY.match(member)
        yield (key[1], member[key.end() :]) if key else (b'""', member)


def _one_line(raw: bytes) -> bytes:
    """Return a text as one line. A tab in the place of a break: where a break is no JSON, a tab is none either."""
    return b"\t".join(filter(None, map(bytes.strip, raw.splitlines())))
