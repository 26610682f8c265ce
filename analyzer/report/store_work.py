"""Stores for a terminal: work done on them, their checks, logs to read into them, queries and prices.

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
from analyzer.store import Check, IngestResult, Prune, QuarantineRetry, Query, Rebuild, Stock, Survey, catalogue, find
from analyzer.store.prices import Difference, Price

MAX_VANISHED = 5
"""Logs that are gone which the summary of a rebuild names."""


def render_ingest(result: IngestResult, store_path: str, asking: Asking = HERE) -> str:
    """What was read, what became of each line, and what is to come."""
    logs = IngestResult([item for item in result.sources if item.status != "unsupported"])
    total = logs.total
    megabytes = total.bytes / 1e6
    # The start of a process takes longer than a few lines: a rate of these would say nothing.
    rate = f" ({megabytes / result.seconds:,.0f} MB/s)" if megabytes >= 1 and result.seconds else ""
    met = f"{counted(len(logs.sources), 'file')}, {counted(total.lines, 'new line')}"
    lines = [
        f"{met}, {counted(total.events, 'new event')} → {terminal_safe(store_path)}",
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
        said = f"{counted(result.unjudged, 'new error')} without a verdict of the active ruleset"
        lines.append(f"{said}: {asking.command('reclassify', '--apply')}")
    if unsupported := result.unsupported():
        said = ", ".join(f"{name} ({files:,})" for name, files in sorted(unsupported.items()))
        lines.append(f"Not read yet, or no log, by format (files): {said}")
    return "\n".join(lines)


def render_rebuild(result: Rebuild, store_path: str, asking: Asking = HERE) -> str:
    """What there is now, what it was made from, what is missing."""
    met = f"{counted(result.events, 'event')} of {counted(result.sources, 'file')}"
    lines = [f"{met} → {terminal_safe(store_path)} in {result.seconds:.1f} s"]
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
    """What went or would go; `files` says whether files were asked for, too."""
    went = "Deleted" if result.done else "A dry run. Would delete"
    lines = [
        f"{went} what happened before {result.before:%Y-%m-%d} UTC:",
        f"  {counted(result.events, 'event')}",
        f"  {counted(result.quarantined, 'row')} of quarantine",
    ]
    if files:
        lines.append(f"  {counted(len(result.files), 'file')}, {result.file_bytes / 1e6:,.1f} MB")
        lines += [f"    {terminal_safe(path)}" for path in result.files]
    if result.kept_files:
        lines.append(f"{counted(len(result.kept_files), 'file')} of those days kept:")
        lines += [f"  {terminal_safe(said)}" for said in result.kept_files]
    return "\n".join(lines)


def render_retry(result: QuarantineRetry, asking: Asking = HERE) -> str:
    """What became of the lines in quarantine."""
    lines = [
        f"{counted(result.mended, 'line')} of {result.tried:,} can be read now: {counted(result.events, 'new event')}.",
        f"{counted(result.remaining, 'line')} still in quarantine.",
    ]
    if result.elsewhere:
        lines.append(f"{counted(result.elsewhere, 'line')} of other machines: run the same command there.")
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
"""Cells of the word that says how bad it is."""
_WHOLE = 10_000
"""Cells of a line that nobody folds: there is no terminal."""
_NARROWEST = 40
"""Cells that a sentence has, however long the names of the checks are."""


def render_checks(checks: Sequence[Check], problems: int, width: int | None = None) -> str:
    """Aligned lines of at most `width` cells, None for any number, and how many problems there are in all.

    A command is one line, however long.
    """
    name = max((len(check.name) for check in checks), default=0)
    before = " " * (_STATE + name + 3)
    room = max(_NARROWEST, (width or _WHOLE) - len(before))
    lines = []
    for check in checks:
        head = f"{check.state:{_STATE}} {check.name:{name}}  "
        lines += hanging(head, terminal_safe(check.said), len(before) + room)
        if check.todo and check.state != "ok":
            said, found, command = check.todo.partition(": analyzer ")
            if found:
                # A command stays in one piece, so that it can be pasted.
                lines += [before + part for part in fold(f"→ {terminal_safe(said)}:", room)]
                lines.append(f"{before}analyzer {terminal_safe(command)}")
            else:
                lines += step("", check.todo, len(before) + room, len(before))
    return "\n".join([*lines, f"\n{counted(problems, 'problem')}."])


_MOST_AGENTS = 7
"""Agents that are told one by one before their logs are read: with what is around them, ten lines."""
_MOST_PATHS = 2
"""Places of an agent without any logs that are named; an editor's extension has one an editor."""


