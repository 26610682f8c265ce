"""`analyzer export`: write a store's rows for other tools: files, a store, OpenTelemetry."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click

from analyzer.cli.options import chosen_window, quiet_option, span_options, store_path_option
from analyzer.cli.output import Out, write
from analyzer.cli.stores import NamedStore
from analyzer.errors import AnalyzerError, StoreError
from analyzer.readable import counted, terminal_safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from analyzer.analysis import Window, WindowWords
    from analyzer.store.export.days import ExportedView

FORMATS = ("parquet", "csv", "jsonl")
SLICE_ENDING = ".duckdb"
_KINDS = {"error": "error", "finding": "finding", "relay": "hand-off", "retry": "retry chain"}


@click.command("export")
@click.argument("views", nargs=-1, metavar="[VIEW]...")
@click.option("--to", "to", metavar="DIR|FILE.duckdb", help="Folder for the days, or a store.")
@click.option("--otlp", metavar="FILE|URL", help="Send OpenTelemetry logs; - is stdout.")
@click.option("--format", "-f", "row_format", type=click.Choice(FORMATS), help="Format of files. Default: parquet.")
@store_path_option()
@span_options
@click.option("--json", "-j", "as_json", is_flag=True, help="Print JSON.")
@quiet_option
def command(
    views: tuple[str, ...],
    to: str | None,
    otlp: str | None,
    row_format: str | None,
    store_path: str,
    words: WindowWords,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a store's data for other tools: files a day, a smaller store, or OpenTelemetry.

    \b
      analyzer export --to lake/ --store fleet.duckdb
      analyzer export errors sessions --last 30d --to lake/ --format csv
      analyzer export --last 30d --to slice.duckdb
      analyzer export --otlp http://127.0.0.1:4318 --since yesterday --until today

    --to DIR writes one file a view and UTC day, such as DIR/errors/day=2026-11-20/errors.parquet, and later only
    days that changed. Default VIEWs: events, errors, retries, relays; also possible: sessions, tool_failures,
    exhaustions, context_recoveries. Days pruned from the store stay in DIR. --to FILE.duckdb writes a store of
    the window.

    --otlp sends errors, finished retries, hand-offs and findings as logs. Each run sends its whole window, so let
    windows meet, not overlap. A URL without a path gets /v1/logs; $OTEL_EXPORTER_OTLP_HEADERS is sent along.
    """
    if (to is None) == (otlp is None):
        raise click.UsageError("give either --to or --otlp")
    window, store = chosen_window(**words), NamedStore(store_path)
    out = Out("json" if as_json else "table", None, quiet)
    if otlp is not None:
        if views or row_format:
            raise AnalyzerError("OpenTelemetry logs have no views and one format", "leave out VIEWs and --format")
        _otlp(store, otlp, window, out)
        return
    assert to is not None  # it is either --to or --otlp
    if to.endswith(SLICE_ENDING):
        if views or row_format:
            raise AnalyzerError("a slice has all views and no format", "leave out VIEWs and --format, or name a folder")
        _slice(store, to, window, out)
    else:
        _days(store, to, views, row_format or "parquet", window, out)


def _tell(out: Out, to: str, content: dict[str, Any], *lines: str) -> None:
    """Tell the user what was written: as JSON on stdout, else in lines on stderr."""
    if out.form == "json":
        write({"schema": "analyzer.export/1", "to": to, **content}, None)
        return
    for line in lines:
        out.narrate(line)


def _otlp(store: NamedStore, to: str, window: Window, out: Out) -> None:
    from analyzer import __version__
    from analyzer.cli.delivery import host_of
    from analyzer.report.escape import json_text
    from analyzer.store.export.otlp import requests

    with store.open_for_queries() as opened:
        rows = opened.query("timeline-signals", since=window.since, until=window.until)
    otlp_requests = requests(rows.iter_rows(named=True), __version__)
    if host_of(to) is not None:
        _send(to, otlp_requests)
    elif "://" in to:
        raise AnalyzerError(f"no target of this kind: {to.partition('://')[0]}", "name a file, or http://HOST:4318")
    else:
        write("\n".join(map(json_text, otlp_requests)), None if to == "-" else to)
    kinds = dict(sorted(rows["kind"].value_counts().iter_rows()))
    shown = host_of(to) or to
    parts = [counted(number, _KINDS[name]) for name, number in kinds.items()]
    # The requests are on stdout: an object of our own must not mix with them.
    form = replace(out, form="table") if to == "-" else out
    _tell(form, shown, {"otlp": kinds}, f"{', '.join(parts) or 'nothing'} → {shown}")


