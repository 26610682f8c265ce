"""Views worked out once for many questions: a report asks some twenty, and each would fold all events again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

PINNED = ("retries", "errors")
"""The views that cost most and are asked most; `errors` joins `retries`."""


@contextmanager
def pinned(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Copy these views into tables, and answer from the copies within the block.

    Without room for copies the views are used.
    """
    try:
        # Names of temporary tables come before those of views.
        with suppress(duckdb.Error):
            for name in PINNED:
                connection.execute(f"create temp table {name} as from main.{name}").fetchall()
        yield
    finally:
        for name in PINNED:
            with suppress(duckdb.Error):
                connection.execute(f"drop table if exists temp.{name}").fetchall()
