"""`EventLog`: what a program holds to leave events.

It never raises into its host. An id is the promise that the event is on the log; None says that it is not.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import weakref
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import count
from typing import Any, Self

import msgspec

from analyzer.events.appending import system
from analyzer.events.appending.appender import DEFAULT_MAX_BYTES, MAX_LINE_BYTES, Appender, Durability
from analyzer.events.appending.part import Forked
from analyzer.events.appending.places import absolute
from analyzer.events.codec import encode, sealed_line
from analyzer.events.ids import numbered_id
from analyzer.events.model import SCHEMA_VERSION, Event
from analyzer.events.recorded import Recorded, placeholder, readable_moment, recorded
from analyzer.events.sanitize import payload_json, sanitize
from analyzer.events.times import EPOCH, LAST, format_nanoseconds, format_time
from analyzer.events.typed import TypedEvents
from analyzer.redaction import redact

_class_of = type
_decode = msgspec.json.Decoder().decode
_LAST_NANOSECOND = (LAST - EPOCH) // timedelta(microseconds=1) * 1_000


class _Writer:
    """The state of one process as a writer of a log: its name, its count, and losses that no line has told yet."""

    __slots__ = ("appender", "first_id", "name", "name_json", "numbers", "untold")

    def __init__(self, appender: Appender) -> None:
        self.appender = appender
        self.name = f"{_host()}:{os.getpid()}:{system.urandom(4).hex()}"
        self.name_json = msgspec.json.encode(self.name)
        # Counting is one step of the interpreter: threads and signal handlers never get a number twice.
        self.numbers = count()
        self.first_id = int.from_bytes(system.urandom(10), "big")
        """Random, and so far from those of other writers that counting on from it never meets them."""
        self.untold = 0
        """Events lost since the last one that was written."""


class EventLog(TypedEvents):
    """An append-only log folder. Safe to share between threads and signal handlers, to use after a fork, and to open in
    many processes. A relative folder is found from the working directory of this moment, once.

    WHAT AN ID PROMISES depends on `durability`:

    - `process` (default): the line is with the operating system. It survives the death of this process, `kill -9`
      included. It does NOT survive a power cut or a crash of the kernel in the seconds until the disk has it.
    - `batch`: the same, and every second of appending, at `close` and at exit the disk is made to have everything so
      far. A power cut costs at most what came after.
    - `event`: the disk has the line (fdatasync, and fsync of the folder for a new file). Survives a power cut if the
      disk is honest. Some hundred times slower.

    None says that the event is lost, or that the disk did not confirm it. It is counted in `dropped`, its number is
    missing in the writer's sequence, and the next line that is written says how many went before it (`dropped_before`).
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        durability: Durability = "process",
    ) -> None:
        if durability not in ("process", "batch", "event"):
            raise ValueError(f"durability is process, batch or event, not {durability!r}")
        self.folder = absolute(folder)
        """The path from the root, found once: the log stays where it is when the program, or a fork of it, moves."""
        self._max_bytes = max_bytes
        self._durability = durability
        self._begin()
        _logs.add(self)

    def _begin(self) -> None:
        # A forked child is another writer: own file, own name, own count, and no lock that its parent held.
        self.dropped = 0
        """Events that this process could not write."""
        self._warned = False
        self._losses = threading.RLock()  # a signal handler may lose an event while one is being counted as lost
        self._writer = _Writer(Appender(self.folder, max_bytes=self._max_bytes, durability=self._durability))

    def append(
        self,
        type: str,  # noqa: A002 - the field's name in the log
        payload: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        at: datetime | None = None,
    ) -> str | None:
        """Write one event; its id once it is written, None if it could not be. `at` defaults to now."""
        writer = self._writer
        seq = next(writer.numbers)
        told = 0
        try:
            nanoseconds = system.time_ns()
            event_id = numbered_id(nanoseconds, writer.first_id + seq)
            kind = _word(type)
            if kind == b'""':
                raise ValueError("an event has a type")
            if payload is None:
                payload = {}
            elif _class_of(payload) is not dict and not isinstance(payload, Mapping):
                raise TypeError(f"a payload is a mapping, not a {_class_of(payload).__name__}")
            if at is not None:
                moment = f'"{format_time(readable_moment(at))}"'
            elif 0 <= nanoseconds < _LAST_NANOSECOND:
                moment = f'"{format_nanoseconds(nanoseconds)}"'
            else:
                # No reader would take such a moment, and the event is worth more than its time.
                moment = "null"
                self._warn("the clock is out of the years 1970 to 2199: events are logged without a time")
            if writer.untold:
                told = self._take_untold(writer)
            body = b'{"v":%d,"id":"%s","type":%s,"timestamp":%s,"sessionId":%s,"writer":%s,"seq":%d,%s"payload":%s' % (
                SCHEMA_VERSION,
                event_id.encode(),
                kind,
                moment.encode(),
                b"null" if session is None else _word(session),
                writer.name_json,
                seq,
                b'"dropped_before":%d,' % told if told else b"",
                payload_json(payload),
            )
            line = sealed_line(body)
            if len(line) > MAX_LINE_BYTES:
                line = _placeholder_line(_decode(body + b"}"), len(line))
            writer.appender.write(line, nanoseconds)
        except Exception as error:  # noqa: BLE001 - telemetry must never break the program that it watches
            if not writer.appender.own[0]:
                self._begin_again(writer)
                return self.append(type, payload, session=session, at=at)
            self._refuse(writer, error, told)
            return None
        except BaseException as error:  # the host's own: Ctrl-C, an exit from a signal handler
            self._refuse(writer, error, told)
            raise
        return event_id

    def record(self, event: Event | Recorded) -> str | None:
        """Write an event that already has its id and time: how derived events reach a journal."""
        writer = self._writer
        seq = next(writer.numbers)
        told = 0
        try:
            kept = event if isinstance(event, Recorded) else recorded(event)
            extra = kept.event.extra
            if writer.untold:
                told = self._take_untold(writer)
                extra = {**extra, "dropped_before": told}
            line = encode(replace(kept.event, writer=writer.name, seq=seq, extra=extra), kept.payload)
            writer.appender.write(line, system.time_ns())
        except Exception as error:  # noqa: BLE001 - as in `append`
            if not writer.appender.own[0]:
                self._begin_again(writer)
                return self.record(event)
            self._refuse(writer, error, told)
            return None
        except BaseException as error:
            self._refuse(writer, error, told)
            raise
        return kept.event.id

    def sync(self) -> bool:
        """Wait until everything that this object has written is on the disk; False if it may not be.

        Whole only at the levels `batch` and `event`: at `process` it is the present file alone.
        """
        writer = self._own_writer()
        try:
            writer.appender.sync(system.time_ns())
        except Exception as error:  # noqa: BLE001 - as in `append`
            if not writer.appender.own[0]:
                return self.sync()
            self._warn(f"the last events may not be on the disk: {error}")
            return False
        return True

    def close(self) -> None:
        """Let go of the file, synced at the levels that sync. The log can still be used; it opens the file again."""
        try:
            self._own_writer().appender.close()
        except Exception as error:  # noqa: BLE001 - as in `append`
            self._warn(f"the last events may not be on the disk: {error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _own_writer(self) -> _Writer:
        """The writer of this process, which may be a fork that nobody has told us of."""
        writer = self._writer
        if not writer.appender.own[0]:
            self._begin_again(writer)
        return self._writer

    def _begin_again(self, writer: _Writer) -> None:
        """In a fork: leave what its parent's writer held, unless a hook or another thread already has.

        A signal handler may fork in the middle of an append, so that parent and child both come back into it. The
        parent ends it; the child, whatever it has met there, begins it anew as a writer of its own.
        """
        if self._writer is writer:
            writer.appender.abandon()
            self._begin()

    def _take_untold(self, writer: _Writer) -> int:
        if not writer.appender.own[0]:
            raise Forked  # a thread that is not here may hold the lock
        with self._losses:
            told, writer.untold = writer.untold, 0
        return told

    def _refuse(self, writer: _Writer, error: BaseException, told: int) -> None:
        if not writer.appender.own[0]:
            writer, told = self._own_writer(), 0
            next(writer.numbers)  # a loss leaves a gap
        with self._losses:
            self.dropped += 1
            writer.untold += 1 + told
        self._warn(f"cannot write to the event log: {error}")

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            with contextlib.suppress(Exception):  # a closed stderr is no reason to fail either
                print(f"analyzer: {self.folder}: {redact(what)}", file=sys.stderr)  # noqa: T201


def _placeholder_line(record: dict[str, Any], length: int) -> bytes:
    record.update(placeholder(record["type"], record["payload"], length))
    return sealed_line(msgspec.json.encode(record)[:-1])


@lru_cache(maxsize=256)
def _short_word(text: str) -> bytes:
    return msgspec.json.encode(sanitize(text))


def _word(value: object) -> bytes:
    """A text of the envelope as JSON; the same few come again and again."""
    if value.__class__ is str and len(value) <= 128:
        return _short_word(value)
    clean = sanitize(value)
    return msgspec.json.encode(clean if isinstance(clean, str) else str(clean))


def _host() -> str:
    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return name.replace(":", "-") or "localhost"


_logs: weakref.WeakSet[EventLog] = weakref.WeakSet()


def _in_child() -> None:
    # At once, not at the first append: a child that never appends must not keep its parent's lease.
    for log in list(_logs):
        with contextlib.suppress(Exception):
            log._own_writer()


def _at_exit() -> None:
    for log in list(_logs):
        log.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
