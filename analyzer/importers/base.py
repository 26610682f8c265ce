"""The interface of all importers: they take bytes of whole lines and give hits.

A line without a hit has nothing for us. Importers never count lines and never touch a database: the
caller keeps the books.

The few lines of a block that matter are found by byte search, broken lines are read as far as they
go, and retry chains are put together in the order of a log.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from codecs import utf_8_decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol, TypedDict, TypeVar, runtime_checkable

import msgspec

from analyzer.agent_stream import mapping
from analyzer.events import Event, Reject
from analyzer.events.codec import decode_object
from analyzer.events.model import settled_reason
from analyzer.events.rows import Decoded
from analyzer.events.times import from_epoch, parse_time
from analyzer.frozen import frozen


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


_IN_PART = frozenset({"not_json", "glued", "torn", "trailing_garbage"})
"""Reject codes of lines that may still hold an intact record."""
_part_decoder = json.JSONDecoder(parse_constant=_refuse)
_AFTER_SPACE = re.compile(r"\S|\Z")
_JOINT = b"}\n{"
_BLANK = re.compile(rb"\n[ \t\r\x0b\x0c]*(?=\n)")


@dataclass(slots=True)
class Line:
    """A line inside a block."""

    offset: int
    text: bytes


@frozen
class Block:
    """Whole lines, each ended by a newline."""

    data: bytes
    ends: list[int]
    """The offsets of the newlines."""
    uniform: bool
    """True if every line begins with `{` and ends with `}`, so that none is blank or cut off."""

    def number(self, offset: int) -> int:
        """Return the 1-based number of the line that begins at an offset."""
        return bisect_left(self.ends, offset) + 1


def block_of(data: bytes) -> Block:
    """Make a block of bytes that are whole lines."""
    ends: list[int] = []
    end = data.find(b"\n")
    while end >= 0:
        ends.append(end)
        end = data.find(b"\n", end + 1)
    whole = data[:1] == b"{" and data[-2:] == b"}\n"
    return Block(data, ends, whole and all(data[end - 1 : end + 2] == _JOINT for end in ends[:-1]))


def blank_lines(block: Block) -> tuple[int, int]:
    """Count the lines that hold only white space, and their bytes with the newlines."""
    if block.uniform:
        return 0, 0
    count = size = 0
    for match in _BLANK.finditer(b"\n" + block.data):
        count += 1
        size += match.end() - match.start()
    return count, size


def all_lines(block: Block) -> Iterator[Line]:
    """Yield the lines of a block that are not blank."""
    offset = 0
    for text in block.data.split(b"\n"):
        if text and not text.isspace():
            yield Line(offset, text)
        offset += len(text) + 1


class _Whole(msgspec.Struct, gc=False):
    """An object of which nothing is kept: two gigabytes of such JSON are checked in a second."""


WHOLE = msgspec.json.Decoder(_Whole)
"""A decoder of objects that only tells whether they are whole."""
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_Record = TypeVar("_Record")


def typed_lines(
    block: Block, decoder: msgspec.json.Decoder[_Record], *, strict: bool = False
) -> Iterator[tuple[int, int, _Record | None]]:
    """Yield offset, end and record of each line that is not blank; None if it is no whole object.

    Bytes that are no text cost nothing in a field that is not decoded, unless `strict`.
    """
    records: list[_Record] = []
    with suppress(*_UNREADABLE):
        if block.uniform and (not strict or is_text(block.data)):
            records = decoder.decode_lines(block.data)
    # No object spans two lines: each line begins as an object, and no brace may follow an object.
    if records and len(records) == len(block.ends):
        yield from zip([0, *(end + 1 for end in block.ends[:-1])], block.ends, records, strict=True)
        return
    for line in all_lines(block):
        record = None
        with suppress(*_UNREADABLE):
            record = decoder.decode(line.text) if not strict or is_text(line.text) else None
        yield line.offset, line.offset + len(line.text), record


_PIECE = 16 * 1024
"""Bytes whose text fits into the cache of a processor: it takes a third of the time of a block's."""


