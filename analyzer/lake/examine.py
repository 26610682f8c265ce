"""Is everything in order with a lake? Its tables and files, who writes it, its rules, and what its rows say.

Nothing is changed. All but the rows is asked without Spark. Whether logs are gone is not asked: they are on many
machines, of which this one need see none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.fs import FileSelector, FileType

from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake.files import check_version, filesystem, lake_errors, opened, settings
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import PREFIX, Lake, NoLakeError
from analyzer.lake.session import own_views, require, session
from analyzer.lake.writing.judging import kept_filter, rules_at_hand
from analyzer.lake.writing.lease import held
from analyzer.lake.writing.ledger import APP, LAST
from analyzer.lake.writing.opening import STAGING
from analyzer.phrases import counted
from analyzer.store.doctor.checks import Check, listed, loose_modes, megabytes, ruleset_check, space_check
from analyzer.store.doctor.folder_checks import folder_checks
from analyzer.store.doctor.source_checks import content_checks

if TYPE_CHECKING:
    from collections.abc import Mapping

SMALL_BYTES = 16 * 1024 * 1024
"""A file of less than this is small to Spark, which opens each of them."""
MANY_FILES = 1000
"""So many small files of one table are worth a compaction."""
_ON_UPKEEP = "see docs/how-to/fleet.md, Compaction and vacuum"
_BACK = "bring it back from a copy, or make the lake again: analyzer rebuild PATH... --store"


def examine(lake: Lake, folders: Iterable[str] = ()) -> list[Check]:
    """All checks of a lake and of log folders that this machine sees."""
    checks = list(_lake(lake))
    for folder in folders:
        checks += folder_checks(folder)
    return checks


def _lake(lake: Lake) -> Iterator[Check]:
    try:
        check_version(lake)
    except NoLakeError as error:
        yield Check("store", "note", error.message, f"make one: analyzer ingest PATH --store {PREFIX}{lake.path}")
        return
    except StoreError as error:
        yield Check("store", "problem", error.message, error.hint)
        return
    try:
        writer = held(lake.path, dict(lake.storage))
    except StoreError as error:
        yield Check("lock", "problem", error.message, error.hint)
        writer = None
    else:
        yield _lock(writer)
    if not lake.remote:
        yield loose_modes("permissions of the lake", [lake.path])
    found = _Files(lake)
    yield from found.checks()
    if found.broken:
        yield Check("rows", "note", "not looked into: tables are broken", "run it again when they are mended")
        return
    if writer is None:
        yield from _told("batches", _leftovers(lake))
    if not lake.remote:
        yield space_check(lake.path, found.size)
    yield from _told("ruleset", _ruleset(lake))
    yield from _told("rows", _rows(lake))


def _told(name: str, checks: Iterator[Check]) -> Iterator[Check]:
    """Checks, and the error that ends them as one of them."""
    try:
        yield from checks
    except AnalyzerError as error:
        yield Check(name, "problem", error.message, error.hint)


def _lock(writer: tuple[str, bool] | None) -> Check:
    if writer is None:
        return Check("lock", "ok", "nobody is writing")
    who, alive = writer
    if alive:
        return Check("lock", "note", f"{who} is writing", "wait, or look at that process if it takes too long")
    said = f"{who} died while it wrote; nobody sees anything of what it left unfinished"
    return Check("lock", "note", said, "run the same command again: whoever writes next takes that back")


class _Files:
    """The files that the tables of a lake name, beside those that are there."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
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
        """What there is to say of them."""
        if self.broken:
            yield from self.broken
            return
        said = f"{counted(len(tables()), 'table')} of {counted(self._count, 'file')}, {megabytes(self.size)}, all there"
        yield Check("store", "ok", said)
        many = [f"{name} ({count:,})" for name, count in self._small.items() if count > MANY_FILES]
        if many:
            yield Check(
                "files", "note", f"many small files slow every answer: {listed(many)}", f"compact; {_ON_UPKEEP}"
            )
        else:
            yield Check("files", "ok", f"no table has more than {MANY_FILES:,} small ones")
        said = f"{megabytes(self._unnamed)} in files that no commit names any more"
        if self._unnamed > self.size:
            yield Check("past", "note", said, f"vacuum; {_ON_UPKEEP}")
        else:
            yield Check("past", "ok", said)

    def _look(self, name: str) -> None:
        table = opened(self._lake, name)
        with lake_errors(self._lake):
            actions = pa.table(table.get_add_actions(flatten=True))
            named = dict(zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True))
            there = {
                one.path: one.size
                for one in filesystem(self._lake, name).get_file_info(FileSelector("", recursive=True))
                if one.type == FileType.File and not one.path.startswith("_")
            }
        self._compare(name, named, there)
        self._count += len(named)
        self.size += sum(named.values())
        self._unnamed += sum(size for path, size in there.items() if path not in named)
        self._small[name] = sum(size < SMALL_BYTES for size in named.values())

    def _compare(self, name: str, named: Mapping[str, int], there: Mapping[str, int]) -> None:
        todo = f"{_BACK} {PREFIX}{self._lake.path}"
        if missing := sorted(named.keys() - there.keys()):
            said = f"{counted(len(missing), 'file')} of {self._lake.table(name)} missing: {listed(missing)}"
            self._problem(said, todo)
        if torn := sorted(path for path, size in named.items() if there.get(path, size) != size):
            said = f"{counted(len(torn), 'file')} of {self._lake.table(name)} cut off or changed: {listed(torn)}"
            self._problem(said, todo)

    def _problem(self, said: str, todo: str) -> None:
        self.broken.append(Check("store", "problem", said, todo))


def _leftovers(lake: Lake) -> Iterator[Check]:
    with lake_errors(lake):
        numbers = {
            name: DeltaTable(lake.table(name), storage_options=dict(lake.storage) or None).transaction_version(APP) or 0
            for name in tables()
        }
    late = [name for name, number in numbers.items() if number > numbers[LAST]]
    if late:
        said = f"a batch was left unfinished in {listed(late)}; nobody sees anything of it"
        yield Check("batches", "note", said, "nothing: whoever writes next takes it back")
    else:
        yield Check("batches", "ok", "none was left unfinished")
    if not lake.remote and os.path.isdir(lake.table(STAGING)):
        said = f"{lake.table(STAGING)} is left of a process that died"
        yield Check("staging", "note", said, "nothing: the next ingest deletes it")


def _ruleset(lake: Lake) -> Iterator[Check]:
    known = settings(lake)
    digest = known.get("active_ruleset")
    if digest is None:
        return
    with lake_errors(lake):
        kept = opened(lake, JOURNAL).to_pyarrow_table(filters=kept_filter(digest))["line"].to_pylist()
    yield ruleset_check(digest, at_hand=rules_at_hand(kept, known.get("active_rules"), digest) is not None)


def _rows(lake: Lake) -> Iterator[Check]:
    from analyzer.lake.answers import Answers

    require(lake)
    answers = Answers(own_views(session(lake)), lake)
    yield from content_checks(lambda sql, given: answers.rows(sql, given, {}).rows(), "analyzer rebuild")