def _send(url: str, otlp_requests: Iterator[dict[str, Any]]) -> None:
    """Send requests to a collector, one after another.

    Raises:
        StoreError: the collector refuses a request, or some of its records.
    """
    from analyzer.cli.delivery import UndeliveredError, post

    parts = urlsplit(url)
    target = parts._replace(path="/v1/logs").geturl() if parts.path in ("", "/") else url
    pairs = (item.partition("=") for item in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    headers = {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}
    sent = 0
    for request in otlp_requests:
        number = sum(len(logs["scopeLogs"][0]["logRecords"]) for logs in request["resourceLogs"])
        try:
            refused = _refusal(post(target, request, headers))
        except UndeliveredError as error:
            refused = str(error)
        if refused:
            raise StoreError(
                f"{parts.hostname} did not take the records: {refused}; {sent:,} before them were sent",
                "send the same window again: each record has its id",
            )
        sent += number


def _refusal(answer: bytes) -> str:
    """Return how many records of a request its answer refuses, and why.

    Return an empty text if it refuses none.
    """
    try:
        partial = json.loads(answer or b"{}").get("partialSuccess") or {}
        number = int(partial.get("rejectedLogRecords") or 0)
    except (ValueError, AttributeError, TypeError):
        return ""  # the status was a success, whatever the body is
    return f"{number:,} refused: {terminal_safe(str(partial.get('errorMessage', '')))[:200]}" if number else ""


def _slice(store: NamedStore, to: str, window: Window, out: Out) -> None:
    from analyzer.store.export.slices import cut_slice

    store.open_for_queries().close()  # refuses a broken store, and migrates one of an earlier version
    part = cut_slice(store.name, to, window.since, window.until)
    line = f"{to}: {counted(part.events, 'event')}, {part.said}"
    _tell(out, to, {"slice": part.said, "events": part.events}, line)


def _days(store: NamedStore, to: str, views: tuple[str, ...], row_format: str, window: Window, out: Out) -> None:
    from analyzer.report import render_rows
    from analyzer.store.export.days import DEFAULT_VIEWS, Folder

    if ":" in to.split("/", 1)[0]:
        raise AnalyzerError(f"no target of this kind: {to}", "name a folder (./ before a strange name), or FILE.duckdb")

    def encode(frame: pl.DataFrame) -> bytes:
        content = render_rows(frame, row_format)
        return content.encode("utf-8") if isinstance(content, str) else content

    with store.open_for_queries() as opened, Folder(to, row_format, encode).opened() as folder:
        results = opened.export(folder, views or DEFAULT_VIEWS, window.since, window.until)
    content = {"format": row_format, "views": [*map(asdict, results)]}
    _tell(out, to, content, *map(_summary, results))


def _summary(result: ExportedView) -> str:
    """Say in a line how many days of a view were written and removed, and which."""
    if not result.written and not result.removed:
        return f"{result.view}: nothing changed ({counted(result.unchanged, 'day')})"
    parts = []
    if result.written:
        some = ", ".join(result.written) if len(result.written) <= 4 else f"{result.written[0]} to {result.written[-1]}"
        parts.append(f"{counted(len(result.written), 'day')} written, {counted(result.rows, 'row')} ({some})")
    if result.removed:
        parts.append(f"{counted(len(result.removed), 'day')} removed ({', '.join(result.removed)})")
    parts.append(f"{result.unchanged:,} unchanged")
    return f"{result.view}: {', '.join(parts)}"
