"""The test of each caller's mix of reasons, day by day: the last week against the baseline before it.

Invariant: a day is judged from that day and the days before it alone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import log

import polars as pl

from analyzer.analysis.detection import Detection, jensen_shannon, reason_drift
from analyzer.analysis.detection.reasons import most_changed, shares, table_test
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.detection.statistics.stretches import every_day, running, spans_of, stretch
from analyzer.analysis.observations import Observations, drawn
from analyzer.store import CallerDays

ALPHA = 0.001
MIN_DIVERGENCE = 0.03
"""Least divergence beyond that of chance, in bits: days differ by themselves, and many sessions see all of it."""
MIN_SESSIONS = 10
_NEARLY = 0.999
"""Part of the least divergence from which on it is worked out with care: sums end differently with their order."""
MAX_SESSIONS = (600, 300)
"""Of the baseline and of the week: of more, so many take part, drawn by their names. A shuffle costs by the session."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What a caller's week shows beside its baseline, where that is worth a test."""

    day: date
    sessions: int
    """With an error that counts, added up over the days of the week."""
    before: Counter[str]
    after: Counter[str]
    p_value: float
    divergence: float
    chance: float


def mix_changes(seen: Observations) -> list[Detection]:
    """Findings `reasons`, one a day and caller whose mix of reasons differs.

    Errors that were unknown when they came have no part, whatever the rules of today call them: they are what the tests
    of shares judge. A chi-square test on sessions and a least divergence come first; what passes them opens with
    `reason_drift`'s exact test, for which alone sessions are asked for. While it lasts the chi-square alone goes on.
    """
    sessions = seen.counts.filter(pl.col("known_sessions") > 0).select("caller", "day", "known_sessions")
    # Who had fewer in all of history cannot have had enough of them in a week.
    enough = (
        sessions.group_by("caller").agg(pl.col("known_sessions").sum()).filter(pl.col("known_sessions") >= MIN_SESSIONS)
    )
    mixes = seen.mixes.join(enough, on="caller", how="semi").join(sessions, on=["caller", "day"])
    rows_of = mixes.join(_differing(mixes), on=["caller", "day"], how="left").sort("caller", "day", "reason")
    looks: dict[str, list[_Look]] = {}
    for (caller,), rows in rows_of.group_by(["caller"], maintain_order=True):
        if worth := list(_looks(rows)):
            looks[str(caller)] = worth
    held = seen.holding(
        CallerDays(caller, _spans(one.day)[0][-1], one.day) for caller, own in looks.items() for one in own
    )
    return [found for caller, own in looks.items() for found in _of_caller(caller, own, held)]


def _differing(mixes: pl.DataFrame) -> pl.DataFrame:
    """The days of callers (`caller`, `day`, `differs`: true) whose divergences may be large enough for `_screen`."""
    spans = mixes.select("caller", "reason").unique().join(spans_of(mixes, ["caller"]), on="caller")
    days = every_day(mixes.select("caller", "reason", "day", "sessions"), spans, RECENT_DAYS + BASELINE_DAYS)
    days = days.with_columns(pl.col("sessions").fill_null(0)).with_columns(running("sessions"))
    sides = {"after": stretch("sessions", RECENT_DAYS - 1, 0)}
    sides["before"] = stretch("sessions", RECENT_DAYS + BASELINE_DAYS - 1, RECENT_DAYS)
    days = days.with_columns(**sides).filter((pl.col("after") > 0) | (pl.col("before") > 0))
    # One share after another: a sum within a sum over each group would take long.
    totals = days.group_by("caller", "day").agg(pl.sum(*sides).name.suffix("_total"))
    both = days.join(totals, on=["caller", "day"])
    parts = [pl.col(side) / pl.col(f"{side}_total") for side in sides]
    terms = [pl.when(part > 0).then(part * (2 * part / (parts[0] + parts[1])).log(2)).otherwise(0.0) for part in parts]
    divergence = pl.col("term").sum() / 2
    # As `table_test` has it.
    chance = (pl.len() - 1) / (8 * log(2)) * (1 / pl.col("after").sum() + 1 / pl.col("before").sum())
    told = both.with_columns(term=terms[0] + terms[1]).group_by("caller", "day").agg(beyond=divergence - chance)
    return told.filter(pl.col("beyond") >= _NEARLY * MIN_DIVERGENCE).select("caller", "day", differs=pl.lit(True))


