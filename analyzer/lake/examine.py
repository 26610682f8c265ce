"""Check a lake: its tables and files, its writers, its rules and its rows.

Nothing is changed. Missing logs are not checked: they are on many machines, and this one may see
none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from pyarrow.fs import FileSelector, FileType

from analyzer.command_lines import LAKE, command_line
from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake.batch import settings
from analyzer.lake.former import current
from analyzer.lake.layout import GONE, filesystem, table_errors, tables
from analyzer.lake.location import Lake, NoLakeError
from analyzer.lake.log import State, alive, description_of, named
from analyzer.lake.store import active_rules, connected, snapshot
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

SMALL_BYTES = 16 * 1024 * 1024
"""A smaller file counts as small; every answer opens each of them."""
MANY_FILES = 1000
"""If a table has more small files than this, a compaction pays off."""
_ON_UPKEEP = "see docs/how-to/fleet.md, Compaction and vacuum"


def examine(lake: Lake) -> list[Check]:
    """Run all checks of a lake."""
    return list(_lake(lake))


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
    checks, size = _files(lake, at)
    yield from checks
    if size is None:
        yield Check("rows", "note", "not looked into: tables are broken", "run it again when they are mended")
        return
    if not lake.remote:
        yield space_check(lake.path, size)
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


def _files(lake: Lake, at: State) -> tuple[list[Check], int | None]:
    """Compare the files that tables name with those that exist; return the checks and the bytes.

    The bytes are None if a table is broken.
    """
    problems, small = [], {}
    count = size = unnamed = 0
    for name in tables():
        files = {file.path: file.size for file in at.files[name].values()}
        try:
            with table_errors(lake, name):
                sizes = {
                    file.path.lstrip("/"): file.size
                    for file in filesystem(lake, name).get_file_info(FileSelector("", recursive=True))
                    if file.type == FileType.File and "_delta_log" not in file.path
                }
        except StoreError as error:
            problems.append(Check("store", "problem", error.message, error.hint))
            continue
        changed = sorted(path for path in files.keys() & sizes.keys() if sizes[path] != files[path])
        for what, paths in (("missing", sorted(files.keys() - sizes.keys())), ("cut off or changed", changed)):
            if paths:
                message = f"{counted(len(paths), 'file')} of {lake.table(name)} {what}: {listed(paths)}"
                problems.append(Check("store", "problem", message, f"{GONE} {LAKE}{lake.path}"))
        count += len(files)
        size += sum(files.values())
        unnamed += sum(sizes[path] for path in sizes.keys() - files.keys())
        small[name] = sum(length < SMALL_BYTES for length in files.values())
    if problems:
        return problems, None
    message = f"{counted(len(small), 'table')} of {counted(count, 'file')}, {megabytes(size)}, all there"
    checks = [Check("store", "ok", message)]
    if many := [f"{name} ({number:,})" for name, number in small.items() if number > MANY_FILES]:
        message = f"many small files slow every answer: {listed(many)}"
        checks.append(Check("files", "note", message, f"compact; {_ON_UPKEEP}"))
    else:
        checks.append(Check("files", "ok", f"no table has more than {MANY_FILES:,} small ones"))
    message = f"{megabytes(unnamed)} in files that no commit names any more"
    past = Check("past", "note", message, f"vacuum; {_ON_UPKEEP}") if unnamed > size else Check("past", "ok", message)
    return [*checks, past], size


def _ruleset(lake: Lake, at: State) -> Iterator[Check]:
    digest = settings(lake, at).get("active_ruleset")
    if digest is not None:
        yield ruleset_check(digest, at_hand=active_rules(lake, at) is not None)


def _rows(lake: Lake) -> Iterator[Check]:
    with closing(connected(snapshot(lake))) as connection:
        yield from content_checks(
            lambda sql, parameters: connection.execute(sql, parameters).fetchall(),
            command_line("quarantine", "retry", store=f"{LAKE}{lake.path}"),
        )
