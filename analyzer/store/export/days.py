"""Export views day by day: find the rows of each UTC day, and the days that have changed.

A mark identifies a day: the hash of its rows as the view shows them. Late events, another ruleset,
a chain that was settled since and a new version's columns all change it.

A folder of files has one file per view and UTC day, as `errors/day=2026-11-20/errors.parquet`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

import msgspec

from analyzer.errors import FREE_SPACE, UNREADABLE, AnalyzerError, system_text
from analyzer.frozen import frozen
from analyzer.store.db.connection import private_files, query_errors
from analyzer.store.db.engine import Connection, execute
from analyzer.store.db.frames import ask, sql
from analyzer.store.db.location import exclusive, sync
from analyzer.store.db.tables.schema import views
from analyzer.store.upkeep.prune import horizon_of

if TYPE_CHECKING:
    import polars as pl


EXPORTED = {
    "events": ("occurred_at", "event_id"),
    "errors": ("occurred_at", "event_id"),
    "retries": ("started_at", "operation"),
    "relays": ("occurred_at", "relay"),
    "sessions": ("started_at", "session_id"),
    "tool_failures": ("occurred_at", "event_id"),
    "exhaustions": ("occurred_at", "event_id"),
    "context_recoveries": ("occurred_at", "event_id"),
}
"""Views with days → the column of their moment, and the one that orders rows of one moment."""
DEFAULT_VIEWS = ("events", "errors", "retries", "relays")
_AT_ONCE = 50_000
"""Rows of several days that are asked for together; a larger day is asked for by itself."""
_A_DAY = timedelta(days=1)


@frozen
class DayMark:
    """Identifies the content of one day of a view."""

    rows: int
    digest: str


@frozen
class ExportedView:
    """Counts of one view's export: its days that were written, removed, and left unchanged."""

    view: str
    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    rows: int
    """Rows of the days that were written."""


def export_days(
    connection: Connection,
    target: Folder,
    names: Collection[str],
    since: datetime | None,
    until: datetime | None,
) -> list[ExportedView]:
    """Bring a target up to date: whole UTC days that the window (naive UTC) touches, of these views.

    Days before the store's horizon stay in the target: pruned rows stay with those who exported them.

    Raises:
        AnalyzerError: a view that has no days, or a target that cannot be written.
        QueryError: the store cannot be asked.
    """
    for name in names:
        if name not in EXPORTED:
            raise AnalyzerError.unknown_value("view to export", name, EXPORTED)
    horizon = horizon_of(connection)
    first = _midnight(max(filter(None, (since, horizon)), default=None))
    end = _midnight(until + _A_DAY - timedelta(microseconds=1)) if until is not None else None
    results = []
    for name in dict.fromkeys(names):
        marks, former = _marks(connection, name, first, end), target.known(name)
        changed = {day: mark for day, mark in marks.items() if former.get(day) != mark}
        gone = sorted(day for day in former if day not in marks and _within(day, first, end))
        if changed or gone:
            target.replace(name, changed, gone, _frames(connection, name, changed))
        rows = sum(mark.rows for mark in changed.values())
        results.append(ExportedView(name, tuple(changed), tuple(gone), len(marks) - len(changed), rows))
    return results


def _midnight(moment: datetime | None) -> datetime | None:
    return None if moment is None else datetime.combine(moment.date(), time())


def _within(day: str, first: datetime | None, end: datetime | None) -> bool:
    moment = datetime.fromisoformat(day)
    return (first is None or moment >= first) and (end is None or moment < end)


def _marks(connection: Connection, view: str, first: datetime | None, end: datetime | None) -> dict[str, DayMark]:
    at = EXPORTED[view][0]
    columns = ",".join(f"{column.name} {column.type}" for column in views()[view].columns)
    with query_errors():
        rows = execute(
            connection,
            sql(
                "select strftime({at}, '%Y-%m-%d'), count(*), bit_xor(hash(v)), sum(hash(v)), hash($3) from {view} as v"
                " where {at} >= coalesce($1, {at}) and ($2 is null or {at} < $2) group by all order by all",
                at=at,
                view=view,
            ),
            [first, end, columns],
        )
    return {day: DayMark(count, f"{either:016x}{total:x}-{shape:016x}") for day, count, either, total, shape in rows}


