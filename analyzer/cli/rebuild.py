"""`analyzer rebuild`: the store again, from logs and journal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import DEFAULT_STORE, result_options, store_option
from analyzer.cli.output import progress, report_problems, write
from analyzer.errors import UNREADABLE

if TYPE_CHECKING:
    from analyzer.store import Rebuild

SHOWN = 5
"""Vanished logs that the summary names."""


@click.command("rebuild")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_option()
@result_options("table", "json")
def command(
    paths: tuple[str, ...],
    store_path: str | None,
    row_format: str,
    as_json: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Make the store again from its journal and the logs it was made from, for a new version or a damaged file.

    The logs are those that the store knows; PATHs add logs that were renamed since. A store that cannot be opened knows
    none: name them all. What only the former store still has is carried over, and its sources are marked as vanished.
    The new store appears whole or not at all; the former one is kept beside it as FILE.before-rebuild, or the first
    such name that is free. A file that is no store is left alone.

    \b
      analyzer rebuild --store fleet.duckdb
      analyzer rebuild ~/.claude/projects telemetry/ --store fleet.duckdb
    """
    from analyzer.store import rebuild

    name = store_path or DEFAULT_STORE
    with progress(quiet=quiet) as shown:
        result = rebuild(name, paths, shown)
    report_problems(result.problems)
    if as_json or row_format == "json":
        from analyzer.report.escape import json_text

        write(json_text(result.to_dict()), output)
    else:
        write(_summary(result, name), output)
    return UNREADABLE if result.problems else 0


def _summary(result: Rebuild, store_path: str) -> str:
    """What there is now, what it was made from, what is missing."""
    from analyzer.report.cells import counted
    from analyzer.report.escape import terminal_safe

    met = f"{counted(result.events, 'event')} of {counted(result.sources, 'file')}"
    lines = [
        f"{met} → {terminal_safe(store_path)} in {result.seconds:.1f} s",
        f"  {counted(result.journal_events, 'event')} from the journal",
    ]
    if os.path.islink(store_path):
        lines.insert(1, f"  {terminal_safe(store_path)} is a link to {terminal_safe(result.store)}")
    if result.carried_events:
        lines.append(f"  {counted(result.carried_events, 'event')} that only the store before still had")
    if result.why:
        lines.append(f"The store before could not be read: {terminal_safe(result.why)}")
    if result.journal_damaged:
        lines.append(f"{counted(result.journal_damaged, 'line')} of the journal cannot be read.")
    if result.ruleset:
        lines.append(f"Active ruleset: {result.ruleset}")
    if result.unjudged:
        lines.append(f"{counted(result.unjudged, 'distinct error')} not judged by it: analyzer reclassify --apply")
    if result.vanished:
        lines.append(f"{counted(len(result.vanished), 'file')} no longer there; what was read of them is kept:")
        lines += [f"  {terminal_safe(path)}" for path in result.vanished[:SHOWN]]
    if len(result.vanished) > SHOWN:
        lines.append(
            f"  and {len(result.vanished) - SHOWN} more: analyzer sql \"from sources where status = 'vanished'\""
        )
    if result.aside:
        lines.append(f"The store before is kept as {terminal_safe(result.aside)}; delete it when all is well.")
    return "\n".join(lines)
