"""Decide whose rise of errors it is: find the narrowest name that explains most of the errors.

Each test names what it counted. More errors at a provider may be caused by one of its models, by a
machine or by a caller. So a rise is assigned to the name that makes it most likely: the errors of
that name came at a rate of their own, all others at the usual rate. The log-likelihood of Poisson
counts measures it; between equals, the kind of which there are fewer names wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import log
from typing import NamedTuple

import polars as pl

from analyzer.analysis.kinds.statistics.units import ANY

UNKNOWN = "unknown"
RARER = {"fleet": 3.0, "provider": 0.0, "model": 1.0, "host": 2.0, "project": 1.0, "caller": 0.0}
"""The kinds of names a rise may be assigned to, widest first, with the log of how much rarer such
rises are."""
ASKED = ("context_overflow", "validation", "tool_not_found")
"""The reasons that depend on what was asked: the caller causes them."""
_OF_REASON = {
    **{reason: {"provider": 2.0, "model": 1.0, "host": 0.5, "fleet": 1.0} for reason in ASKED},
    "auth_error": {"provider": 1.0, "model": 1.5, "host": 1.5},
}
"""Log of how much rarer they are for a reason: an API key, for instance, usually belongs to a
project."""
_LEAST_CALLERS = 2
"""Least callers that must have met the errors, unless the rise is of a caller."""
_LIKELIER = 0.5
"""Least gain in log-likelihood for assigning a rise to another name than its test did."""
_LATELY_BLAMED = 3.0
"""Log-likelihood added to a name to which the days before were assigned."""
_GAP_DAYS = 2
"""Most days between two days of one rise."""
_LEAST_EXPECTED = 0.5
"""Least expected sessions of all callers together: how rare the rarest errors are cannot be
estimated."""
_HALF = 0.5
"""Errors added to the days before: days without any do not prove that there are none."""
_USUAL_SESSIONS = 20.0
"""Sessions at the rate of all callers that are added to the days before of each caller."""


class Suspect(NamedTuple):
    """A name that a rise may be assigned to, with the figures of its span."""

    dimension: str
    """One of `RARER`."""
    name: str
    sessions: int
    groups: int
    expected: float
    """Sessions."""
    exposure: float
    more: float
    """Sessions beyond those that the callers' own days before predict, however few these days
    are."""
    hit: frozenset[str]
    """The callers that met the errors."""
    all_callers: int
    """How many callers have any error of the name."""

    @property
    def callers(self) -> int:
        """Count the callers that met the errors."""
        return len(self.hit)

    @property
    def unseen(self) -> bool:
        """Return whether it is a caller whose sessions no log shows."""
        return self.dimension == "caller" and not self.exposure

    @property
    def gain(self) -> float:
        """Return the log-likelihood gained by a rate of its own; 0 without additional sessions."""
        if self.sessions <= self.expected:
            return 0.0
        return self.sessions * log(self.sessions / self.expected) - self.sessions + self.expected


class Names:
    """Decides whose the rises are that tests found; a rise keeps the name of its first day."""

    def __init__(self, errors: pl.DataFrame, work: pl.DataFrame, slots: int) -> None:
        """Take the errors and the work of all callers.

        `errors`: columns `caller`, one for each kind of name, `reason`, `sessions`, `groups`, and
        `slot`: the number of the day (proleptic ordinal) or hour; a day has `slots` of them.
        `work`: columns `caller`, `exposure` (sessions), `slot`.
        """
        self._errors, self._work = errors.with_columns(fleet=pl.lit("fleet", errors.schema["caller"])), work
        self._slots = slots
        self._blamed: dict[tuple[str, str, str], tuple[int, tuple[str, str]]] = {}
        self._blamed_days: dict[str, dict[tuple[str, str], int]] = {}

    def of(self, dimension: str, name: str, reason: str, begin: int, end: int, back: int) -> Suspect | None:
        """Return the other name that explains a rise best; None if there is none.

        The rise is in the slots from `begin` up to `end`; they are compared with the `back` slots
        before.
        """
        if reason in {ANY, UNKNOWN}:
            return None
        day, slot = (end - 1) // self._slots, pl.col("slot")
        now, before = slot.is_between(begin, end - 1), slot.is_between(begin - back, begin - 1)
        last, blamed_name = self._blamed.get((dimension, name, reason), (0, (dimension, name)))
        suspects = _suspects(self._errors, self._work, reason, now, before, self._part_of_errors(begin, end, back))
        every = {(suspect.dimension, suspect.name): suspect for suspect in suspects}
        if last < day - _GAP_DAYS or blamed_name not in every or not every[blamed_name].sessions:
            blamed_name = _best(every, (dimension, name), reason, self._lately(reason, day))
        self._blamed[dimension, name, reason] = day, blamed_name
        self._blamed_days.setdefault(reason, {})[blamed_name] = day
        return None if blamed_name == (dimension, name) else every.get(blamed_name)

    def _part_of_errors(self, begin: int, end: int, back: int) -> float:
        """Return the part of the earlier errors that such a span has if nothing changes."""
        before = self._errors.filter(pl.col("slot").is_between(begin - back, begin - 1))
        alike = before.filter((pl.col("slot") - begin) % self._slots < end - begin)
        share = int(alike["sessions"].sum()) / max(1, int(before["sessions"].sum())) if before.height else 1.0
        return share * max(self._slots, end - begin) / back

    def _lately(self, reason: str, day: int) -> set[tuple[str, str]]:
        """Return the names to which rises of a reason were assigned in the days before."""
        return {name for name, last in self._blamed_days.get(reason, {}).items() if day - _GAP_DAYS <= last <= day}


def _best(
    every: Mapping[tuple[str, str], Suspect], own: tuple[str, str], reason: str, lately: Collection[tuple[str, str]]
) -> tuple[str, str]:
    names, rarer = Counter(dimension for dimension, _ in every), _OF_REASON.get(reason, {})
    scores = {
        name: suspect.gain
        - log(names[suspect.dimension])
        - RARER[suspect.dimension]
        - rarer.get(suspect.dimension, 0.0)
        + (_LATELY_BLAMED if name in lately else 0.0)
        for name, suspect in every.items()
        if name == own or (_is_eligible(suspect, names) and (own not in every or _explains(suspect, every[own])))
    }
    best = max(scores, key=lambda name: scores[name], default=own)
    return best if own in scores and scores[best] >= scores[own] + _LIKELIER else own


def _explains(suspect: Suspect, own: Suspect) -> bool:
    """Return whether a name shares callers with a test's rise, and at least half of its errors."""
    return bool(suspect.hit & own.hit) and suspect.more >= own.more / 2


