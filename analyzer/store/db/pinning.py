"""Views worked out once for many questions: a report asks some twenty, and each would fold all events again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

from analyzer.store.db.freed_memory import MANY_ROWS, give_back

PINNED = {
    "retries": "*",
    "errors": (
        "occurred_at, caller, session_id, operation, outcome, reason, retryable, counts_as_unknown, has_facts,"
        " status, code, error_type, message, fingerprint, source_line"
    ),
}
"""The views that cost most and are asked most, with the columns that a report's tables are made of. The others would
take more room than these; a question for one of them fails. `errors` joins `retries`."""


@contextmanager
def pinned(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Copy these views into tables, and answer from the copies within the block.

    Without room for copies the views are used.
    """
    try:
        # Names of temporary tables come before those of views.
        with suppress(duckdb.Error):
            for name, columns in PINNED.items():
                sql = f"create temp table {name} as select {columns} from main.{name}"  # noqa: S608 - names of ours
                ((rows,),) = connection.execute(sql).fetchall()
                if rows >= MANY_ROWS:
                    give_back()
        yield
    finally:
        for name in PINNED:
            with suppress(duckdb.Error):
                connection.execute(f"drop table if exists temp.{name}").fetchall()
