"""`DetectorStates`: what the tests knew at the end of a day of history, kept so that they go on from there.

Invariant: a state is no more than a shortcut. It is found by what it was made of, so one that is out of date is not.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

import duckdb

from analyzer.store.db.connection import query_errors, store_errors, transaction
from analyzer.store.sums.tables import complete


class DetectorStates:
    """The states that a store keeps, in days of a zone; one that is open for reading keeps no more of them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, timezone: str, *, keep: bool) -> None:
        self._connection, self._timezone = connection, timezone
        self.keeps = keep
        """Whether any more of them are kept."""

    def days(self, settings: str, last: date) -> list[tuple[date, str]]:
        """The days up to one whose state under these settings was kept, with what it was made of; newest first.

        Raises:
            QueryError: the database refuses.
        """
        with query_errors():
            if not complete(self._connection):
                return []
            return self._connection.execute(
                "select day, made_of from internal.walk_v1"
                " where timezone = $1 and settings = $2 and day <= $3 order by day desc",
                [self._timezone, settings, last],
            ).fetchall()

    def state(self, settings: str, day: date) -> bytes:
        """The state at the end of one of those days.

        Raises:
            QueryError: the database refuses.
        """
        asked = [self._timezone, settings, day]
        with query_errors():
            rows = self._connection.execute(
                "select state from internal.walk_v1 where timezone = $1 and settings = $2 and day = $3", asked
            ).fetchall()
        return bytes(rows[0][0])

    def keep(self, settings: str, day: date, made_of: str, state: bytes, *, beside: Collection[date]) -> None:
        """Keep the state at the end of a day, beside those of later and of some other days.

        Raises:
            StoreError: the store cannot be written.
        """
        with store_errors(), transaction(self._connection):
            self._connection.execute(
                "delete from internal.walk_v1"
                " where timezone = $1 and settings = $2 and (day = $3 or (day < $3 and not list_contains($4, day)))",
                [self._timezone, settings, day, sorted(beside)],
            ).fetchall()
            self._connection.execute(
                "insert into internal.walk_v1 values ($1, $2, $3, $4, $5)",
                [self._timezone, settings, day, made_of, state],
            ).fetchall()
