"""`DailySums`: what detection counts of each day, out of the store where it is kept, else out of the events.

Invariant: kept days say what the events say. A day is forgotten in the transaction that brings it an event or takes one
away, and is kept again in one that replaces all that was kept of it.

`SummedDays` reads and replaces what is kept of a zone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

import duckdb
import polars as pl

from analyzer.store.db.connection import query_errors, store_errors, transaction
from analyzer.store.db.frames import frame_of, register, to_frame
from analyzer.store.db.sql_text import sql
from analyzer.store.sums.counting import weakly_known
from analyzer.store.sums.summing import Summing, cut_of
from analyzer.store.sums.tables import CUT, GROUPS, SCHEMAS, complete, empty, sorted_sums, table_of

# Few messages were ever decided by weak evidence, and there are many others.
_WEAK = (
    "select template from weak_template union all"
    " select template from internal.sum_known_template_v1 where timezone = $1 and weak_sessions > 0"
)


class SummedDays:
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
                sql(
                    "select {columns} from internal.{table}"
                    " where timezone = $1 and day between $2 and $3 and day in (select day from summed_day){only}",
                    columns=columns,
                    table=table_of(name),
                    only=only,
                ),
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
        forget = "delete from internal.{table} where timezone = $1 and day in (select day from made_day)"
        insert = "insert into internal.{table} (timezone, {columns}) select $1, {columns} from made_sum"
        register(self._connection, "made_cut", cut)
        with store_errors(), transaction(self._connection):
            for name, frame in made.items():
                table, gone = table_of(name), chain_days if name == "chains" else days
                register(self._connection, "made_day", pl.DataFrame({"day": sorted(gone)}, {"day": pl.Date}))
                register(self._connection, "made_sum", frame)
                run(sql(forget, table=table), [zone]).fetchall()
                run(sql(insert, table=table, columns=", ".join(frame.columns)), [zone]).fetchall()
            register(self._connection, "made_day", pl.DataFrame({"day": sorted(days)}, {"day": pl.Date}))
            run(sql(forget, table="sum_day_v1"), [zone]).fetchall()
            run("insert into internal.sum_day_v1 select $1, day, $2 from made_day", [zone, self._ruleset]).fetchall()
            run("delete from internal.sum_cut_v1 where timezone = $1", [zone]).fetchall()
            run("insert into internal.sum_cut_v1 select $1, * from made_cut", [zone]).fetchall()


_CALLER_DAYS = {"caller": pl.String, "day": pl.Date}
_DAILY_RELAYS = ("day", "caller", "step", "relays", "sessions", "most")


class CallerDays(NamedTuple):
    """The days of a caller from one to another; None is everybody."""

    caller: str | None
    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """All of them, in order."""
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]


@dataclass(frozen=True, slots=True)
class DailySums:
    """The sums of all days up to one, and the rows behind them."""

    frames: Mapping[str, pl.DataFrame]
    """By the names of `SCHEMAS`, each sorted by its columns in their order."""
    _summing: Summing
    _cut: pl.DataFrame

    def groups(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """The rows of `detection-groups` of some stretches of days, each of a caller's, or of everybody's alone.

        Raises:
            QueryError: the database refuses.
        """
        wanted = {(one.caller, day) for one in asked for day in one.days}
        if not wanted:
            return frame_of(GROUPS)
        everybody = {day for caller, day in wanted if caller is None}
        callers = pl.DataFrame(list(wanted), _CALLER_DAYS, orient="row")
        with query_errors():
            if everybody:
                return self._summing.groups(everybody, self._cut)
            return self._summing.groups({day for _, day in wanted}, self._cut, callers)

    def hand_offs(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """The rows of `detection-relays` of some callers' stretches of days.

        Raises:
            QueryError: the database refuses.
        """
        wanted = pl.DataFrame([(one.caller, day) for one in asked for day in one.days], _CALLER_DAYS, orient="row")
        with query_errors():
            rows = self._summing.hand_offs(set(wanted["day"]))
        return rows.join(wanted, on=["caller", "day"], how="semi")


def daily_sums(
    connection: duckdb.DuckDBPyConnection,
    night: date,
    timezone: str,
    ruleset: str | None,
    *,
    first: date | None = None,
    keep: bool,
) -> DailySums:
    """The sums from `first` (the first day of all) to `night`, in days of a zone, as the ruleset judges them.

    Only `versions` are there of all days: what is cut by them is cut by all of history.

    With `keep` what was not in the store yet is kept there, if the ruleset has judged everything.

    Raises:
        QueryError: the database refuses.
        StoreError: it cannot keep the sums.
    """
    with query_errors():
        return _Days(connection, night, timezone, ruleset).sums(first or date.min, keep=keep)


class _Days:
    """The days up to a night: which of them are kept, and which have to be summed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, night: date, timezone: str, ruleset: str | None) -> None:
        self._summing = Summing(connection, timezone, ruleset)
        self._summed = SummedDays(connection, timezone, ruleset)
        self._connection, self._night, self._timezone = connection, night, timezone
        self._clean = {day for day in self._summed.days if day <= night}
        # Events of later days end the chains and hand-offs of earlier ones.
        self._open = set(self._summing.span()) - self._summed.days
        self._wanted = {day for day in self._open if day <= night}

    def sums(self, first: date, *, keep: bool) -> DailySums:
        versions, cut = self._cut()
        self._add_hand_offs()
        chain_days = self._chain_days()
        made = {**self._summing.by_session(self._wanted, cut), "chains": self._summing.chains(chain_days)}
        made["versions"] = sorted_sums("versions", versions.filter(pl.col("day").is_in(list(self._wanted))))
        shown = {day for day in self._clean if day >= first}
        known = self._summed.frames(shown, weakly_known(made["known_templates"])["template"])
        known["chains"] = known["chains"].filter(~pl.col("day").is_in(list(chain_days)))
        known["versions"] = versions.filter(pl.col("day").is_in(list(self._clean)))
        # A past night may cut history otherwise than the last one that was kept: it has no say over that.
        latest = self._night >= max(self._summed.days, default=self._night)
        if keep and self._wanted and (latest or self._summed.cut.equals(cut)) and self._summing.all_judged():
            self._summed.replace(self._wanted, chain_days, made, cut)
        # A day can have a million callers: no frame stays in two forms.
        for name in SCHEMAS.keys() - {"versions"} if first > min(self._wanted, default=first) else ():
            made[name] = made[name].filter(pl.col("day") >= first)
        frames = {name: _together(name, known.pop(name), made.pop(name)) for name in SCHEMAS}
        frames["known_templates"] = weakly_known(frames["known_templates"])
        return DailySums(frames, self._summing, cut)

    def _cut(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Versions by day, and where the newest begin; days that were kept under another cut are no longer clean."""
        versions = pl.concat([self._summed.frame("versions", self._clean), self._summing.versions(self._wanted)])
        cut = cut_of(versions)
        if self._clean and not cut.equals(self._summed.cut):
            both = pl.concat([cut, self._summed.cut])
            moved = both.filter(~both.is_duplicated())["caller"].unique()
            self._want(versions.filter(pl.col("caller").is_in(moved.to_list()))["day"])
        return versions, cut

    def _add_hand_offs(self) -> None:
        """Days are no longer clean if an event of another day changes their hand-offs."""
        if near := self._clean_days_of_open(self._summing.relay_days):
            now = self._summing.relays(near).select(_DAILY_RELAYS)
            then = self._summed.frame("relays", near).select(_DAILY_RELAYS)
            both = pl.concat([now, then])
            self._want(both.filter(~both.is_duplicated())["day"])

    def _chain_days(self) -> set[date]:
        return self._wanted | self._clean_days_of_open(self._summing.chain_days)

    def _clean_days_of_open(self, days_of: Callable[[Collection[date]], set[date]]) -> set[date]:
        """The clean days whose chains or hand-offs have events on days that are not kept."""
        return days_of(self._open | self._wanted) & self._clean if self._open and self._clean else set()

    def _want(self, days: pl.Series) -> None:
        self._wanted |= set(days)
        self._clean -= set(days)


def _together(name: str, known: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    """Sums of different days as one frame, sorted."""
    if known.is_empty():
        return made
    known = sorted_sums(name, known)
    return known if made.is_empty() else known.merge_sorted(made, key="day")
