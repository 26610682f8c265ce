"""Views worked out once for many questions: a report asks some twenty, and each would fold all events again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import duckdb

from analyzer.store.db.freed_memory import MANY_ROWS, give_back

_TEXTS = ("status", "code", "error_type", "message", "fingerprint", "template")
PINNED = {
    "retries": "operation, caller, reason, outcome, attempts, waited_seconds, started_at",
    # Texts take most room by far, and a report quotes those of unknown errors alone.
    "errors": (
        "occurred_at, caller, session_id, operation, outcome, reason, retryable, counts_as_unknown, has_facts,"
        " source_line, suggested_reason, suggested_probability,"
        + ",".join(f" case when counts_as_unknown then {name} end as {name}" for name in _TEXTS)
    ),
    "relays": (
        "relay, occurred_at, caller, session_id, step_id, trigger, token_usage_percent, threshold_percent, pre_tokens,"
        " post_tokens, outcome"
    ),
}
"""The views that cost most and are asked most, with the columns that a report's tables are made of. The others would
take more room than these; a question for one of them fails. `errors` joins `retries`."""
WITHIN = {
    "retries": "operation between $first and $last",
    # What a chain of the window ended as is told by errors that may come later.
    "errors": "occurred_at >= $since and (occurred_at < $until or operation between $first and $last)",
    "relays": "occurred_at >= $since and occurred_at < $until",
}
"""Of each what questions about a window need. Ids of chains begin with their time, as a rule."""
CHAINS = """
select
  min(operation) as lowest,
  max(operation) as highest
from internal.event_v1
where occurred_at >= $since
  and occurred_at < $until
"""
"""The first and the last of the chains that a window has any event of."""


@contextmanager
def pinned(
    connection: duckdb.DuckDBPyConnection, since: datetime | None = None, until: datetime | None = None
) -> Iterator[None]:
    """Copy what these views have of a window into tables, and answer from the copies within the block.

    Without room for copies the views are used.
    """
    try:
        # Names of temporary tables come before those of views.
        with suppress(duckdb.Error):
            window = {"since": since or datetime.min, "until": until or datetime.max}  # noqa: DTZ901 - naive UTC
            whole = since is None and until is None
            first, last = (None, None) if whole else connection.execute(CHAINS, window).fetchall()[0]
            known = {**window, "first": first, "last": last}
            for name, columns in PINNED.items():
                sql = f"create temp table {name} as select {columns} from main.{name}"  # noqa: S608 - names of ours
                given = {} if whole else {key: value for key, value in known.items() if f"${key}" in WITHIN[name]}
                if given:
                    sql += f" where {WITHIN[name]}"
                ((rows,),) = connection.execute(sql, given).fetchall()
                if rows >= MANY_ROWS:
                    give_back()
        yield
    finally:
        for name in PINNED:
            with suppress(duckdb.Error):
                connection.execute(f"drop table if exists temp.{name}").fetchall()
