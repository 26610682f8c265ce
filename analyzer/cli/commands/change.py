"""`analyzer change`: write down what was changed, and list what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.options import chosen_window, result_options, store_option, window_options
from analyzer.cli.output import Out
from analyzer.cli.stores import NamedStore
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords


@click.command("change")
@click.argument("text", required=False)
@click.option("--at", metavar="TIME", help="When it was made: 2026-11-20, 2026-11-20T06:00, 2d. Default: now.")
@click.option("--expect", multiple=True, metavar="FIGURE=±N%", help="A change that you expect. May be repeated.")
@click.option("--by", metavar="NAME", help="Who made it. Default: your account.")
@click.option("--withdraw", metavar="ID", help="Withdraw a change that was written down by mistake.")
@store_option
@window_options
@result_options("table", "json", "markdown")
def command(
    text: str | None,
    at: str | None,
    expect: tuple[str, ...],
    by: str | None,
    withdraw: str | None,
    store: NamedStore,
    words: WindowWords,
    out: Out,
) -> None:
    """Write down a change, or list changes with what became of them.

    \b
      analyzer change "retries 5 to 3" --at 2026-11-20 --expect errors=-30%
      analyzer change
      analyzer change --last 30d --json

    Reports mark it on charts. After a week the list compares the seven days from then on with the seven before, as
    analyzer compare does. FIGURE is one of its figures.
    """
    from analyzer.analysis.changes import change_outcomes, expected_changes, note_change, withdraw_change
    from analyzer.analysis.tables import json_ready
    from analyzer.cli.commands.checking import account
    from analyzer.report.changes import change_outcomes_document
    from analyzer.report.document import Paragraph

    chosen = chosen_window(**words)
    if text is None:
        if at or expect or by:
            raise AnalyzerError("no change to write down", 'describe it: analyzer change "retries 5 to 3"')
        if withdraw:
            with store.open_for_decisions() as opened:
                out.narrate(f"withdrawn: {withdraw_change(opened, withdraw).text}")
        with store.open_for_queries() as opened:
            outcomes = change_outcomes(opened, chosen)
        content = {"schema": "analyzer.changes/1", "changes": [outcome.to_dict() for outcome in outcomes]}
        out.answer(content, lambda: change_outcomes_document(outcomes, store.asking()))
        return
    if withdraw or words.keys() - {"timezone"}:
        raise AnalyzerError("a change and options of the list", "leave out --withdraw, --since, --until and --last")
    expected = expected_changes(expect)
    moment = chosen_window(until=at, timezone=chosen.timezone).until if at else None
    with store.open_for_decisions() as opened:
        change = note_change(opened, text, moment, expected=expected, by=account() if by is None else by)
    content = {"schema": "analyzer.change/1", **json_ready(change)}
    out.answer(content, lambda: [Paragraph(f"{change.changed_at:%Y-%m-%d %H:%M} UTC: {change.text}")])
