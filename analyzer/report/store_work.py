"""Write for a terminal what was done on stores, and their checks, logs, queries and prices.

Paths and texts of logs went through `terminal_safe`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from analyzer.command_lines import HERE, Asking, command_line
from analyzer.readable import counted
from analyzer.redaction.walk import without_home
from analyzer.report.escape import terminal_safe
from analyzer.report.monospace import columns, fit, fold, hanging, step
from analyzer.report.rows import count
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

MAX_VANISHED = 5
"""The number of vanished logs that the summary of a rebuild names."""


def render_ingest(result: IngestResult, store_path: str, asking: Asking = HERE) -> str:
    """Write the summary of an ingest: files and lines read, their results, what is left to do."""
    logs = IngestResult([item for item in result.sources if item.status != "unsupported"])
    total = logs.total
    megabytes = total.bytes / 1e6
    # The start of a process takes longer than a few lines: a rate of less than 1 MB says nothing.
    rate = f" ({megabytes / result.seconds:,.0f} MB/s)" if megabytes >= 1 and result.seconds else ""
    read = f"{counted(len(logs.sources), 'file')}, {counted(total.lines, 'new line')}"
    lines = [
        f"{read}, {counted(total.events, 'new event')} → {terminal_safe(store_path)}",
        f"  {megabytes:,.1f} MB in {result.seconds:.1f} s{rate}",
        "",
    ]
    figures = [
        ("gave events", total.event_lines, ""),
        ("duplicates", total.duplicates, "their events were here already"),
        (
            "in quarantine",
            total.quarantined,
            f"see: {asking.command('query', 'quarantine-lines')}" if total.quarantined else "",
        ),
        ("blank", total.blank, ""),
        ("carry nothing", total.skipped, "lines of other tools' logs that are not about failures"),
    ]
    width = max(len(count(number)) for _, number, _ in figures)
    lines += [f"  {number:>{width},}  {label:14} {note}".rstrip() for label, number, note in figures]
    if result.unchanged:
        lines.append(f"\n{counted(result.unchanged, 'file')} had nothing new.")
    pending = sum(item.pending_bytes > 0 and item.status == "read" for item in result.sources)
    if pending:
        lines.append(f"{pending:,} unfinished last line{'s wait for their' if pending > 1 else ' waits for its'} end.")
    if total.mended:
        lines.append(f"{counted(total.mended, 'line')} with half of an emoji or the like, which is kept as U+FFFD.")
    if result.pruned:
        lines.append(f"{counted(result.pruned, 'new event')} left out: {_PRUNED}")
    if result.unjudged:
        words = f"{counted(result.unjudged, 'new error')} without a verdict of the active ruleset"
        lines.append(f"{words}: {asking.command('reclassify', '--apply')}")
    if unsupported := result.unsupported():
        words = ", ".join(f"{name} ({files:,})" for name, files in sorted(unsupported.items()))
        lines.append(f"Not read yet, or no log, by format (files): {words}")
    return "\n".join(lines)


def render_rebuild(result: Rebuild, store_path: str, asking: Asking = HERE) -> str:
    """Write the summary of a rebuild: the new store, its sources, and what is missing."""
    content = f"{counted(result.events, 'event')} of {counted(result.sources, 'file')}"
    lines = [f"{content} → {terminal_safe(store_path)} in {result.seconds:.1f} s"]
    if os.path.islink(store_path):
        lines.append(f"  {terminal_safe(store_path)} is a link to {terminal_safe(result.store)}")
    lines.append(f"  {counted(result.journal_events, 'event')} from the journal")
    if result.carried_events:
        lines.append(f"  {counted(result.carried_events, 'event')} that only the store before still had")
    if result.why:
        lines.append(f"The store before could not be read: {terminal_safe(result.why)}")
    if result.journal_damaged:
        lines.append(f"{counted(result.journal_damaged, 'line')} of the journal cannot be read.")
    if result.ruleset:
        lines.append(f"Active ruleset: {result.ruleset}")
    if result.unjudged:
        command = asking.command("reclassify", "--apply")
        lines.append(f"{counted(result.unjudged, 'distinct error')} not judged by it: {command}")
    if result.vanished:
        lines.append(f"{counted(len(result.vanished), 'file')} no longer there; what was read of them is kept:")
        lines += [f"  {terminal_safe(path)}" for path in result.vanished[:MAX_VANISHED]]
    if (hidden := len(result.vanished) - MAX_VANISHED) > 0:
        command = asking.command("sql", "from sources where status = 'vanished'")
        lines.append(f"  and {hidden} more: {command}")
    if result.aside:
        lines.append(f"The store before is kept as {terminal_safe(result.aside)}; delete it when all is well.")
    return "\n".join(lines)


def render_prune(result: Prune, *, files: bool) -> str:
    """Write what a prune deleted or would delete; `files` is true if it was to delete files too."""
    deleted = "Deleted" if result.done else "A dry run. Would delete"
    lines = [
        f"{deleted} what happened before {result.before:%Y-%m-%d} UTC:",
        f"  {counted(result.events, 'event')}",
        f"  {counted(result.quarantined, 'row')} of quarantine",
    ]
    if files:
        lines.append(f"  {counted(len(result.files), 'file')}, {result.file_bytes / 1e6:,.1f} MB")
        lines += [f"    {terminal_safe(path)}" for path in result.files]
    if result.kept_files:
        lines.append(f"{counted(len(result.kept_files), 'file')} of those days kept:")
        lines += [f"  {terminal_safe(file)}" for file in result.kept_files]
    return "\n".join(lines)


def render_push(result: Push) -> str:
    """Write the summary of a push into a shared table."""
    parts = f" in {counted(result.parts, 'part')}" if result.parts else ""
    return f"{counted(result.events, 'new event')} → {terminal_safe(result.table)}{parts}"


def render_retry(result: QuarantineRetry, asking: Asking = HERE) -> str:
    """Write the summary of a retry of the lines in quarantine."""
    lines = [
        f"{counted(result.mended, 'line')} of {result.tried:,} can be read now: {counted(result.events, 'new event')}.",
        f"{counted(result.remaining, 'line')} still in quarantine.",
    ]
    if result.pruned:
        lines.append(f"{counted(result.pruned, 'event')} left out: {_PRUNED}")
    if result.unjudged:
        command = asking.command("reclassify", "--apply")
        lines.append(f"{counted(result.unjudged, 'distinct error')} not judged: {command}")
    if result.gone:
        lines.append("Not tried again, as the file is gone or holds something else now:")
        lines += [f"  {terminal_safe(path)}" for path in result.gone]
    return "\n".join(lines)


_PRUNED = "older than what this store keeps since a prune."


_STATE = 8
"""The cells of the state of a check."""
_UNFOLDED = 10_000
"""The width of a line in cells if there is no terminal, so that nothing is folded."""
_NARROWEST = 40
"""The least cells of a sentence, however long the names of the checks are."""


def render_checks(checks: Sequence[Check], problems: int, width: int | None = None) -> str:
    """Write checks in aligned lines, then the number of problems.

    No line is wider than `width` cells; None is any number. A command is one line, however long.
    """
    name = max((len(check.name) for check in checks), default=0)
    before = " " * (_STATE + name + 3)
    room = max(_NARROWEST, (width or _UNFOLDED) - len(before))
    lines = []
    for check in checks:
        head = f"{check.state:{_STATE}} {check.name:{name}}  "
        lines += hanging(head, terminal_safe(check.said), len(before) + room)
        if check.todo and check.state != "ok":
            advice, is_command, command = check.todo.partition(": analyzer ")
            if is_command:
                # A command is never folded, so that it can be pasted.
                lines += [before + part for part in fold(f"→ {terminal_safe(advice)}:", room)]
                lines.append(f"{before}analyzer {terminal_safe(command)}")
            else:
                lines += step("", check.todo, len(before) + room, len(before))
    return "\n".join([*lines, f"\n{counted(problems, 'problem')}."])


_MOST_AGENTS = 7
"""The number of agents that are listed before their logs are read: the whole text has ten lines."""
_MOST_PATHS = 2
"""The number of paths that are named of an agent without logs; an editor's extension has one an
editor."""


def render_found(survey: Survey, store_path: str, home: str | None, width: int) -> str:
    """Write the logs that were found, by agent, and where they are kept, in at most ten lines."""
    agents: dict[str, list[Stock]] = {}
    for stock in survey.found:
        agents.setdefault(stock.place.agent, []).append(stock)
    lines = [f"Found logs of {counted(len(agents), 'agent')}; nothing leaves this machine:"]
    shown = list(agents.items())[:_MOST_AGENTS]
    rows = []
    for agent, stocks in shown:
        more = f" and {len(stocks) - 1} more" if len(stocks) > 1 else ""
        rows.append((agent, *_figures(stocks), _path(stocks[0], home) + more))
    lines += _table(rows, width)
    if hidden := len(agents) - len(shown):
        lines.append(f"  and {counted(hidden, 'more agent')}: {command_line('sources')}")
    return "\n".join([*lines, fit(f"Kept in {terminal_safe(without_home(store_path, home))}", width)])


def render_sources(survey: Survey, store_path: str, home: str | None, width: int | None, asking: Asking = HERE) -> str:
    """Write the places with logs, their formats and what is new, then the places without logs."""
    rows = [
        (stock.place.agent, *_figures([stock]), f"{_path(stock, home)} ({', '.join(stock.place.formats)})")
        for stock in survey.found
    ]
    lines = _table(rows, width or _UNFOLDED)
    new = sum(stock.new_bytes for stock in survey.found)
    files = sum(stock.new_files for stock in survey.found)
    if rows:
        store = terminal_safe(without_home(store_path, home))
        what = f"{counted(files, 'file')} with {_size(new)} to read into {store}: {asking.command('ingest')}"
        lines.append(f"\n{what if files else f'Nothing new to read into {store}'}")
    return "\n".join([*lines, *([""] if rows else []), render_nothing(survey, home, width)])


def render_nothing(survey: Survey, home: str | None, width: int | None) -> str:
    """Write the places without logs, by agent."""
    empty: dict[str, list[str]] = {}
    for stock in survey.stocks:
        if not stock.files:
            empty.setdefault(stock.place.agent, []).append(_path(stock, home))
    if not empty:
        return ""
    lines = ["Nothing in:"]
    for agent, paths in empty.items():
        more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
        first, *rest = fold(f"{agent}: {', '.join(paths[:_MOST_PATHS])}{more}", (width or _UNFOLDED) - 4)
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    return "\n".join(lines)


def _figures(stocks: Iterable[Stock]) -> tuple[str, str, str]:
    stocks = list(stocks)
    new = sum(stock.new_files for stock in stocks)
    files = counted(sum(stock.files for stock in stocks), "file")
    return files, _size(sum(stock.bytes for stock in stocks)), f"{new:,} new" if new else "none new"


def _path(stock: Stock, home: str | None) -> str:
    return terminal_safe(without_home(stock.place.path, home))


def _table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    lines = columns([["", *row] for row in rows], [False, False, True, True, True, False]) if rows else []
    return [fit(line, width) for line in lines]


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


def render_catalogue(name: str | None = None) -> str:
    """Write the list of all queries, or one query with its columns.

    Raises:
        AnalyzerError: there is no query of this name.
    """
    chosen = _queries(name)
    lines: list[str] = []
    inner = False
    for query in chosen:
        if not name and query.inner and not inner:
            inner = True
            lines += ["What checks and reports ask for themselves:", ""]
        header = query.header
        lines += [query.name, f"    {header.title}. {header.description}"]
        options = [f"-p {item.name}={item.default}" for item in header.params]
        wide = max(map(len, options), default=0)
        lines += [f"    {shown:{wide}}  {item.description}" for shown, item in zip(options, header.params, strict=True)]
        if name:
            width = max(len(item.name) for item in header.columns)
            lines += ["", *(f"    {item.name:{width}}  {item.type:9}  {item.description}" for item in header.columns)]
        lines.append("")
    return "\n".join(lines).rstrip()


def render_prices(prices: Sequence[Price]) -> str:
    """Write one line a price, in US dollars for a million tokens.

    Prices that begin at a date or at a prompt size say so.
    """
    head = ("provider", "model", "input", "output", "cache read", "cache write", "for an hour", "prompts over", "from")
    rows = [list(head)]
    for price in prices:
        costs = price.input, price.output, price.cache_read, price.cache_write, price.cache_write_hour
        over, since = f"{price.above_tokens:,}" if price.above_tokens else "-", str(price.valid_from or "-")
        rows.append([price.provider, price.model, *map(_usd, costs), over, since])
    sources = sorted({price.source for price in prices})
    return "\n".join(
        [
            "US dollars for a million tokens, at list prices:",
            "",
            *columns(rows, [False, False, *[True] * 6, False]),
            "",
            *(f"Read from {source}" for source in sources),
        ]
    )


def render_differences(different: Sequence[Difference], compared: int) -> str:
    """Write the verdict, then one line for each price that differs."""
    if not different:
        return f"None of {counted(compared, 'price')} differs."
    rows = [["provider", "model", "tokens", "ours", "theirs"]]
    rows += [
        [price.provider, terminal_safe(price.model), price.kind, _usd(price.ours), _usd(price.theirs)]
        for price in different
    ]
    head = f"{len(different)} of {counted(compared, 'price')} differ, in US dollars for a million tokens:"
    return "\n".join([head, "", *columns(rows, [False, False, False, True, True])])


def _usd(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:g}"
