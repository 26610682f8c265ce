"""The questions that the sums of days put to a connection, and what is counted of the answers in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import duckdb

from analyzer.store.db.frames import alone, register, to_frame
from analyzer.store.db.freed_memory import MANY_ROWS, give_back
from analyzer.store.sums.counting import counted
from analyzer.store.sums.statements import GROUPS, RELAYS
from analyzer.store.sums.tables import sorted_sums

if TYPE_CHECKING:
    import polars as pl


class Engine:
    """A connection to a store."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def ask(self, statement: str, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The rows, of the store as it is now."""
        for name, frame in frames.items():
            register(self._connection, name, frame)
        return to_frame(self._connection.sql(statement, params=dict(given)))

    def by_session(self, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """What `counted` makes of the rows of `GROUPS` and `RELAYS`; memory is given back where that is much."""
        common = {name: value for name, value in given.items() if name != "ruleset"}
        rows, relays = self.ask(GROUPS, given, frames), self.ask(RELAYS, common, frames)
        made = {name: alone(sorted_sums(name, frame)) for name, frame in counted(rows, relays).items()}
        if rows.height >= MANY_ROWS:
            del rows
            give_back()
        return made
