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

from analyzer.events.codec import CRC_MARK, Reject, crc_holds, decode
from analyzer.events.fast_decode import BIG_NUMBER, SECRET, SPACED, Rows, fast_rows, split_payload, suspect
from analyzer.events.model import SCHEMA_VERSION, STANDS_IN, Event, upcast
from analyzer.events.sanitize import MAX_TEXT, SMALL, sanitize
from analyzer.events.times import format_time
from analyzer.readable import counted
from analyzer.redaction import may_hold_secret
from analyzer.redaction.unfolding import mended

__all__ = ["Decoded", "RowDecoder", "Rows", "intact_records"]

_PIECE = 64 * 1024
"""Bytes that are searched for secrets at once;
line by line only if something like a secret is in them.
"""
_LINES_AT_ONCE = 128
"""Clean lines that are decoded at once; a long one makes its neighbours be decoded twice."""
_OPENING = b'{"v":'
_MOST_OPENINGS = 64
"""Openings of records that are tried on one broken line; each costs a checksum of the rest."""


class _Payload(msgspec.Struct, gc=False):
    payload: msgspec.Raw = msgspec.Raw()


_decode_payload = msgspec.json.Decoder(_Payload).decode
_encode = msgspec.json.Encoder().encode


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

    def decode_clean(self, lines: Sequence[bytes]) -> Rows:
        """Decode lines that `event_line` made: they are not searched, as nothing in them needs cleaning."""
        decoded = Decoded()
        for start in range(0, len(lines), _LINES_AT_ONCE):
            self._take(decoded, list(lines[start : start + _LINES_AT_ONCE]), 0, spaced=False)
        return decoded.rows

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
        rows = fast_rows(texts, SCHEMA_VERSION, self._file_time, journal=self._journal, spaced=spaced)
        if rows is not None:
            rows.lengths = [len(text) for text in texts]
            rows.lines = list(range(decoded.lines + 1, decoded.lines + len(texts) + 1))
            rows.offsets = list(accumulate((length + 1 for length in rows.lengths[:-1]), initial=offset))
            decoded.rows.extend(rows)
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
            _add_event(rows, event, text, line, offset, length)
        except Exception as error:  # noqa: BLE001 - an upcaster may raise anything, and the line is kept
            return Reject("upcast_failed", f"from version {event.v}: {type(error).__name__}: {error}"[:300])
        return None


def _add_event(rows: Rows, event: Event, text: bytes, line: int, offset: int, length: int) -> None:
    """Clean the event of a record and add it. A clean payload is kept byte for byte if its checksum holds.

    Raises:
        Exception: of any kind, from an upcaster.
    """
    payload: Mapping[str, Any] = event.payload
    if event.v < SCHEMA_VERSION:
        payload = upcast(event.v, event.type, payload)
    clean: dict[str, Any] = sanitize(payload, small=length <= SMALL and payload is event.payload)
    host, origin, dropped = event.host, event.origin, event.extra.get("dropped_before")
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
    kept = None
    if clean == event.payload and crc_holds(text) and mended(text) is text:
        kept = split_payload(str(_decode_payload(text).payload, "utf-8"))
    is_own = event.origin is None or bool(event.origin.host)
    rows.ids.append(event.id)
    rows.types.append(event.type)
    rows.moments.append(format_time(event.occurred_at))
    rows.sessions.append(event.session_id)
    rows.versions.append(event.v)
    rows.writers.append(event.writer if is_own else None)
    rows.seqs.append(event.seq if is_own else None)
    rows.dropped.append(dropped if is_own and isinstance(dropped, int) and 0 <= dropped < 2**62 else None)
    rows.time_sources.append(event.time_source if event.time_source in STANDS_IN else "event")
    body, facts = kept or _encoded(clean)
    rows.payloads.append(body)
    rows.facts.append(facts)
    rows.hosts.append(host)
    rows.source_formats.append(event.origin.format if event.origin else None)
    rows.source_paths.append(event.origin.path if event.origin else None)
    rows.source_lines.append(event.origin.line if event.origin else None)
    rows.lines.append(line)
    rows.offsets.append(offset)
    rows.lengths.append(length)


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


def _encoded(payload: dict[str, Any]) -> tuple[str, str | None]:
    """Encode the payload without its facts, and the facts, as JSON."""
    facts = payload.get("facts")
    if not isinstance(facts, dict) or not facts:
        return _encode(payload).decode(), None
    rest = {key: value for key, value in payload.items() if key != "facts"}
    return _encode(rest).decode(), _encode(facts).decode()
