"""Checks of a lake: its tables and files, its writers, its rules and its rows.

Nothing is changed. Whether logs are gone is not asked: they are on many machines, of which this one need see none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from pyarrow.fs import FileSelector, FileType

from analyzer.command_lines import LAKE, command_line
from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake.batch import settings
from analyzer.lake.connection import connected, snapshot
from analyzer.lake.former import current
from analyzer.lake.layout import GONE, filesystem, table_errors, tables
from analyzer.lake.location import Lake, NoLakeError
from analyzer.lake.log import State, alive, description_of, named
from analyzer.lake.upkeep import ruleset_at_hand
from analyzer.readable import counted
from analyzer.store.doctor.checks import (
    Check,
    content_checks,
    listed,
    loose_modes,
    megabytes,
    ruleset_check,
    space_check,
)
from analyzer.store.doctor.examine import folder_checks

SMALL_BYTES = 16 * 1024 * 1024
"""A file of less than this is small: each of them is opened."""
MANY_FILES = 1000
"""So many small files of one table are worth a compaction."""
_ON_UPKEEP = "see docs/how-to/fleet.md, Compaction and vacuum"


def examine(lake: Lake, folders: Iterable[str] = ()) -> list[Check]:
    """Run all checks of a lake and of log folders that this machine sees."""
    checks = list(_lake(lake))
    for folder in folders:
        checks += folder_checks(folder)
    return checks


def _lake(lake: Lake) -> Iterator[Check]:
    try:
        at = current(lake)
    except NoLakeError as error:
        yield Check("store", "note", error.message, f"make one: analyzer ingest PATH --store {LAKE}{lake.path}")
        return
    except StoreError as error:
        yield Check("store", "problem", error.message, error.hint)
        return
    yield _lock(at.lease)
    if not lake.remote:
        yield loose_modes("permissions of the lake", [lake.path])
    found = _Files(lake, at)
    yield from found.checks()
    if found.broken:
        yield Check("rows", "note", "not looked into: tables are broken", "run it again when they are mended")
        return
    if not lake.remote:
        yield space_check(lake.path, found.size)
    yield from _checked("ruleset", _ruleset(lake, at))
    yield from _checked("rows", _rows(lake))


def _checked(name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """Pass checks on; an error that ends them becomes the last one."""
    try:
        yield from checks
    except AnalyzerError as error:
        yield Check(name, "problem", error.message, error.hint)


def _lock(lease: Mapping[str, Any] | None) -> Check:
    if lease is None:
        return Check("lock", "ok", "nobody holds it")
    if alive(lease):
        message = f"{description_of(lease)} decides, or changes what is there; others add logs meanwhile"
        return Check("lock", "note", message, "wait, or look at that process if it takes too long")
    message = f"{named(lease)} died while it held the lease; nobody sees anything of what it left unfinished"
    return Check("lock", "note", message, "nothing: who writes next takes the lease over")


class _Files:
    """Compares the files that the tables of a lake name with those that are there."""

    def __init__(self, lake: Lake, at: State) -> None:
        self._lake, self._at = lake, at
        self.broken: list[Check] = []
        self.size = 0
        self._count = self._unnamed = 0
        self._small: dict[str, int] = {}
        for name in tables():
            try:
                self._look(name)
            except StoreError as error:
                self._problem(error.message, error.hint)

    def checks(self) -> Iterator[Check]:
        """Return the checks of the files."""
        if self.broken:
            yield from self.broken
            return
        message = (
            f"{counted(len(tables()), 'table')} of {counted(self._count, 'file')}, {megabytes(self.size)}, all there"
        )
        yield Check("store", "ok", message)
        many = [f"{name} ({count:,})" for name, count in self._small.items() if count > MANY_FILES]
        if many:
            yield Check(
                "files", "note", f"many small files slow every answer: {listed(many)}", f"compact; {_ON_UPKEEP}"
            )
        else:
            yield Check("files", "ok", f"no table has more than {MANY_FILES:,} small ones")
        message = f"{megabytes(self._unnamed)} in files that no commit names any more"
        if self._unnamed > self.size:
            yield Check("past", "note", message, f"vacuum; {_ON_UPKEEP}")
        else:
            yield Check("past", "ok", message)

    def _look(self, name: str) -> None:
        named = {one.path: one.size for one in self._at.files[name].values()}
        with table_errors(self._lake, name):
            there = {
                one.path.lstrip("/"): one.size
                for one in filesystem(self._lake, name).get_file_info(FileSelector("", recursive=True))
                if one.type == FileType.File and "_delta_log" not in one.path
            }
        self._compare(name, named, there)
        self._count += len(named)
        self.size += sum(named.values())
        self._unnamed += sum(size for path, size in there.items() if path not in named)
        self._small[name] = sum(size < SMALL_BYTES for size in named.values())

    def _compare(self, name: str, named: Mapping[str, int], there: Mapping[str, int]) -> None:
        todo = f"{GONE} {LAKE}{self._lake.path}"
        if missing := sorted(named.keys() - there.keys()):
            message = f"{counted(len(missing), 'file')} of {self._lake.table(name)} missing: {listed(missing)}"
            self._problem(message, todo)
        if torn := sorted(path for path, size in named.items() if there.get(path, size) != size):
            message = f"{counted(len(torn), 'file')} of {self._lake.table(name)} cut off or changed: {listed(torn)}"
            self._problem(message, todo)

    def _problem(self, message: str, todo: str) -> None:
        self.broken.append(Check("store", "problem", message, todo))


def _ruleset(lake: Lake, at: State) -> Iterator[Check]:
    digest = settings(lake, at).get("active_ruleset")
    if digest is not None:
        yield ruleset_check(digest, at_hand=ruleset_at_hand(lake, at) is not None)


def _rows(lake: Lake) -> Iterator[Check]:
    with closing(connected(snapshot(lake))) as connection:
        yield from content_checks(
            lambda sql, given: connection.execute(sql, given).fetchall(),
            command_line("quarantine", "retry", store=f"{LAKE}{lake.path}"),
        )