def is_text(data: bytes) -> bool:
    """Tell whether bytes are UTF-8."""
    view, start = memoryview(data), 0
    try:
        while start < len(data):
            stop = start + _PIECE
            start += utf_8_decode(view[start:stop], "strict", stop >= len(data))[1]
    except UnicodeDecodeError:
        return False
    return True


def objects_in(text: bytes, openings: Sequence[bytes]) -> tuple[list[dict[str, Any]], Reject | None]:
    """Return the objects on one line, and why the rest could not be read (None: all was read).

    Writers that die or race leave `}{` on one line, or a torn record with an intact one after it;
    `openings` are the byte strings that such an intact record begins with. If a key stands twice
    its last value counts, as in the programs that write these logs.
    """
    whole = decode_object(text, unique_keys=False)
    if not isinstance(whole, Reject):
        return [whole], None
    if whole.why not in _IN_PART or (whole.why == "not_json" and b"{" not in text):
        return [], whole
    records: list[dict[str, Any]] = []
    try:
        rest = text.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        return [], Reject("invalid_utf8", f"byte {error.start}: {error.reason}")
    at = 0
    while at < len(rest):
        try:
            value, end = _part_decoder.raw_decode(rest, at)
        except (ValueError, RecursionError):
            break
        # Each record passes the checks of a whole line, such as the limit of depth.
        record = decode_object(rest[at:end].encode("utf-8"), unique_keys=False)
        if isinstance(record, Reject):
            return records, record
        if isinstance(value, dict):
            records.append(record)
        # `rest` is not cut: with very many records each cut would copy all that follow.
        at = next(_AFTER_SPACE.finditer(rest, end)).start()
    if at == len(rest):
        return records, None
    tail = rest[at:].encode("utf-8")
    positions = sorted({start for opening in openings if (start := tail.rfind(opening)) > 0})
    for position in positions:
        salvaged = decode_object(tail[position:], unique_keys=False)
        if not isinstance(salvaged, Reject):
            detail = f"{position} bytes of a torn record in front of an intact one"
            return [*records, salvaged], Reject("torn", detail)
    return records, Reject("torn", whole.detail) if records else whole


# Decoders of a few fields: the rest of a record is only checked to be JSON ------------------------

RAW = msgspec.Raw
"""The type of a field that is kept as bytes, to be decoded when it is needed."""


def shape(names: str, **inner: Any) -> Any:
    """Return the type of an object of which only these fields are decoded.

    `names` are fields of any type, separated by spaces; `inner` are fields with their types.
    """
    return TypedDict("Shape", {**dict.fromkeys(names.split(), Any), **inner}, total=False)  # type: ignore[operator]


def list_of(names: str) -> Any:
    """Return the type of a list of such objects, as `shape`."""
    return list[shape(names)]  # type: ignore[misc]


def glance(names: str, **inner: Any) -> msgspec.json.Decoder[Mapping[str, Any]]:
    """Return a decoder of these fields of a line; the arguments are those of `shape`."""
    return msgspec.json.Decoder(shape(names, **inner))


_DATED = re.compile(
    r"(?<![0-9A-Za-z])(20\d\d)-?([01]\d)-?([0-3]\d)"
    r"(?:[T_ .-]{1,2}([0-2]\d)[-:_.]?([0-5]\d)(?:[-:_.]?([0-5]\d))?)?(?!\d)"
    r"|(?<![0-9A-Za-z])(1[5-9]\d{8})(?:\d{3})?(?![0-9A-Za-z])"
)


@lru_cache(64)
def named_moment(path: str) -> datetime | None:
    """Return the moment in the name of a file or of its folder, None if there is none.

    It is a date, a date with a time, or an epoch. The result is naive UTC. Dates are read in this
    machine's time zone, as most programs name their logs by it.
    """
    for name in reversed(path.replace("\\", "/").split("/")[-2:]):
        if match := _DATED.search(name):
            parts = (part or "00" for part in match.groups())
            year, month, day, hour, minute, second, epoch = parts
            with suppress(ValueError, OverflowError):
                if epoch != "00":
                    return from_epoch(int(epoch))
                local = datetime.fromisoformat(f"{year}-{month}-{day}T{hour}:{minute}:{second}")
                return parse_time(local.astimezone().isoformat())
    return None