def render_found(survey: Survey, store_path: str, home: str | None, width: int) -> str:
    """What was found, by agent, and where it is kept: ten lines at most."""
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
    """Every place that holds logs, with formats and what is new, then the others."""
    rows = [
        (stock.place.agent, *_figures([stock]), f"{_path(stock, home)} ({', '.join(stock.place.formats)})")
        for stock in survey.found
    ]
    lines = _table(rows, width or _WHOLE)
    new = sum(stock.new_bytes for stock in survey.found)
    files = sum(stock.new_files for stock in survey.found)
    if rows:
        store = terminal_safe(without_home(store_path, home))
        what = f"{counted(files, 'file')} with {_size(new)} to read into {store}: {asking.command('ingest')}"
        lines.append(f"\n{what if files else f'Nothing new to read into {store}'}")
    return "\n".join([*lines, *([""] if rows else []), render_nothing(survey, home, width)])


def render_nothing(survey: Survey, home: str | None, width: int | None) -> str:
    """The places without logs, by agent."""
    empty: dict[str, list[str]] = {}
    for stock in survey.stocks:
        if not stock.files:
            empty.setdefault(stock.place.agent, []).append(_path(stock, home))
    if not empty:
        return ""
    lines = ["Nothing in:"]
    for agent, paths in empty.items():
        more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
        first, *rest = fold(f"{agent}: {', '.join(paths[:_MOST_PATHS])}{more}", (width or _WHOLE) - 4)
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
    unit, divisor = ("GB", 1e9) if size >= 1e9 else ("MB", 1e6) if size >= 1e6 else ("kB", 1e3)
    return f"{size / divisor:,.1f} {unit}"


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
    """All queries, or one of them with its columns.

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
        given = [f"-p {item.name}={item.default}" for item in header.params]
        wide = max(map(len, given), default=0)
        lines += [f"    {shown:{wide}}  {item.description}" for shown, item in zip(given, header.params, strict=True)]
        if name:
            width = max(len(item.name) for item in header.columns)
            lines += ["", *(f"    {item.name:{width}}  {item.type:9}  {item.description}" for item in header.columns)]
        lines.append("")
    return "\n".join(lines).rstrip()


def render_prices(prices: Sequence[Price]) -> str:
    """One line a price: US dollars for a million tokens, and from when and from how many tokens of a prompt on."""
    head = ("provider", "model", "input", "output", "cache read", "cache write", "for an hour", "prompts over", "from")
    rows = [list(head)]
    for each in prices:
        costs = each.input, each.output, each.cache_read, each.cache_write, each.cache_write_hour
        over, since = f"{each.above_tokens:,}" if each.above_tokens else "-", str(each.valid_from or "-")
        rows.append([each.provider, each.model, *map(_usd, costs), over, since])
    sources = sorted({each.source for each in prices})
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
    """The verdict, and one line a price that differs."""
    if not different:
        return f"None of {counted(compared, 'price')} differs."
    rows = [["provider", "model", "tokens", "ours", "theirs"]]
    rows += [
        [each.provider, terminal_safe(each.model), each.kind, _usd(each.ours), _usd(each.theirs)] for each in different
    ]
    head = f"{len(different)} of {counted(compared, 'price')} differ, in US dollars for a million tokens:"
    return "\n".join([head, "", *columns(rows, [False, False, False, True, True])])


def _usd(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:g}"
