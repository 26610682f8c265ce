"""One process as a writer of a log: its name, its count, and the line that it makes of an event.

It is loaded when a log is opened, with the codec and the search for secrets. No line is longer than `MAX_LINE_BYTES`.

Events with an id and a time are written as they are: imported events of other programs' logs, and decisions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import count
from typing import Any

import msgspec

from analyzer.events.appending import system
from analyzer.events.appending.appender import MAX_LINE_BYTES, Appender, Durability
from analyzer.events.codec import encode_open, sealed_line
from analyzer.events.model import LOW_BITS, SCHEMA_VERSION, Event, Origin, id_head
from analyzer.events.sanitize import payload_json, sanitize
from analyzer.events.times import EPOCH, LAST, format_milliseconds, format_time, to_naive_utc

_WRITER_BYTES = 512
"""The most bytes that writer, number and checksum add to a line."""
_DROPPED = "dropped_before"
_decode = msgspec.json.Decoder().decode


def event_line(event: Event, origin: Origin | None = None, *, whole: bool = False) -> bytes:
    """Encode an event as a log keeps it, without writer, number, checksum and newline; `origin` replaces its own.

    It has no secrets, and is short enough for a log: of one that is too long only the short values stay, or nothing
    with `whole`.

    Raises:
        TypeError, ValueError, RecursionError: it cannot be written down.
    """
    origin = origin or event.origin
    # A new object, because `replace` takes four times as long.
    clean = Event(
        _clean(event.type),
        readable_moment(event.occurred_at),
        _clean(event.session_id),
        {},
        event.id,
        event.v,
        None,
        None,
        event.time_source,
        Origin(origin.format, _clean(origin.path), origin.line) if origin else None,
        sanitize({key: value for key, value in event.extra.items() if key != _DROPPED}) if event.extra else {},
    )
    payload = payload_json(event.payload)
    line = encode_open(clean, payload)
    length = len(line) + _WRITER_BYTES
    if length <= MAX_LINE_BYTES:
        return line
    if whole:
        raise ValueError(f"{length:,} bytes are too long for a line")
    short = placeholder(clean.type, _decode(payload), length)
    return encode_open(replace(clean, extra={}, type=short["type"], payload=short["payload"]))


def placeholder(kind: str, payload: Mapping[str, Any], length: int) -> dict[str, Any]:
    """Return type and payload of an event whose line would be too long:
    its short values, and its length.
    """
    short = {key: value for key, value in payload.items() if len(str(value)) <= 256}
    return {"type": kind[:256], "payload": {**short, "truncated": True, "original_bytes": length}}


def readable_moment(moment: datetime) -> datetime:
    """Return the moment in naive UTC if readers of logs accept it.

    Raises:
        ValueError: it is out of the years 1970 to 2199.
    """
    utc = to_naive_utc(moment)
    if not EPOCH <= utc < LAST:
        raise ValueError(f"out of the years 1970 to 2199: {utc.isoformat()[:10]}")
    return utc


@lru_cache(maxsize=256)
def _clean_word(text: str) -> Any:
    return sanitize(text)


def _clean(value: object) -> Any:
    """Sanitize a text of the envelope; the same few come again and again."""
    return _clean_word(value) if value.__class__ is str and len(value) <= 512 else sanitize(value)


_class_of = type
_MILLISECONDS = int((LAST - EPOCH).total_seconds() * 1_000)
_BEGINNING = b'{"v":%d,"id":"' % SCHEMA_VERSION
_BODY = b'%s%s%s%d,%s"payload":%s'
_json = lru_cache(maxsize=256)(msgspec.json.encode)
_PIECE_BYTES = 64 * 1024
"""Bytes of whole lines in one write; a larger write would not fit in the parts of bounded logs."""


class LogWriter:
    """The state of one process as a writer of a log."""

    __slots__ = (
        "_high",
        "_low",
        "_name_json",
        "_shared",
        "_stamp",
        "_warn",
        "appender",
        "name",
        "numbers",
        "unreported",
    )

    def __init__(self, folder: str, *, max_bytes: int, durability: Durability, warn: Callable[[str], None]) -> None:
        """Prepare a writer; `warn` gets messages for the host's user."""
        self.appender = Appender(folder, max_bytes=max_bytes, durability=durability)
        self.name = f"{host_name()}:{os.getpid()}:{system.urandom(4).hex()}"
        self._name_json = msgspec.json.encode(self.name)
        # `next` is one step of the interpreter: threads and signal handlers never get a number twice.
        self.numbers = count()
        # Ids count from a random number, which is so far from those of other writers that their ids never meet.
        self._high = int.from_bytes(system.urandom(4), "big")
        self._low = int.from_bytes(system.urandom(LOW_BITS // 8), "big") >> 1
        self._stamp = (-1, "", b"")
        """A millisecond, and the parts that ids and lines of that millisecond share."""
        self._shared: tuple[object, object, bytes, bytes] = (None, None, b"", b"")
        """Type, session and moment of the last event, and the part of its line that they make."""
        self._warn = warn
        self.unreported = 0
        """Events lost since the last one that was written."""

    def append(
        self,
        seq: int,
        dropped_before: int,
        kind: object,
        payload: Mapping[str, Any] | None,
        session: object,
        at: datetime | None,
    ) -> str:
        """Write one event and return its id. Its line says that `dropped_before` events were lost before it.

        Raises:
            ValueError, TypeError: it is no event.
            OSError, Forked: it is not written, see `Appender.write`.
        """
        nanoseconds = system.time_ns()
        milliseconds = nanoseconds // 1_000_000
        stamp = self._stamp
        if stamp[0] != milliseconds:
            stamp = self._stamp = self._stamped(milliseconds)
        _, head, moment = stamp
        if at is not None:
            moment = b'"%s"' % format_time(readable_moment(at)).encode()
        event_id = f"{head}{self._low + seq:012x}"
        shared = self._shared
        if shared[0] is not kind or shared[1] is not session or shared[2] is not moment:
            shared = self._shared = self._shared_part(kind, session, moment)
        if payload is None:
            payload = {}
        elif _class_of(payload) is not dict and not isinstance(payload, Mapping):
            raise TypeError(f"a payload is a mapping, not a {_class_of(payload).__name__}")
        body = _BODY % (
            _BEGINNING,
            event_id.encode(),
            shared[3],
            seq,
            b'"dropped_before":%d,' % dropped_before if dropped_before else b"",
            payload_json(payload),
        )
        line = sealed_line(body)
        if len(line) > MAX_LINE_BYTES:
            line = _placeholder_line(_decode(body + b"}"), len(line))
        self.appender.write(line, nanoseconds)
        return event_id

    def record(self, seqs: Iterable[int], dropped_before: int, lines: Iterable[bytes]) -> Iterator[int]:
        """Write lines of `event_line`, many at once; `dropped_before` as in `append`.

        Yields after each write the number of lines written so far.

        Raises:
            OSError, Forked: no more of them are written, except the whole lines of a `ShortWriteError`.
        """
        batch: list[bytes] = []
        size = done = 0
        for seq, line in zip(seqs, lines, strict=True):
            dropped = b',"dropped_before":%d' % dropped_before if dropped_before else b""
            sealed = sealed_line(b'%s,"writer":%s,"seq":%d%s' % (line[:-1], self._name_json, seq, dropped))
            if batch and size + len(sealed) > _PIECE_BYTES:
                self.appender.write(b"".join(batch), system.time_ns())
                done += len(batch)
                yield done
                batch, size = [], 0
            batch.append(sealed)
            size, dropped_before = size + len(sealed), 0
        self.appender.write(b"".join(batch), system.time_ns())
        yield done + len(batch)

    def sync(self) -> None:
        """Wait until everything that was written is on the disk.

        Raises:
            OSError, Forked: it may not be.
        """
        self.appender.sync(system.time_ns())

    def _shared_part(self, kind: object, session: object, moment: bytes) -> tuple[object, object, bytes, bytes]:
        word = _word(kind)
        if word == b'""':
            raise ValueError("an event has a type")
        owner = b"null" if session is None else _word(session)
        part = b'","type":%s,"timestamp":%s,"sessionId":%s,"writer":%s,"seq":' % (word, moment, owner, self._name_json)
        # An object that is no plain text may have another text the next time: then `part` matches no type.
        is_stable = kind.__class__ is str and (session is None or session.__class__ is str)
        return kind if is_stable else part, session, moment, part

    def _stamped(self, milliseconds: int) -> tuple[int, str, bytes]:
        moment = "null"
        if 0 <= milliseconds < _MILLISECONDS:
            moment = f'"{format_milliseconds(milliseconds)}"'
        else:
            # No reader accepts such a moment, and the event is worth more than its time.
            self._warn("the clock is out of the years 1970 to 2199: events are logged without a time")
        return milliseconds, id_head(milliseconds, self._high), moment.encode()


def _placeholder_line(record: dict[str, Any], length: int) -> bytes:
    record.update(placeholder(record["type"], record["payload"], length))
    return sealed_line(msgspec.json.encode(record)[:-1])


def _word(value: object) -> bytes:
    """Encode a text of the envelope as JSON."""
    clean = _clean(value)
    return _json(clean if isinstance(clean, str) else str(clean))


def host_name() -> str:
    """Return the name of this machine, without colons."""
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return name.replace(":", "-") or "localhost"
