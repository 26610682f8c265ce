"""Commands that ask a store: `analyzer query`, `sql`, `show`, `compare` and `unknowns`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import (
    Seconds,
    chosen_window,
    complete_query,
    result_options,
    rules_option,
    selection_options,
    store_option,
    window_options,
)
from analyzer.cli.output import Out, copy, rows_width
from analyzer.cli.stores import NamedStore
from analyzer.command_lines import command_line
from analyzer.errors import USAGE, AnalyzerError
from analyzer.report import FORMATS

if TYPE_CHECKING:
    from analyzer.analysis import WindowWords
    from analyzer.store import Selection

DEFAULT_LIMIT = 10_000
DEFAULT_SECONDS = 60.0
DEFAULT_MEMORY = "2GB"
_SIZE = re.compile(r"(\d{1,6})\s*(MB|GB)", re.IGNORECASE)
_LEAST_MEMORY = 200_000_000


@click.command("query")
@click.argument("name", required=False, shell_complete=complete_query)
@click.option("--param", "-p", "params", multiple=True, metavar="KEY=VALUE", help="A parameter; may be repeated.")
@click.option("--list", "listing", is_flag=True, help="List queries with parameters and columns.")
@click.option("--sql", "show_sql", is_flag=True, help="Print the SQL instead of running it.")
@store_option
@window_options
@selection_options
@result_options(*FORMATS)
def query_command(
    name: str | None,
    params: tuple[str, ...],
    listing: bool,
    show_sql: bool,
    store: NamedStore,
    words: WindowWords,
    only: Selection,
    out: Out,
) -> None:
    """Run a ready-made query, or list them.

    \b
      analyzer query --list
      analyzer query errors-by-reason --last 7d
      analyzer query tools-by-tool --project shop
      analyzer query unknown-messages -p caller=figma-probe -p limit=5 --json
    """
    from analyzer.store import find, narrows

    if listing or name is None:
        if name is None and not listing:
            raise AnalyzerError("no query named", f"{command_line('query', '--list')} shows them all")
        from analyzer.report.store_work import catalogue_document, described

        out.answer(described(name), lambda: catalogue_document(name), width=None)
        return
    query = find(name)
    if show_sql:
        sql = query.header.body + ";"
        out.answer({"schema": "analyzer.query-sql/1", "query": name, "sql": sql}, lambda: sql)
        return
    values: dict[str, object] = {}
    for item in params:
        key, separator, text = item.partition("=")
        if not separator:
            raise AnalyzerError(f"not KEY=VALUE: {item!r}", "write -p caller=figma-probe")
        values[key] = text
    if only and not narrows(query.header.body):
        raise AnalyzerError(f"query {name} is about the whole store", f"leave out {only}")
    names = {param.name for param in query.header.params}
    chosen = chosen_window(**words)
    # For a query without days the zone only says when the days of the window begin.
    zone = chosen.timezone if "timezone" in names or not {"since", "until"} & words.keys() else "UTC"
    window = {**chosen.params, "timezone": zone if zone != "UTC" else None}
    for key, value in window.items():
        if value is not None:
            if key not in names:
                raise AnalyzerError(f"query {name} has no {key}", "leave the option out")
            values.setdefault(key, value)
    query.values(values)  # refuses a wrong value before a store is opened
    with store.open_for_queries() as opened, opened.selecting(only):
        frame = opened.query(name, **values) if out.form == "parquet" else opened.rows(name, **values)
        if not len(frame) and {"since", "until", "last"} & words.keys():
            ((first, last, *_),) = opened.rows("overview-totals").rows
            ends = " to ".join(f"{end:%Y-%m-%d %H:%M}" for end in (first, last) if end)
            out.narrate(f"no row in this window; the logs go from {ends} UTC" if ends else "the logs are empty")
    out.rows(frame)


def size_of(text: str) -> int:
    """Return the bytes of a size such as `512MB` or `2GB`.

    Fail with a usage error for any other text.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * (10**9 if match[2].upper() == "GB" else 10**6) if match else 0
    if size < _LEAST_MEMORY:
        raise click.BadParameter(f"{text!r} is no size from 200MB on; write 512MB or 2GB")
    return size


@click.command("sql")
@click.argument("statement", metavar="SQL")
@click.option("--limit", type=click.IntRange(min=0), default=DEFAULT_LIMIT, help="Most rows; 0 for all. Default 10000.")
@click.option(
    "--timeout",
    "seconds",
    type=Seconds(min=0.1, max=86_400),
    default=DEFAULT_SECONDS,
    metavar="SECONDS",
    help="Stop the query after this. Default 60.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    default=DEFAULT_MEMORY,
    callback=lambda _context, _param, text: size_of(text),
    help=f"Memory limit. Default {DEFAULT_MEMORY}.",
)
@store_option
@result_options(*FORMATS)
def sql_command(statement: str, limit: int, seconds: float, memory: int, store: NamedStore, out: Out) -> None:
    """Run one read-only SQL statement on a store; - reads it from standard input.

    \b
      analyzer sql "show tables"
      analyzer sql "describe errors"
      analyzer sql "select column_name, comment from duckdb_columns()
                    where table_name = 'errors'"
      analyzer sql "select caller, count(*) from errors group by all order by all"

    The statement runs in its own process, which reaches no other file. This guards against accidents; for SQL from
    strangers see docs/explanation/security.md.
    """
    from analyzer.cli.sandbox import Request, answer

    text = sys.stdin.read() if statement == "-" else statement
    width = rows_width(out.form, out.path)
    request = Request(store.name, text, limit or None, out.form, width, seconds, memory)
    with answer(request) as answered:
        copy(answered.content, out.path, is_text=out.form != "parquet")
    if answered.truncated:
        out.narrate(f"cut after {answered.rows:,} rows; more with --limit N, all with --limit 0")


