"""Documents about stores: what was done on them, their checks, logs, queries, prices, and claims."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from analyzer.command_lines import HERE, Asking, command_line
from analyzer.readable import counted, duration, percent
from analyzer.redaction.walk import without_home
from analyzer.report.document import Block, Command, Document, Heading, Items, Paragraph, TableBlock
from analyzer.report.rows import count, minute, plain_heading, shown
from analyzer.store import (
    Check,
    IngestResult,
    Prune,
    Push,
    QuarantineRetry,
    Query,
    Rebuild,
    Stock,
    Survey,
    catalogue,
    find,
)
from analyzer.store.prices import Difference, Price

if TYPE_CHECKING:
    from analyzer.analysis.claim import Claim
    from analyzer.importers.shapes.record_types import Producer
    from analyzer.store.ingest.newer import NewerType

MAX_VANISHED = 5
"""The number of vanished logs that the summary of a rebuild names."""
_PRUNED = "older than what this store keeps since a prune."


def ingest_document(result: IngestResult, store_path: str, asking: Asking = HERE) -> Document:
    """Return the summary of an ingest: files and lines read, their results, what is left to do."""
    logs = IngestResult([item for item in result.sources if item.status != "unsupported"])
    total = logs.total
    megabytes = total.bytes / 1e6
    # The start of a process takes longer than a few lines: a rate of less than 1 MB says nothing.
    rate = f" ({megabytes / result.seconds:,.0f} MB/s)" if megabytes >= 1 and result.seconds else ""
    read = f"{counted(len(logs.sources), 'file')}, {counted(total.lines, 'new line')}"
    figures = [
        (count(total.event_lines), "gave events", ""),
        (count(total.duplicates), "duplicates", "their events were here already"),
        (count(total.quarantined), "in quarantine", ""),
        (count(total.blank), "blank", ""),
        (count(total.skipped), "irrelevant", "lines of other tools' logs that are not about failures"),
    ]
    rest: list[str | Command] = []
    if total.quarantined:
        rest.append(Command(asking.command("query", "quarantine-lines"), "What is in quarantine"))
    if result.unchanged:
        rest.append(f"{counted(result.unchanged, 'file')} had nothing new.")
    pending = sum(item.pending_bytes > 0 and item.status == "read" for item in result.sources)
    if pending:
        rest.append(f"{pending:,} unfinished last line{'s wait for their' if pending > 1 else ' waits for its'} end.")
    if total.mended:
        rest.append(f"{counted(total.mended, 'line')} with half of an emoji or the like, which is kept as U+FFFD.")
    if result.pruned:
        rest.append(f"{counted(result.pruned, 'new event')} left out: {_PRUNED}")
    if result.unjudged:
        words = f"{counted(result.unjudged, 'new error')} without a verdict of the active ruleset"
        rest.append(Command(asking.command("reclassify", "--apply"), words))
    if unsupported := result.unsupported():
        words = ", ".join(f"{name} ({files:,})" for name, files in sorted(unsupported.items()))
        rest.append(f"Not read yet, or no log, by format (files): {words}")
    head = f"{read}, {counted(total.events, 'new event')} → {store_path}"
    duration = f"{megabytes:,.1f} MB in {result.seconds:.1f} s{rate}"
    return [Items([duration], head), TableBlock((), figures), Items(rest)]


def rebuild_document(result: Rebuild, store_path: str, asking: Asking = HERE) -> Document:
    """Return the summary of a rebuild: the new store, its sources, and what is missing."""
    content = f"{counted(result.events, 'event')} of {counted(result.sources, 'file')}"
    origins = [f"{store_path} is a link to {result.store}"] if os.path.islink(store_path) else []
    origins.append(f"{counted(result.journal_events, 'event')} from the journal")
    if result.carried_events:
        origins.append(f"{counted(result.carried_events, 'event')} that only the store before still had")
    rest: list[str | Command] = []
    if result.why:
        rest.append(f"The store before could not be read: {result.why}")
    if result.journal_damaged:
        rest.append(f"{counted(result.journal_damaged, 'line')} of the journal cannot be read.")
    if result.ruleset:
        rest.append(f"Active ruleset: {result.ruleset}")
    if result.unjudged:
        words = f"{counted(result.unjudged, 'distinct error')} not judged by it"
        rest.append(Command(asking.command("reclassify", "--apply"), words))
    if result.aside:
        rest.append(f"The store before is kept as {result.aside}; delete it when all is well.")
    gone: list[str | Command] = list(result.vanished[:MAX_VANISHED])
    if (hidden := len(result.vanished) - MAX_VANISHED) > 0:
        gone.append(Command(asking.command("sql", "from sources where status = 'vanished'"), f"and {hidden} more"))
    words = f"{counted(len(result.vanished), 'file')} no longer there; what was read of them is kept:"
    return [
        Items(origins, f"{content} → {store_path} in {result.seconds:.1f} s"),
        Items(rest),
        Items(gone, words if gone else ""),
    ]


def prune_document(result: Prune, *, files: bool) -> Document:
    """Return what a prune deleted or would delete; `files` is true if it was to delete files too."""
    deleted = "Deleted" if result.done else "A dry run. Would delete"
    texts = [counted(result.events, "event"), f"{counted(result.quarantined, 'row')} of quarantine"]
    if files:
        texts += [f"{counted(len(result.files), 'file')}, {result.file_bytes / 1e6:,.1f} MB", *result.files]
    blocks = [Items(texts, f"{deleted} what happened before {result.before:%Y-%m-%d} UTC:")]
    if result.kept_files:
        blocks.append(Items(result.kept_files, f"{counted(len(result.kept_files), 'file')} of those days kept:"))
    return blocks


def push_document(result: Push) -> Document:
    """Return the summary of a push into a shared table."""
    parts = f" in {counted(result.parts, 'part')}" if result.parts else ""
    return [Paragraph(f"{counted(result.events, 'new event')} → {result.table}{parts}")]


def retry_document(result: QuarantineRetry, asking: Asking = HERE) -> Document:
    """Return the summary of a retry of the lines in quarantine."""
    texts: list[str | Command] = [
        f"{counted(result.mended, 'line')} of {result.tried:,} can be read now: {counted(result.events, 'new event')}.",
        f"{counted(result.remaining, 'line')} still in quarantine.",
    ]
    if result.pruned:
        texts.append(f"{counted(result.pruned, 'event')} left out: {_PRUNED}")
    if result.unjudged:
        words = f"{counted(result.unjudged, 'distinct error')} not judged"
        texts.append(Command(asking.command("reclassify", "--apply"), words))
    blocks = [Items(texts)]
    if result.gone:
        name = "Not tried again, as the file is gone or holds something else now:"
        blocks.append(Items(result.gone, name))
    return blocks


def checks_document(checks: Sequence[Check], problems: int) -> Document:
    """Return the checks of a store with what to do about each, then the number of problems."""
    rows = [(check.state, check.name, check.said) for check in checks]
    notes = [[_todo(check)] if check.todo and check.state != "ok" else [] for check in checks]
    return [TableBlock((), rows, notes), Paragraph(f"{counted(problems, 'problem')}.")]


def _todo(check: Check) -> str | Command:
    advice, is_command, command = check.todo.partition(": analyzer ")
    return Command(f"analyzer {command}", f"→ {advice}") if is_command else f"→ {check.todo}"


_MOST_AGENTS = 7
"""The number of agents that are listed before their logs are read: the whole text has ten lines."""
_MOST_PATHS = 2
"""The number of paths that are named of an agent without logs; an editor's extension has one an
editor."""


def logs_document(survey: Survey, store_path: str, home: str | None) -> Document:
    """Return the logs of this machine by agent, and where they will be kept, in at most ten lines.

    Without any log, return the places where none are.
    """
    if not survey.found:
        return places_without_logs(survey, home)
    agents: dict[str, list[Stock]] = {}
    for stock in survey.found:
        agents.setdefault(stock.place.agent, []).append(stock)
    rows = []
    for agent, stocks in [*agents.items()][:_MOST_AGENTS]:
        more = f" and {len(stocks) - 1} more" if len(stocks) > 1 else ""
        rows.append((agent, *_figures(stocks), _path(stocks[0], home) + more))
    rest: list[str | Command] = []
    if (hidden := len(agents) - _MOST_AGENTS) > 0:
        rest.append(Command(command_line("sources"), f"and {counted(hidden, 'more agent')}"))
    rest.append(f"Kept in {without_home(store_path, home)}")
    head = f"Found logs of {counted(len(agents), 'agent')}; nothing leaves this machine:"
    return [Paragraph(head), TableBlock((), rows), Items(rest)]


def newer_words(producer: Producer, name: str, count: int) -> str:
    """Say that records have a type which the table of types does not have."""
    return (
        f"{producer.name}: {counted(count, 'record')} of type {name}, "
        f"newer than what was looked at ({producer.version})"
    )


def sources_document(
    survey: Survey, newer: Sequence[NewerType], store_path: str, home: str | None, asking: Asking = HERE
) -> Document:
    """Return the places with logs, their formats and what is new, then the places without logs."""
    rows = [
        (stock.place.agent, *_figures([stock]), f"{_path(stock, home)} ({', '.join(stock.place.formats)})")
        for stock in survey.found
    ]
    if not rows:
        return places_without_logs(survey, home)
    new = sum(stock.new_bytes for stock in survey.found)
    files = sum(stock.new_files for stock in survey.found)
    store = without_home(store_path, home)
    what: str | Command = f"Nothing new to read into {store}"
    if files:
        words = f"{counted(files, 'file')} with {_size(new)} to read into {store}"
        what = Command(asking.command("ingest"), words)
    types = [newer_words(row.producer, row.type, row.count) for row in newer]
    about = [Items(types, "Types of records that may tell more than is read:")] if types else []
    return [TableBlock((), rows), Items([what]), *about, *places_without_logs(survey, home)]


def places_without_logs(survey: Survey, home: str | None) -> Document:
    """Return the places without logs, by agent."""
    empty: dict[str, list[str]] = {}
    for stock in survey.stocks:
        if not stock.files:
            empty.setdefault(stock.place.agent, []).append(_path(stock, home))
    texts = []
    for agent, paths in empty.items():
        more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
        texts.append(f"{agent}: {', '.join(paths[:_MOST_PATHS])}{more}")
    return [Items(texts, "Nothing in:")] if texts else []


def _figures(stocks: Iterable[Stock]) -> tuple[str, str, str]:
    stocks = list(stocks)
    new = sum(stock.new_files for stock in stocks)
    files = counted(sum(stock.files for stock in stocks), "file")
    return files, _size(sum(stock.bytes for stock in stocks)), f"{new:,} new" if new else "none new"


def _path(stock: Stock, home: str | None) -> str:
    return without_home(stock.place.path, home)


def _size(size: int) -> str:
    for unit, divisor in (("GB", 1e9), ("MB", 1e6)):
        if size >= divisor:
            return f"{size / divisor:,.1f} {unit}"
    return f"{size / 1e3:,.1f} kB"


def described(name: str | None = None) -> dict[str, Any]:
    """Describe all queries, or one of them, JSON-ready.

    Raises:
        AnalyzerError: there is no query of this name.
    """
    headers = {query.name: asdict(query.header) for query in _queries(name)}
    keys = ("title", "description", "params", "columns")
    return {
        "schema": "analyzer.queries/1",
        "queries": [{"name": name, **{key: header[key] for key in keys}} for name, header in headers.items()],
    }


def _queries(name: str | None) -> list[Query]:
    return [find(name)] if name else list(catalogue().values())


def catalogue_document(name: str | None = None) -> Document:
    """Return the list of all queries, or one query with its columns.

    Raises:
        AnalyzerError: there is no query of this name.
    """
    blocks: list[Block] = []
    inner = False
    for query in _queries(name):
        if not name and query.inner and not inner:
            inner = True
            blocks.append(Heading("What checks and reports ask for themselves:", 2))
        header = query.header
        params = (f"-p {item.name}={item.default}: {item.description}" for item in header.params)
        blocks.append(Items([f"{header.title}. {header.description}", *params], query.name))
        if name:
            blocks.append(TableBlock((), [(item.name, item.type, item.description) for item in header.columns]))
    return blocks


def prices_document(prices: Sequence[Price]) -> Document:
    """Return the prices in US dollars for a million tokens.

    Prices that begin at a date or at a prompt size say so.
    """
    names = ("provider", "model", "input", "output", "cache read", "cache write", "for an hour", "prompts over", "from")
    rows = []
    for price in prices:
        costs = price.input, price.output, price.cache_read, price.cache_write, price.cache_write_hour
        over, since = f"{price.above_tokens:,}" if price.above_tokens else "-", str(price.valid_from or "-")
        rows.append((price.provider, price.model, *map(_usd, costs), over, since))
    sources = sorted({price.source for price in prices})
    return [
        Paragraph("US dollars for a million tokens, at list prices:"),
        TableBlock(names, rows),
        Items([f"Read from {source}" for source in sources]),
    ]


def differences_document(different: Sequence[Difference], compared: int) -> Document:
    """Return the verdict, then the prices that differ."""
    if not different:
        return [Paragraph(f"None of {counted(compared, 'price')} differs.")]
    rows = [(price.provider, price.model, price.kind, _usd(price.ours), _usd(price.theirs)) for price in different]
    head = f"{len(different)} of {counted(compared, 'price')} differ, in US dollars for a million tokens:"
    names = ("provider", "model", "tokens", "ours", "theirs")
    return [Paragraph(head), TableBlock(names, rows)]


def _usd(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:g}"


_CLAIM_TITLES = {
    "outages": "Outages: three failures or more of two sessions or more, each within 15 minutes of the one before",
    "resets": "Limits: when they were stated to end, and when the next answer came",
    "incidents": "Incidents of your status page during which they happened",
    "failures": "Failures",
}


def claim_document(claim: Claim) -> list[Block]:
    """Make the page of a claim: the window, what it comes to, then the tables."""
    failures, cost = claim.failures, claim.failures["cost_usd"].sum()
    moments = failures["occurred_at"]
    sentences = [f"{counted(failures.height, 'request')} to {claim.provider} failed by the provider's fault"]
    if failures.height:
        sentences[0] += f", from {moments[0]:%Y-%m-%d %H:%M} to {moments[-1]:%Y-%m-%d %H:%M} UTC"
        waited = failures["waited_seconds"].sum()
        sentences.append(f"Retries waited {waited:,.0f} s")
        sentences.append(f"{claim.without_id:,} of the failures have no request id in the log")
    if claim.failure_rate is not None:
        of = f"{claim.failed_requests:,} of {counted(claim.requests, 'request')} ({percent(claim.failure_rate)})"
        sentences.append(f"In sessions whose log counts all requests, {of} failed so")
    if claim.inferred:
        name = "one names" if claim.inferred == 1 else f"{claim.inferred:,} name"
        sentences.append(f"Of the failures, {name} no provider: they are of Claude Code, and count by their model")
    basis = (
        f"The list price of their tokens is ${cost:,.2f}. It counts only failed requests whose log states their tokens"
        " and no error status, since a request that is answered with an error status costs nothing. Failures of the"
        " network, the account or the request itself are not in this claim."
    )
    since, until = claim.window.since, claim.window.until
    ends = [f"{word} {minute(end)}" for word, end in (("from", since), ("to", until)) if end]
    window = Paragraph(f"Window: {' '.join(ends)} UTC{'' if until else ' on'}." if ends else "Window: all time.")
    blocks: list[Block] = [Heading(f"Claim to {claim.provider}"), window]
    blocks += [Paragraph(" ".join(f"{sentence}." for sentence in sentences)), Paragraph(basis)]
    for name, title in _CLAIM_TITLES.items():
        frame = getattr(claim, name)
        if frame.height:
            if "hours" in frame.columns:
                lasted = frame["hours"].map_elements(_hours, str).alias("lasted")
                frame = frame.drop("hours").insert_column(frame.columns.index("hours"), lasted)
            rows = [
                [shown(column, value) for column, value in zip(frame.columns, row, strict=True)] for row in frame.rows()
            ]
            blocks.append(TableBlock([plain_heading(column) for column in frame.columns], rows, title=title))
    return blocks


def _hours(hours: float) -> str:
    """Write how long an outage lasted; the first and the last failure may be of one moment."""
    return duration(3600 * hours) if hours else "one moment"
