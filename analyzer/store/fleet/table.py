"""The shared table: one row per event line, in folders by day; each commit appends a part.

`deltalake` commits, tries again when others commit at once, and refuses two commits at once of one application. It is
an optional extra, so this module is loaded only for a name that begins with `delta:`.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING

from analyzer.command_lines import TABLE, command_line
from analyzer.errors import AnalyzerError, StoreError
from analyzer.frozen import frozen
from analyzer.store.db.connection import private_files

if TYPE_CHECKING:
    import polars as pl
    from deltalake import DeltaTable, Schema

SCHEMA = {"day": "Date", "event_id": "String", "host": "String", "source": "String", "line": "String"}
"""The columns: the UTC day and the id of the event, the machine and the path of its log, and the event as a line."""
_REMOTE = ("s3://", "s3a://", "gs://", "abfs://", "abfss://")
_EXTRA = "deltalake"
_FORMER = "event_v1"
"""The folder in which lakes of releases up to 0.2 keep their events."""
_RETRIES = 100
"""Times that a commit is tried again because others were first; one try takes some 10 ms."""
_MISREAD = re.compile(r"%[0-9A-Fa-f]{2}|[][{}*?\\]")
"""Characters that an address escapes, or that stand for many files."""
_MARKS = re.compile(r"\x1b\[[0-9]+m|↳")
_FRAME = re.compile(r"^ *[0-9]+: ")


class TableError(StoreError):
    """The table cannot be reached, read or written."""


class TwiceError(Exception):
    """Another process of the same application has committed meanwhile."""


@frozen
class EventTable:
    """A shared table of event lines, which may not exist yet."""

    path: str
    """An absolute path, or an address such as `s3://bucket/path`."""

    def opened(self, *, create: bool = False) -> DeltaTable:
        """Open the table as its last commit left it; with `create` make it if it is missing.

        Raises:
            TableError: there is none, or something else, or it cannot be reached, read or made.
        """
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        with self._errors("opened"):
            try:
                table = DeltaTable(self.path)
            except TableNotFoundError:
                self._refuse_former()
                if not create:
                    hint = f"fill it on each machine: {command_line('push', 'PATH...', '--to', f'{TABLE}{self.path}')}"
                    raise TableError(f"there is no table of events at {self.path}", hint) from None
                try:
                    with private_files():
                        table = DeltaTable.create(self.path, _schema(), partition_by=["day"])
                except DeltaError:
                    table = DeltaTable(self.path)  # another machine has made it meanwhile
            if not SCHEMA.keys() <= {field.name for field in table.schema().fields}:
                raise TableError(f"{self.path} is a Delta table of something else", "name another folder")
        return table

    def append(self, table: DeltaTable, rows: pl.DataFrame, writer: str, part: int) -> None:
        """Append rows in one commit that also sets the number of the writer's last part.

        Raises:
            TwiceError: another process has set that number since the table was opened.
            TableError: the rows cannot be written; none of them is in the table.
        """
        from deltalake import CommitProperties, Transaction, write_deltalake
        from deltalake.exceptions import CommitFailedError

        properties = CommitProperties(max_commit_retries=_RETRIES, app_transactions=[Transaction(writer, part)])
        with self._errors("written"), private_files():
            try:
                write_deltalake(table, rows, mode="append", commit_properties=properties)
            except CommitFailedError as error:
                if "Concurrent transaction" in str(error):
                    raise TwiceError from None
                raise

    def column(self, name: str, files: Collection[str]) -> pl.Series:
        """Read a column of some of the table's files.

        Raises:
            TableError: a file is damaged, missing or cannot be reached.
        """
        import polars as pl

        if not files:
            return pl.Series(name, dtype=pl.String)
        with self._errors("read"):
            return pl.scan_parquet(list(files), hive_partitioning=False).select(name).collect().to_series()

    def _refuse_former(self) -> None:
        from deltalake import DeltaTable

        if DeltaTable.is_deltatable(f"{self.path}/{_FORMER}"):
            move = command_line("push", "--from-lake", f"{TABLE}{self.path}", "--to", f"{TABLE}PATH")
            raise TableError(f"{self.path} is a lake of an earlier release", f"bring its events into a table: {move}")

    @contextmanager
    def _errors(self, act: str) -> Iterator[None]:
        """Translate errors of Delta, of its files and of the storage."""
        from deltalake.exceptions import DeltaError
        from polars.exceptions import PolarsError

        try:
            yield
        except (DeltaError, PolarsError, OSError) as error:
            hint = (
                "check its name and its settings, such as AWS_REGION and AWS_ENDPOINT_URL"
                if "://" in self.path
                else "check its permissions and the disk; bring back a damaged or missing file from a copy"
            )
            message = f"the table of events at {self.path} cannot be {act}: {message_of(error)}"
            raise TableError(message, f"{hint}: see docs/how-to/fleet.md") from None


def table_named(name: str) -> EventTable:
    """Return the table that `delta:PATH` names, whether it is there or not.

    Raises:
        AnalyzerError: the name holds no path, or one that Delta would read as another.
        StoreError: the extra is not installed.
    """
    named = name.removeprefix(TABLE)
    if not name.startswith(TABLE) or not named.strip("/"):
        raise AnalyzerError(f"{name!r} names no table", "write delta:/path/of/table, or delta:s3://bucket/path")
    remote = named.startswith(_REMOTE)
    if "://" in named and not remote:
        raise AnalyzerError(f"{name!r}: no object store of this kind is known", f"known: {', '.join(_REMOTE)}")
    path = named.rstrip("/") if remote else os.path.realpath(os.path.expanduser(named))
    if not remote and (odd := _MISREAD.search(path)):
        message = f"{odd[0]!r} in the path {path} means something else to Delta"
        raise AnalyzerError(message, "name a folder without it")
    if importlib.util.find_spec(_EXTRA) is None:
        hint = "install it: pip install 'agent-error-analyzer[lake]'"
        raise StoreError(f"a shared table needs {_EXTRA}, not installed here", hint)
    return EventTable(path)


def message_of(error: Exception) -> str:
    """Return the message of Delta or the storage in one line, without colours and the addresses of its code."""
    lines = takewhile(lambda line: not _FRAME.match(line), _MARKS.sub("", str(error)).splitlines())
    return " ".join(" ".join(lines).split())[:300] or type(error).__name__


def _schema() -> Schema:
    from deltalake import Field, Schema
    from deltalake.schema import PrimitiveType

    return Schema([Field(name, PrimitiveType(kind.lower()), nullable=True) for name, kind in SCHEMA.items()])
