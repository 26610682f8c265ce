"""Read new logs with `analyzer ingest`, and list where agents keep theirs with `analyzer sources`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from analyzer.cli.options import (
    PathsCommand,
    json_option,
    result_options,
    store_path_option,
)
from analyzer.cli.output import Out, complain, report_problems
from analyzer.cli.stores import NamedStore, home_folder, places_here, read_logs, store_to_fill
from analyzer.command_lines import TABLE
from analyzer.errors import PARTIAL, UNREADABLE, AnalyzerError, InputError, StoreBusyError, system_text
from analyzer.readable import counted, terminal_safe

if TYPE_CHECKING:
    from analyzer.store import IngestResult, Problem

POLL_SECONDS = 2.0


@click.command("ingest", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_path_option(default=None)
@click.option("--follow", is_flag=True, help="Keep reading until interrupted.")
@click.option("--strict", is_flag=True, help="Exit with 4 if lines went to quarantine.")
@result_options("table", "json")
def ingest_command(paths: tuple[str, ...], store_path: str | None, follow: bool, strict: bool, out: Out) -> int:
    """Read new log lines into a store.

    \b
      analyzer ingest
      analyzer ingest ~/.claude/projects --store fleet.duckdb
      analyzer ingest 'logs/*.jsonl.gz' telemetry/ --json
      analyzer ingest delta:/lake/fleet --store fleet.duckdb

    PATHs are files, folders, patterns, shared tables (delta:PATH, see analyzer push), or - for standard input.
    Without PATHs it reads the logs of all agents on this machine. The content decides the format. Reading a file
    again adds nothing, and a file that has grown is continued. Lines that cannot be read go to quarantine. A
    journal beside the store keeps the events of other tools' logs, because those tools delete them after weeks.
    """
    from analyzer.report.store_work import ingest_document

    if follow and (strict or "-" in paths):
        raise AnalyzerError("--follow works without --strict and without -", "follow files or folders")
    store = NamedStore(store_path or store_to_fill(paths))
    if not paths:
        store.announce_logs(quiet=out.quiet)
    due = _due(store.name, paths) if follow else (lambda _: True)
    reported: list[Problem] = []
    result = None
    while True:
        if not due(result):
            time.sleep(POLL_SECONDS)
            continue
        try:
            with store.open_for_logs() as opened:
                result = read_logs(opened.ingest, paths, quiet=out.quiet or follow)
        except StoreBusyError:
            if not follow:
                raise
            result = None
            time.sleep(POLL_SECONDS)
            continue
        if result.problems != reported:
            report_problems(result.problems)
            reported = result.problems
        if not follow or result.total.events or result.total.quarantined:
            out.answer(result, partial(ingest_document, result, store.name, store.asking()), width=None)
        if not follow:
            break
        time.sleep(POLL_SECONDS)
    if strict and (result.total.quarantined or any(item.status == "damaged" for item in result.sources)):
        return PARTIAL
    return UNREADABLE if result.problems else 0


def _due(name: str, paths: tuple[str, ...]) -> Callable[[IngestResult | None], bool]:
    """Return a function that tells whether there may be something to read since a result.

    The function takes None if there is no result yet.
    """
    from analyzer.store import journal_of
    from analyzer.store.db.location import files_of
    from analyzer.store.following import Changes

    changes = Changes(
        [path for path in paths if not path.startswith(TABLE)] or ([] if paths else places_here()),
        [*files_of(name), *filter(None, [journal_of(name)])],
    )
    has_tables = any(path.startswith(TABLE) for path in paths)
    problems = changes.problems

    def due(result: IngestResult | None) -> bool:
        nonlocal problems
        changed, before, problems = bool(changes.changed()), problems, changes.problems
        # A line without an end is complete once its writer has gone, which changes no file.
        waits = result is None or result.problems or any(source.pending_bytes for source in result.sources)
        return bool(has_tables or waits or changed or before != problems)

    return due


@click.command("sources")
@store_path_option(default=store_to_fill)
@click.option(
    "--unknown",
    "unknown",
    metavar="FILE",
    help="Print keys and types of a file, without values, for an issue.",
)
@json_option
def sources_command(store_path: str, unknown: str | None, out: Out) -> int:
    """List the agents' logs on this machine, and what is new since the last ingest.

    \b
      analyzer sources
      analyzer sources --store fleet.duckdb --json
      analyzer sources --unknown strange.jsonl

    Logs are listed; the newest are looked at for types of records that are not known yet. Variables that move an
    agent's logs, such as $CODEX_HOME, are followed.
    """
    if unknown is not None:
        _tell_shape(unknown, out)
        return 0
    from analyzer.command_lines import Asking
    from analyzer.report.store_work import sources_document
    from analyzer.store.ingest.newer import newer_in

    survey = NamedStore(store_path).survey()
    newer = newer_in(survey.stocks)
    report_problems(survey.problems)
    usual = os.environ.get("ANALYZER_STORE") or store_to_fill()
    asking = Asking(None if store_path == usual else store_path)
    out.answer(
        {
            "schema": "analyzer.sources/1",
            "store": store_path,
            **survey.to_dict(),
            "newer": [{"agent": row.producer.name, "type": row.type, "count": row.count} for row in newer],
        },
        lambda: sources_document(survey, newer, store_path, home_folder(), asking),
        width=None,
    )
    named = click.get_current_context().get_parameter_source("store_path") is ParameterSource.COMMANDLINE
    is_missing = named and not store_path.startswith(TABLE) and not os.path.exists(store_path)
    if is_missing:
        complain(f"{store_path}: there is no such store yet, so everything counts as new")
    return UNREADABLE if survey.problems or is_missing else 0


def _tell_shape(path: str, out: Out) -> None:
    """Print the shape of a file, and the format that it is recognised as."""
    import sqlite3

    from analyzer.importers.formats import detect, newer
    from analyzer.importers.heads import HEAD_BYTES, head_of
    from analyzer.importers.shapes.record_types import newer_types, producer_of
    from analyzer.importers.shapes.skeleton import skeleton
    from analyzer.report.store_work import newer_words

    try:
        with open(path, "rb") as handle:
            head = head_of(handle.read(HEAD_BYTES))
        shapes = skeleton(head, path)
    except (OSError, sqlite3.Error) as error:
        reason = system_text(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{terminal_safe(path)}: cannot be read: {reason}", "name a file: --unknown FILE") from None
    kind = detect(head)
    later = newer(head, kind)
    version = f", version {later}: newer than what was looked at" if later else ""
    producer = producer_of(kind.name)
    types = newer_types(producer, head.elements or head.objects) if producer else {}
    about = [newer_words(producer, name, count) for name, count in types.items()] if producer else []
    lines = [f"{kind.title} ({kind.name}){version}", *about, *map(_shape_line, shapes)]
    content = {"schema": "analyzer.skeleton/1", "format": kind.name, "title": kind.title, "newer": later}
    new = [{"type": name, "count": count} for name, count in types.items()]
    out.answer({**content, "newer_types": new, "shapes": shapes}, lambda: "\n".join(lines))


def _shape_line(shape: Mapping[str, Any]) -> str:
    """Render a shape as a line."""
    name = shape.get("table") or counted(shape["count"], "record")
    return terminal_safe(f"{name}: {json.dumps(shape['shape'], ensure_ascii=False)}")
