"""`Summing`: the sums of days, out of the events of a store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import polars as pl

from analyzer.store.db.frames import MANY_ROWS, alone, give_back, register, to_frame
from analyzer.store.sums import statements
from analyzer.store.sums.counting import by_step, counted
from analyzer.store.sums.tables import CUT, SCHEMAS, empty, sorted_sums

_AT_ONCE = 250_000
"""Events that are summed together: those of several days, or of a part of the callers of a larger one."""
_Part = Mapping[str, str | None]
"""Its first caller, and the first one behind it, as parameters."""
_WHOLE: _Part = {"from_caller": "", "to_caller": None}
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
                "volumes": alone(self._ask(statements.volumes(), some, part, frames, ruleset=self._ruleset)),
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
        return to_frame(self._connection.sql(statement, params=dict(given)))

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
