"""`analyzer prices`: list the prices that requests cost, and compare them with other tables."""

from __future__ import annotations

from dataclasses import asdict

import click

from analyzer.cli.options import ListingGroup, json_option
from analyzer.cli.output import Out
from analyzer.errors import FINDINGS, InputError, system_text
from analyzer.readable import terminal_safe

_MOST_BYTES = 64 * 1024 * 1024


@click.group("prices", cls=ListingGroup)
def command() -> None:
    """List the list prices of models, and compare them with the tables of others.

    Requests of logs that state no cost cost what their tokens cost by this table (view usage, cost_basis listed). A
    model that is not in it has no price. Plans and discounts are not known to it.

    \b
      analyzer prices list
      analyzer prices check model_prices_and_context_window.json
    """


@command.command("list")
@json_option
def list_command(out: Out) -> None:
    """List what a million tokens of each model cost, in US dollars, from when on, and where that was read.

    \b
      analyzer prices list
      analyzer prices list --json
    """
    from analyzer.report.store_work import prices_document
    from analyzer.store.prices import prices

    rows = [{**asdict(price), "valid_from": str(price.valid_from or "") or None} for price in prices()]
    out.answer({"schema": "analyzer.prices-list/1", "prices": rows}, lambda: prices_document(prices()), width=None)


@command.command("check")
@click.argument("file")
@json_option
def check_command(file: str, out: Out) -> int:
    """Show where today's prices differ from those in FILE; exit 1 where any does.

    FILE is LiteLLM's model_prices_and_context_window.json or data.json of genai-prices. Nothing is fetched.

    \b
      analyzer prices check model_prices_and_context_window.json
    """
    from analyzer.config_files import opened
    from analyzer.report.store_work import differences_document
    from analyzer.store.prices import differences

    try:
        with opened(file) as handle:
            table = handle.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = system_text(error) if isinstance(error, OSError) else str(error)
        raise InputError(f"{terminal_safe(file)}: cannot be read: {reason}", "name a file of prices") from None
    different, compared = differences(table, terminal_safe(file))
    result = {"compared": compared, "differences": [asdict(difference) for difference in different]}
    out.answer(
        {"schema": "analyzer.prices-check/1", **result}, lambda: differences_document(different, compared), width=None
    )
    return FINDINGS if different else 0
