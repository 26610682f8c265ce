"""Finds the few lines of a block that matter by byte search; reads lines that are broken or hold several objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.events import Reject
from analyzer.events.codec import decode_object


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


_IN_PART = frozenset({"not_json", "glued", "torn", "trailing_garbage"})
"""What may be wrong with a line that holds an intact record all the same."""
_raw = json.JSONDecoder(parse_constant=_refuse)
_BEHIND_SPACE = re.compile(r"\S|\Z")
_WINDOW = 256 * 1024
_FEW = _WINDOW // 256
"""Lines of a window that is worth going over line by line."""
_CLOSING = ord("}")
_BLANK = re.compile(rb"\n[ \t\r\x0b\x0c]*(?=\n)")


@dataclass(slots=True)
class Line:
    """A line inside a block."""

    offset: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, each ended by a newline, and what counting them has shown."""

    data: bytes
    lines: int
    uniform: bool
    """Whether every line begins with `{` and ends with `}`: then none is blank, and none is broken at its ends."""


def block_of(data: bytes) -> Block:
    """Count the lines of some whole lines."""
    lines, joints = _counted(data, 0, len(data), joints=True)
    return Block(data, lines, data[:1] == b"{" and data[-2:] == b"}\n" and joints == lines - 1)


def newlines(data: bytes, start: int, end: int) -> int:
    """How many newlines stand there."""
    return _counted(data, start, end, joints=False)[0]


def _counted(data: bytes, start: int, end: int, *, joints: bool) -> tuple[int, int]:
    """Newlines, and if asked for those between `}` and `{`.

    Where lines are long, going from one to the next is several times as fast as counting byte by byte. A window tells
    which way is taken in the one behind it, and nobody's choice of lines makes that slow.
    """
    lines = between = 0
    long = False
    while start < end:
        upto, at, found = min(start + _WINDOW, end), start, 0
        while long and found < _FEW and at <= upto:
            place = data.find(b"\n", at, upto)
            at = upto + 1 if place < 0 else place + 1
            found += place >= 0
            between += joints and place > 0 and data[place - 1] == _CLOSING and data[at : at + 1] == b"{"
        if at < upto:
            found += data.count(b"\n", at, upto)
            between += data.count(b"}\n{", max(at - 1, 0), upto + 1) if joints else 0
        long = found < _FEW
        lines += found
        start = upto
    return lines, between


def blank_lines(block: Block) -> tuple[int, int]:
    """How many lines hold nothing but white space, and how many bytes they have, newlines included."""
    if block.uniform:
        return 0, 0
    count = size = 0
    for found in _BLANK.finditer(b"\n" + block.data):
        count += 1
        size += found.end() - found.start()
    return count, size


def all_lines(block: Block) -> Iterator[Line]:
    """Every line of the block that is not blank."""
    offset = 0
    for text in block.data.split(b"\n"):
        if text and not text.isspace():
            yield Line(offset, text)
        offset += len(text) + 1


class LineFinder:
    """Walks over the lines of a block that a pattern occurs in, in order and in one pass, without looking at the rest.

    Parsing comes after selection: of the lines of a transcript about one in a hundred says anything about failures.
    """

    def __init__(self, block: Block, pattern: Any) -> None:
        self._data = block.data
        self._matches = pattern.finditer(self._data)
        self._next = self._advance(0)
        self._cursor = 0

    def next(self, extra: Sequence[bytes] = ()) -> Line | None:
        """The next line with a match, or with one of the `extra` byte strings that count for this step alone."""
        at = self._next
        for needle in extra:
            position = self._data.find(needle, self._cursor, at if at >= 0 else len(self._data))
            if position >= 0:
                at = position
        if at < 0:
            return None
        start = self._data.rfind(b"\n", 0, at) + 1
        end = self._data.find(b"\n", at)
        self._cursor = end
        if self._next < end:
            self._next = self._advance(end)
        return Line(start, self._data[start:end])

    def _advance(self, end: int) -> int:
        """Where the first match behind `end` begins, or -1."""
        for match in self._matches:
            if (begins := match.start()) >= end:
                return int(begins)
        return -1


def malformed_lines(block: Block) -> Iterator[Line]:
    """Lines that cannot be one JSON object a line: they do not begin with `{` or do not end with `}`."""
    if block.uniform:
        return
    for line in all_lines(block):
        text = line.text.strip()
        if text[:1] != b"{" or text[-1:] != b"}":
            yield line


def objects_in(text: bytes, openings: Sequence[bytes]) -> tuple[list[dict[str, Any]], Reject | None]:
    """The objects on one line, and what could not be read of it.

    Writers that die or race leave `}{` on one line, or a torn record with an intact one behind it; `openings` are the
    byte strings that such an intact record begins with.
    """
    whole = decode_object(text)
    if not isinstance(whole, Reject):
        return [whole], None
    if whole.why not in _IN_PART or (whole.why == "not_json" and b"{" not in text):
        return [], whole
    found: list[dict[str, Any]] = []
    try:
        rest = text.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return [], Reject("invalid_utf8", f"byte {error.start}: {error.reason}")
    at = 0
    while at < len(rest):
        try:
            record, end = _raw.raw_decode(rest, at)
        except (ValueError, RecursionError):
            break
        # The same checks as for a line of its own: no depth without end, no key twice.
        again = decode_object(rest[at:end].encode("utf-8"))
        if isinstance(again, Reject):
            return found, again
        if isinstance(record, dict):
            found.append(again)
        # Not by cutting `rest`: of very many records each would copy all that are behind it.
        at = next(_BEHIND_SPACE.finditer(rest, end)).start()
    if at == len(rest):
        return found, None
    tail = rest[at:].encode("utf-8")
    positions = sorted({start for opening in openings if (start := tail.rfind(opening)) > 0})
    for position in positions:
        salvaged = decode_object(tail[position:])
        if not isinstance(salvaged, Reject):
            return [*found, salvaged], Reject("torn", f"{position} bytes of a torn record in front of an intact one")
    return found, Reject("torn", whole.detail) if found else whole
