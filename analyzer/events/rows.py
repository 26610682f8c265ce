"""Lines of the event log → rows, as a store keeps them: a payload as JSON text, and its facts beside it.

Two roads, one meaning. A line that our appender could have written, with nothing in it to clean, takes the fast one:
its checksum proves it whole, a typed decoder checks its syntax, and its payload is kept byte for byte. Every other line
is decoded, judged, cleaned and encoded again.

Whoever writes to a log may write anything into it: that an event is derived from another tool's log counts in a store's
own journal alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Literal
from zlib import crc32

import msgspec

from analyzer.events.codec import CRC_MARK, crc_holds, decode
from analyzer.events.model import SCHEMA_VERSION, Event
from analyzer.events.recorded import Recorded
from analyzer.events.rejects import Reject
from analyzer.events.sanitize import MAX_ITEMS, MAX_LEVELS, MAX_TEXT, sanitize
from analyzer.events.times import format_time
from analyzer.events.upcast import upcast
from analyzer.forking import kept_until_fork
from analyzer.redaction import prefilter_with

_PIECE = 64 * 1024
"""Bytes; so much is searched for secrets at once, and line by line only where something like one is found."""
_SHORT = 2 * MAX_ITEMS
"""Bytes; a shorter line has no object or list with too many items."""
_FACTS = '"facts"'
_CRC_BYTES = len(CRC_MARK) + 10
_BIG_NUMBER = r"(?:\":|[\[,])\s*-?[0-9][0-9.]*(?:[0-9]{17}|[eE][+\-]?[0-9])"
"""A number that may not fit into 64 bits; in texts it may stand for nothing, which only costs time."""
_OPENING = b'{"v":'
_MOST_OPENINGS = 64
"""On one broken line; each of them costs a checksum of the rest."""
_encoder = msgspec.json.Encoder()
_decode = msgspec.json.Decoder().decode


class _Origin(msgspec.Struct, gc=False):
    format: str
    path: str
    line: int | None = None


class Envelope(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The envelope of a line: all its keys. In rows its payload is not used."""

    v: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    id: Annotated[str, msgspec.Meta(min_length=1)]
    type: Annotated[str, msgspec.Meta(min_length=1)]
    timestamp: str
    """In a row always as `format_time` writes it."""
    payload: msgspec.Raw = msgspec.Raw()
    sessionId: str | None = None  # noqa: N815 - the key's own spelling
    writer: str | None = None
    seq: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None
    dropped_before: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None
    time_source: Literal["event", "file"] = "event"
    origin: _Origin | None = None
    crc: str = ""


class _Payload(msgspec.Struct, gc=False):
    payload: msgspec.Raw = msgspec.Raw()


@dataclass(slots=True)
class Rows:
    """The events of a block as columns of equal length, in the order of the lines."""

    envelopes: list[Envelope] = field(default_factory=list)
    payloads: list[str] = field(default_factory=list)
    """JSON objects, without their facts."""
    facts: list[str | None] = field(default_factory=list)
    """JSON objects that are not empty."""
    lines: list[int | None] = field(default_factory=list)
    """1-based within the block, null for events of a file as a whole."""
    offsets: list[int] = field(default_factory=list)
    """Bytes from the start of the block."""
    lengths: list[int] = field(default_factory=list)
    """Bytes of the line, its newline not included."""
    hosts: dict[int, str | None] = field(default_factory=dict)
    """The host of some rows by their position, where the writer's name does not tell it."""

    def add(self, event: Event, line: int | None, offset: int, length: int, text: bytes = b"") -> None:
        """Clean an event and add it. `text` is its line, where its payload may be kept byte for byte.

        Raises:
            Exception: whatever an upcaster raises.
        """
        payload: Mapping[str, Any] = event.payload
        if event.v < SCHEMA_VERSION:
            payload = upcast(event.v, event.type, payload)
        clean: dict[str, Any] = sanitize(payload)
        kept = split_payload(str(_decode_payload(text).payload, "utf-8")) if text and clean == event.payload else None
        origin = event.origin
        cleaned = replace(
            event,
            id=sanitize(event.id),
            type=sanitize(event.type),
            session_id=sanitize(event.session_id),
            writer=sanitize(event.writer),
            origin=replace(origin, format=sanitize(origin.format), path=sanitize(origin.path)) if origin else None,
        )
        self._put(cleaned, sanitize(event.host), kept or _encoded(clean), line, offset, length)

    def add_recorded(self, found: Recorded, line: int | None, offset: int, length: int) -> None:
        """Add an event that goes to a log as well. Its row equals the one that reading it back from there gives."""
        kept = split_payload(str(found.payload, "utf-8")) or _encoded(_decode(found.payload))
        self._put(found.event, found.event.host, kept, line, offset, length)

    def _put(
        self, event: Event, host: str | None, kept: tuple[str, str | None], line: int | None, offset: int, length: int
    ) -> None:
        origin, dropped = event.origin, event.extra.get("dropped_before")
        if host is not None or event.writer is not None:
            self.hosts[len(self.payloads)] = host
        self.envelopes.append(
            Envelope(
                v=event.v,
                id=event.id,
                type=event.type,
                timestamp=format_time(event.occurred_at),
                sessionId=event.session_id,
                writer=event.writer,
                seq=event.seq,
                dropped_before=dropped if isinstance(dropped, int) and 0 <= dropped < 2**62 else None,
                time_source="file" if event.time_source == "file" else "event",
                origin=_Origin(origin.format, origin.path, origin.line) if origin else None,
            )
        )
        self.payloads.append(kept[0])
        self.facts.append(kept[1])
        self.lines.append(line)
        self.offsets.append(offset)
        self.lengths.append(length)


