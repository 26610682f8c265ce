"""Write the rows of a query as a table, JSON, CSV, Markdown or Parquet.

Further functions word a value and the heading of a column for readers.

Invariants: all text formats say the same of a value; NaN and infinities are null in all of them.
Texts for readers are not escaped yet: each writer does that for its own medium. A name of a column
carries its unit, which decides the form. The meanings of words are those of the glossary, word for
word.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from analyzer.errors import AnalyzerError
from analyzer.events.times import format_time
from analyzer.readable import counted, percent
from analyzer.redaction import redact
from analyzer.redaction.walk import without_home
from analyzer.report.escape import FORMATS, csv_cell, json_text, jsonl_text, terminal_safe
from analyzer.report.writers.markdown import markdown_table
from analyzer.report.writers.monospace import hanging, pad, width_of
from analyzer.report.writers.text import NARROWEST_COLUMN, column_sizes, narrowed, row_lines
from analyzer.store.db.frames import PlainRows

if TYPE_CHECKING:
    import polars as pl


_CUT = "There are more rows: the limit cut them off."
_PLAN = ["explain_key", "explain_value"]
"""The columns of the database's answer to EXPLAIN: its plan is a drawing, which a table would
break up."""


class _Answer(NamedTuple):
    """The rows to write, of a frame or of rows that never were a frame."""

    names: list[str]
    right: list[bool]
    """True for the columns that are flush right, as numbers are."""
    rows: Iterable[tuple[Any, ...]]
    """Lazy: as Python objects rows take ten times the memory that they take in a frame."""

    @property
    def plain(self) -> Iterator[list[Any]]:
        """Yield the values of each row as JSON has them."""
        return ([plain(value) for value in row] for row in self.rows)


def render_rows(
    frame: pl.DataFrame | PlainRows,
    format: str,  # noqa: A002 - the word of the option
    *,
    name: str = "",
    truncated: bool = False,
    width: int | None = None,
) -> str | bytes:
    """Write rows as text with a newline at its end, or as the bytes of a Parquet file.

    Parquet needs a frame. `name` is the schema of the JSON (`analyzer.query/1`). `truncated` says
    that rows are missing; csv, jsonl and parquet have no place for that. `width` folds the longest
    texts of a table to fit so many cells; if they cannot fit, each row becomes a block with a line
    a column.

    Raises:
        AnalyzerError: there is no such format, or a date is outside of the years 1 to 9999, which
            only Parquet can hold.
    """
    if format == "parquet" and not isinstance(frame, PlainRows):
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    answer = _Answer(frame.names, frame.numeric, frame.rows) if isinstance(frame, PlainRows) else _of_frame(frame)
    if format == "json":
        return _json(answer, name or "analyzer.query/1", truncated)
    if format == "table":
        return _table(answer, truncated, width)
    if format == "markdown":
        return _markdown(answer, truncated)
    if format == "jsonl":
        return jsonl_text(dict(zip(answer.names, row, strict=True)) for row in answer.plain)
    if format == "csv":
        return _csv(answer)
    raise AnalyzerError.unknown_value("format", format, FORMATS)


def plain(value: object) -> Any:
    """Convert a cell of any type for JSON.

    Times are in UTC as ISO 8601, durations in seconds, bytes in hexadecimal.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    for types, convert in _CONVERSIONS:
        if isinstance(value, types):
            return convert(value)
    return str(value)


def _decimal(value: Decimal) -> int | float | None:
    if not value.is_finite():
        return None
    # DuckDB sums integers into HUGEINT, which arrives as a decimal without fraction digits.
    return int(value) if int(value.as_tuple().exponent) >= 0 else float(value)


def _moment(value: datetime) -> str:
    whole = value.microsecond % 1000 == 0 or value.tzinfo is not None
    return format_time(value) if whole else value.isoformat() + "Z"


_CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (float, lambda value: value if math.isfinite(value) else None),
    (Decimal, _decimal),
    (datetime, _moment),
    ((date, time), lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    ((bytes, bytearray), lambda value: value.hex()),
    (dict, lambda value: {str(key): plain(item) for key, item in value.items()}),
    ((list, tuple), lambda value: [plain(item) for item in value]),
)


def _of_frame(frame: pl.DataFrame) -> _Answer:
    """Take the rows of a frame.

    Raises:
        AnalyzerError: a date is outside of the years 1 to 9999, at which Polars panics when it
            becomes one of Python's.
    """
    import polars as pl

    for name, kind in frame.schema.items():
        if isinstance(kind, pl.Date | pl.Datetime):
            a_day = _IN_A_DAY[kind.time_unit] if isinstance(kind, pl.Datetime) else 1
            days = frame[name].to_physical().cast(pl.Int64) // a_day
            if not days.is_between(*_DAYS).all():
                raise AnalyzerError(f"column {name} holds a date outside of the years 1 to 9999", "cast it to varchar")
    return _Answer(frame.columns, [kind.is_numeric() for kind in frame.dtypes], frame.iter_rows())


