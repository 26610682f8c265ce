"""`analyzer reclassify` judges history again, under the rules as they are now or under others."""

from __future__ import annotations

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import master_option, result_options, rules_option, store_option
from analyzer.cli.output import counting, write
from analyzer.cli.stores import asked, judging
from analyzer.errors import FINDINGS


@click.command("reclassify")
@store_option()
@master_option
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
    store_path: str,
    master: str | None,
    rules_path: str | None,
    apply: bool,
    fail_on_change: int | None,
    row_format: str,
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
      analyzer reclassify --apply --store delta:/lake/fleet
    """
    from analyzer.cli.settings import rules_in_use

    rules_path = rules_in_use(rules_path)
    opening = judging if apply else asked
    with opening(store_path, master) as store, counting("facts", quiet=quiet) as shown:
        result = store.reclassify(rules_path, apply=apply, progress=shown)
    if row_format == "json":
        write(result.to_dict(), output)
    else:
        from analyzer.report.changes import render_reclassification

        write(render_reclassification(result, asking_of(store_path)), output)
    return FINDINGS if fail_on_change is not None and result.changed >= fail_on_change else 0