@dataclass(slots=True)
class Decoded:
    """The rows of a block, its rejects and its counts."""

    rows: Rows = field(default_factory=Rows)
    rejects: list[tuple[int, int, bytes, Reject]] = field(default_factory=list)
    """Of each broken line: its number in the block, offset, text, and why. What was salvaged of it is a row."""
    lines: int = 0
    blank: int = 0
    blank_bytes: int = 0
    """Newlines included."""


class RowDecoder:
    """Decodes blocks of whole lines. Without `fast` every line takes the slow road; the answer is the same.

    The `origin` of a line stands in the rows of a `journal` alone.
    """

    def __init__(self, file_time: datetime, *, fast: bool = True, journal: bool = False) -> None:
        self._file_time = file_time
        self._fast = fast
        self._journal = journal

    def decode(self, data: bytes) -> Decoded:
        """The rows of a block of whole lines, and all that is to be known about its other lines."""
        decoded = Decoded()
        rows, rejects = decoded.rows, decoded.rejects
        line = offset = start = 0
        suspect, take = _suspect(), _taker(rows, journal=self._journal) if self._fast else _never
        while start < len(data):
            end = data.rfind(b"\n", start, start + _PIECE) + 1 or data.find(b"\n", start) + 1 or len(data)
            piece = data[start:end]
            texts = piece.split(b"\n")
            if not texts[-1]:
                texts.pop()
            # What is not in a piece is in none of its lines.
            search = suspect(piece)
            for text in texts:
                line += 1
                if (search and suspect(text)) or not take(text, line, offset):
                    if not text or text.isspace():
                        decoded.blank += 1
                        decoded.blank_bytes += len(text) + 1
                    elif reject := self._take_slowly(rows, text, line, offset):
                        rejects.append((line, offset, text, reject))
                offset += len(text) + 1
            start = end
        decoded.lines = line
        return decoded

    def _take_slowly(self, rows: Rows, text: bytes, line: int, offset: int) -> Reject | None:
        event = decode(text, self._file_time)
        if isinstance(event, Reject):
            return self._salvage(rows, text, line, offset, event)
        return self._add(rows, event, text, line, offset, len(text))

    def _salvage(self, rows: Rows, text: bytes, line: int, offset: int, reject: Reject) -> Reject:
        """Whole events on a line that is broken: glued to a torn one, or to each other. Their checksums prove them."""
        if CRC_MARK not in text:
            return reject
        intact = 0
        for record in intact_records(text):
            event = decode(record, self._file_time)
            if isinstance(event, Event) and self._add(rows, event, record, line, offset, len(text)) is None:
                intact += 1
        if intact and reject.why not in {"glued", "crc_mismatch"}:
            return Reject("torn", f"{reject.detail}; {intact} intact record{'s' * (intact > 1)} on the same line")
        if intact:
            return Reject(
                "glued" if reject.why == "glued" else "torn", f"{intact} of the records on the line are intact"
            )
        return reject

    def _add(self, rows: Rows, event: Event, text: bytes, line: int, offset: int, length: int) -> Reject | None:
        if not self._journal and event.origin is not None:
            event = replace(event, origin=None)
        try:
            rows.add(event, line, offset, length, text if crc_holds(text) else b"")
        except Exception as error:  # noqa: BLE001 - whatever an upcaster does, the line is kept
            return Reject("upcast_failed", f"from version {event.v}: {type(error).__name__}: {error}"[:300])
        return None


