"""`analyzer reclassify`: history under other rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.options import DEFAULT_STORE, result_options, rules_option, store_option
from analyzer.cli.output import counting, write
from analyzer.errors import FINDINGS

if TYPE_CHECKING:
    from analyzer.store import Change, Reclassification

SHOWN = 12
"""Changed cells that the summary shows."""


@click.command("reclassify")
@store_option()
@rules_option
@click.option("--apply", is_flag=True, help="Keep the verdicts and make this ruleset the active one.")
@click.option(
    "--fail-on-change",
    type=click.IntRange(min=1),
    metavar="N",
    help="Exit with 1 when N errors or more change their reason.",
)
@result_options("table", "json")
def command(
    store_path: str | None,
    rules_path: str | None,
    apply: bool,
    fail_on_change: int | None,
    row_format: str,
    as_json: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Judge all history again with the rules as they are now, or with --rules FILE, and show what would change.

    A dry run unless --apply. Recorded reasons stay; with --apply the views' `reason` is the new verdict, and reports
    and queries follow it. Errors that were logged without facts keep the reason that they came with.

    \b
      analyzer reclassify --store fleet.duckdb
      analyzer reclassify --rules my-rules.toml --fail-on-change 1
      analyzer reclassify --apply
    """
    from analyzer.cli.settings import rules_in_use
    from analyzer.store import open_store

    rules_path = rules_in_use(rules_path)
    with (
        open_store(store_path or DEFAULT_STORE, writable=apply, create=False) as store,
        counting("facts", quiet=quiet) as shown,
    ):
        result = store.reclassify(rules_path, apply=apply, progress=shown)
    if as_json or row_format == "json":
        from analyzer.report.escape import json_text

        write(json_text(result.to_dict()), output)
    else:
        write(_summary(result), output)
    return FINDINGS if fail_on_change is not None and result.changed >= fail_on_change else 0


def _summary(result: Reclassification) -> str:
    """The verdict first, then the cells that changed, then what that does to recovery."""
    from analyzer.report.escape import terminal_safe

    share = f" ({result.changed / result.examined:.1%})" if result.examined else ""
    lines = [
        f"{result.changed:,} of {result.examined:,} errors change their reason{share} under ruleset {result.ruleset}.",
        "Applied: reports and queries show the new reasons." if result.applied else "A dry run; --apply makes it so.",
    ]
    if result.active not in {None, result.ruleset}:
        tense = "was" if result.applied else "is"
        lines.append(
            f"Another ruleset {tense} active, {result.active}: reports showed its verdicts, not the recorded ones."
        )
    if result.unknown_before is not None and result.unknown_after is not None:
        lines.append(
            f"Unknown share: {result.unknown_before:.1%} recorded, {result.unknown_after:.1%} by this ruleset."
        )
    if result.without_facts:
        lines.append(f"Without facts, and so with the reason that they came with: {result.without_facts:,}.")
    moved = [cell for cell in result.matrix if cell.before != cell.after]
    if moved:
        lines += ["", *_cells("recorded", "by this ruleset", moved[:SHOWN])]
    if len(moved) > SHOWN:
        lines.append(f"{len(moved) - SHOWN} more: --json, or analyzer query ruleset-matrix once it is applied")
    if result.actions:
        lines += ["", "What recovery would do differently:"]
        lines += [f"  {cell.count:>7,}  {terminal_safe(cell.before)} → {cell.after}" for cell in result.actions]
    same = sum(cell.count for cell in result.matrix if cell.before == cell.after)
    return "\n".join([*lines, "", f"{same:,} keep their reason."])


def _cells(before: str, after: str, cells: list[Change]) -> list[str]:
    from analyzer.report.escape import terminal_safe

    # A recorded reason is what a log says, and may be any text.
    names = [terminal_safe(cell.before) for cell in cells]
    width = max(len(before), *map(len, names))
    lines = [f"  {'errors':>7}  {before:{width}}    {after}"]
    for name, cell in zip(names, cells, strict=True):
        lines.append(f"  {cell.count:>7,}  {name:{width}}  → {cell.after}")
        for sample in cell.samples:
            shown = terminal_safe(" ".join(sample.split()))
            lines.append(f"             {shown if len(shown) <= 64 else shown[:63] + '…'}")
    return lines
