"""Whose a rise of errors is: of all that its callers share, and of these, what explains most of it with least.

Each test names what it counted. That a provider has more errors may be the doing of one of its models, of a machine or
of a caller. So a rise is told of the name that makes it most likely: its errors came at a rate of their own, all others
as usual. The log-likelihood of Poisson counts says how likely; of equals it is the one of which there are fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import log
from typing import NamedTuple

import polars as pl

from analyzer.analysis.detection.volume_units import ANY

UNKNOWN = "unknown"
RARER = {"fleet": 3.0, "provider": 0.0, "model": 1.0, "host": 2.0, "project": 1.0, "caller": 0.0}
"""What a rise may be of, the widest name first, and how much rarer such rises are, as a logarithm."""
ASKED = ("context_overflow", "validation", "tool_not_found")
"""The reasons of what was asked: the doing of who asks."""
_OF_REASON = {
    **{reason: {"provider": 2.0, "model": 1.0, "host": 0.5, "fleet": 1.0} for reason in ASKED},
    "auth_error": {"provider": 1.0, "model": 1.5, "host": 1.5},
}
"""How much rarer still by reason: a key is that of a project."""
_LEAST_CALLERS = 2
"""Callers with the errors of a rise that is not a caller's own."""
_LIKELIER = 0.5
"""Least gain in log-likelihood that makes a rise another's than that of the test which found it."""
_TOLD = 3.0
"""Log-likelihood that a name is worth which the days before were told of."""
_GAP_DAYS = 2
"""Days between two days of one rise at most."""
_LEAST_EXPECTED = 0.5
"""Sessions that all callers together let expect: of errors that hardly ever come nobody knows how rare they are."""
_HALF = 0.5
"""Errors that the days before are worth at least: those without any do not prove that there are none."""
_USUAL_SESSIONS = 20.0
"""Sessions at the rate of all that the days before of each caller are worth."""


class Suspect(NamedTuple):
    """A name that a rise may be of, with the figures of its span."""

    what: str
    """One of `RARER`."""
    name: str
    sessions: int
    groups: int
    expected: float
    """Sessions."""
    exposure: float
    more: float
    """Sessions beyond those that the callers' own days before let expect, however few these days are."""
    hit: frozenset[str]
    """The callers that met the errors."""
    known: int
    """Callers with any error of the name."""

    @property
    def callers(self) -> int:
        """How many callers met the errors."""
        return len(self.hit)

    @property
    def unseen(self) -> bool:
        """Whether it is a caller whose sessions no log shows."""
        return self.what == "caller" and not self.exposure

    @property
    def gain(self) -> float:
        """Log-likelihood gained by a rate of its own."""
        if self.sessions <= self.expected:
            return 0.0
        return self.sessions * log(self.sessions / self.expected) - self.sessions + self.expected


class Names:
    """Whose the rises are that tests found; what is said of the first day of one holds for the next ones."""

    def __init__(self, errors: pl.DataFrame, work: pl.DataFrame, slots: int) -> None:
        """`errors`: columns `caller`, one for each kind of name, `reason`, `sessions`, `groups`, and `slot`, the number
        of the day or hour as days are counted, of which a day has so many.

        `work`: columns `caller`, `exposure` (sessions), `slot`.
        """
        self._errors, self._work = errors.with_columns(fleet=pl.lit("fleet", errors.schema["caller"])), work
        self._slots = slots
        self._known: dict[tuple[str, str, str], tuple[int, tuple[str, str]]] = {}
        self._told: dict[str, dict[tuple[str, str], int]] = {}

    def of(self, what: str, name: str, reason: str, begin: int, end: int, back: int) -> Suspect | None:
        """The name that explains a rise of a name best, held against so many slots before it; None where it is that
        one, or where the rise is of no known reason.
        """
        if reason in {ANY, UNKNOWN}:
            return None
        day, slot = (end - 1) // self._slots, pl.col("slot")
        now, before = slot.is_between(begin, end - 1), slot.is_between(begin - back, begin - 1)
        found, (last, told) = (what, name, reason), self._known.get((what, name, reason), (0, (what, name)))
        suspects = _suspects(self._errors, self._work, reason, now, before, self._part(begin, end, back))
        every = {(each.what, each.name): each for each in suspects}
        if last < day - _GAP_DAYS or told not in every or not every[told].sessions:
            told = _best(every, (what, name), reason, self._lately(reason, day))
        self._known[found] = day, told
        self._told.setdefault(reason, {})[told] = day
        return None if told == (what, name) else every.get(told)

    def _part(self, begin: int, end: int, back: int) -> float:
        """How much of all errors of the slots before a span it has where nothing changes: callers work by day."""
        before = self._errors.filter(pl.col("slot").is_between(begin - back, begin - 1))
        alike = before.filter((pl.col("slot") - begin) % self._slots < end - begin)
        share = int(alike["sessions"].sum()) / max(1, int(before["sessions"].sum())) if before.height else 1.0
        return share * max(self._slots, end - begin) / back

    def _lately(self, reason: str, day: int) -> set[tuple[str, str]]:
        """The names that rises of a reason were told of in the days before."""
        return {name for name, last in self._told.get(reason, {}).items() if day - _GAP_DAYS <= last <= day}


