"""Select a part of a store: the rows of one project, agent, caller, reason, provider or model.

Invariant: a row that does not name what is asked for is not in the part; the analyzer's own
decisions are in every part.

Times are read as people type them: `2026-11-01`, `2026-11-01T06:00`, `7d`, `now-7d`, `yesterday`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from analyzer.errors import AnalyzerError
from analyzer.events.times import now, to_naive_utc
from analyzer.store.db.connection import query_errors
from analyzer.store.db.engine import Connection, duckdb, execute
from analyzer.store.db.frames import quoted, sql
from analyzer.store.db.location import CATALOG
from analyzer.store.db.tables.schema import views


@dataclass(frozen=True, slots=True)
class Selection:
    """The values that are asked for; None stands for any.

    Raises:
        AnalyzerError: a value is no text that a store can hold.
    """

    project: str | None = None
    """The last name of the working directory."""
    agent: str | None = None
    """The program that was at work, such as `claude-code`."""
    caller: str | None = None
    reason: str | None = None
    provider: str | None = None
    """The provider that serves the model."""
    model: str | None = None

    def __post_init__(self) -> None:
        """Check that every value is UTF-8, as DuckDB fails otherwise in words of its own."""
        for name, value in self.given.items():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise AnalyzerError(f"{name} {value!r} is not UTF-8", "no log has it under such a name") from None

    @property
    def given(self) -> dict[str, str]:
        """Return the values that are asked for, by name; empty for the whole store."""
        return {name: value for name in Selection.__slots__ if (value := getattr(self, name)) is not None}

    def __bool__(self) -> bool:
        """Say whether anything is asked for."""
        return bool(self.given)

    def __str__(self) -> str:
        """Describe it for a person: `project shop, model x`."""
        return ", ".join(f"{name} {value}" for name, value in self.given.items())


_OF_EVENTS = {
    "project": "work[1].project",
    "agent": "work[1].agent",
    "caller": "coalesce(caller, '(none)')",
    "reason": "reason",
    "provider": "provider",
    "model": "model",
}
"""The expression for each name in the table of events."""
_OF_ERRORS = {
    **_OF_EVENTS,
    "reason": "shown_reason",
    **{name: f"coalesce({name}, seen_{name})" for name in ("provider", "model")},
}
_ROWS = (
    "errors",
    "relays",
    "exhaustions",
    "context_recoveries",
    "tool_failures",
    "tool_calls",
    "usage",
    "answers_between",
    "endings",
    "limits",
)
"""Views whose rows have these names as columns."""
_ERRORS = "selected_errors"
_JOINED = ("retries", "sessions", "events", "verdicts", "errors_under", "comparable_errors")
"""Views whose rows are chosen by their errors, too."""
_NARROWED = frozenset({*_ROWS, *_JOINED})


def narrows(sql: str) -> bool:
    """Say whether a query asks any view that a selection makes smaller."""
    words = sql.replace("(", " ( ").split()
    return any(word in ("from", "join") and following in _NARROWED for word, following in itertools.pairwise(words))


@contextmanager
def selected(connection: Connection, only: Selection) -> Iterator[None]:
    """Let the views of this connection show only the selected part within the block.

    A chain is in it with such an error, a session with such an error or such a log. Sources, quarantine,
    writers, nights and findings are shown whole.
    """
    if not only:
        yield
        return
    try:
        with query_errors():
            # `main` without the catalog also means the schema of temporary views.
            for statement in statements_of(only, f"{CATALOG}.main"):
                connection.execute(statement)
        yield
    finally:
        for name in (*_ROWS, *_JOINED, _ERRORS):
            kind = "macro table" if _parameters(name) else "view"
            with suppress(duckdb.Error):
                execute(connection, f"drop {kind} if exists temp.{name}")


def statements_of(only: Selection, main: str) -> Iterator[str]:
    """Yield statements for temporary views, whose names come before those of the store's own views."""
    values = only.given
    of_errors, of_events = _all(_OF_ERRORS, values), _all(_OF_EVENTS, values)
    yield _view(_ERRORS, sql("select event_id, operation, session_id from internal.error where {only}", only=of_errors))
    for name in _ROWS:
        columns = {column.name: column.name for column in views()[name].columns}
        # A view without a provider has that of the session.
        of_session = sql(
            "(select max(s.provider) from {main}.sessions as s where s.session_id = own.session_id)", main=main
        )
        own = _all({"provider": of_session, **columns} if "session_id" in columns else columns, values)
        whole = sql("select * from {main}.{name} as own where {only}", main=main, name=_asked(name), only=own)
        yield _view(name, whole)
    of_event = "event_id in (select event_id from {errors})"
    within = {
        "verdicts": of_event,
        "errors_under": of_event,
        "comparable_errors": of_event,
        "retries": "operation in (select operation from {errors})",
        "sessions": "{only} or session_id in (select session_id from {errors})",
        "events": "is_decision(type) or event_id in (select event_id from {errors} union all"
        " select event_id from internal.event_v1 where type <> 'error.classified' and {only})",
    }
    of_sessions = _all({column.name: column.name for column in views()["sessions"].columns}, values)
    for name, rows in within.items():
        chosen = sql(rows, errors=_ERRORS, only=of_sessions if name == "sessions" else of_events)
        yield _view(name, sql("select * from {main}.{name} where {rows}", main=main, name=_asked(name), rows=chosen))


