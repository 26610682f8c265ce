"""Logs as they grow: which of many have changed, and what their new lines say.

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
from analyzer.events.rows import Rows
from analyzer.importers import HEAD_BYTES, Block, Format, Reader, RowReader, Source, block_of, detect, head_of
from analyzer.importers.places import LogPlace
from analyzer.importers.shapes.files import SIDES
from analyzer.store.db.location import on_disk
from analyzer.store.ingest.discover import Found, Problem, discover
from analyzer.store.ingest.inputs import BOM, Input
from analyzer.store.ingest.read import Blocks, Stretch

SHARE = 0.002
"""Of a core: for looks at all files, and as much again for walks through folders."""
LOOKED_SECONDS = 2.0
"""Between two looks at all files; more where that would take more than its share."""
WALKED_SECONDS = 10.0
"""Between two walks: each costs several times what a look at the known files does."""
BUSY_SECONDS = 60.0
"""So long after a change a file is looked at whenever somebody asks."""
_BESIDE = (".db", ".sqlite", ".sqlite3")
"""Endings of databases, beside which other files change alone."""

_Look = tuple[int, int, int, int, int]
"""Device, inode, bytes, nanoseconds of the last change, and of that of what stands beside a database."""


class Changes:
    """Follows files, folders, patterns and places of agents. What is there at first has not changed."""

    def __init__(self, paths: Iterable[str | LogPlace], own: Sequence[str] = ()) -> None:
        self._paths, self._own = list(paths), own
        self._looks: dict[str, _Look | None] = {}
        self._busy: dict[str, float] = {}
        self._next_look = self._next_walk = 0.0
        self._found = Found()
        self._walk()
        self._looks = {path: _look(path) for path in self._found.files}

    @property
    def files(self) -> int:
        """How many files are followed."""
        return len(self._looks)

    @property
    def named(self) -> dict[str, int]:
        """The files that were named themselves, and not found inside of a folder, each with its bytes."""
        return {path: look[2] for path, look in self._looks.items() if look and path not in self._found.below}

    @property
    def problems(self) -> list[Problem]:
        """What the last walk could not look at."""
        return self._found.problems

    def folder_of(self, path: str) -> str | None:
        """The folder that was named, where the file was found inside of one: no link on the way from it is followed."""
        return self._found.below.get(path)

    def changed(self) -> dict[str, int]:
        """The files that grew, shrank, were replaced, came or went since the last call.

        Each has the number of bytes that were there before: 0 of a file that is new, was replaced, or is shorter now.
        """
        found: dict[str, int] = {}
        if time.monotonic() >= self._next_walk:
            found.update(dict.fromkeys(self._walk(), 0))
        if time.monotonic() >= self._next_look:
            began = time.process_time()
            self._look_at(list(self._looks), found)
            self._next_look = _later(LOOKED_SECONDS, began)
        else:
            self._look_at([path for path in self._busy if path in self._looks], found)
        until = time.monotonic() - BUSY_SECONDS
        self._busy = {path: at for path, at in self._busy.items() if at > until}
        return found

    def _look_at(self, paths: list[str], found: dict[str, int]) -> None:
        for path in paths:
            before, now = self._looks[path], _look(path)
            if now != before:
                self._looks[path] = now
                self._busy[path] = time.monotonic()
                grown = before is not None and now is not None and before[:2] == now[:2] and before[2] <= now[2]
                found[path] = before[2] if grown and before is not None else 0

    def _walk(self) -> list[str]:
        """Find the files; those of before that are no longer found."""
        began = time.process_time()
        self._found = discover(self._paths, own=self._own)
        former = self._looks
        self._looks = {path: former.get(path) for path in self._found.files}
        self._next_walk = _later(WALKED_SECONDS, began)
        return [path for path, look in former.items() if look is not None and path not in self._looks]


def _later(seconds: float, began: float) -> float:
    """When to do it again what has taken so long."""
    return time.monotonic() + max(seconds, (time.process_time() - began) / SHARE)


def _look(path: str) -> _Look | None:
    """What of a file changes with its content; None where it is not there."""
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
"""Files whose state is held; one that was let go of is read from its start again, and what was there is not told."""
MOST_TOLD = 10_000
"""Ids of events that are remembered: what was told a moment ago, and stands in a copy too, is not told again."""
SLACK = timedelta(minutes=10)
"""So much earlier than the watch may a new line's time be: clocks differ, and telemetry comes in late batches."""
_BEGINNING = 256
_WHOLE = frozenset({"json", "sqlite"})
"""Inputs that are not appended to: of their records the time says which are new."""