@click.command("show")
@click.argument("name", metavar="SESSION|FINDING|OPERATION")
@store_option
@result_options("table", "json")
def show_command(name: str, store: NamedStore, out: Out) -> None:
    """Show step by step what happened in a session, a chain of retries, or a finding.

    \b
      analyzer show 5e1f0c2a --store fleet.duckdb
      analyzer show 3f9c --json --output incident.json

    It prints times (UTC), messages, and the lines of the log with secrets removed, if the file still exists. For some
    agents it adds the command that resumes the session. The first four characters of an ID are enough.
    """
    from analyzer.analysis.timeline import timeline
    from analyzer.report.timeline import timeline_document

    with store.open_for_queries() as opened:
        shown = timeline(opened, name)
    out.answer(shown, lambda: timeline_document(shown))


@click.command("compare")
@click.argument("dimension", required=False, metavar="[NAME=OLD..NEW]")
@store_option
@click.option("--before", metavar="WINDOW", help="First window: 14d..7d, 2026-11-01..2026-11-08.")
@click.option("--after", metavar="WINDOW", help="Second window. Default: the last 7d, after the 7d before.")
@window_options
@click.option("--caller", metavar="NAME", help="Only this caller.")
@result_options("table", "json", "markdown")
def compare_command(
    dimension: str | None,
    store: NamedStore,
    before: str | None,
    after: str | None,
    words: WindowWords,
    caller: str | None,
    out: Out,
) -> None:
    """Compare two weeks, versions, models or projects, and show what got worse.

    \b
      analyzer compare
      analyzer compare --before 2026-11-01..2026-11-08 --after 2026-11-08..
      analyzer compare agent_version=2.1.108..2.1.114 --last 30d

    It compares the sessions that began on each side: errors, retries, waits, failed tools and hand-offs, each with an
    interval. NAME is agent, agent_version, model, provider, project, branch or caller.
    """
    from analyzer.analysis.comparison import compare, dimension_values
    from analyzer.report.changes import comparison_document, comparison_verdict

    by, values = dimension_values(dimension)
    with store.open_for_queries() as opened:
        comparison = compare(opened, before, after, by=by, values=values, caller=caller, **words)
    out.answer(comparison, lambda: comparison_document(comparison, store.asking()))
    if out.path is not None:
        out.narrate(f"{out.path}: {comparison_verdict(comparison)}")


@click.command("unknowns")
@click.argument("fingerprints", nargs=-1, metavar="[FINGERPRINT]...")
@store_option
@rules_option
@window_options
@selection_options
@click.option("--limit", type=click.IntRange(min=0), default=20, help="Most groups; 0 for all. Default 20.")
@click.option("--suggest", is_flag=True, help="Print a rules file with a draft for each group.")
@result_options("table", "json")
def unknowns_command(
    fingerprints: tuple[str, ...],
    store: NamedStore,
    rules_path: str | None,
    words: WindowWords,
    only: Selection,
    limit: int,
    suggest: bool,
    out: Out,
) -> None:
    """Group the errors that no rule recognises, and draft rules for them.

    \b
      analyzer unknowns --last 7d
      analyzer unknowns --suggest --output draft.toml
      analyzer rules backtest --rules draft.toml --store fleet.duckdb

    Messages that differ only in values are one group. FINGERPRINTs name the groups to show. In a draft, a rule
    without evidence for its reason is commented out.
    """
    from dataclasses import replace

    from analyzer.analysis.rules.unknowns import unknowns
    from analyzer.cli.inputs import ruleset_in_use
    from analyzer.report.unknowns import render_rules, unknowns_document

    rules = ruleset_in_use(rules_path)
    chosen = chosen_window(**words)
    most = None if fingerprints or not limit else limit
    with store.open_for_queries() as opened, opened.selecting(only):
        report = unknowns(opened, chosen, limit=most, suggest=suggest, rules=rules)
    if fingerprints:
        names = [group.fingerprint for group in report.groups]
        for fingerprint in fingerprints:
            if fingerprint not in names:
                failure = AnalyzerError.unknown_value("group", fingerprint, names)
                failure.exit_code = USAGE
                raise failure
        report = replace(report, groups=tuple(group for group in report.groups if group.fingerprint in fingerprints))
    out.answer(report, lambda: render_rules(report) if suggest else unknowns_document(report, store.asking()))
    if suggest and out.form == "table" and out.path is not None:
        ready = sum(group.suggestion is not None and group.suggestion.ready for group in report.groups)
        out.narrate(f"{out.path}: rules for {ready} of {len(report.groups)} groups; the others need a reason")