def _best(
    every: Mapping[tuple[str, str], Suspect], own: tuple[str, str], reason: str, lately: Collection[tuple[str, str]]
) -> tuple[str, str]:
    names, rarer = Counter(what for what, _ in every), _OF_REASON.get(reason, {})
    scores = {
        name: each.gain
        - log(names[each.what])
        - RARER[each.what]
        - rarer.get(each.what, 0.0)
        + (_TOLD if name in lately else 0.0)
        for name, each in every.items()
        if name == own or (_may_be(each, names) and (own not in every or _explains(each, every[own])))
    }
    best = max(scores, key=lambda name: scores[name], default=own)
    return best if own in scores and scores[best] >= scores[own] + _LIKELIER else own


def _explains(one: Suspect, own: Suspect) -> bool:
    """Whether a name has callers of the rise that a test found, and half of it: a quarter of it is not its cause."""
    return bool(one.hit & own.hit) and one.more >= own.more / 2


def _may_be(one: Suspect, names: Mapping[str, int]) -> bool:
    """Whether a rise may be of a name: what several callers share, or a caller; the only machine is the whole fleet."""
    if one.what == "caller":
        return True
    alone = names[one.what] == 1 and one.what in {"host", "project"}
    whole = one.what == "fleet" and names["provider"] < 2
    return one.callers >= _LEAST_CALLERS and not alone and not whole


def _suspects(
    errors: pl.DataFrame, work: pl.DataFrame, reason: str, now: pl.Expr, before: pl.Expr, part: float
) -> Iterator[Suspect]:
    """All names with any error in the span or before it."""
    own = errors.filter(now | before).with_columns(
        now_sessions=pl.col("sessions") * (now & (pl.col("reason") == reason)),
        now_groups=pl.col("groups") * (now & (pl.col("reason") == reason)),
        base=pl.col("sessions") * (before & (pl.col("reason") == reason)),
    )
    exposure = work.group_by("caller").agg(
        pl.col("exposure").filter(now).sum().alias("now"), pl.col("exposure").filter(before).sum().alias("then")
    )
    callers = own.group_by("caller").agg(pl.sum("base"), pl.col("sessions").sum().alias("every"))
    callers = callers.join(exposure, on="caller", how="left").fill_null(0.0)
    # A caller whose sessions no log shows says nothing of the rate of sessions; it has what it had before.
    seen = pl.col("then") + pl.col("now") > 0
    alike = callers.filter(seen)
    rate = (float(alike["base"].sum()) + _HALF) / max(1.0, float(alike["then"].sum()))
    usual = (pl.col("base") + rate * _USUAL_SESSIONS) / (pl.col("then") + _USUAL_SESSIONS) * pl.col("now")
    unseen = (pl.col("base") + _HALF) * part
    before_rate = pl.when(pl.col("then") > 0).then(pl.col("base") / pl.col("then")).otherwise(rate)
    plain = pl.when(seen).then(before_rate * pl.col("now")).otherwise(pl.col("base") * part)
    callers = callers.select(
        "caller", "every", "now", plain=plain, expected=pl.when(seen).then(usual).otherwise(unseen)
    )
    scale = max(1.0, _LEAST_EXPECTED / max(1e-9, float(callers["expected"].sum())))
    callers = callers.with_columns(pl.col("expected") * scale)
    for what in RARER:
        rows = own.filter(pl.col(what) != "").group_by(pl.col(what).alias("name"), pl.col("caller").alias("of"))
        sums = rows.agg(pl.sum("now_sessions", "now_groups", "sessions")).join(callers, left_on="of", right_on="caller")
        own_part = pl.col("sessions") / pl.col("every")
        found = sums.group_by("name").agg(
            pl.sum("now_sessions", "now_groups"),
            (pl.col("expected") * own_part).sum(),
            pl.col("now").sum(),
            (pl.col("plain") * own_part).sum(),
            pl.col("of").filter(pl.col("now_sessions") > 0).alias("hit"),
            pl.len().alias("known"),
        )
        for name, sessions, groups, expected, at_work, plainly, hit, known in found.sort("name").iter_rows():
            if expected > 0:
                more = sessions - plainly
                yield Suspect(what, name, int(sessions), int(groups), expected, at_work, more, frozenset(hit), known)
