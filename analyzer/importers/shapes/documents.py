"""JSON documents as lines: a document is split into items, which are read as lines are.

The items of a document are the elements of an array, objects one after another over many lines, or
the messages of a chat. In an item that cannot be read, the smallest unreadable part (an object in a
list, or a member of the document) is cut out and becomes a line of its own, below the keys that
lead to it. The rest is read.
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
"""Bytes of the largest document that is read; it is held in memory as a whole."""
_MOST_BROKEN = 1_000
"""Broken parts of a document that are separate lines; the rest after them is one more line.

Each costs a scan of the text before it.
"""
_LONGEST = 64 * 1024 * 1024
"""Bytes of the longest record that is searched for unreadable parts, and of the longest line."""
_MOST_NESTED = 16
"""Levels of lists and objects in which an item is looked for."""
_BATCH = 64
"""Items that are checked at once before each is checked by itself; nearly all can be read."""
_BETWEEN = re.compile(r"[\s,]*")
_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A list or an object without others in it is one token, as most are.
_STRUCTURE = rf'[\[{{](?:[^"\[\]{{}}]++|{_TEXT})*+[\]}}]|{_TEXT}|"|[\[\]{{}},]'
_TOKEN, _IN_TEXT = re.compile(_STRUCTURE.encode(), re.DOTALL), re.compile(_STRUCTURE, re.DOTALL)
_KEY = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:\s*', re.DOTALL)
_encode = msgspec.json.Encoder().encode


def _parse_finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:20]} is beyond all bounds")
    return value


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_finite)


def first_records(data: bytes, most: int) -> tuple[dict[str, Any], ...]:
    """Return the first objects of a document, at most `most`, without their unreadable parts.

    The end of the document may be missing. The result is empty unless the document begins with a
    whole value.
    """
    records: list[dict[str, Any]] = []
    for index, (lines, is_whole) in enumerate(islice(_records(data), most)):
        if not is_whole and index == 0:
            return ()
        records += filter(lambda record: isinstance(record, dict), map(parsed, lines[:1]))
    return tuple(records)


def unfolded(data: bytes) -> bytes:
    """Return the items of a document, and the broken parts between them, one a line."""
    lines = bytearray()
    is_torn = False
    for record_lines, is_whole in _records(data, of_chats=True):
        lines += b"".join(line + b"\n" for line in record_lines)
        is_torn = not is_whole
    if is_torn:
        del lines[-1:]  # no line end: the document may be half written
    return bytes(lines)


def _records(data: bytes, *, of_chats: bool = False) -> Iterator[tuple[list[bytes], bool]]:
    """Yield the lines of each record, or of a broken part, and whether its end is there."""
    text = mended(data).decode("utf-8-sig", "surrogateescape")
    at, broken_left = _skip_separators(text, 0), _MOST_BROKEN
    is_item = array = text.startswith("[", at)
    at += array
    while (at := _skip_separators(text, at)) < len(text):
        if array and text[at] == "]":
            array, at = False, at + 1
            continue
        try:
            record, end = _decoder.raw_decode(text, at)
            lines = [_encode(part) for part in (_chat_parts(record) if of_chats else [record])]
        except (ValueError, RecursionError):
            broken_left -= 1
            end = _record_end(text, at) if broken_left else len(text)
            raw = text[at:end].encode("utf-8", "surrogateescape")
            is_whole = end < len(text) or not broken_left or _closing(text, at) == end
            lines = _raw_chat_parts(raw) if of_chats and is_whole else [raw]
        else:
            is_whole = True
        is_item = is_item or _skip_separators(text, end) < len(text)
        if is_whole:
            yield [line for part in lines for line in _readable_lines(part, is_item)], True
        else:
            yield [_one_line(raw)], False
        at = end


def _skip_separators(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _record_end(text: str, at: int) -> int:
    """Return the end of the record at `at`, which cannot be decoded.

    The next record begins in the same column; what is indented further belongs to this one. A
    record within a line ends with its last bracket, one without an end with the text.
    """
    indent = text[text.rfind("\n", 0, at) + 1 : at]
    end = -1 if indent.strip() else text.find(f"\n{indent}{{", at)
    if end < 0 and text[at] in "{[":
        end = _closing(text, at)
    return len(text) if end < 0 else end


def _closing(text: str, at: int) -> int:
    """Return the index after the bracket that closes the one at `at`; -1 where none does."""
    depth = 0
    for token in _IN_TEXT.finditer(text, at):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth == 0:
            return token.end()
    return -1


def is_closed(line: bytes) -> bool:
    """Return true if a line is one object up to its last bracket, whatever stands inside."""
    text = line.strip().decode("utf-8", "surrogateescape")
    return text[:1] == "{" and text[-1] == "}" and _closing(text, 0) == len(text)


def _chat_parts(record: Any) -> list[Any]:
    """Return the head and the messages of a chat that is one object; any other record as it is."""
    if isinstance(record, dict) and "projectHash" in record and isinstance(record.get("messages"), list):
        return [{key: value for key, value in record.items() if key != "messages"}, *record["messages"]]
    return [record]


def _raw_chat_parts(raw: bytes) -> list[bytes]:
    """Split a record as `_chat_parts` does, where it cannot be decoded."""
    members = dict(_members(raw)) if raw.startswith(b"{") else {}
    messages = members.pop(b'"messages"', b"")
    if b'"projectHash"' not in members or not messages.startswith(b"["):
        return [raw]
    head = b",".join(b"%s:%s" % member for member in members.items())
    return [b"{%s}" % head, *_elements(messages)]


def _readable_lines(raw: bytes, is_item: bool) -> list[bytes]:
    """Return the readable rest of an item and its cut parts as lines; else the item as a line."""
    cut: list[bytes] = []
    rest = None
    if raw.startswith(b"{") and len(raw) <= _LONGEST:
        rest = _prune(raw, b"", b"", cut, is_item=is_item)
    return [_one_line(line) for line in ([raw] if rest is None else [rest, *cut])]


def _prune(raw: bytes, before: bytes, after: bytes, cut: list[bytes], *, is_item: bool, level: int = 0) -> bytes | None:
    """Return a value without its unreadable items, which join `cut`; None if it is unreadable.

    `before` and `after` are the brackets and keys around the value, with which it is a line. An
    item is read as a whole or not at all, except for the items in its own lists.
    """
    if _can_be_read(before + raw + after):
        return raw
    is_list = raw.startswith(b"[")
    if level == _MOST_NESTED or not (is_list or raw.startswith(b"{")):
        return None
    members = [(b"", element) for element in _elements(raw)] if is_list else list(_members(raw))
    is_of_items = is_list and any(value.startswith(b"{") for _, value in members)
    if is_list and not is_of_items and not any(value.startswith(b"[") for _, value in members):
        return None
    kept: list[bytes] = []
    inner_cut: list[bytes] = []
    shape = b"[%s]" if is_list else b"{%s}"
    for start in range(0, len(members), _BATCH):
        batch = members[start : start + _BATCH]
        batch_texts = [value if is_list else b"%s:%s" % (key, value) for key, value in batch]
        if len(batch) > 1 and _can_be_read(before + shape % b",".join(batch_texts) + after):
            kept += batch_texts
            continue
        for key, value in batch:
            context = (before + b"[", b"]" + after) if is_list else (before + b"{%s:" % key, b"}" + after)
            readable = _prune(value, *context, inner_cut, is_item=is_item or is_of_items, level=level + 1)
            if readable is not None:
                kept.append(readable if is_list else b"%s:%s" % (key, readable))
            elif is_of_items or not (is_list or is_item):
                inner_cut.append(context[0] + value + context[1])
            else:
                return None
    whole = shape % b",".join(kept)
    if not _can_be_read(before + whole + after):
        return None
    cut += inner_cut
    return whole


def _can_be_read(line: bytes) -> bool:
    return not isinstance(decode_object(line, unique_keys=False), Reject)


def _elements(raw: bytes) -> Iterator[bytes]:
    """Yield the raw elements of a list, or the raw members of an object."""
    depth, begins = 1, 1
    for token in _TOKEN.finditer(raw, 1):
        text = token[0]
        depth += (text in b"{[") - (text in b"}]")
        if (text == b"," and depth == 1) or depth == 0:
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
    """Return a text as one line.

    Tabs replace line breaks: where a break is invalid in JSON, so is a tab.
    """
    return b"\t".join(filter(None, map(bytes.strip, raw.splitlines())))