def _is_eligible(suspect: Suspect, names: Mapping[str, int]) -> bool:
    """Return whether a rise may be assigned to a name: a caller, or one that callers share.

    The only host or project, and the fleet with only one provider, are no names of their own.
    """
    if suspect.dimension == "caller":
        return True
    is_only_one = names[suspect.dimension] == 1 and suspect.dimension in {"host", "project"}
    is_whole_fleet = suspect.dimension == "fleet" and names["provider"] < 2
    return suspect.callers >= _LEAST_CALLERS and not is_only_one and not is_whole_fleet


def _suspects(
    errors: pl.DataFrame, work: pl.DataFrame, reason: str, now: pl.Expr, before: pl.Expr, part: float
) -> Iterator[Suspect]:
    """Yield all names with any error in the span or before it."""
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
    # A caller whose sessions no log shows has no rate per session: it is expected to have as many
    # errors as before.
    seen = pl.col("then") + pl.col("now") > 0
    with_sessions = callers.filter(seen)
    rate = (float(with_sessions["base"].sum()) + _HALF) / max(1.0, float(with_sessions["then"].sum()))
    usual = (pl.col("base") + rate * _USUAL_SESSIONS) / (pl.col("then") + _USUAL_SESSIONS) * pl.col("now")
    unseen = (pl.col("base") + _HALF) * part
    before_rate = pl.when(pl.col("then") > 0).then(pl.col("base") / pl.col("then")).otherwise(rate)
    unsmoothed = pl.when(seen).then(before_rate * pl.col("now")).otherwise(pl.col("base") * part)
    callers = callers.select(
        "caller", "every", "now", plain=unsmoothed, expected=pl.when(seen).then(usual).otherwise(unseen)
    )
    scale = max(1.0, _LEAST_EXPECTED / max(1e-9, float(callers["expected"].sum())))
    callers = callers.with_columns(pl.col("expected") * scale)
    for dimension in RARER:
        rows = own.filter(pl.col(dimension) != "").group_by(pl.col(dimension).alias("name"), pl.col("caller"))
        sums = rows.agg(pl.sum("now_sessions", "now_groups", "sessions")).join(callers, on="caller")
        own_part = pl.col("sessions") / pl.col("every")
        totals = sums.group_by("name").agg(
            pl.sum("now_sessions", "now_groups"),
            (pl.col("expected") * own_part).sum(),
            pl.col("now").sum(),
            (pl.col("plain") * own_part).sum(),
            pl.col("caller").filter(pl.col("now_sessions") > 0).alias("hit"),
            pl.len(),
        )
        for name, sessions, groups, expected, at_work, plain, hit, count in totals.sort("name").iter_rows():
            if expected > 0:
                yield Suspect(
                    dimension=dimension,
                    name=name,
                    sessions=int(sessions),
                    groups=int(groups),
                    expected=expected,
                    exposure=at_work,
                    more=sessions - plain,
                    hit=frozenset(hit),
                    all_callers=count,
                )
