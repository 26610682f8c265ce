"""`analyzer whatif`: try another retry policy, other rules or another model on history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.options import result_options, selection_options, store_option, window_options
from analyzer.cli.output import Out, counting
from analyzer.cli.stores import NamedStore
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords
    from analyzer.store import Selection


@click.group("whatif")
def command() -> None:
    """Try another retry policy, other rules or another model on history.

    \b
      analyzer whatif retry --attempts 3 --backoff 2..30
      analyzer whatif rules my-rules.toml
      analyzer whatif model claude-opus-4-5=claude-sonnet-4-5

    Nothing is changed. Each answer also says what history cannot tell.
    """


@command.command("retry")
@click.option("--attempts", type=int, required=True, metavar="N", help="Calls in all, the first included.")
@click.option(
    "--backoff", metavar="S..S", help="First wait, doubled up to the last, in seconds. Default: as they were."
)
@store_option
@window_options
@selection_options
@result_options("table", "json", "markdown")
def retry_command(
    attempts: int, backoff: str | None, store: NamedStore, words: WindowWords, only: Selection, out: Out
) -> None:
    """Replay chains of retries with fewer calls, or other waits.

    \b
      analyzer whatif retry --attempts 3
      analyzer whatif retry --attempts 4 --backoff 2..30 --caller planner

    It counts the recoveries that are kept and lost, and the waiting and US dollars that are saved, with 95%
    intervals.
    """
    from analyzer.analysis.whatif import whatif_retry
    from analyzer.report.changes import whatif_retry_document

    with store.open_for_queries() as opened, opened.selecting(only):
        result = whatif_retry(opened, attempts, backoff, **words)
    out.answer(result, lambda: whatif_retry_document(result))


@command.command("rules")
@click.argument("rules_path", metavar="FILE")
@store_option
@result_options("table", "json", "markdown")
def rules_command(rules_path: str, store: NamedStore, out: Out) -> None:
    """Classify all errors again with the rules of FILE; keep nothing.

    \b
      analyzer whatif rules my-rules.toml

    analyzer reclassify gives the same answer, and can also apply them.
    """
    from analyzer.report.changes import reclassification_document

    with store.open_for_queries() as opened, counting("facts", quiet=out.quiet) as shown:
        result = opened.reclassify(rules_path, progress=shown)
    out.answer(result, lambda: reclassification_document(result, store.asking()))


@command.command("model")
@click.argument("models", metavar="OLD=NEW")
@store_option
@window_options
@selection_options
@result_options("table", "json", "markdown")
def model_command(models: str, store: NamedStore, words: WindowWords, only: Selection, out: Out) -> None:
    """Price the requests to one model at the list prices of another.

    \b
      analyzer whatif model claude-opus-4-5=claude-sonnet-4-5 --last 30d
    """
    from analyzer.analysis.whatif import whatif_model
    from analyzer.report.changes import whatif_model_document

    model, equals, other = models.partition("=")
    if not (model and equals and other):
        raise AnalyzerError(f"not OLD=NEW: {models!r}", "write claude-opus-4-5=claude-sonnet-4-5")
    with store.open_for_queries() as opened, opened.selecting(only):
        result = whatif_model(opened, model, other, **words)
    out.answer(result, lambda: whatif_model_document(result))
