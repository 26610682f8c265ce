"""What the sums of days ask of whatever holds the events: a connection of DuckDB's here, Spark beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

from analyzer.store.db.frames import alone, register, to_frame
from analyzer.store.db.freed_memory import MANY_ROWS, give_back
from analyzer.store.sums.counting import counted
from analyzer.store.sums.statements import GROUPS, RELAYS
from analyzer.store.sums.tables import sorted_sums

if TYPE_CHECKING:
    import polars as pl


class Engine(Protocol):
    """Whatever answers the statements of this folder."""

    divides: bool
    """Whether it divides much work by itself, and is to be given all days at once."""

    def ask(self, statement: str, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The rows of a statement over the store and these frames, with these values for its parameters."""

    def by_session(self, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """What `counted` makes of the rows of `GROUPS` and `RELAYS`."""


class OwnEngine:
    """A store of DuckDB's."""

    divides = False

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def ask(self, statement: str, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The rows, of the store as it is now."""
        for name, frame in frames.items():
            register(self._connection, name, frame)
        return to_frame(self._connection.sql(statement, params=dict(given)))

    def by_session(self, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """The same in this process; what was read for it is given back where that is much."""
        common = {name: value for name, value in given.items() if name != "ruleset"}
        rows, relays = self.ask(GROUPS, given, frames), self.ask(RELAYS, common, frames)
        made = {name: alone(sorted_sums(name, frame)) for name, frame in counted(rows, relays).items()}
        if rows.height >= MANY_ROWS:
            del rows
            give_back()
        return made
