"""What every importer speaks: bytes of whole lines in, hits out. A line without a hit carries nothing for us.

Importers never count lines and never touch a database; whoever drives them does the book-keeping.

The few lines of a block that matter are found by byte search, broken lines are read as far as they go, and retry
chains are put together in the order of a log.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol, TypedDict, runtime_checkable

import msgspec

from analyzer.agent_stream import mapping
from analyzer.events import Event, Reject
from analyzer.events.codec import decode_object
from analyzer.events.model import settled_reason
from analyzer.events.rows import Decoded, Rows
from analyzer.events.times import from_epoch, parse_time


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


_IN_PART = frozenset({"not_json", "glued", "torn", "trailing_garbage"})
"""What may be wrong with a line that holds an intact record all the same."""
_raw = json.JSONDecoder(parse_constant=_refuse)
_BEHIND_SPACE = re.compile(r"\S|\Z")
_JOINT = b"}\n{"
_BLANK = re.compile(rb"\n[ \t\r\x0b\x0c]*(?=\n)")


@dataclass(slots=True)
class Line:
    """A line inside a block."""

    offset: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, each ended by a newline."""

    data: bytes
    ends: list[int]
    """Where the newlines stand."""
    uniform: bool
    """Whether every line begins with `{` and ends with `}`: then none is blank, and none is broken at its ends."""

    def number(self, offset: int) -> int:
        """The 1-based number of the line that begins there."""
        return bisect_left(self.ends, offset) + 1


def block_of(data: bytes) -> Block:
    """Find the lines of some whole lines."""
    ends: list[int] = []
    at = data.find(b"\n")
    while at >= 0:
        ends.append(at)
        at = data.find(b"\n", at + 1)
    whole = data[:1] == b"{" and data[-2:] == b"}\n"
    return Block(data, ends, whole and all(data[end - 1 : end + 2] == _JOINT for end in ends[:-1]))


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

    def __init__(self, block: Block, matches: Iterator[int]) -> None:
        """`matches` are the places where the pattern begins."""
        self._data = block.data
        self._matches = matches
        self._next = self._advance(0)
        self._cursor = 0

    def next(self, extra: Sequence[bytes] = ()) -> Line | None:
        """Return the next line with a match, or with one of the `extra` byte strings that count for this step alone."""
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
        return next((begins for begins in self._matches if begins >= end), -1)


class _Any(msgspec.Struct, gc=False):
    """An object of which nothing is kept: two gigabytes of it are checked in a second."""


_skip = msgspec.json.Decoder(_Any)


def is_sound(block: Block) -> bool:
    """Whether each line of the block is one whole JSON object."""
    try:
        # None reaches over two lines: each begins as an object, and no brace may follow one.
        return block.uniform and len(_skip.decode_lines(block.data)) == len(block.ends) and _is_text(block.data)
    except (msgspec.DecodeError, RecursionError):
        return False


def broken_lines(block: Block) -> Iterator[Line]:
    """Yield the lines that are not one whole JSON object."""
    if not is_sound(block):
        yield from (line for line in all_lines(block) if not _is_whole(line.text))


def _is_whole(line: bytes) -> bool:
    try:
        _skip.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return _is_text(line)


def _is_text(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def objects_in(text: bytes, openings: Sequence[bytes]) -> tuple[list[dict[str, Any]], Reject | None]:
    """The objects on one line, and what could not be read of it.

    Writers that die or race leave `}{` on one line, or a torn record with an intact one behind it; `openings` are the
    byte strings that such an intact record begins with. Of a key that stands twice the last value counts, as in the
    programs that write these logs.
    """
    whole = decode_object(text, unique_keys=False)
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
        # The same checks as for a line of its own: no depth without end.
        again = decode_object(rest[at:end].encode("utf-8"), unique_keys=False)
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
        salvaged = decode_object(tail[position:], unique_keys=False)
        if not isinstance(salvaged, Reject):
            return [*found, salvaged], Reject("torn", f"{position} bytes of a torn record in front of an intact one")
    return found, Reject("torn", whole.detail) if found else whole


# The few fields of a record that a reader needs, decoded without the rest, which is checked to be JSON and no more --

RAW = msgspec.Raw
"""The type of a field that is kept as it stands, to be decoded where it is asked for."""


def shape(names: str, **inner: Any) -> Any:
    """The type of an object of which these fields are decoded, those of `inner` by types of their own."""
    return TypedDict("Shape", {**dict.fromkeys(names.split(), Any), **inner}, total=False)  # type: ignore[operator]


def list_of(names: str) -> Any:
    """The type of a list of such objects."""
    return list[shape(names)]  # type: ignore[misc]


def glance(names: str, **inner: Any) -> Callable[[bytes | str], Mapping[str, Any]]:
    """What decodes these fields of a line, as `shape` says.

    It raises `msgspec.DecodeError` where the line is no JSON or a field has another type than it should have,
    `UnicodeDecodeError` and `RecursionError`.
    """
    decode: Callable[[bytes | str], Mapping[str, Any]] = msgspec.json.Decoder(shape(names, **inner)).decode
    return decode


_DATED = re.compile(
    r"(?<![0-9A-Za-z])(20\d\d)-?([01]\d)-?([0-3]\d)"
    r"(?:[T_ .-]{1,2}([0-2]\d)[-:_.]?([0-5]\d)(?:[-:_.]?([0-5]\d))?)?(?!\d)"
    r"|(?<![0-9A-Za-z])(1[5-9]\d{8})(?:\d{3})?(?![0-9A-Za-z])"
)


@lru_cache(64)
def named_moment(path: str) -> datetime | None:
    """Return the moment in a file's name, or in its folder's: a date with or without a time, or an epoch.

    It is naive UTC; a date is taken for this machine's, as programs mostly name their logs.
    """
    for name in reversed(path.replace("\\", "/").split("/")[-2:]):
        if found := _DATED.search(name):
            year, month, day, hour, minute, second, epoch = (part or "00" for part in found.groups())
            with suppress(ValueError, OverflowError):
                if epoch != "00":
                    return from_epoch(int(epoch))
                local = datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second}")
                return parse_time(local.astimezone().isoformat())
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """What an importer may know about the file that it reads."""

    path: str
    file_time: datetime
    """Naive UTC; stands in for records without a time where nothing else does."""
    journal: bool = False
    """Whether it is a part of the store's own journal, whose word about origins counts."""

    def stand_in(self, near: datetime | None) -> tuple[datetime, str]:
        """Return the time of a record that names none, and its `time_source`.

        It is that of the record before it or of the log's header (`near`), else the one in the file's name or in its
        folder's, else the file's own.
        """
        moment = near or named_moment(self.path)
        return (self.file_time, "file") if moment is None else (moment, "log")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that gave events, or that could not be read, or both (a torn record with an intact one glued to it)."""

    offset: int
    """Bytes from the start of the block to the line."""
    length: int
    """Bytes of the line, its newline not included."""
    events: Sequence[Event] = ()
    why: str = ""
    """A reject code where (part of) the line could not be read."""
    detail: str = ""


MOST_OPEN = 1_000
"""Runs of retries, or hand-offs, of one source that may still go on: as many as a checkpoint keeps."""


def forget_oldest(runs: dict[str, Any]) -> None:
    """Delete all but the latest `MOST_OPEN` runs: a source with more was made to fill the memory."""
    while len(runs) > MOST_OPEN:
        del runs[next(iter(runs))]


class Reader(Protocol):
    """Reads one source from front to back; its state lets a later run continue where this one stopped."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits of a block of whole lines, in the order of the lines."""

    def apart(self, block: Block) -> tuple[Iterable[Hit], Rows]:
        """The same, but for events that are alike: their rows apart from the other hits, without their line numbers.

        The rows are clean, and have no facts.
        """
        return self.read(block), Rows()

    def finish(self) -> Sequence[Event]:
        """Events that belong to the source as a whole, once everything that is there now has been read; mostly none."""
        return ()

    def state(self) -> Mapping[str, Any]:
        """The state that the next reader of the same source is given, ready for JSON; empty where lines stand alone."""
        return {}


