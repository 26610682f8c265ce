"""Follow logs as they grow: find those that have changed, and read their new lines.

New lines are read by the readers of an ingest, and are kept nowhere.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from analyzer.errors import InputError
from analyzer.events import Event, Origin
from analyzer.events.appending.writer import event_line
from analyzer.events.rows import RowDecoder
from analyzer.importers import HEAD_BYTES, Block, Format, Reader, RowReader, Source, block_of, detect, head_of
from analyzer.importers.places import LogPlace
from analyzer.importers.shapes.files import SIDES
from analyzer.store.db.location import on_disk
from analyzer.store.ingest.discover import Discovery, Problem, discover
from analyzer.store.ingest.inputs import BOM, Input
from analyzer.store.ingest.read import Blocks, Stretch

SHARE = 0.002
"""Share of a core for looks at all files; walks through folders may take as much again."""
LOOKED_SECONDS = 2.0
"""Seconds between two looks at all files; more where they would take more than their share."""
WALKED_SECONDS = 10.0
"""Seconds between two walks; a walk costs several times a look at the files."""
BUSY_SECONDS = 60.0
"""Seconds after a change in which a file is looked at on every call."""
_BESIDE = (".db", ".sqlite", ".sqlite3")
"""Endings of databases; the files beside them may change while they do not."""

_Look = tuple[int, int, int, int, int]
"""Device, inode, bytes, and nanoseconds of the last changes of a file and of files beside it."""


class Changes:
    """The changes of files, folders, patterns and places of agents since the start."""

    def __init__(self, paths: Iterable[str | LogPlace], own: Sequence[str] = ()) -> None:
        self._paths, self._own = list(paths), own
        self._looks: dict[str, _Look | None] = {}
        self._busy: dict[str, float] = {}
        self._next_look = self._next_walk = 0.0
        self._discovery = Discovery()
        self._walk()
        self._looks = {path: _look(path) for path in self._discovery.files}

    @property
    def files(self) -> int:
        """Count the files that are followed."""
        return len(self._looks)

    @property
    def named(self) -> dict[str, int]:
        """Return the bytes of each file that was named itself, not found inside a folder."""
        return {path: look[2] for path, look in self._looks.items() if look and path not in self._discovery.below}

    @property
    def problems(self) -> list[Problem]:
        """Return what the last walk could not look at."""
        return self._discovery.problems

    def folder_of(self, path: str) -> str | None:
        """Return the named folder that a file was found in; no link on the way from it is followed."""
        return self._discovery.below.get(path)

    def recent(self, seconds: float) -> list[str]:
        """Return the files that were written within the last seconds."""
        earliest = time.time_ns() - int(seconds * 1e9)
        return [path for path, look in self._looks.items() if look and look[3] >= earliest]

    def changed(self) -> dict[str, int]:
        """Return the files that grew, shrank, were replaced, came or went since the last call.

        Each has its number of bytes before; 0 if it is new, was replaced, or is shorter now.
        """
        changed: dict[str, int] = {}
        if time.monotonic() >= self._next_walk:
            changed.update(dict.fromkeys(self._walk(), 0))
        if time.monotonic() >= self._next_look:
            began = time.process_time()
            self._look_at(list(self._looks), changed)
            self._next_look = _later(LOOKED_SECONDS, began)
        else:
            self._look_at([path for path in self._busy if path in self._looks], changed)
        until = time.monotonic() - BUSY_SECONDS
        self._busy = {path: at for path, at in self._busy.items() if at > until}
        return changed

    def _look_at(self, paths: list[str], changed: dict[str, int]) -> None:
        for path in paths:
            before, now = self._looks[path], _look(path)
            if now != before:
                self._looks[path] = now
                self._busy[path] = time.monotonic()
                grown = before is not None and now is not None and before[:2] == now[:2] and before[2] <= now[2]
                changed[path] = before[2] if grown and before is not None else 0

    def _walk(self) -> list[str]:
        """Find the files; return those that are no longer there."""
        began = time.process_time()
        self._discovery = discover(self._paths, own=self._own)
        former = self._looks
        self._looks = {path: former.get(path) for path in self._discovery.files}
        self._next_walk = _later(WALKED_SECONDS, began)
        return [path for path, look in former.items() if look is not None and path not in self._looks]


def _later(seconds: float, began: float) -> float:
    """Return the monotonic second to repeat something that has taken so long."""
    return time.monotonic() + max(seconds, (time.process_time() - began) / SHARE)


def _look(path: str) -> _Look | None:
    """Return what changes with the content of a file; None for a file that is not there."""
    try:
        status = os.stat(on_disk(path))
    except OSError:
        return None
    beside = 0
    if path.endswith(_BESIDE):
        for ending in SIDES:
            with contextlib.suppress(OSError):
                beside += os.stat(on_disk(path) + ending).st_mtime_ns
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, beside


MOST_OPEN = 256
"""Files whose state is held.