_DAYS = (date.min.toordinal() - date(1970, 1, 1).toordinal(), date.max.toordinal() - date(1970, 1, 1).toordinal())
_IN_A_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def _json(answer: _Answer, schema: str, truncated: bool) -> str:
    fields = {"schema": schema, "columns": answer.names, "truncated": truncated}
    head = "".join(f"{json_text(key)}: {json_text(value)}, " for key, value in fields.items())
    rows = ",\n".join(json_text(dict(zip(answer.names, row, strict=True))) for row in answer.plain)
    return f'{{{head}"rows": [\n{rows}\n]}}\n' if rows else f'{{{head}"rows": []}}\n'


def _text(value: object, *, rounded: bool = False) -> str:
    """Write a plain value as the text of a cell.

    `rounded` keeps six decimals, which are enough for a person.
    """
    if value is None:
        return ""
    if isinstance(value, float) and rounded:
        value = round(value, 6)
    return value if isinstance(value, str) else json_text(value)


def _csv(answer: _Answer) -> str:
    # A lone null would be an empty line, which readers skip.
    rows = (",".join(map(_csv_value, row)) or '""' for row in answer.plain)
    lines = [",".join(map(_quoted, answer.names)), *rows]
    return "\n".join(lines) + "\n"


def _csv_value(value: object) -> str:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return _text(value)
    return _quoted(_text(value))


def _quoted(text: str) -> str:
    return '"' + csv_cell(terminal_safe(text, keep="\n\t")).replace('"', '""') + '"'


def _markdown(answer: _Answer, truncated: bool) -> str:
    if not answer.names:
        return ""
    rows = ((_text(value, rounded=True) for value in row) for row in answer.plain)
    return f"{markdown_table(answer.names, rows, answer.right)}\n" + (f"\n{_CUT}\n" if truncated else "")


def _table(answer: _Answer, truncated: bool, width: int | None) -> str:
    if not answer.names:
        return ""
    if answer.names == _PLAN:
        return "\n".join(terminal_safe(plan, keep="\n") for _, plan in answer.rows)
    header = [terminal_safe(name) for name in answer.names]
    body = [[terminal_safe(_text(value, rounded=True)) for value in row] for row in answer.plain]
    sizes = column_sizes([header, *body])
    if width is not None:
        sizes = narrowed(sizes, answer.right, width)
        if body and sum(sizes) + 2 * (len(sizes) - 1) > width:
            return _records(header, body, width) + _footer(len(body), truncated)
    lines = (
        line for row in [header, ["-" * size for size in sizes], *body] for line in row_lines(row, sizes, answer.right)
    )
    return "\n".join(lines) + "\n" + _footer(len(body), truncated)


def _footer(height: int, truncated: bool) -> str:
    rows = counted(height, "row")
    return f"\n{rows}. {_CUT}\n" if truncated else f"\n{rows}\n"


def _records(header: list[str], body: list[list[str]], width: int) -> str:
    """Write a block a row and a line a column, for rows that are too wide for a line."""
    names = max(map(width_of, header))
    heads = [f"{pad(name, names)}  " for name in header]
    blocks = []
    for row in body:
        lines: list[str] = []
        for head, cell in zip(heads, row, strict=True):
            lines += hanging(head, cell, width, NARROWEST_COLUMN)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


NOTHING = "–"
"""The sign for a value that the log does not have."""
_PATHS = frozenset({"source_path", "session", "cwd"})
"""The columns that hold paths, in all of their rows or in some."""


def heading(column: str) -> str:
    """Write the name of a column as a heading, `unknown_share` as `Unknown share`.

    Times say their zone, units are in brackets.
    """
    ending = next(filter(column.endswith, _UNITS), "")
    words = column.removesuffix(ending).replace("_", " ") + _UNITS.get(ending, "")
    return words[:1].upper() + words[1:]


_UNITS = {"_at": " (UTC)", "_seconds": " (s)", "_usd": " ($)", "_percent": ""}
"""Endings of names of columns, and what a heading says instead."""


def shown(column: str, value: object) -> str:
    """Write a cell for readers: separated thousands, shares in percent, times to the minute."""
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
    return redact(without_home(str(value))) if column in _PATHS else str(value)


def count(number: int) -> str:
    """Write a count with separated thousands: `1,234`."""
    return f"{number:,}"


def brief(number: int) -> str:
    """Write a count in at most seven cells.

    From a million on it is rounded to a unit, as `1.2M`.
    """
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if number >= size:
            return f"{number / size:,.1f}{unit}"
    return count(number)


def minute(moment: datetime) -> str:
    """Write a naive UTC moment to the minute: `2026-11-21 08:15`."""
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
"""The plainer names of columns and outcomes for people."""

MEANINGS = {
    "caller": "The part of your system that made the call: a component, a tool, a project.",
    "chain": "A call and its retries.",
    "compaction": "An agent's conversation, shortened to fit its context window again.",
    "finding": "Something that changed, where, since when, and the evidence.",
    "quarantine": "Lines that could not be read, with file, position and cause.",
    "relay": "A hand-off: an agent whose context is nearly full passes its work to a fresh one.",
    "session": "One run of an agent under one ID.",
    "unknown share": "Unknown errors divided by all errors, except aborted ones and those without any detail.",
}
"""The words of the page, each with the first sentence of its entry in the glossary."""


def plain_heading(column: str) -> str:
    """Write the heading of a column, in plain words if there are some."""
    plain = PLAIN.get(column)
    return heading(column) if plain is None else f"{plain[:1].upper()}{plain[1:]}"
