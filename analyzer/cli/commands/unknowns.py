"""`analyzer unknowns` groups the errors that no rule knows by what they say, and drafts rules for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import (
    chosen_window,
    master_option,
    result_options,
    rules_option,
    selection_options,
    store_option,
    window_options,
)
from analyzer.cli.output import narrate, text_layout, write
from analyzer.cli.stores import asked
from analyzer.errors import USAGE, AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords
    from analyzer.store import Selection


@click.command("unknowns")
@click.argument("fingerprints", nargs=-1, metavar="[FINGERPRINT]...")
@store_option()
@master_option
@rules_option
@window_options
@selection_options
@click.option("--limit", type=click.IntRange(min=0), default=20, help="Groups at most; 0: all. Default 20.")
@click.option("--suggest", is_flag=True, help="Draft a rule for each group, as the text of a rules file.")
@result_options("table", "json")
def command(
    fingerprints: tuple[str, ...],
    store_path: str,
    master: str | None,
    rules_path: str | None,
    words: WindowWords,
    only: Selection,
    limit: int,
    suggest: bool,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Group the unknown errors by what they say, and show what each group is nearest to.

    Texts that differ in values alone are one group. Those in most sessions come first. FINGERPRINTs name the groups to
    show. With --suggest the answer is a file of drafted rules; one without evidence for a reason is commented out.

    \b
      analyzer unknowns --last 7d
      analyzer unknowns --suggest --output draft.toml
      analyzer rules backtest --rules draft.toml --store fleet.duckdb
    """
    from dataclasses import replace

    from analyzer.analysis.rules.unknowns import unknowns
    from analyzer.classifier.rules.loading import ruleset_for
    from analyzer.cli.settings import rules_in_use

    rules = ruleset_for(rules_in_use(rules_path))
    chosen = chosen_window(**words)
    with asked(store_path, master) as store, store.selecting(only):
        found = unknowns(
            store,
            chosen,
            limit=None if fingerprints or not limit else limit,
            suggest=suggest,
            rules=rules,
        )
    if fingerprints:
        known = [group.fingerprint for group in found.groups]
        for wanted in fingerprints:
            if wanted not in known:
                failure = AnalyzerError.unknown_value("group", wanted, known)
                failure.exit_code = USAGE
                raise failure
        found = replace(found, groups=tuple(group for group in found.groups if group.fingerprint in fingerprints))
    if row_format == "json":
        write(found.to_dict(), output)
    elif suggest:
        from analyzer.report.unknowns import render_rules

        write(render_rules(found), output)
        if output is not None:
            ready = sum(group.suggestion is not None and group.suggestion.ready for group in found.groups)
            narrate(f"{output}: rules for {ready} of {len(found.groups)} groups; the others need a reason", quiet=quiet)
    else:
        from analyzer.report.unknowns import render_unknowns

        width, _ = text_layout(output)
        write(render_unknowns(found, width, asking_of(store_path)), output)
    return 0