One that was dropped is read from its start, without showing old lines.
"""
MOST_TOLD = 10_000
"""Ids of shown events that are remembered, so that an event in a copy is not shown again."""
SLACK = timedelta(minutes=10)
"""A new line's time may be so much before the watch: clocks differ, and telemetry comes in batches.
"""
_BEGINNING = 256
_WHOLE = frozenset({"json", "sqlite"})
"""Kinds of input that change in place; the time of a record says whether it is new."""


@dataclass(slots=True, eq=False)
class _Tail:
    """The position up to which one file has been read."""

    start: int
    """Bytes that were there before the watch; they are read but not shown."""
    kind: Format | None = None
    offset: int = 0
    lines: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    beginning: bytes = b""
    ignored_until: float = 0
    """Bytes; a file that no reader reads is not looked into again before it has so many."""
    is_reported: bool = False
    """True once it is among the problems that no reader reads it."""

    def fits(self, source: Input) -> bool:
        """Say whether the input begins with what was read."""
        if source.codec in _WHOLE:
            return True
        return source.size >= self.offset and source.between(0, len(self.beginning)) == self.beginning


class Tails:
    """The new events of chosen types in files that have changed."""

    def __init__(self, since: datetime, types: Collection[str]) -> None:
        """Watch from a moment (naive UTC) on."""
        self._since, self._types = since, types
        self._tails: dict[tuple[int, int], _Tail] = {}
        self._shown_ids: dict[str, None] = {}
        self.problems: list[Problem] = []
        """Files that are not tried again; the caller that shows them clears the list."""

    def new(self, path: str, before: int, below: str | None) -> list[Event]:
        """Return the new events of a file, redacted, each with its origin.

        They are those of lines after the first `before` bytes that were not read yet.

        A file that is gone or cannot be read gives none.
        """
        try:
            with Input(path, below=below) as source:
                return list(filter(self._is_new, self._read(source, self._tail(source, before))))
        except InputError:
            return []

    def look(self, path: str, before: int) -> None:
        """Add a file to the problems if no reader reads what it holds now."""
        with contextlib.suppress(InputError), Input(path) as source:
            tail = self._tail(source, before)
            tail.kind = self._kind(source, tail)

    def _tail(self, source: Input, before: int) -> _Tail:
        """Return the tail of a file under any name, and make it the last one used."""
        tail = self._tails.pop(source.identity, None)
        if tail is None:
            tail = _Tail(before)
        elif not tail.fits(source):
            tail = _Tail(0)
        self._tails[source.identity] = tail
        if len(self._tails) > MOST_OPEN:
            del self._tails[next(iter(self._tails))]
        return tail

    def _read(self, source: Input, tail: _Tail) -> Iterator[Event]:
        if source.size < tail.ignored_until:
            return
        if source.codec == "json":
            tail.offset, tail.lines, tail.state = 0, 0, {}
        elif source.codec == "sqlite" and tail.offset:
            source.go_on(tail.state.get("cursor") or {}, tail.offset)
        kind = tail.kind = tail.kind or self._kind(source, tail)
        if kind is None:
            return
        try:
            yield from _events(source, tail, kind, self._types, self._since)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one log holds, the others are watched
            tail.ignored_until = float("inf")
            hint = "it is not watched any more. Please report this"
            self.problems.append(Problem(source.path, f"{type(error).__name__}: {error}"[:300], hint))

    def _kind(self, source: Input, tail: _Tail) -> Format | None:
        """Return the format of a file that a reader reads; any other file becomes a problem."""
        kind = detect(head_of(source.head(HEAD_BYTES))) if source.codec in {"plain", *_WHOLE} else None
        if kind is not None and kind.reader is not None:
            return kind
        tail.ignored_until = 2 * source.size + 1 if source.size < HEAD_BYTES and kind else float("inf")
        if not tail.is_reported and (kind is None or kind.name != "empty"):
            tail.is_reported = True
            self.problems.append(_unwatched(source, kind))
        return None

    def _is_new(self, event: Event) -> bool:
        if event.id in self._shown_ids:
            return False
        self._shown_ids[event.id] = None
        if len(self._shown_ids) > MOST_TOLD:
            del self._shown_ids[next(iter(self._shown_ids))]
        return True


def _unwatched(source: Input, kind: Format | None) -> Problem:
    """Describe a file that no reader reads; it may be recognised when it has grown."""
    if kind is None:
        return Problem(source.path, f"is not watched: it is packed ({source.codec})", "analyzer ingest reads it")
    message = f"is not watched: not read yet, or no log (format: {kind.name})"
    return Problem(source.path, message, "analyzer sources tells which logs are known, and where agents keep them")


def _events(source: Input, tail: _Tail, kind: Format, types: Collection[str], since: datetime) -> Iterator[Event]:
    """Read to the end of a file, and yield its events of the types since the moment."""
    if kind.reader is None:
        return
    reader = kind.reader(Source(source.path, source.file_time), tail.state)
    whole = source.codec in _WHOLE
    earliest = since if whole else since - SLACK
    origin = Origin(kind.name, source.path)
    for stretch in Blocks(source, tail.offset):
        if stretch.overlong:
            tail.lines += 1
        else:
            bom = stretch.data.startswith(BOM) and stretch.offset == 0
            block = block_of(b"   " + stretch.data[3:] if bom else stretch.data)
            start = 0 if whole else tail.start
            for event, line in _events_after(reader, block, stretch, start, types):
                if event.occurred_at >= earliest:
                    yield replace(event, origin=replace(origin, line=tail.lines + line))
            tail.lines += len(block.ends)
        tail.offset = stretch.offset + stretch.length
    for event in reader.finish():
        if event.type in types and event.occurred_at >= since:
            yield replace(_clean(event), origin=origin)
    tail.state = reader.state()
    tail.beginning = tail.beginning or source.between(0, min(_BEGINNING, tail.offset))


def _events_after(
    reader: Reader, block: Block, stretch: Stretch, start: int, types: Collection[str]
) -> Iterator[tuple[Event, int]]:
    """Yield the events of lines whose newline stands at byte `start` or later, each with its line in the block."""
    if isinstance(reader, RowReader):
        if stretch.offset + stretch.length > start:
            rows = reader.decode(block.data).rows
            for index, (line, offset, length) in enumerate(zip(rows.lines, rows.offsets, rows.lengths, strict=True)):
                if rows.types[index] in types and stretch.offset + offset + length >= start:
                    yield rows.event(index), line or 0
        return
    for hit in reader.read(block):
        for event in hit.events:
            if event.type in types and stretch.offset + hit.offset + hit.length >= start:
                yield _clean(event), block.number(hit.offset)


def _clean(event: Event) -> Event:
    """Return the event as a store has it: redacted, of the present version, bounded in size."""
    return RowDecoder(event.occurred_at).decode(event_line(event)).rows.event(0)