@frozen
class Source:
    """The facts about a file that its importer may use."""

    path: str
    file_time: datetime
    """Naive UTC; the last resort for records without a time."""
    journal: bool = False
    """True for a part of the store's own journal, whose word about origins counts."""

    def stand_in(self, near: datetime | None) -> tuple[datetime, str]:
        """Return a time for a record that names none, and its `time_source`.

        That is `near` (the time of the record before it, or of the log's header), else the time in
        the name of the file or of its folder, else the file's own.
        """
        moment = near or named_moment(self.path)
        return (self.file_time, "file") if moment is None else (moment, "log")


@frozen
class Hit:
    """A line that gave events, that could not be read, or both.

    Both: a torn record with an intact one glued to it.
    """

    offset: int
    """Bytes from the start of the block to the line."""
    length: int
    """Bytes of the line without its newline."""
    events: Sequence[Event] = ()
    why: str = ""
    """A reject code if the line, or a part of it, could not be read."""
    detail: str = ""


MOST_OPEN = 1_000
"""The most runs of retries, or hand-offs, of one source that a checkpoint keeps open."""


def forget_oldest(runs: dict[str, Any]) -> None:
    """Delete all but the latest `MOST_OPEN` runs: a source with more was made to fill the memory."""
    while len(runs) > MOST_OPEN:
        del runs[next(iter(runs))]


class Reader(Protocol):
    """Reads one source from front to back; its state lets a later reader continue."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield the hits of a block, in the order of its lines."""

    def finish(self) -> Sequence[Event]:
        """Return the events of the source as a whole, after all of it was read; mostly none."""
        return ()

    def state(self) -> Mapping[str, Any]:
        """Return the state for the next reader of the source, ready for JSON.

        It is empty if no line depends on another.
        """
        return {}


@runtime_checkable
class RowReader(Reader, Protocol):
    """A reader of lines that are events already: it decodes a whole block at once."""

    def decode(self, data: bytes) -> Decoded:
        """Decode a block; lines and offsets count from its start."""


class ReaderFactory(Protocol):
    """A callable that makes the reader of a format."""

    def __call__(self, source: Source, state: Mapping[str, Any], /) -> Reader:
        """Make a reader; `state` is empty for a source that is read from its start."""


class Chains:
    """The open retry chains of one source, by the conversation that each belongs to."""

    def __init__(self, state: object) -> None:
        self._open: dict[str, dict[str, Any]] = {key: dict(mapping(run)) for key, run in mapping(state).items()}

    def __contains__(self, key: str) -> bool:
        return key in self._open

    def __len__(self) -> int:
        return len(self._open)

    def operation(self, key: str) -> str | None:
        """Return the name of the open chain; None if none is open."""
        return self._open[key]["operation"] if key in self._open else None

    def attempts(self, key: str) -> int:
        """Count the failed calls of the open chain; 0 if none is open."""
        return int(self._open[key]["attempt"]) if key in self._open else 0

    def failed(self, key: str, identity: str) -> tuple[str, int]:
        """Count a failed call; return the name of its chain and its 1-based number there."""
        run = self._open.setdefault(key, {"operation": identity, "attempt": 0, "waited": 0.0, "retried": False})
        run["attempt"] += 1
        return run["operation"], run["attempt"]

    def begin_anew(self, key: str, attempt: int | None) -> None:
        """Forget an open chain if it has `attempt` failures already, as another one begins."""
        if attempt is not None and self.attempts(key) >= attempt:
            self._open.pop(key, None)

    def renumber(self, key: str, attempt: int) -> int:
        """Raise the number of the last failed call to the log's `attempt`, and return it."""
        run = self._open[key]
        run["attempt"] = max(run["attempt"], attempt)
        return int(run["attempt"])

    def note(self, key: str, reason: str, caller: str) -> None:
        """Remember the reason and the caller of the last failed call."""
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
        """Close a chain after `made` more calls; return its end's payload, None without a retry."""
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
        """Return the open chains, ready for JSON."""
        forget_oldest(self._open)
        return self._open
