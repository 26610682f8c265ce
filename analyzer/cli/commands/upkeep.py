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
    """Check a store, its journal, and FOLDERs that programs log events to.

    One line a check: ok, note (worth a word) or problem, with what to do about it. It looks for a store that does not
    open, locks and leftovers, torn and damaged lines, gaps in writers' counts, clocks that are wrong, logs that are
    gone, permissions, disk space, and file systems that cannot share a log; in a FOLDER two processes append lines for
    a moment, in a folder of their own, to see that all come out whole.

    \b
      analyzer doctor --store fleet.duckdb
      analyzer doctor telemetry/ --store fleet.duckdb --json
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
@click.option("--older-than", "older_than", required=True, metavar="SPAN", help="How much to keep: 90d, 26w.")
@click.option(
    "--files",
    is_flag=True,
    help="Delete files too: finished parts of event logs and of the journal that hold nothing newer.",
)
@click.option("--dry-run", "-n", is_flag=True, help="Say what would go, and delete nothing.")
@store_option
@result_options("table", "json")
def prune_command(older_than: str, files: bool, dry_run: bool, store: NamedStore, out: Out) -> None:
    """Delete events older than SPAN, counted from the last midnight UTC, and what quarantine holds of files that old.

    For good: neither a rebuild nor a log that comes late brings them back. What the analyzer decided stays, as do the
    figures of files that were read. With --files, parts of event logs (events-DAY.jsonl) and of the store's journal
    are deleted once their day is over, nobody has them open, all of them was read and none of it is newer; logs of
    other tools are never touched.

    \b
      analyzer prune --older-than 90d --dry-run --store fleet.duckdb
      analyzer prune --older-than 90d --files --store fleet.duckdb
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
    """List the lines that could not be read, by reason and file; or retry them.

    After an upgrade that reads more, or a repair of a file that kept every byte in its place, `retry` reads the same
    bytes again. Lines that can be read now leave quarantine and give their events, once. Files that are gone, or hold
    something else now, are left as they are. The lines themselves:
    analyzer query quarantine-lines

    \b
      analyzer quarantine --store fleet.duckdb
      analyzer quarantine retry --store fleet.duckdb --json
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
    """Make the store again from its journal and the logs it was made from, for a new version or a damaged file.

    The logs are those that the store knows; PATHs add logs that were renamed since. A store that cannot be opened knows
    none: name them all. What only the former store still has is carried over, and its sources are marked as vanished.
    The new store appears whole or not at all; the former one is kept beside it as FILE.before-rebuild, or the first
    such name that is free. A file that is no store is left alone.

    \b
      analyzer rebuild --store fleet.duckdb
      analyzer rebuild ~/.claude/projects telemetry/ --store fleet.duckdb
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
@click.option("--apply", is_flag=True, help="Keep the verdicts and make this ruleset the active one.")
@click.option(
    "--fail-on-change",
    type=click.IntRange(min=1),
    metavar="N",
    help="Exit with 1 when N errors or more change their reason.",
)
@result_options("table", "json")
def reclassify_command(
    store: NamedStore, rules_path: str | None, apply: bool, fail_on_change: int | None, out: Out
) -> int:
    """Judge all history again with the rules as they are now, or with --rules FILE, and show what would change.

    A dry run unless --apply. Recorded reasons stay; with --apply the views' `reason` is the new verdict, and reports
    and queries follow it. Errors that were logged without facts keep the reason that they came with.

    \b
      analyzer reclassify --store fleet.duckdb
      analyzer reclassify --rules my-rules.toml --fail-on-change 1
      analyzer reclassify --apply
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