@dataclass(slots=True, eq=False)
class _Tail:
    """How far one file has been read."""

    start: int
    """Bytes that were there before anybody watched: they are read, and not told."""
    kind: Format | None = None
    offset: int = 0
    lines: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)
    beginning: bytes = b""
    deaf_until: float = 0
    """Bytes; until then a file that no reader knows is not looked into again."""
    told: bool = False
    """Whether somebody was told that no reader knows it."""

    def fits(self, source: Input) -> bool:
        """Whether the input is what was read, and more."""
        if source.codec in _WHOLE:
            return True
        return source.size >= self.offset and source.between(0, len(self.beginning)) == self.beginning


class Tails:
    """Gives the events of chosen types that are new in files which have changed."""

    def __init__(self, since: datetime, types: Collection[str]) -> None:
        """Watch from a moment (naive UTC) on."""
        self._since, self._types = since, types
        self._tails: dict[tuple[int, int], _Tail] = {}
        self._shown_ids: dict[str, None] = {}
        self.problems: list[Problem] = []
        """What could not be read and is not tried again; whoever tells it clears the list."""

    def new(self, path: str, before: int, below: str | None) -> list[Event]:
        """The events of lines behind the first `before` bytes that were not read yet, redacted, each with its origin.

        A file that is gone, or has changed hands, gives none.
        """
        try:
            with Input(path, below=below) as source:
                return list(filter(self._is_new, self._read(source, self._tail(source, before))))
        except InputError:
            return []

    def look(self, path: str, before: int) -> None:
        """Have a file among the problems where no reader knows what it holds before anything changes."""
        with contextlib.suppress(InputError), Input(path) as source:
            tail = self._tail(source, before)
            tail.kind = self._kind(source, tail)

    def _tail(self, source: Input, before: int) -> _Tail:
        """The tail of a file under whatever name, put behind all others in the order of use."""
        known = self._tails.pop(source.identity, None)
        if known is None:
            known = _Tail(before)
        elif not known.fits(source):
            known = _Tail(0)
        self._tails[source.identity] = known
        if len(self._tails) > MOST_OPEN:
            del self._tails[next(iter(self._tails))]
        return known

    def _read(self, source: Input, tail: _Tail) -> Iterator[Event]:
        if source.size < tail.deaf_until:
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
            tail.deaf_until = float("inf")
            hint = "it is not watched any more. Please report this"
            self.problems.append(Problem(source.path, f"{type(error).__name__}: {error}"[:300], hint))

    def _kind(self, source: Input, tail: _Tail) -> Format | None:
        """What a file is, if a reader knows it."""
        kind = detect(head_of(source.head(HEAD_BYTES))) if source.codec in {"plain", *_WHOLE} else None
        if kind is not None and kind.reader is not None:
            return kind
        tail.deaf_until = 2 * source.size + 1 if source.size < HEAD_BYTES and kind else float("inf")
        if not tail.told and (kind is None or kind.name != "empty"):
            tail.told = True
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
    """What there is to say of a file that no reader knows, once; it may be known when it has grown."""
    if kind is None:
        return Problem(source.path, f"is not watched: it is packed ({source.codec})", "analyzer ingest reads it")
    said = f"is not watched: not read yet, or no log (format: {kind.name})"
    return Problem(source.path, said, "analyzer sources tells which logs are known, and where agents keep them")


def _events(source: Input, tail: _Tail, kind: Format, types: Collection[str], since: datetime) -> Iterator[Event]:
    """Read to the end of what is there; what of it is to be told."""
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
            for event, line in _in_block(reader, block, stretch, start, types):
                if event.occurred_at >= earliest:
                    yield replace(event, origin=replace(origin, line=tail.lines + line))
            tail.lines += len(block.ends)
        tail.offset = stretch.offset + stretch.length
    for event in reader.finish():
        if event.type in types and event.occurred_at >= since:
            yield replace(_clean(event), origin=origin)
    tail.state = reader.state()
    tail.beginning = tail.beginning or source.between(0, min(_BEGINNING, tail.offset))


def _in_block(
    reader: Reader, block: Block, stretch: Stretch, start: int, types: Collection[str]
) -> Iterator[tuple[Event, int]]:
    """The events of a block in lines that end behind `start`, each with its line in the block."""
    if isinstance(reader, RowReader):
        if stretch.offset + stretch.length > start:
            rows = reader.decode(block.data).rows
            for place, (line, offset, length) in enumerate(zip(rows.lines, rows.offsets, rows.lengths, strict=True)):
                if rows.types[place] in types and stretch.offset + offset + length >= start:
                    yield rows.event(place), line or 0
        return
    for hit in reader.read(block):
        for event in hit.events:
            if event.type in types and stretch.offset + hit.offset + hit.length >= start:
                yield _clean(event), block.number(hit.offset)


def _clean(event: Event) -> Event:
    """The event as a store would have it: secrets taken out, of the present version, its sizes bounded."""
    rows = Rows()
    rows.add(event, None, 0, 0)
    return rows.event(0)
