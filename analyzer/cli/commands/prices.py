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
    """List the prices of models, and compare them with other tables.

    \b
      analyzer prices list
      analyzer prices check model_prices_and_context_window.json

    If a log has tokens and no cost, this table gives the cost (view usage, cost_basis listed). It knows no plans
    and no discounts. A model that is missing has no price.
    """


@command.command("list")
@json_option
def list_command(out: Out) -> None:
    """List what a million tokens of each model cost, since when, and the source.

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
    """Show where today's prices differ from those in FILE; exit with 1 if any differs.

    \b
      analyzer prices check model_prices_and_context_window.json

    FILE is LiteLLM's model_prices_and_context_window.json or data.json of genai-prices. Nothing is downloaded.
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
