"""`analyzer report`: read logs or a store, and write a summary, an HTML file, Markdown or JSON."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from platform import node
from threading import Thread
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from analyzer.cli.inputs import objectives_in_use, rules_in_use
from analyzer.cli.options import (
    PathsCommand,
    chosen_window,
    quiet_option,
    selection_options,
    store_path_option,
    window_options,
)
from analyzer.cli.output import complain, narrate, report_problems, text_layout, write
from analyzer.cli.stores import REPORTED, NamedStore, home_folder, is_here, read_logs, store_of_agents, store_to_fill
from analyzer.command_lines import command_line
from analyzer.errors import UNREADABLE, AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis import Overview, WindowWords
    from analyzer.store import Problem, Selection

FORMATS = ("summary", "html", "markdown", "json")


@click.command("report", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_path_option(" PATHs are read into it first.", None)
@window_options
@selection_options
@click.option(
    "--format",
    "-f",
    "report_format",
    type=click.Choice(FORMATS),
    default="summary",
    help="Default: a summary on stdout, and the HTML page in a file.",
)
@click.option("--json", "-j", "as_json", is_flag=True, help="Same as --format json.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Default: report.html, or stdout for markdown and json.",
)
@click.option(
    "--interactive",
    is_flag=True,
    help="Put plotly.js (4.8 MB) into the page, for values under the pointer.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@quiet_option
def command(
    paths: tuple[str, ...],
    store_path: str | None,
    words: WindowWords,
    only: Selection,
    report_format: str,
    as_json: bool,
    output: str | None,
    interactive: bool,
    open_it: bool,
    quiet: bool,
) -> int:
    """Show what failed, why, and what it cost: a summary here, the charts in report.html.

    \b
      analyzer report --open
      analyzer report ~/.claude/projects --last 7d
      analyzer report --store fleet.duckdb --since 2026-11-01 --format markdown
      analyzer report delta:/lake/fleet --last 7d --project checkout

    PATHs are files, folders, patterns, or - for standard input. They are read into a temporary store unless you name
    one. Without PATHs the report is about the store. If there is none, it covers the last 30 days of all agents on
    this machine. Options such as --project narrow tables and findings; drifts always cover the whole fleet.
    """
    from analyzer.redaction.walk import without_home
    from analyzer.store import MEMORY

    kind = "json" if as_json else report_format
    _refuse_without_page(kind, output, open_it=open_it, interactive=interactive)
    context = click.get_current_context()
    is_bare = context.parent is not None and context.parent.invoked_subcommand is None
    everywhere = not paths and store_path is None and (is_bare or not is_here())
    if everywhere and not {"since", "until", "last"} & words.keys():
        words["last"] = REPORTED
    chosen = chosen_window(**words)
    problems: list[Problem] = []
    # Modules and templates are loaded while the database opens and reads logs.
    Thread(target=_load, args=(kind in ("summary", "html"),), daemon=True).start()
    is_named = context.get_parameter_source("store_path") is ParameterSource.COMMANDLINE
    default = store_of_agents() if everywhere else store_to_fill()
    # Logs are read only into a store of --store: $ANALYZER_STORE names a store to query.
    store = NamedStore(MEMORY if paths and not is_named else store_path or default)
    if everywhere:
        store.announce_logs(quiet=quiet)
    elif not paths and not is_named:
        narrate(f"from the store {without_home(store.name, home_folder())}", quiet=quiet or kind != "summary")
    with ExitStack() as stack:
        opened = stack.enter_context(store.open_for_logs() if paths or everywhere else store.open_for_queries())
        if paths or everywhere:
            result = read_logs(opened.ingest, paths, quiet=quiet)
            problems = result.problems
            report_problems(problems)
            if paths and not result.sources and store.name == MEMORY:
                return UNREADABLE
        from analyzer import report
        from analyzer.analysis import overview
        from analyzer.report.overview import Made

        content = overview(opened, chosen, rules=rules_in_use(None), only=only)
        if objectives := objectives_in_use():
            from analyzer.analysis.objectives import objective_states

            with opened.selecting(only):
                content = replace(content, objectives=objective_states(opened, objectives, chosen.until))
    target = output or "report.html"
    elsewhere, asking = store.asking(paths, elsewhere=True), store.asking(paths)
    made = Made(node(), "" if store.name == MEMORY else store.name, elsewhere)
    kept = _is_kept(content, output, target)
    if kind == "json":
        write(report.render_json(content), output)
    elif kind == "markdown":
        write(report.render_markdown(content, replace(elsewhere, chat=True)), output)
    elif kind == "summary":
        width, colour = text_layout(None)
        write(report.render_text(content, width or 80, colour=colour, asking=asking), None)
    if kind in ("summary", "html"):
        if not kept:
            write(report.render_html(content, made, interactive=interactive), target)
        _tell_written(target, kept=kept, quiet=quiet or (kind == "html" and not kept))
    if open_it and not kept:
        import webbrowser

        if not webbrowser.open(Path(target).resolve().as_uri()):
            narrate(f"no browser could be started; the page is {target}", quiet=quiet)
    return UNREADABLE if problems or content.reads_no_log else 0


def _load(page: bool) -> None:
    """Load the modules of the report, and the templates of the page if there is one."""
    from analyzer.store import load_frugal_polars

    load_frugal_polars()
    if page:
        from analyzer.report.writers.html import load_template

        load_template()
    else:
        from analyzer.analysis import overview  # noqa: F401 - only the import is wanted


def _is_kept(content: Overview, output: str | None, target: str) -> bool:
    """Complain if no log was read, and tell whether the former page stays.

    A mistyped path must not replace it.
    """
    if content.reads_no_log:
        complain(
            "none of these files is a log that is read", f"{command_line('report', '--help')} says which PATHs it takes"
        )
    return content.reads_no_log or (content.is_bare and output is None and os.path.exists(target))


def _tell_written(target: str, *, kept: bool, quiet: bool) -> None:
    """Tell the user where the page is, or that there is none."""
    if not kept:
        narrate(f"report written to {target}", quiet=quiet)
    elif os.path.exists(target):
        narrate(f"nothing to report; {target} is left as it was", quiet=quiet)
    else:
        narrate("nothing to report; no page is written", quiet=quiet)


def _refuse_without_page(kind: str, output: str | None, *, open_it: bool, interactive: bool) -> None:
    """Refuse the options that are only for a page if there is none."""
    page = kind in ("summary", "html")
    if open_it and (not page or output == "-"):
        raise AnalyzerError("--open needs a page in a file", "leave out --json, --format and --output -")
    if interactive and not page:
        raise AnalyzerError("--interactive needs a page", f"leave it out, or --format {kind}")
