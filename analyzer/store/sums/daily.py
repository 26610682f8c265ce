"""Hold `DailySums`: the counts that detection needs of each day, and the rows they count.

Nothing of it is stored: every count is worked out from the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.store.db.connection import query_errors
from analyzer.store.db.engine import Connection
from analyzer.store.db.frames import MANY_ROWS, ask, copy_texts, frame_of, give_back, register
from analyzer.store.sums import statements
from analyzer.store.sums.counting import counted, weakly_known
from analyzer.store.sums.schemas import CUT, GROUPS, HAND_OFFS, SCHEMAS, CallerDays, empty, sorted_sums

_AT_ONCE = 250_000
"""Events that are summed together: those of several days, or of some callers of a larger day."""
_Chunk = tuple[date, date, int]
"""The first and the last day of a stretch, and its events."""
_Part = Mapping[str, str | None]
"""The first caller of a part and the first caller after it, as parameters of a statement."""
_WHOLE: _Part = {"from_caller": "", "to_caller": None}
_A_DAY = timedelta(days=1)
_MARGIN = timedelta(hours=1)
"""Added to the bounds of a day: days overlap where clocks are put back over midnight."""


class DailySums:
    """The sums of days of a time zone, with errors judged by one ruleset, and the rows that they count."""

    def __init__(self, connection: Connection, timezone: str, ruleset: str | None, first: date, last: date) -> None:
        """Sum the days from `first` to `last`. Rulesets that were recorded later do not cut history.

        Raises:
            QueryError: the database refuses.
        """
        self._connection, self._timezone, self._ruleset = connection, timezone, ruleset
        with query_errors():
            earliest = ask(connection, statements.FIRST_DAY, {"timezone": timezone}).item() or last
            versions = sorted_sums("versions", self._ask(statements.versions(), earliest, last))
            self._cut = _cut_of(versions)
            self.frames = {**self._frames(max(first, earliest), last), "versions": versions}
            """By the names of `SCHEMAS`, each sorted by its columns in their order.

            `versions` are the rulesets recorded for errors without facts, of all history.
            """

    def groups(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """Return the rows of `detection-groups` of stretches, all of single callers or of everybody.

        Raises:
            QueryError: the database refuses.
        """
        pairs = _pairs(asked)
        if pairs.is_empty():
            return frame_of(GROUPS)
        of_everybody = pairs.filter(pl.col("caller").is_null())
        with query_errors():
            if of_everybody.is_empty():
                register(self._connection, "summing_caller", pairs)
                return self._judged(statements.groups_of_callers(), *_ends(pairs), _WHOLE)
            rows = self._judged(statements.groups(), *_ends(of_everybody), _WHOLE)
            return rows.join(of_everybody, on="day", how="semi", maintain_order="left")

    def hand_offs(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """Return the rows of `detection-relays` of some callers' stretches of days.

        Raises:
            QueryError: the database refuses.
        """
        pairs = _pairs(asked)
        if pairs.is_empty():
            return frame_of(HAND_OFFS)
        with query_errors():
            rows = self._ask(statements.relays(), *_ends(pairs), _WHOLE)
        return rows.join(pairs, on=["caller", "day"], how="semi", maintain_order="left")

    def _frames(self, first: date, last: date) -> dict[str, pl.DataFrame]:
        parts: dict[str, list[pl.DataFrame]] = {name: [empty(name)] for name in SCHEMAS}
        chunks = [*self._chunks(first, last)]
        for start, end, part in self._parts(chunks):
            made = {
                **self._counted(start, end, part),
                "volumes": self._judged(statements.volumes(), start, end, part).cast({pl.String: pl.Categorical}),
                "work": copy_texts(self._ask(statements.work(), start, end, part)),
                "signals": copy_texts(self._judged(statements.signals(), start, end, part)),
            }
            for name, frame in made.items():
                parts[name].append(sorted_sums(name, frame))
        parts["chains"] += self._chains(chunks)
        whole = {name: pl.concat(frames) for name, frames in parts.items()}
        # Callers share tools: each part of them has its own rows.
        counts = ("sessions", "groups", "exposure")
        whole["signals"] = whole["signals"].group_by(pl.exclude(counts)).agg(pl.sum(*counts))
        whole["known_templates"] = weakly_known(whole["known_templates"])
        for name in ("signals", "chains"):
            whole[name] = sorted_sums(name, whole[name])
        return whole

    def _counted(self, first: date, last: date, part: _Part) -> dict[str, pl.DataFrame]:
        """Count the rows by session; give memory back if there were many."""
        rows = self._judged(statements.groups(), first, last, part)
        relays = self._ask(statements.relays(), first, last, part)
        made = {name: copy_texts(sorted_sums(name, frame)) for name, frame in counted(rows, relays).items()}
        if rows.height >= MANY_ROWS:
            del rows
            give_back()
        return made

    def _chains(self, chunks: Iterable[_Chunk]) -> Iterator[pl.DataFrame]:
        """Yield retry chains by the day on which they were settled, caller and reason."""
        for start, end, _ in chunks:
            lowest, highest = self._ask(statements.SETTLED_CHAINS, start, end).row(0)
            if lowest is not None:
                bounds = {"lowest": lowest, "highest": highest}
                yield self._ask(statements.chains(), start, end, ruleset=self._ruleset, **bounds)

    def _parts(self, chunks: Iterable[_Chunk]) -> Iterator[tuple[date, date, _Part]]:
        """Yield stretches of days in their order; a large day comes in parts of its callers."""
        for start, end, events in chunks:
            if events <= _AT_ONCE:
                yield start, end, _WHOLE
                continue
            firsts = self._ask(statements.PARTS, start, end, events=_AT_ONCE)["caller"].to_list()
            for caller, after in pairwise([*firsts, None]):
                yield start, end, {"from_caller": caller, "to_caller": after}

    def _chunks(self, first: date, last: date) -> Iterator[_Chunk]:
        """Yield stretches of days with their events, at most `_AT_ONCE` unless one day has more."""
        days: list[date] = []
        total = 0
        for day, events in self._ask(statements.WEIGHT, first, last).iter_rows():
            if days and total + events > _AT_ONCE:
                yield days[0], days[-1], total
                days, total = [], 0
            days.append(day)
            total += events
        if days:
            yield days[0], days[-1], total

    def _judged(self, statement: str, first: date, last: date, part: _Part) -> pl.DataFrame:
        register(self._connection, "summing_cut", self._cut)
        return self._ask(statement, first, last, part, ruleset=self._ruleset)

    def _ask(self, statement: str, first: date, last: date, part: _Part | None = None, **more: Any) -> pl.DataFrame:
        zone = ZoneInfo(self._timezone)
        values = {
            "timezone": self._timezone,
            "first": first,
            "last": last,
            "since": _start_of(first, zone) - _MARGIN,
            "until": _start_of(last + _A_DAY, zone) + _MARGIN,
            **(part or {}),
            **more,
        }
        return ask(self._connection, statement, {name: values[name] for name in values if f"${name}" in statement})


def _cut_of(versions: pl.DataFrame) -> pl.DataFrame:
    """Return when the newest recorded ruleset of each caller begins, for callers with several."""
    whole = versions.group_by("caller", "ruleset").agg(pl.col("first_at").min()).sort("caller", "first_at", "ruleset")
    newest = whole.group_by("caller", maintain_order=True).agg(
        pl.col("ruleset", "first_at").last(), pl.len().alias("rulesets")
    )
    return newest.filter(pl.col("rulesets") > 1).select(*CUT)


def _start_of(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC).replace(tzinfo=None)


def _pairs(asked: Iterable[CallerDays]) -> pl.DataFrame:
    """Return each `caller` and `day` of some stretches once."""
    pairs = {(stretch.caller, day) for stretch in asked for day in stretch.days}
    return pl.DataFrame(list(pairs), {"caller": pl.String, "day": pl.Date}, orient="row")


def _ends(pairs: pl.DataFrame) -> tuple[date, date]:
    """Return the first and the last day of pairs of caller and day."""
    days = pairs["day"].to_list()
    return min(days), max(days)
