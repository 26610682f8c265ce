"""`DailySums`: what detection counts of each day, out of the store where it is kept, else out of the events.

Invariant: kept days say what the events say. A day is forgotten in the transaction that brings it an event or takes one
away, and is kept again in one that replaces all that was kept of it.

`Summing` makes the sums of days out of the events; `SummedDays` reads and replaces what is kept of a zone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import duckdb
import polars as pl

from analyzer.store.db.connection import query_errors, store_errors, transaction
from analyzer.store.db.frames import MANY_ROWS, alone, ask, frame_of, give_back, register, sql
from analyzer.store.sums import statements
from analyzer.store.sums.counting import by_step, counted, weakly_known
from analyzer.store.sums.tables import CUT, GROUPS, SCHEMAS, complete, empty, names_of, sorted_sums, table_of

_AT_ONCE = 250_000
"""Events that are summed together: those of several days, or of a part of the callers of a larger one."""
_Part = Mapping[str, str | None]
"""Its first caller, and the first one behind it, as parameters."""
_WHOLE: _Part = {"from_caller": "", "to_caller": None}
_NUMBERED: Mapping[Any, Any] = {pl.String: pl.Categorical}
_A_DAY = timedelta(days=1)
_MARGIN = timedelta(hours=1)
"""Where clocks are put back over midnight, days overlap."""


class Summing:
    """The sums of a store in days of a zone, as the ruleset of this digest judges its errors."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, timezone: str, ruleset: str | None) -> None:
        self._connection, self._timezone, self._ruleset = connection, timezone, ruleset

    def span(self) -> list[date]:
        """The days from the first event on to the last one."""
        first, last = self._run(statements.SPAN, {"timezone": self._timezone}).row(0)
        if first is None:
            return []
        return [first + _A_DAY * number for number in range((last - first).days + 1)]

    def all_judged(self) -> bool:
        """Whether the ruleset has judged all facts of the store."""
        return bool(self._run(statements.ALL_JUDGED, {"ruleset": self._ruleset}).item())

    def groups(
        self, days: Collection[date], cut: pl.DataFrame, caller_days: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """The rows of `detection-groups` of these days, or of some callers on some of them, with history cut at `cut`.

        `caller_days` has `caller` and `day`.
        """
        frames = {"summing_cut": cut}
        if caller_days is None:
            return self._ask(statements.groups(), days, _WHOLE, frames, ruleset=self._ruleset)
        frames["summing_caller"] = caller_days.select("caller", "day")
        return self._ask(statements.groups_of_callers(), days, _WHOLE, frames, ruleset=self._ruleset)

    def versions(self, days: Collection[date]) -> pl.DataFrame:
        """The rulesets that errors without facts were recorded under, by day and caller."""
        return pl.concat([empty("versions"), *(self._ask(statements.versions(), some) for some in _runs(days))])

    def by_session(self, days: Collection[date], cut: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Every frame that is counted by session, in the order of `sorted_sums`."""
        names = [name for name in SCHEMAS if name not in {"chains", "versions"}]
        parts: dict[str, list[pl.DataFrame]] = {name: [empty(name)] for name in names}
        frames = {"summing_cut": cut}
        for some, part in self._parts(days):
            made = {
                **self._counted(some, part, frames),
                "volumes": self._ask(statements.volumes(), some, part, frames, ruleset=self._ruleset).cast(_NUMBERED),
                "work": alone(self._ask(statements.work(), some, part)),
                "signals": alone(self._ask(statements.signals(), some, part, ruleset=self._ruleset)),
            }
            for name, frame in made.items():
                parts[name].append(sorted_sums(name, frame))
        whole = {name: pl.concat(some) for name, some in parts.items()}
        # Callers share tools: each part of them has its own rows.
        counts = ("sessions", "groups", "exposure")
        named = whole["signals"].group_by(pl.exclude(counts)).agg(pl.sum(*counts))
        return whole | {"signals": sorted_sums("signals", named)}

    def _counted(
        self, days: Collection[date], part: _Part, frames: Mapping[str, pl.DataFrame]
    ) -> dict[str, pl.DataFrame]:
        """What is counted of rows by session; memory is given back where that is much."""
        rows = self._ask(statements.groups(), days, part, frames, ruleset=self._ruleset)
        relays = self._ask(statements.relays(), days, part)
        made = {name: alone(sorted_sums(name, frame)) for name, frame in counted(rows, relays).items()}
        if rows.height >= MANY_ROWS:
            del rows
            give_back()
        return made

    def hand_offs(self, days: Collection[date]) -> pl.DataFrame:
        """The rows of `detection-relays` of these days."""
        return self._ask(statements.relays(), days, _WHOLE)

    def relays(self, days: Collection[date]) -> pl.DataFrame:
        """Hand-offs by day, caller and step: their number, that of their sessions, and the most of one session."""
        return pl.concat([by_step(self.hand_offs(some)) for some in _runs(days)])

    def relay_days(self, days: Collection[date]) -> set[date]:
        """The days of hand-offs that events of these days belong to."""
        return set(self._ask(statements.RELAY_DAYS, days, bounded=False)["day"])

    def chains(self, days: Collection[date]) -> pl.DataFrame:
        """Retry chains by the day on which they were settled, caller and reason."""
        parts = (
            self._bounded(statements.SETTLED_CHAINS, statements.chains(), some, ruleset=self._ruleset)
            for some, _ in self._chunks(days)
        )
        return sorted_sums("chains", pl.concat([empty("chains"), *(part for part in parts if part is not None)]))

    def chain_days(self, days: Collection[date]) -> set[date]:
        """The days on which chains were settled that events of these days belong to."""
        parts = (self._bounded(statements.TOUCHED_CHAINS, statements.CHAIN_DAYS, some) for some in _runs(days))
        return {day for part in parts if part is not None for day in part["day"]}

    def _bounded(self, bounds: str, statement: str, days: Collection[date], **more: Any) -> pl.DataFrame | None:
        """The answer of a statement between the first and the last chain; None where there is none."""
        first, last = self._ask(bounds, days, zoned=False).row(0)
        return None if first is None else self._ask(statement, days, first=first, last=last, **more)

    def _parts(self, days: Collection[date]) -> Iterator[tuple[list[date], _Part]]:
        """The same in their order, the callers of a large day in parts."""
        for some, events in self._chunks(days):
            if events <= _AT_ONCE:
                yield some, _WHOLE
                continue
            firsts = self._ask(statements.PARTS, some, events=_AT_ONCE)["caller"].to_list()
            for first, end in pairwise([*firsts, None]):
                yield some, {"from_caller": first, "to_caller": end}

    def _chunks(self, days: Collection[date]) -> Iterator[tuple[list[date], int]]:
        """The days with anything to sum, so many together as do not take too much room, with their events."""
        for run in _runs(days):
            some: list[date] = []
            total = 0
            for day, events in self._ask(statements.WEIGHT, run).iter_rows():
                if some and total + events > _AT_ONCE:
                    yield some, total
                    some, total = [], 0
                some.append(day)
                total += events
            if some:
                yield some, total

    def _ask(
        self,
        statement: str,
        days: Collection[date],
        part: _Part | None = None,
        frames: Mapping[str, pl.DataFrame] | None = None,
        *,
        bounded: bool = True,
        zoned: bool = True,
        **more: Any,
    ) -> pl.DataFrame:
        given = self._given(days, part, bounded=bounded, zoned=zoned, **more)
        register(self._connection, "summing_day", pl.DataFrame({"day": sorted(days)}, {"day": pl.Date}))
        for name, frame in (frames or {}).items():
            register(self._connection, name, frame)
        return self._run(statement, given)

    def _run(self, statement: str, given: Mapping[str, Any]) -> pl.DataFrame:
        return ask(self._connection, statement, given)

    def _given(
        self, days: Collection[date], part: _Part | None, *, bounded: bool = True, zoned: bool = True, **more: Any
    ) -> dict[str, Any]:
        """The parameters of a statement about these days."""
        given: dict[str, Any] = {**more, **(part or {}), **({"timezone": self._timezone} if zoned else {})}
        if bounded:
            zone = ZoneInfo(self._timezone)
            given["since"] = _start_of(min(days, default=date.max), zone) - _MARGIN
            given["until"] = _start_of(max(days, default=date.min) + _A_DAY, zone) + _MARGIN
        return given


def cut_of(versions: pl.DataFrame) -> pl.DataFrame:
    """Where the newest recorded ruleset of each caller begins, of callers with several."""
    whole = versions.group_by("caller", "ruleset").agg(pl.col("first_at").min()).sort("caller", "first_at", "ruleset")
    newest = whole.group_by("caller", maintain_order=True).agg(
        pl.col("ruleset", "first_at").last(), pl.len().alias("rulesets")
    )
    return newest.filter(pl.col("rulesets") > 1).select(*CUT)


def _runs(days: Collection[date]) -> Iterator[list[date]]:
    """The days in order, those together that follow on each other."""
    run: list[date] = []
    for day in sorted(days):
        if run and day - run[-1] > _A_DAY:
            yield run
            run = []
        run.append(day)
    if run:
        yield run


def _start_of(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC).replace(tzinfo=None)


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
            self.cut = ask(
                connection,
                "select caller, ruleset, first_at from internal.sum_cut_v1 where timezone = $1 order by caller",
                [timezone],
            )

    def frame(self, name: str, days: Collection[date], weak: pl.Series | None = None) -> pl.DataFrame:
        """The rows of these days; with `weak` those of these templates, and of what was weak on any day, alone."""
        if not days:
            return empty(name)
        register(self._connection, "summed_day", pl.DataFrame({"day": sorted(days)}, {"day": pl.Date}))
        kinds = {"day": "Date", "caller": names_of(name), **SCHEMAS[name]}
        coded = [column for column, kind in kinds.items() if kind == "Categorical"]
        columns = ", ".join(f"{column}::summed_name as {column}" if column in coded else column for column in kinds)
        only = ""
        if weak is not None:
            register(self._connection, "weak_template", pl.DataFrame({"template": weak}))
            only = f" and template in ({_WEAK})"
        if coded:
            self._name_names(table_of(name), coded, days)
        return ask(
            self._connection,
            sql(
                "select {columns} from internal.{table}"
                " where timezone = $1 and day between $2 and $3 and day in (select day from summed_day){only}",
                columns=columns,
                table=table_of(name),
                only=only,
            ),
            [self._timezone, min(days), max(days)],
        )

    def _name_names(self, table: str, columns: Sequence[str], days: Collection[date]) -> None:
        """Make `summed_name`, the type of all names of some columns, in order: as numbers they take little room."""
        of_days = "select {column} as name from internal.{table} where timezone = $1 and day between $2 and $3"
        names = " union ".join(sql(of_days, column=each, table=table) for each in columns)
        self._connection.execute("drop type if exists temp.summed_name").fetchall()
        made = sql("create temp type summed_name as enum (select name from ({names}) order by name)", names=names)
        self._connection.execute(made, [self._timezone, min(days), max(days)]).fetchall()

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
        if sum(frame.height for frame in frames.values()) >= MANY_ROWS:
            give_back()
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
    """Sums of different days as one frame, sorted; those with a row for nearly every error are as they were kept."""
    if known.is_empty():
        return made
    if names_of(name) == "Categorical":
        return pl.concat([known, made])
    known = sorted_sums(name, known)
    return known if made.is_empty() else known.merge_sorted(made, key="day")