def intact_records(text: bytes) -> Iterator[bytes]:
    """Records inside a broken line whose checksum holds; each of the first openings is tried."""
    starts: list[int] = []
    at = text.find(_OPENING)
    while at >= 0 and len(starts) < _MOST_OPENINGS:
        starts.append(at)
        at = text.find(_OPENING, at + 1)
    for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
        for record in {text[start:end], text[start:]}:
            if crc_holds(record):
                yield record
                break


@kept_until_fork
def _suspect() -> Callable[[bytes], object]:
    return prefilter_with(_BIG_NUMBER)


def _never(_text: bytes, _line: int, _offset: int) -> bool:
    return False


def _taker(rows: Rows, *, journal: bool) -> Callable[[bytes, int, int], bool]:
    """The fast road: takes a line that needs no cleaning and is not suspect, says False to every other."""
    crc_bytes, longest, levels, items, short = _CRC_BYTES, MAX_TEXT, MAX_LEVELS, MAX_ITEMS, _SHORT
    decode_envelope, parse, split, version = _decode_envelope, datetime.fromisoformat, split_payload, SCHEMA_VERSION
    add_envelope, add_payload, add_facts = rows.envelopes.append, rows.payloads.append, rows.facts.append
    add_line, add_offset, add_length = rows.lines.append, rows.offsets.append, rows.lengths.append

    def take(text: bytes, line: int, offset: int) -> bool:
        length = len(text)
        if (
            not text.endswith(b',"crc":"%08x"}' % crc32(text[:-crc_bytes]))
            or length > longest
            or text.count(b"{") + (text.count(b"[") if b"[" in text else 0) > levels
            or (length > short and text.count(b",") >= items)
        ):
            return False
        try:
            envelope = decode_envelope(text)
            stamp = envelope.timestamp
            if (
                len(stamp) != 24
                or stamp[7:20:3] != "-T::."
                or stamp[23] != "Z"
                or not "1970" <= stamp < "2200"
                or envelope.v < version
                or (envelope.origin is not None and not journal)
            ):
                return False
            parse(stamp[:23])
            kept = split(str(envelope.payload, "utf-8"))
        except (ValueError, RecursionError):
            return False
        if kept is None:
            return False
        add_envelope(envelope)
        add_payload(kept[0])
        add_facts(kept[1])
        add_line(line)
        add_offset(offset)
        add_length(length)
        return True

    return take


_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_payload = msgspec.json.Decoder(_Payload).decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode


def split_payload(body: str) -> tuple[str, str | None] | None:
    """The text of a valid JSON object and the facts that are the last thing in it; None where they cannot be cut out.

    The characters `"facts"` are a key or a whole text, never a part of one: a quote in a text is escaped.
    """
    at = body.find(_FACTS)
    if at < 0:
        return (body, None) if body[:1] == "{" else None
    before = body[at - 1]
    if body[at + 7 : at + 10] != ':{"' or before not in "{,":
        return None
    facts = body[at + 8 : -1]
    # The facts end with the first brace behind their beginning, or later. Where that is the last but one, only the end
    # of the payload is behind them, and they are a member of the payload itself; else a parser must tell.
    if body.find("}", at) != len(body) - 2:
        try:
            _skip(facts)
        except msgspec.DecodeError:
            return None
    if before == "{":
        return ("{}", facts) if at == 1 else None
    return body[: at - 1] + "}", facts


def _encoded(payload: Mapping[str, Any]) -> tuple[str, str | None]:
    """The payload without its facts, and the facts, both as JSON."""
    facts = payload.get("facts")
    if not isinstance(facts, Mapping) or not facts:
        return _encoder.encode(payload).decode(), None
    rest = {key: value for key, value in payload.items() if key != "facts"}
    return _encoder.encode(rest).decode(), _encoder.encode(facts).decode()
