"""`analyzer compare` lays two windows, versions, models, projects or callers beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from analyzer.cli.machine import asking_of
from analyzer.cli.options import master_option, result_options, store_option, window_options
from analyzer.cli.output import narrate, text_layout, write
from analyzer.cli.stores import asked

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords


@click.command("compare")
@click.argument("dimension", required=False, metavar="[NAME=OLD..NEW]")
@store_option()
@master_option
@click.option("--before", metavar="WINDOW", help="The first window: 14d..7d, 2026-11-01..2026-11-08.")
@click.option("--after", metavar="WINDOW", help="The second one; default 7d, and --before the same length before it.")
@window_options
@click.option("--caller", metavar="NAME", help="Only the sessions of this caller.")
@result_options("table", "json", "markdown")
def command(
    dimension: str | None,
    store_path: str,
    master: str | None,
    before: str | None,
    after: str | None,
    words: WindowWords,
    caller: str | None,
    row_format: str,
    output: str | None,
    quiet: bool,
) -> int:
    """Compare two windows, or two versions, models, projects or callers: what became worse, what is noise.

    Sessions that began in each window stand beside each other: their errors by reason, retries, waits, failed tools and
    hand-offs, each with an interval, and what errors say on one side alone. NAME is agent, agent_version, model,
    provider, project, branch or caller; --last, --since and --until then hold for both sides.

    \b
      analyzer compare
      analyzer compare --before 2026-11-01..2026-11-08 --after 2026-11-08..
      analyzer compare agent_version=2.1.108..2.1.114 --last 30d
    """
    from analyzer.analysis.comparison import compare, dimension_values
    from analyzer.report.changes import comparison_document, comparison_verdict
    from analyzer.report.document import to_markdown, to_text

    by, values = dimension_values(dimension)
    with asked(store_path, master) as store:
        found = compare(store, before, after, by=by, values=values, caller=caller, **words)
    document = comparison_document(found, asking_of(store_path))
    if row_format == "json":
        write(found.to_dict(), output)
    elif row_format == "markdown":
        write(to_markdown(document), output)
    else:
        width, colour = text_layout(output)
        write(to_text(document, width, colour=colour), output)
    if output is not None:
        narrate(f"{output}: {comparison_verdict(found)}", quiet=quiet)
    return 0
