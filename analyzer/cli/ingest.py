"""`analyzer ingest`: logs into a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import DEFAULT_STORE, result_options, store_option
from analyzer.cli.output import progress, report_problems, write
from analyzer.errors import PARTIAL, UNREADABLE, AnalyzerError, StoreBusyError

if TYPE_CHECKING:
    from analyzer.store import IngestResult, Problem

POLL_SECONDS = 2.0


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@store_option()
@click.option("--follow", is_flag=True, help="Keep looking for new lines until interrupted.")
@click.option("--strict", is_flag=True, help="Exit with 4 when lines went to quarantine.")
@result_options("table", "json")
def command(
    paths: tuple[str, ...],
    store_path: str | None,
    follow: bool,
    strict: bool,
    row_format: str,
    as_json: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Read what is new in PATHs into a store: files, folders, patterns, or - for standard input.

    The format is told by the content. Reading the same logs again changes nothing: each event has an id, and each file
    is continued where reading stopped, under whatever name it has by then. Lines that cannot be read are kept in
    quarantine. Events derived from other tools' logs are kept in a journal beside the store, as those logs are
    deleted after weeks.

    \b
      analyzer ingest ~/.claude/projects --store fleet.duckdb
      analyzer ingest 'logs/*.jsonl.gz' telemetry/ --json
    """
    from analyzer.store import open_store

    if follow and (strict or "-" in paths):
        raise AnalyzerError("--follow goes with neither --strict nor -", "follow files or folders")
    name = store_path or DEFAULT_STORE
    as_json = as_json or row_format == "json"
    told: list[Problem] = []
    while True:
        try:
            with open_store(name, writable=True) as store, progress(quiet=quiet or follow) as shown:
                result = store.ingest(paths, shown)
        except StoreBusyError:
            if not follow:
                raise
            time.sleep(POLL_SECONDS)
            continue
        if result.problems != told:
            report_problems(result.problems)
            told = result.problems
        if not follow or result.total.events or result.total.quarantined:
            write(_json(result) if as_json else _summary(result, name), output)
        if not follow:
            break
        time.sleep(POLL_SECONDS)
    if strict and (result.total.quarantined or any(item.status == "damaged" for item in result.sources)):
        return PARTIAL
    return UNREADABLE if result.problems else 0


def _json(result: IngestResult) -> str:
    from analyzer.report.escape import json_text

    return json_text(result.to_dict())


def _summary(result: IngestResult, store_path: str) -> str:
    """A few lines for a person."""
    from analyzer.report.escape import terminal_safe

    total = result.total
    unread = sum(item.tally.skipped for item in result.sources if item.status == "unsupported")
    rate = total.bytes / 1e6 / result.seconds if result.seconds else 0.0
    met = f"{_counted(len(result.sources), 'file')}, {_counted(total.lines, 'new line')}"
    lines = [
        f"{met}, {_counted(total.events, 'new event')} → {terminal_safe(store_path)}",
        f"  {total.bytes / 1e6:,.1f} MB in {result.seconds:.1f} s ({rate:,.0f} MB/s)",
        "",
    ]
    figures = [
        ("gave events", total.event_lines, ""),
        ("duplicates", total.duplicates, "their events were here already"),
        ("in quarantine", total.quarantined, "see: analyzer query quarantine-lines" if total.quarantined else ""),
        ("blank", total.blank, ""),
        ("carry nothing", total.skipped - unread, "lines of other tools' logs that are not about failures"),
        ("not read", unread, "lines of files in formats that are not read, see below" if unread else ""),
    ]
    width = max(len(f"{count:,}") for _, count, _ in figures)
    lines += [f"  {count:>{width},}  {label:14} {note}".rstrip() for label, count, note in figures]
    if result.unchanged:
        lines.append(f"\n{_counted(result.unchanged, 'file')} had nothing new.")
    pending = sum(item.pending_bytes > 0 and item.status == "read" for item in result.sources)
    if pending:
        lines.append(f"{pending:,} unfinished last line{'s wait for their' if pending > 1 else ' waits for its'} end.")
    if result.pruned:
        lines.append(
            f"{_counted(result.pruned, 'new event')} left out: older than what this store keeps since a prune."
        )
    if result.unjudged:
        lines.append(
            f"{result.unjudged:,} new errors have no verdict of the active ruleset: analyzer reclassify --apply"
        )
    unsupported = result.unsupported()
    if unsupported:
        said = ", ".join(f"{name} ({count:,})" for name, count in sorted(unsupported.items()))
        lines.append(f"Not read yet, or no log, by format (files): {said}")
    return "\n".join(lines)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")
