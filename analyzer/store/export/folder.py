"""A folder of files, one a view and UTC day, as `errors/day=2026-11-20/errors.parquet`.

Invariant: a file under its final name is whole, and holds what `_export.VIEW.json` says of its day; a day that
this file does not name is written again. Who dies on the way leaves at most a file whose name begins with a dot.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from analyzer.errors import FREE_SPACE, UNREADABLE, AnalyzerError
from analyzer.store.db.connection import private_files
from analyzer.store.db.lock import exclusive
from analyzer.store.db.replacement import sync
from analyzer.store.export.days import DayMark

if TYPE_CHECKING:
    import polars as pl

_LOCK = "_export"


class _Manifest(msgspec.Struct):
    format: str
    days: dict[str, DayMark]
    schema: str = "analyzer.export-days/1"


class Folder:
    """A target of days. `written` makes a file's bytes of the rows of a day."""

    def __init__(self, path: str, ending: str, written: Callable[[pl.DataFrame], bytes]) -> None:
        self._path, self._ending, self._written = os.path.abspath(path), ending, written

    @contextlib.contextmanager
    def opened(self) -> Iterator[Folder]:
        """Make the folder, and hold it: two that write into one would each take away what the other one wrote.

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
            failure = AnalyzerError(f"{self._path} cannot be written: {error.strerror}", FREE_SPACE)
            failure.exit_code = UNREADABLE
            raise failure from None

    def known(self, view: str) -> dict[str, DayMark]:
        """The days whose files are there.

        Raises:
            AnalyzerError: they are of another format.
        """
        try:
            with open(self._manifest(view), "rb") as handle:
                found = msgspec.json.decode(handle.read(), type=_Manifest)
        except (FileNotFoundError, msgspec.DecodeError):
            return {}
        if found.format != self._ending:
            raise AnalyzerError(
                f"{self._path} has {view} as {found.format}", f"add --format {found.format}, or name another folder"
            )
        return {day: mark for day, mark in found.days.items() if os.path.isfile(self._file(view, day))}

    def replace(
        self, view: str, marks: Mapping[str, DayMark], gone: Collection[str], frames: Iterator[tuple[str, pl.DataFrame]]
    ) -> None:
        """Write days and take others away; the manifest forgets them first, and names them once they are there."""
        kept = {day: mark for day, mark in self.known(view).items() if day not in marks and day not in gone}
        with private_files():
            os.makedirs(os.path.join(self._path, view), exist_ok=True)
            self._say(view, kept)
            for day in gone:
                os.unlink(self._file(view, day))
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.dirname(self._file(view, day)))
            for day, frame in frames:
                os.makedirs(os.path.dirname(self._file(view, day)), exist_ok=True)
                _put(self._file(view, day), self._written(frame))
            self._say(view, {**kept, **marks})

    def _file(self, view: str, day: str) -> str:
        return os.path.join(self._path, view, f"day={day}", f"{view}.{self._ending}")

    def _manifest(self, view: str) -> str:
        """Beside the folder of the view: not all readers of a folder pass over what is no file of rows."""
        return os.path.join(self._path, f"{_LOCK}.{view}.json")

    def _say(self, view: str, days: Mapping[str, DayMark]) -> None:
        known = _Manifest(self._ending, dict(sorted(days.items())))
        _put(self._manifest(view), msgspec.json.format(msgspec.json.encode(known)))


def _put(path: str, content: bytes) -> None:
    """Under a name that no reader looks at, then under its own, with both on the disk."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.partial")
    with open(temporary, "wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, path)
    sync(folder)
