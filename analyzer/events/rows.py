"""Lines of the event log → rows, as a store keeps them: the payload as JSON text, and its facts in their own column.

There are two ways with one result. Lines without anything to clean are decoded many at once (`fast_decode`). Every
other line is decoded, checked, cleaned and encoded by itself.

Anybody may write anything into a log, so the origin of a derived event counts only in a store's own journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Any

import msgspec

from analyzer.events.appending.writer import Recorded
from analyzer.events.codec import CRC_MARK, Reject, crc_holds, decode
from analyzer.events.fast_decode import (
    BIG_NUMBER,
    CRC_BYTES,
    SECRET,
    SPACED,
    Columns,
    own_lines,
    plain_lines,
    split_payload,
    suspect,
)
from analyzer.events.model import SCHEMA_VERSION, STANDS_IN, Event, upcast
from analyzer.events.sanitize import MAX_TEXT, SMALL, sanitize
from analyzer.events.times import EPOCH, format_time, parse_time
from analyzer.readable import counted
from analyzer.redaction import may_hold_secret
from analyzer.redaction.unfolding import mended

_PIECE = 64 * 1024
"""Bytes that are searched for secrets at once;
line by line only if something like a secret is in them.
"""
_OPENING = b'{"v":'
_MOST_OPENINGS = 64
"""Openings of records that are tried on one broken line; each costs a checksum of the rest."""
_encoder = msgspec.json.Encoder()
_decode = msgspec.json.Decoder().decode


class _Payload(msgspec.Struct, gc=False):
    payload: msgspec.Raw = msgspec.Raw()


@dataclass(slots=True)
class Rows(Columns):
    """The events of a block with their positions, in the order of the lines."""

    lines: list[int | None] = field(default_factory=list)
    """1-based within the block, null for events of a file as a whole."""
    offsets: list[int] = field(default_factory=list)
    """Bytes from the start of the block."""
    lengths: list[int] = field(default_factory=list)
    """Bytes of the line, its newline not included."""
    hosts: dict[int, str | None] = field(default_factory=dict)
    """The host of some rows by their position, if the writer's name does not tell it."""

    def event(self, position: int) -> Event:
        """Return the event of a row, without writer, version and origin."""
        payload, facts = _decode(self.payloads[position]), self.facts[position]
        return Event(
            type=self.types[position],
            occurred_at=parse_time(self.moments[position]) or EPOCH,
            session_id=self.sessions[position],
            payload=payload | {"facts": _decode(facts)} if facts else payload,
            id=self.ids[position],
            time_source=self.time_sources[position],
        )

    def add(self, event: Event, line: int | None, offset: int, length: int, text: bytes = b"") -> None:
        """Clean an event and add it. `text` is its line, if its payload may be kept byte for byte.

        Raises:
            Exception: of any kind, from an upcaster.
        """
        payload: Mapping[str, Any] = event.payload
        if event.v < SCHEMA_VERSION:
            payload = upcast(event.v, event.type, payload)
        clean: dict[str, Any] = sanitize(payload, small=length <= SMALL and payload is event.payload)
        kept = split_payload(str(_decode_payload(text).payload, "utf-8")) if text and clean == event.payload else None
        host, origin = event.host, event.origin
        names = "\n".join(filter(None, (event.id, event.type, event.session_id, event.writer, host)))
        if origin is not None or len(names) > MAX_TEXT or may_hold_secret(names.encode("utf-8", "replace")):
            host = sanitize(host)
            event = replace(
                event,
                id=sanitize(event.id),
                type=sanitize(event.type),
                session_id=sanitize(event.session_id),
                writer=sanitize(event.writer),
                origin=replace(origin, format=sanitize(origin.format), path=sanitize(origin.path)) if origin else None,
            )
        self._put(event, host, kept or _encoded(clean), line, offset, length)

    def add_recorded(self, recorded: Recorded, line: int | None, offset: int, length: int) -> None:
        """Add an event that is also written to a log. Reading it back from the log gives the same row."""
        kept = split_payload(str(recorded.payload, "utf-8")) or _encoded(_decode(recorded.payload))
        self._put(recorded.event, recorded.event.host, kept, line, offset, length)

    def _put(
        self, event: Event, host: str | None, kept: tuple[str, str | None], line: int | None, offset: int, length: int
    ) -> None:
        origin, dropped = event.origin, event.extra.get("dropped_before")
        position = len(self.payloads)
        if host is not None or event.writer is not None:
            self.hosts[position] = host
        if origin is not None:
            self.origins[position] = origin
        self.ids.append(event.id)
        self.types.append(event.type)
        self.moments.append(format_time(event.occurred_at))
        self.sessions.append(event.session_id)
        self.versions.append(event.v)
        self.writers.append(event.writer)
        self.seqs.append(event.seq)
        self.dropped.append(dropped if isinstance(dropped, int) and 0 <= dropped < 2**62 else None)
        self.time_sources.append(event.time_source if event.time_source in STANDS_IN else "event")
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
    """Number in the block, offset, text and reject of each broken line.
    Its intact records are rows.
    """
    lines: int = 0
    blank: int = 0
    blank_bytes: int = 0
    """Bytes of blank lines, newlines included."""
    mended: int = 0
    """Lines with half of a UTF-16 pair."""


