"""One value of a result, and the heading of a column, in the words of a reader.

A column's name carries its unit, and the unit decides the form. The texts are not escaped yet: each writer does that
for its own medium. The meanings of words are those of the glossary in the documentation, word for word.
"""

from __future__ import annotations

from datetime import date, datetime

from analyzer.readable import percent
from analyzer.redaction.homes import without_home

NOTHING = "–"
"""What stands for a value that the log does not say."""
_PATHS = frozenset({"source_path", "session", "cwd"})
"""Columns that hold paths, all or some of them."""


def heading(column: str) -> str:
    """`unknown_share` → `Unknown share`; times say their zone, units stand in brackets."""
    words = column.replace("_", " ")
    if column.endswith("_at"):
        words = f"{words.removesuffix(' at')} (UTC)"
    elif column.endswith("_seconds"):
        words = f"{words.removesuffix(' seconds')} (s)"
    elif column.endswith("_usd"):
        words = f"{words.removesuffix(' usd')} ($)"
    elif column.endswith("_percent"):
        words = words.removesuffix(" percent")
    return words[:1].upper() + words[1:]


def shown(column: str, value: object) -> str:
    """A cell: thousands separated, shares in percent, times to the minute."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return minute(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        return _number(column, value)
    return without_home(str(value)) if column in _PATHS else str(value)


def count(number: int) -> str:
    """`1,234`."""
    return f"{number:,}"


def brief(number: int) -> str:
    """A count in at most seven cells; from a million on it is rounded and says so by its unit."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if number >= size:
            return f"{number / size:,.1f}{unit}"
    return count(number)


def minute(moment: datetime) -> str:
    """`2026-11-21 08:15`, of a naive UTC moment."""
    return f"{moment:%Y-%m-%d %H:%M}"


def _number(column: str, value: float) -> str:
    if column == "share" or column.endswith("_share"):
        return percent(value)
    if column.endswith("_percent"):
        return f"{value:.1f}%"
    if column.endswith("_usd"):
        return f"{value:,.2f}"
    if column == "p_value":
        return f"{value:.2g}"
    if isinstance(value, int):
        return count(value)
    return f"{value:,.0f}" if column.endswith("_tokens") or abs(value) >= 1000 else f"{value:,.1f}"


PLAIN = {
    "relays": "handed off or compacted",
    "auto_relays": "by themselves",
    "manual_relays": "by hand",
    "halted": "given up",
    "surfaced": "shown to the user",
    "exhausted": "gave up",
    "escalated": "a person was asked",
    "unresolved": "end not in the log",
    "pre_tokens": "tokens before",
    "post_tokens": "tokens after",
    "mean_pre_tokens": "mean tokens before",
    "quarantined": "unreadable lines",
    "chains": "retried calls",
}
"""Columns and outcomes with a plainer name for people."""

MEANINGS = {
    "caller": "Who made the call that failed: a component, a tool, a project.",
    "chain": "The calls that belong together because each one repeats the one before: a first call and its retries.",
    "compaction": "An agent's conversation made shorter, so that it fits its model's context window again.",
    "exhausted": "Of a chain, an outcome: all calls that its policy allows have failed.",
    "finding": "What a night's check reports: something that changed, where, since when, and the evidence.",
    "quarantine": "The lines that could not be read, each with its file, its place and the cause.",
    "recovered": "An outcome: a later call of the same chain worked.",
    "relay": (
        "Work handed from an agent whose context is filling up to a fresh instance of it, by a checkpoint that says "
        "what is done and what is left."
    ),
    "session": "One run of an agent under one id.",
    "surfaced": "An outcome: nothing more was tried, and the error was shown to whoever had asked for the call.",
    "unknown share": "The unknown errors divided by all errors that count.",
}
"""Words of the page, each with the sentence that the glossary begins with."""


def plain_heading(column: str) -> str:
    """The heading of a column, in plain words where there are some."""
    plain = PLAIN.get(column)
    return heading(column) if plain is None else f"{plain[:1].upper()}{plain[1:]}"