def _looks(rows: pl.DataFrame) -> Iterator[_Look]:
    """The days of a caller that pass the first test, in order. `rows` are those of its mixes; `differs`: see above."""
    if not rows["differs"].any():
        return
    differing = set(rows.filter("differs")["day"])
    daily: dict[date, dict[str, int]] = {}
    sessions: dict[date, int] = {}
    for day, reason, shown, every in rows.select("day", "reason", "sessions", "known_sessions").iter_rows():
        daily.setdefault(day, {})[reason] = shown
        sessions[day] = every
    before, after = _Sum(daily), _Sum(daily)
    for day in daily:
        if day not in differing:
            continue
        after.move(day - timedelta(days=RECENT_DAYS), day)
        before.move(day - timedelta(days=RECENT_DAYS + BASELINE_DAYS), day - timedelta(days=RECENT_DAYS))
        screened = _screen(before.total, after.total)
        if screened is None:
            continue
        week = sum(sessions.get(each, 0) for each in _spans(day)[1])
        if week >= MIN_SESSIONS:
            yield _Look(day, week, before.total.copy(), after.total.copy(), *screened)


class _Sum:
    """The counts of a stretch of days that moves on, without zeros."""

    def __init__(self, daily: Mapping[date, Mapping[str, int]]) -> None:
        self._daily = daily
        self._coming = deque(daily)
        self._held: deque[date] = deque()
        self.total: Counter[str] = Counter()

    def move(self, after: date, last: date) -> None:
        """Go on to the days behind one, up to another."""
        while self._coming and self._coming[0] <= last:
            day = self._coming.popleft()
            self.total.update(self._daily[day])
            self._held.append(day)
        while self._held and self._held[0] <= after:
            gone = self._daily[self._held.popleft()]
            self.total.subtract(gone)
            for reason in gone:
                if not self.total[reason]:
                    del self.total[reason]


def _of_caller(caller: str, looks: Sequence[_Look], seen: Observations) -> Iterator[Detection]:
    last: date | None = None
    for one in looks:
        if last is not None and (one.day - last).days <= RECENT_DAYS:
            found = Detection(
                day=one.day,
                caller=caller,
                finding="reasons",
                observed=one.divergence,
                expected=one.chance,
                p_value=one.p_value,
                q_value=one.p_value,
                note=most_changed(shares(one.before), shares(one.after)),
            )
        else:
            drift = reason_drift(*_samples(caller, one.day, seen), day=one.day, caller=caller, alpha=ALPHA)
            if drift is None:
                continue
            found = drift
        last = one.day
        yield replace(found, sessions=one.sessions)


def _spans(day: date) -> tuple[list[date], list[date]]:
    back = [day - timedelta(days=number) for number in range(RECENT_DAYS + BASELINE_DAYS)]
    return back[RECENT_DAYS:], back[:RECENT_DAYS]


def _screen(before: Counter[str], after: Counter[str]) -> tuple[float, float, float] | None:
    """P-value by chi-square, divergence, and the one of chance; None where there is nothing to look into."""
    if not before or not after:
        return None
    divergence = jensen_shannon(shares(before), shares(after))
    if divergence < MIN_DIVERGENCE:
        return None
    reasons = sorted({*before, *after})
    p_value, _, chance = table_test(*([side[reason] for reason in reasons] for side in (before, after)))
    return (p_value, divergence, chance) if divergence - chance >= MIN_DIVERGENCE and p_value <= ALPHA else None


def _samples(caller: str, day: date, seen: Observations) -> list[list[frozenset[str]]]:
    """The reasons of each session, over all days of its span."""
    samples = []
    for span, most in zip(_spans(day), MAX_SESSIONS, strict=True):
        rows = seen.errors(caller, span[-1], span[0]).filter(~pl.col("was_unknown"))
        merged = {
            session: frozenset(reasons)
            for session, reasons in rows.group_by("session").agg(pl.col("reason").unique()).iter_rows()
        }
        names = sorted(merged) if len(merged) <= most else drawn(merged, most)
        samples.append([merged[name] for name in names])
    return samples
