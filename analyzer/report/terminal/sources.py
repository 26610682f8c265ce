"""The places of agents' logs for a terminal: what lies there, what of it is new, and where nothing does.

Invariant: paths went through `terminal_safe`, and none is longer than asked without a sign of it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from analyzer.command_lines import HERE, Asking, command_line
from analyzer.phrases import counted
from analyzer.redaction.homes import without_home
from analyzer.report.escape import terminal_safe
from analyzer.store import Stock, Survey

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
    return "\n".join([*lines, _cut(f"Kept in {terminal_safe(without_home(store_path, home))}", width)])


def render_sources(survey: Survey, store_path: str, home: str | None, width: int | None, asking: Asking = HERE) -> str:
    """Every place that holds logs, with formats and what is new, then the others."""
    rows = [
        (stock.place.agent, *_figures([stock]), f"{_path(stock, home)} ({', '.join(stock.place.formats)})")
        for stock in survey.found
    ]
    lines = _table(rows, width)
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
        said = f"{agent}: {', '.join(paths[:_MOST_PATHS])}{more}"
        lines += textwrap.wrap(
            said,
            width or 10_000,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _figures(stocks: Iterable[Stock]) -> tuple[str, str, str]:
    stocks = list(stocks)
    new = sum(stock.new_files for stock in stocks)
    files = counted(sum(stock.files for stock in stocks), "file")
    return files, _size(sum(stock.bytes for stock in stocks)), f"{new:,} new" if new else "none new"


def _path(stock: Stock, home: str | None) -> str:
    return terminal_safe(without_home(stock.place.path, home))


def _table(rows: list[tuple[str, str, str, str, str]], width: int | None) -> list[str]:
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return [
        _cut(
            f"  {agent:{widths[0]}}  {files:>{widths[1]}}  {size:>{widths[2]}}  {new:>{widths[3]}}  {path}",
            width,
        )
        for agent, files, size, new, path in rows
    ]


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def _size(size: int) -> str:
    unit, divisor = ("GB", 1e9) if size >= 1e9 else ("MB", 1e6) if size >= 1e6 else ("kB", 1e3)
    return f"{size / divisor:,.1f} {unit}"
