"""Keep a store in order: `analyzer doctor`, `prune`, `quarantine`, `rebuild` and `reclassify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.inputs import rules_in_use
from analyzer.cli.options import PathsCommand, result_options, rules_option, store_option
from analyzer.cli.output import Out, counting, progress, report_problems
from analyzer.cli.stores import NamedStore
from analyzer.errors import FINDINGS, UNREADABLE, AnalyzerError
from analyzer.report import FORMATS

if TYPE_CHECKING:
    from analyzer.report.document import Document

_KEEPS = "The store's file keeps its size; it is made smaller by:"


@click.command("doctor", cls=PathsCommand)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...")
@store_option
@result_options("table", "json")
def doctor_command(folders: tuple[str, ...], store: NamedStore, out: Out) -> int:
    """Check a store, its journal and log FOLDERs, and say how to fix problems.

    \b
      analyzer doctor --store fleet.duckdb
      analyzer doctor telemetry/ --store fleet.duckdb --json

    It looks for broken stores, locks, damaged lines, missing events, wrong clocks, missing logs, permissions, low
    disk space, and file systems that cannot share a log.
    """
    from analyzer.report.store_work import checks_document
    from analyzer.store import examine

    checks = examine(store.name, folders)
    problems = sum(check.state == "problem" for check in checks)
    shown = [check for check in checks if not out.quiet or check.state != "ok"]
    if out.form == "json" or shown or out.path or not out.quiet:
        content = {"schema": "analyzer.doctor/1", "problems": problems, "checks": [check.to_dict() for check in checks]}
        out.answer(content, lambda: checks_document(shown, problems), width=None)
    return FINDINGS if problems else 0


@click.command("prune")
@click.option("--older-than", "older_than", required=True, metavar="SPAN", help="What to keep: 90d, 26w.")
@click.option(
    "--files",
    is_flag=True,
    help="Also delete old files of event logs and journal.",
)
@click.option("--dry-run", "-n", is_flag=True, help="Only say what would go.")
@store_option
@result_options("table", "json")
def prune_command(older_than: str, files: bool, dry_run: bool, store: NamedStore, out: Out) -> None:
    """Delete events older than SPAN for good.

    \b
      analyzer prune --older-than 90d --dry-run --store fleet.duckdb
      analyzer prune --older-than 90d --files --store fleet.duckdb

    SPAN counts from the last midnight UTC. Neither a rebuild nor a late log brings the events back. Decisions
    stay. With --files it also deletes old files of event logs (events-DAY.jsonl) and of the journal, if they were
    read to the end and nothing newer is in them. Logs of other tools are never deleted.
    """
    from analyzer.report.store_work import prune_document
    from analyzer.store import kept_since

    before = kept_since(older_than)
    with store.open_for_queries() if dry_run else store.open_for_decisions() as opened:
        result = opened.prune(before, files=files, dry_run=dry_run)
    out.answer(result, lambda: prune_document(result, files=files), width=None)
    if out.form == "table" and result.done and result.events:
        out.narrate(f"{_KEEPS} {store.asking().command('rebuild')}")


@click.command("quarantine")
@click.argument("act", type=click.Choice(("list", "retry")), default="list", metavar="[list|retry]")
@store_option
@result_options(*FORMATS)
def quarantine_command(act: str, store: NamedStore, out: Out) -> None:
    """List the lines that could not be read, or read them again with retry.

    \b
      analyzer quarantine --store fleet.duckdb
      analyzer quarantine retry --store fleet.duckdb --json

    Retry after an upgrade, or after you repaired a file without moving its lines. To see the lines: analyzer query
    quarantine-lines
    """
    if act == "list":
        with store.open_for_queries() as opened:
            frame = opened.query("quarantine-reasons")
        out.rows(frame)
        return
    if out.form not in {"table", "json"}:
        raise AnalyzerError(f"retry has no rows to write as {out.form}", "write --format table or --json")
    from analyzer.report.store_work import retry_document

    with store.open_for_decisions() as opened:
        result = opened.retry_quarantine()
    out.answer(result, lambda: retry_document(result, store.asking()), width=None)


@click.command("rebuild", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_option
@result_options("table", "json")
def rebuild_command(paths: tuple[str, ...], store: NamedStore, out: Out) -> int:
    """Rebuild the store from its journal and logs, after an upgrade or damage.

    \b
      analyzer rebuild --store fleet.duckdb
      analyzer rebuild ~/.claude/projects telemetry/ --store fleet.duckdb

    It reads the logs that the store knows. Add PATHs for renamed logs; name all logs if the store cannot be
    opened. What only the old store has is copied. The old file is kept as FILE.before-rebuild.
    """
    from analyzer.report.store_work import rebuild_document
    from analyzer.store import rebuild

    with progress(quiet=out.quiet) as shown:
        result = rebuild(store.name, paths, shown)
    report_problems(result.problems)
    out.answer(result, lambda: rebuild_document(result, store.name, store.asking()), width=None)
    return UNREADABLE if result.problems else 0


@click.command("reclassify")
@store_option
@rules_option
@click.option("--apply", is_flag=True, help="Use the new reasons from now on.")
@click.option(
    "--fail-on-change",
    type=click.IntRange(min=1),
    metavar="N",
    help="Exit with 1 if N errors or more change.",
)
@result_options("table", "json")
def reclassify_command(
    store: NamedStore, rules_path: str | None, apply: bool, fail_on_change: int | None, out: Out
) -> int:
    """Classify all stored errors again with today's rules, and show what would change.

    \b
      analyzer reclassify --store fleet.duckdb
      analyzer reclassify --rules my-rules.toml --fail-on-change 1
      analyzer reclassify --apply

    Nothing changes without --apply. With it, reports and queries use the new reasons; the recorded ones are kept.
    Errors logged without facts keep their reason.
    """

    def document() -> Document:
        from analyzer.report.changes import reclassification_document

        return reclassification_document(result, store.asking())

    rules_path = rules_in_use(rules_path)
    with (
        store.open_for_decisions() if apply else store.open_for_queries() as opened,
        counting("facts", quiet=out.quiet) as shown,
    ):
        result = opened.reclassify(rules_path, apply=apply, progress=shown)
    out.answer(result, document)
    return FINDINGS if fail_on_change is not None and result.changed >= fail_on_change else 0
