"""`analyzer budget`: what is spent of a day's budget."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import chosen_window, result_options, selection_options, store_option
from analyzer.cli.output import Out, write
from analyzer.cli.stores import NamedStore
from analyzer.errors import FINDINGS

if TYPE_CHECKING:
    from analyzer.store import Selection


@click.command("budget")
@click.option("--daily", type=float, required=True, metavar="USD", help="US dollars a day.")
@click.option("--at", metavar="TIME", help="As of this time. Default: now.")
@click.option("--timezone", "-z", default="UTC", metavar="ZONE", help="Time zone of the day. Default UTC.")
@click.option("--stop", metavar="FILE", help="Write FILE while the budget is passed, for analyzer hook stop.")
@store_option
@selection_options
@result_options("table", "json", "markdown")
def command(
    daily: float, at: str | None, timezone: str, stop: str | None, store: NamedStore, only: Selection, out: Out
) -> int:
    """Compare today's cost with a budget; exit with 1 once it is passed.

    \b
      analyzer budget --daily 20 --project shop
      analyzer budget --daily 20 --stop ~/.analyzer-stop

    It warns from 80% on, and if the pace of the last hour would pass the budget today. The view usage has
    the costs. With --stop an agent whose hooks run analyzer hook stop FILE ends its turn.
    """
    from analyzer.analysis.budget import budget_state
    from analyzer.report.objectives import budget_document, budget_sentence

    moment = chosen_window(until=at, timezone=timezone).until
    with store.open_for_queries() as opened, opened.selecting(only):
        state = budget_state(opened, daily, moment, timezone)
    if stop and state.state == "passed":
        write(budget_sentence(state) + "\n", stop, option="--stop")
    elif stop and os.path.exists(stop):
        os.remove(stop)
    out.answer(state, lambda: budget_document(state, str(only)))
    return FINDINGS if state.state == "passed" else 0