@runtime_checkable
class RowReader(Reader, Protocol):
    """A reader of lines that are events already: it gives a whole block of them at once."""

    def decode(self, data: bytes) -> Decoded:
        """Decode a block; lines and offsets count from its start."""


class ReaderFactory(Protocol):
    """Makes the reader of a format."""

    def __call__(self, source: Source, state: Mapping[str, Any], /) -> Reader:
        """Make a reader; `state` is empty for a source that is read from its start."""


class Chains:
    """The chains of one source that may still go on, by the conversation that each belongs to."""

    def __init__(self, state: object) -> None:
        self._open: dict[str, dict[str, Any]] = {key: dict(mapping(run)) for key, run in mapping(state).items()}

    def __contains__(self, key: str) -> bool:
        return key in self._open

    def __len__(self) -> int:
        return len(self._open)

    def operation(self, key: str) -> str | None:
        """The name of the open chain; None where none is open."""
        return self._open[key]["operation"] if key in self._open else None

    def attempts(self, key: str) -> int:
        """Calls of the open chain that failed; 0 where none is open."""
        return int(self._open[key]["attempt"]) if key in self._open else 0

    def failed(self, key: str, identity: str) -> tuple[str, int]:
        """Count a failed call; returns the chain that it belongs to and its 1-based number in it."""
        run = self._open.setdefault(key, {"operation": identity, "attempt": 0, "waited": 0.0, "retried": False})
        run["attempt"] += 1
        return run["operation"], run["attempt"]

    def begin_anew(self, key: str, attempt: int | None) -> None:
        """Forget an open chain whose failures are as many as the log's number of the next one: another chain begins."""
        if attempt is not None and self.attempts(key) >= attempt:
            self._open.pop(key, None)

    def renumber(self, key: str, attempt: int) -> int:
        """Take the number that the log gives the failed call, where it is higher; returns the number that holds."""
        run = self._open[key]
        run["attempt"] = max(run["attempt"], attempt)
        return int(run["attempt"])

    def note(self, key: str, reason: str, caller: str) -> None:
        """Remember what the last failed call was, and whose."""
        self._open[key] |= {"reason": reason, "caller": caller}

    def scheduled(self, key: str, *, delay_seconds: float | None) -> dict[str, Any]:
        """Return the payload of the retry that follows the last failed call."""
        run = self._open[key]
        run |= {"retried": True, "waited": run["waited"] + (delay_seconds or 0.0)}
        return {
            "operation": run["operation"],
            "caller": run["caller"],
            "reason": run["reason"],
            "attempt": run["attempt"],
            "delay_seconds": round(delay_seconds, 3) if delay_seconds is not None else None,
        }

    def settled(self, key: str, outcome: str, *, made: int = 0, reason: str | None = None) -> dict[str, Any] | None:
        """Close a chain after `made` more calls; the payload of its end, None where nothing of it was retried."""
        run = self._open.pop(key, None)
        if run is None or not run["retried"]:
            return None
        return {
            "operation": run["operation"],
            "caller": run["caller"],
            "reason": settled_reason(reason or run["reason"], outcome),
            "outcome": outcome,
            "attempts": run["attempt"] + made,
            "waited_seconds": round(run["waited"], 3),
        }

    def state(self) -> dict[str, Any]:
        """The open chains, ready for JSON."""
        forget_oldest(self._open)
        return self._open
