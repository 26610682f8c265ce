"""`analyzer objectives`: how the objectives of analyzer.toml stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.inputs import objectives_in_use
from analyzer.cli.options import chosen_window, result_options, selection_options, store_option
from analyzer.cli.output import Out
from analyzer.cli.stores import NamedStore
from analyzer.errors import FINDINGS

if TYPE_CHECKING:
    from analyzer.store import Selection


@click.command("objectives")
@store_option
@click.option("--until", metavar="TIME", help="As of this time. Default: now.")
@selection_options
@result_options("table", "json", "markdown")
def command(store: NamedStore, until: str | None, only: Selection, out: Out) -> int:
    """Show how much of each objective's budget is left; exit with 1 if one is spent or burns fast.

    \b
      analyzer objectives --store fleet.duckdb
      analyzer objectives --json

    Objectives are in analyzer.toml: [objective] sessions_done = 0.95.
    """
    from analyzer.analysis.objectives import objective_states
    from analyzer.report.objectives import objectives_document

    objectives, at = objectives_in_use(), chosen_window(until=until).until
    with store.open_for_queries() as opened, opened.selecting(only):
        states = objective_states(opened, objectives, at)
    content = {"schema": "analyzer.objectives/1", "objectives": [state.to_dict() for state in states]}
    out.answer(content, lambda: objectives_document(states))
    return FINDINGS if any(state.is_missed or state.burns_fast for state in states) else 0
