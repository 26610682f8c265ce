"""`analyzer report` reads logs or a store, and writes a summary, an HTML file, Markdown or JSON."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from analyzer.cli.options import (
    DEFAULT_STORE,
    chosen_window,
    quiet_option,
    selection_options,
    store_option,
    window_options,
)
from analyzer.cli.output import narrate, report_problems, text_layout, write
from analyzer.cli.progress import progress
from analyzer.errors import UNREADABLE

if TYPE_CHECKING:
    from analyzer.store import Selection

FORMATS = ("summary", "html", "markdown", "json")


@click.command("report")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_option(" With PATHs they are read into it first, if it is named here.")
@window_options
@selection_options
@click.option(
    "--format",
    "-f",
    "report_format",
    type=click.Choice(FORMATS),
    default="summary",
    help="summary (default): the summary on stdout, and the HTML report in a file. The others give only themselves.",
)
@click.option("--json", "-j", "as_json", is_flag=True, help="Short for --format json.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Where the report goes; default report.html, or stdout for markdown and json.",
)
@quiet_option
def command(
    paths: tuple[str, ...],
    store_path: str | None,
    since: str | None,
    until: str | None,
    last: str | None,
    timezone: str,
    only: Selection,
    report_format: str,
    as_json: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Read logs and report on them: what broke or drifted, errors by reason and outcome, retries, relays.

    PATHs are files, folders, patterns, or - for standard input, of any format this program knows; compressed ones too.
    Without --store they are read into a throw-away store. Without PATHs the report is on the store. --project and its
    like narrow the tables, and the findings to those about that part; drifts are those of the whole fleet.

    \b
      analyzer report sample_events/
      analyzer report ~/.claude/projects --last 7d
      analyzer report --store fleet.duckdb --since 2026-11-01 --format markdown
    """
    from analyzer import report
    from analyzer.analysis import overview
    from analyzer.cli.settings import rules_in_use
    from analyzer.store import MEMORY, open_store

    chosen = chosen_window(since, until, last, timezone)
    problems = 0
    named = click.get_current_context().get_parameter_source("store_path") is ParameterSource.COMMANDLINE
    # Only who names a store here wants logs read into it: $ANALYZER_STORE says which one to ask.
    name = MEMORY if paths and not named else store_path or DEFAULT_STORE
    with open_store(name, writable=bool(paths)) as store:
        if paths:
            with progress(quiet=quiet) as shown:
                result = store.ingest(paths, shown)
            report_problems(result.problems)
            problems = len(result.problems)
            if not result.sources and name == MEMORY:
                return UNREADABLE
        content = overview(store, chosen, rules=rules_in_use(None), only=only)
    kind = "json" if as_json else report_format
    if kind == "json":
        write(report.render_json(content), output)
    elif kind == "markdown":
        write(report.render_markdown(content), output)
    elif kind == "html":
        write(report.render_html(content), output or "report.html")
    else:
        width, colour = text_layout(None)
        write(report.render_text(content, width=width, colour=colour), None)
        target = output or "report.html"
        write(report.render_html(content), target)
        narrate(f"report written to {target}", quiet=quiet)
        if content.totals.events and name == MEMORY:
            again = "PATH" if "-" in paths else shlex.join(paths)
            narrate(f"for the commands above, keep a store: analyzer ingest {again}", quiet=quiet)
        elif content.totals.events and name != os.environ.get("ANALYZER_STORE", DEFAULT_STORE):
            narrate(f"for the commands above: export ANALYZER_STORE={shlex.quote(name)}", quiet=quiet)
    return UNREADABLE if problems else 0