def _frames(connection: Connection, view: str, days: Mapping[str, DayMark]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of each day, in order of days; small days are asked for together."""
    at, name_column = EXPORTED[view]
    together: list[str] = []
    for day in [*days, None]:
        if together and (day is None or sum(days[name].rows for name in (*together, day)) > _AT_ONCE):
            dates = [date.fromisoformat(name) for name in together]
            with query_errors():
                frame = ask(
                    connection,
                    sql(
                        "select * from {view} where {at} >= $1 and {at} < $2"
                        " and list_contains($3, cast({at} as date)) order by {at}, {name}",
                        view=view,
                        at=at,
                        name=name_column,
                    ),
                    [dates[0], dates[-1] + _A_DAY, dates],
                )
            import polars as pl

            for name, of in zip(together, dates, strict=True):
                yield name, frame.filter(pl.col(at).dt.date() == of)
            together = []
        if day is not None:
            together.append(day)


_LOCK = "_export"


class _Manifest(msgspec.Struct):
    format: str
    days: dict[str, DayMark]
    schema: str = "analyzer.export-days/1"


class Folder:
    """A folder as a target of days. `written` makes the bytes of a file out of the rows of a day.

    A day is complete or unchanged, whenever the process dies. A day that `known` names has exactly the rows of that
    mark.
    """

    def __init__(self, path: str, ending: str, written: Callable[[pl.DataFrame], bytes]) -> None:
        self._path, self._ending, self._written = os.path.abspath(path), ending, written

    @contextlib.contextmanager
    def opened(self) -> Iterator[Folder]:
        """Make the folder and lock it: two writers would remove each other's files.

        Raises:
            StoreBusyError: another process writes into it.
            AnalyzerError: it cannot be made or written.
        """
        try:
            with private_files():
                os.makedirs(self._path, exist_ok=True)
            with exclusive(os.path.join(self._path, _LOCK)):
                yield self
        except FileExistsError:
            raise AnalyzerError(f"{self._path} is a file", "name a folder, or FILE.duckdb for a slice") from None
        except OSError as error:
            message = f"{self._path} cannot be written: {system_text(error)}"
            raise AnalyzerError(message, FREE_SPACE, exit_code=UNREADABLE) from None

    def known(self, view: str) -> dict[str, DayMark]:
        """Return the marks of the days whose files are there.

        Raises:
            AnalyzerError: they are of another format.
        """
        try:
            with open(self._manifest(view), "rb") as handle:
                manifest = msgspec.json.decode(handle.read(), type=_Manifest)
        except (FileNotFoundError, msgspec.DecodeError):
            return {}
        if manifest.format != self._ending:
            raise AnalyzerError(
                f"{self._path} has {view} as {manifest.format}",
                f"add --format {manifest.format}, or name another folder",
            )
        return {day: mark for day, mark in manifest.days.items() if os.path.isfile(self._file(view, day))}

    def replace(
        self, view: str, marks: Mapping[str, DayMark], gone: Collection[str], frames: Iterator[tuple[str, pl.DataFrame]]
    ) -> None:
        """Write days and remove others.

        The manifest drops them first, and names them once they are there.
        """
        kept = {day: mark for day, mark in self.known(view).items() if day not in marks and day not in gone}
        with private_files():
            os.makedirs(os.path.join(self._path, view), exist_ok=True)
            self._write_manifest(view, kept)
            for day in gone:
                os.unlink(self._file(view, day))
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.dirname(self._file(view, day)))
            for day, frame in frames:
                os.makedirs(os.path.dirname(self._file(view, day)), exist_ok=True)
                _put(self._file(view, day), self._written(frame))
            self._write_manifest(view, {**kept, **marks})

    def _file(self, view: str, day: str) -> str:
        return os.path.join(self._path, view, f"day={day}", f"{view}.{self._ending}")

    def _manifest(self, view: str) -> str:
        """Return the path of a view's manifest.

        It is beside the view's folder, where some readers take every file for rows.
        """
        return os.path.join(self._path, f"{_LOCK}.{view}.json")

    def _write_manifest(self, view: str, days: Mapping[str, DayMark]) -> None:
        manifest = _Manifest(self._ending, dict(sorted(days.items())))
        _put(self._manifest(view), msgspec.json.format(msgspec.json.encode(manifest)))


def _put(path: str, content: bytes) -> None:
    """Write a file under a temporary name, then rename it, and wait until both are on the disk."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.partial")
    with open(temporary, "wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, path)
    sync(folder)