def _view(name: str, query: str) -> str:
    kind = "macro" if _parameters(name) else "view"
    return f"create or replace temp {kind} {_asked(name)} as {'table ' if _parameters(name) else ''}{query}"


def _asked(name: str) -> str:
    """Return a view as a query names it, with its parameters where it has some."""
    return f"{name}({_parameters(name)})" if _parameters(name) else name


def _parameters(name: str) -> str:
    header = views().get(name)
    return ", ".join(param.name for param in header.params) if header else ""


def _all(columns: dict[str, str], values: dict[str, str]) -> str:
    parts = [f"{columns[name]} = {quoted(value)}" if name in columns else "false" for name, value in values.items()]
    return f"({' and '.join(parts)})"


_SPAN = re.compile(r"^(\d{1,6})(mo|m|h|d|w|y)$")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
SPANS = "90m, 36h, 7d, 2w, 6mo or 1y"
"""Lengths of time as people write them; a month has 30 days and a year 365."""
HINT = "write a date (2026-11-01), a time (2026-11-01T06:00), a span back from now (7d, 6mo), yesterday or today"


def moment(text: str, now: datetime, zone: tzinfo = UTC) -> datetime:
    """Return the moment that a text stands for, naive UTC.

    `now` is naive UTC; a date without an offset is one of `zone`.

    Raises:
        AnalyzerError: it stands for none.
    """
    word = text.strip().lower()
    if word == "now":
        return now
    if word in {"today", "yesterday"}:
        local = now.replace(tzinfo=UTC).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        return to_naive_utc(local - timedelta(days=word == "yesterday"))
    try:
        if match := _SPAN.match(word.removeprefix("now-")):
            return now - span(match[0])
        parsed = datetime.fromisoformat(text.strip())
        return to_naive_utc(parsed if parsed.tzinfo else parsed.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        raise AnalyzerError(f"not a time: {text!r}", HINT) from None


def span(text: str) -> timedelta:
    """Parse a length of time: `90m`, `36h`, `7d`, `2w`, `6mo` (30 days each), `1y` (365 days).

    Raises:
        AnalyzerError: it is none.
    """
    match = _SPAN.match(text.strip().lower())
    if match is None:
        raise AnalyzerError(f"not a length of time: {text!r}", f"write {SPANS}")
    try:
        return int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise AnalyzerError(f"too long a time: {text!r}", f"write {SPANS}") from None


def kept_since(older_than: str) -> datetime:
    """Return the midnight (naive UTC) before which everything is older than a length, as 90d.

    Raises:
        AnalyzerError: it is none.
    """
    return (now() - span(older_than)).replace(hour=0, minute=0, second=0, microsecond=0)
