"""`analyzer ingest` reads what is new in logs into a store."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from analyzer.cli.machine import HERE, asking_of, make_room, read_into, store_to_fill, tell_found
from analyzer.cli.options import PathsCommand, master_option, result_options, store_option
from analyzer.cli.output import progress, report_problems, write
from analyzer.cli.stores import check_source, filling
from analyzer.command_lines import LAKE
from analyzer.errors import PARTIAL, UNREADABLE, AnalyzerError, StoreBusyError

if TYPE_CHECKING:
    from analyzer.store import IngestResult, Problem

POLL_SECONDS = 2.0


@click.command("ingest", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_option(default=None)
@master_option
@click.option("--follow", is_flag=True, help="Keep looking for new lines until interrupted.")
@click.option("--strict", is_flag=True, help="Exit with 4 when lines went to quarantine.")
@result_options("table", "json")
def command(
    paths: tuple[str, ...],
    store_path: str | None,
    master: str | None,
    follow: bool,
    strict: bool,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Read what is new in PATHs into a store: files, folders, patterns, or - for standard input.

    Without PATHs the logs of all agents on this machine are read (see analyzer sources); where no store is named, and
    none is here, into one for the whole machine.

    The format is told by the content. Reading the same logs again changes nothing: each event has an id, and each file
    is continued where reading stopped, under whatever name it has by then. Lines that cannot be read are kept in
    quarantine. Events derived from other tools' logs are kept in a journal beside the store, as those logs are
    deleted after weeks. Many machines may read into one lake (delta:PATH) at once.

    \b
      analyzer ingest
      analyzer ingest ~/.claude/projects --store fleet.duckdb
      analyzer ingest 'logs/*.jsonl.gz' telemetry/ --json
      analyzer ingest telemetry/ --store delta:/lake/fleet
      analyzer ingest /logs --store delta:/lake/fleet --master spark://head:7077
    """
    from analyzer.report.store_work import render_ingest

    if follow and (strict or "-" in paths):
        raise AnalyzerError("--follow goes with neither --strict nor -", "follow files or folders")
    name = store_path or (HERE if paths else store_to_fill())
    read = _reader(name, paths, master, quiet=quiet or follow)
    if not paths:
        tell_found(name, quiet=quiet)
        make_room(name)
    due = _due(name, paths) if follow else (lambda _: True)
    told: list[Problem] = []
    result = None
    while True:
        if not due(result):
            time.sleep(POLL_SECONDS)
            continue
        try:
            result = read()
        except StoreBusyError:
            if not follow:
                raise
            result = None
            time.sleep(POLL_SECONDS)
            continue
        if result.problems != told:
            report_problems(result.problems)
            told = result.problems
        if not follow or result.total.events or result.total.quarantined:
            content = result.to_dict() if row_format == "json" else render_ingest(result, name, asking_of(name))
            write(content, output)
        if not follow:
            break
        time.sleep(POLL_SECONDS)
    if strict and (result.total.quarantined or any(item.status == "damaged" for item in result.sources)):
        return PARTIAL
    return UNREADABLE if result.problems else 0


def _due(name: str, paths: tuple[str, ...]) -> Callable[[IngestResult | None], bool]:
    """A function that says whether there may be something to read since the last result; None: there is none yet."""
    from analyzer.cli.machine import places_here
    from analyzer.store import journal_of
    from analyzer.store.db.location import files_of
    from analyzer.store.following import Changes

    own = [] if name.startswith(LAKE) else [*files_of(name), *filter(None, [journal_of(name)])]
    changes = Changes(paths or places_here(), own)
    problems = changes.problems

    def due(result: IngestResult | None) -> bool:
        nonlocal problems
        changed, before, problems = bool(changes.changed()), problems, changes.problems
        # The end of a line may be told by nothing but that its writer has gone.
        waits = result is None or result.problems or any(source.pending_bytes for source in result.sources)
        return bool(waits or changed or before != problems)

    return due


def _reader(name: str, paths: tuple[str, ...], master: str | None, *, quiet: bool) -> Callable[[], IngestResult]:
    """A function that reads what is new into the store of this name, whichever engine it has."""
    lake = check_source(name, master, named=bool(paths))
    if lake is not None:
        if lake.master:
            from analyzer.lake.spark import ingest_by_executors as ingest_into
        else:
            from analyzer.lake.push import ingest_into

        def into_lake() -> IngestResult:
            if not paths:
                return read_into(partial(ingest_into, lake), quiet=quiet)
            with progress(quiet=quiet) as shown:
                return ingest_into(lake, paths, shown)

        return into_lake

    def into_file() -> IngestResult:
        with filling(name, None) as store:
            if not paths:
                return read_into(store.ingest, quiet=quiet)
            with progress(quiet=quiet) as shown:
                return store.ingest(paths, shown)

    return into_file