class RowDecoder:
    """A decoder of blocks of whole lines.

    Without `fast` every line is decoded by itself, with the same result.

    The `origin` of a line is kept only for a `journal`.
    """

    def __init__(self, file_time: datetime, *, fast: bool = True, journal: bool = False) -> None:
        self._file_time = file_time
        self._fast = fast
        self._journal = journal

    def decode(self, data: bytes) -> Decoded:
        """Decode a block of whole lines into rows, rejects and counts."""
        decoded = Decoded()
        start = 0
        while start < len(data):
            end = data.rfind(b"\n", start, start + _PIECE) + 1 or data.find(b"\n", start) + 1 or len(data)
            piece = data[start:end]
            texts = piece.split(b"\n")
            if not texts[-1]:
                texts.pop()
            if self._fast:
                self._take_piece(decoded, piece, texts, start)
            else:
                self._take_slowly(decoded, texts, start)
            start = end
        return decoded

    def _take_piece(self, decoded: Decoded, piece: bytes, texts: list[bytes], offset: int) -> None:
        search = suspect()
        # A piece without a match has no line with one.
        matches = search(piece)
        spaced = SPACED in matches
        suspicious = SECRET in matches or BIG_NUMBER in matches
        if not suspicious and min(map(len, texts)) > 1:
            self._take(decoded, texts, offset, spaced=spaced)
            return
        run: list[bytes] = []
        end = offset
        for text in texts:
            end += len(text) + 1
            if len(text) > 1:
                of_line = search(text) if suspicious else ()
                if SECRET not in of_line and BIG_NUMBER not in of_line:
                    run.append(text)
                    continue
            if run:
                self._take(decoded, run, offset, spaced=spaced)
                offset += sum(map(len, run)) + len(run)
                run = []
            self._take_slowly(decoded, (text,), offset)
            offset = end
        if run:
            self._take(decoded, run, offset, spaced=spaced)

    def _take(self, decoded: Decoded, texts: list[bytes], offset: int, *, spaced: bool) -> None:
        """Decode lines without suspicious matches.

        Lines that need decoding by themselves are found by halving.
        """
        joined = b"\n".join(texts)
        columns = (
            own_lines(texts, joined, SCHEMA_VERSION, journal=self._journal)
            if texts[0].startswith(CRC_MARK, -CRC_BYTES)
            else plain_lines(texts, joined, SCHEMA_VERSION, self._file_time, journal=self._journal, spaced=spaced)
        )
        if columns is not None:
            rows, first = decoded.rows, decoded.lines + 1
            lengths = [len(text) for text in texts]
            rows.extend(columns)
            rows.lines += range(first, first + len(texts))
            rows.offsets += accumulate(map((1).__add__, lengths[:-1]), initial=offset)
            rows.lengths += lengths
            decoded.lines += len(texts)
        elif len(texts) == 1:
            self._take_slowly(decoded, texts, offset)
        else:
            half = len(texts) // 2
            self._take(decoded, texts[:half], offset, spaced=spaced)
            self._take(decoded, texts[half:], offset + sum(map(len, texts[:half])) + half, spaced=spaced)

    def _take_slowly(self, decoded: Decoded, texts: Sequence[bytes], offset: int) -> None:
        """Decode lines one by one, whatever they hold."""
        for text in texts:
            decoded.lines += 1
            if not text or text.isspace():
                decoded.blank += 1
                decoded.blank_bytes += len(text) + 1
            elif reject := self._take_line(decoded.rows, text, decoded.lines, offset):
                decoded.rejects.append((decoded.lines, offset, text, reject))
            elif mended(text) is not text:
                decoded.mended += 1
            offset += len(text) + 1

    def _take_line(self, rows: Rows, text: bytes, line: int, offset: int) -> Reject | None:
        event = decode(text, self._file_time)
        if isinstance(event, Reject):
            return self._salvage(rows, text, line, offset, event)
        return self._add(rows, event, text, line, offset, len(text))

    def _salvage(self, rows: Rows, text: bytes, line: int, offset: int, reject: Reject) -> Reject:
        """Add the whole events on a broken line: glued to a torn one, or to each other.

        Checksums prove them.
        """
        if CRC_MARK not in text:
            return reject
        intact = 0
        for record in intact_records(text):
            event = decode(record, self._file_time)
            if isinstance(event, Event) and self._add(rows, event, record, line, offset, len(text)) is None:
                intact += 1
        if intact and reject.why not in {"glued", "crc_mismatch"}:
            return Reject("torn", f"{reject.detail}; {counted(intact, 'intact record')} on the same line")
        if intact:
            return Reject(
                "glued" if reject.why == "glued" else "torn", f"{intact} of the records on the line are intact"
            )
        return reject

    def _add(self, rows: Rows, event: Event, text: bytes, line: int, offset: int, length: int) -> Reject | None:
        if not self._journal and event.origin is not None:
            event = replace(event, origin=None)
        try:
            rows.add(event, line, offset, length, text if crc_holds(text) and mended(text) is text else b"")
        except Exception as error:  # noqa: BLE001 - an upcaster may raise anything, and the line is kept
            return Reject("upcast_failed", f"from version {event.v}: {type(error).__name__}: {error}"[:300])
        return None


def intact_records(text: bytes) -> Iterator[bytes]:
    """Yield the records inside a broken line whose checksum holds.

    Only the first openings are tried.
    """
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


_decode_payload = msgspec.json.Decoder(_Payload).decode


def _encoded(payload: Mapping[str, Any]) -> tuple[str, str | None]:
    """Encode the payload without its facts, and the facts, as JSON."""
    facts = payload.get("facts")
    if not isinstance(facts, Mapping) or not facts:
        return _encoder.encode(payload).decode(), None
    rest = {key: value for key, value in payload.items() if key != "facts"}
    return _encoder.encode(rest).decode(), _encoder.encode(facts).decode()
