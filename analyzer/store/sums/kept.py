"""`Kept`: the days of a time zone that the store has sums of, and how these are replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date

import duckdb
import polars as pl

from analyzer.store.db.connection import store_errors, transaction
from analyzer.store.db.frames import frame_of, register, to_frame
from analyzer.store.sums.tables import CUT, SCHEMAS, complete, empty, table_of

# Few messages were ever decided by weak evidence, and there are many others.
_WEAK = (
    "select template from weak_template union all"
    " select template from internal.sum_known_template_v1 where timezone = $1 and weak_sessions > 0"
)


class Kept:
    """The days of a zone that the store keeps under a ruleset."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, timezone: str, ruleset: str | None) -> None:
        self._connection, self._timezone, self._ruleset = connection, timezone, ruleset
        self.days: frozenset[date] = frozenset()
        self.cut = frame_of(CUT)
        if ruleset is not None and complete(connection):
            asked = [timezone, ruleset]
            rows = connection.execute(
                "select day from internal.sum_day_v1 where timezone = $1 and ruleset = $2", asked
            ).fetchall()
            self.days = frozenset(row[0] for row in rows)
        if self.days:
            self.cut = to_frame(
                connection.sql(
                    "select caller, ruleset, first_at from internal.sum_cut_v1 where timezone = $1 order by caller",
                    params=[timezone],
                )
            )

    def frame(self, name: str, days: Collection[date], weak: pl.Series | None = None) -> pl.DataFrame:
        """The rows of these days; with `weak` those of these templates, and of what was weak on any day, alone."""
        if not days:
            return empty(name)
        register(self._connection, "summed_day", pl.DataFrame({"day": sorted(days)}, {"day": pl.Date}))
        columns = ", ".join(("day", "caller", *SCHEMAS[name]))
        only = ""
        if weak is not None:
            register(self._connection, "weak_template", pl.DataFrame({"template": weak}))
            only = f" and template in ({_WEAK})"
        return to_frame(
            self._connection.sql(
                f"select {columns} from internal.{table_of(name)}"  # noqa: S608 - names from this file alone
                " where timezone = $1 and day between $2 and $3 and day in (select day from summed_day)" + only,
                params=[self._timezone, min(days), max(days)],
            )
        )

    def frames(self, days: Collection[date], weak: pl.Series) -> dict[str, pl.DataFrame]:
        """All frames of these days, known templates as `frame` with `weak`."""
        return {name: self.frame(name, days, weak if name == "known_templates" else None) for name in SCHEMAS}

    def replace(
        self, days: Collection[date], chain_days: Collection[date], made: Mapping[str, pl.DataFrame], cut: pl.DataFrame
    ) -> None:
        """Keep these days as they were made, all of them or none.

        Raises:
            StoreError: the store cannot be written.
        """
        run, zone = self._connection.execute, self._timezone
        mine = "where timezone = $1 and day in (select day from made_day)"
        register(self._connection, "made_cut", cut)
        with store_errors(), transaction(self._connection):
            for name, frame in made.items():
                table, gone = table_of(name), chain_days if name == "chains" else days
                register(self._connection, "made_day", pl.DataFrame({"day": sorted(gone)}, {"day": pl.Date}))
                register(self._connection, "made_sum", frame)
                columns = ", ".join(frame.columns)
                run(f"delete from internal.{table} {mine}", [zone]).fetchall()  # noqa: S608 - as above
                run(
                    f"insert into internal.{table} (timezone, {columns}) select $1, {columns} from made_sum",  # noqa: S608
                    [zone],
                ).fetchall()
            register(self._connection, "made_day", pl.DataFrame({"day": sorted(days)}, {"day": pl.Date}))
            run(f"delete from internal.sum_day_v1 {mine}", [zone]).fetchall()  # noqa: S608 - as above
            run("insert into internal.sum_day_v1 select $1, day, $2 from made_day", [zone, self._ruleset]).fetchall()
            run("delete from internal.sum_cut_v1 where timezone = $1", [zone]).fetchall()
            run("insert into internal.sum_cut_v1 select $1, * from made_cut", [zone]).fetchall()
