"""Finding things in blocks: the few lines that matter by byte search, several objects on one line, broken lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.events.codec import Reject, decode_object

_raw = json.JSONDecoder()


@dataclass(slots=True)
class Line:
    """A line inside a block."""

    offset: int
    text: bytes


def all_lines(block: bytes) -> Iterator[Line]:
    """Every line of the block that is not blank."""
    offset = 0
    for text in block.split(b"\n"):
        if text and not text.isspace():
            yield Line(offset, text)
        offset += len(text) + 1


class LineFinder:
    """Walks over the lines of a block that hold one of some byte strings, in order, at the speed of `bytes.find`.

    Parsing comes after selection: of the lines of a transcript about one in a hundred says anything about failures.
    """

    def __init__(self, block: bytes, needles: Sequence[bytes]) -> None:
        self._block = block
        self._next = {needle: block.find(needle) for needle in needles}
        self._cursor = 0

    def next(self, extra: Sequence[bytes] = ()) -> Line | None:
        """The next line that holds a needle, or one of the `extra` ones that count for this step alone."""
        hits = [position for position in self._next.values() if position >= 0]
        for needle in extra:
            position = self._block.find(needle, self._cursor)
            if position >= 0:
                hits.append(position)
        if not hits:
            return None
        at = min(hits)
        start = self._block.rfind(b"\n", 0, at) + 1
        end = self._block.find(b"\n", at)
        end = len(self._block) if end < 0 else end
        self._cursor = end
        for needle, position in self._next.items():
            if 0 <= position < end:
                self._next[needle] = self._block.find(needle, end)
        return Line(start, self._block[start:end])


def malformed_lines(block: bytes) -> Iterator[Line]:
    """Lines that cannot be one JSON object a line: they do not begin with `{` or do not end with `}`.

    Cheap on clean blocks, where every newline stands between two braces.
    """
    body = block.rstrip(b"\n")
    if body[:1] == b"{" and body[-1:] == b"}" and body.count(b"\n") == body.count(b"}\n{"):
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
    if whole.why != "not_json":
        return [], whole
    found: list[dict[str, Any]] = []
    try:
        rest = text.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return [], Reject("invalid_utf8", f"byte {error.start}: {error.reason}")
    while rest:
        try:
            record, end = _raw.raw_decode(rest)
        except (ValueError, RecursionError):
            break
        if isinstance(record, dict):
            found.append(record)
        rest = rest[end:].lstrip()
    if not rest:
        return found, None
    tail = rest.encode("utf-8")
    positions = sorted({at for opening in openings if (at := tail.rfind(opening)) > 0})
    for position in positions:
        salvaged = decode_object(tail[position:])
        if not isinstance(salvaged, Reject):
            return [*found, salvaged], Reject("torn", f"{position} bytes of a torn record in front of an intact one")
    return found, Reject("torn" if found else "not_json", whole.detail)
