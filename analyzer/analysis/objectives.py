"""Objectives: how much of an error budget is left, and how fast it burns.

Budgets and burn rates are those of chapters 2 and 5 of The Site Reliability Workbook (Beyer et al. 2018,
https://sre.google/workbook/alerting-on-slos/). What an objective allows for the sessions of its period is the budget.
The burn rate of some hours is what they used of it, per what is allowed for their sessions: at 1 the budget lasts
exactly the period. A burn is `fast` if an hour burns 2 % of the budget of a period, or six hours 5 %: rates of 14.4 and
6 in 30 days.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from analyzer.analysis.tables import Window, json_fields, table
from analyzer.errors import USAGE, AnalyzerError
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.store import Store

MEASURES = {"sessions_done": "sessions that do their work", "waited_minutes": "minutes waited a session"}
"""What an objective can be about, and its name for people."""
DEFAULT_DAYS, MOST_DAYS = 30, 366
BURNS = {1: 0.02, 6: 0.05}
"""Hours → the share of the budget that is a fast burn within them."""


@frozen
class Objective:
    """One objective."""

    measure: str
    """`sessions_done` or `waited_minutes`."""
    target: float
    """The least share of sessions that do their work, or the most minutes that a session waits on average."""
    days: int = DEFAULT_DAYS
    caller: str | None = None
    """The caller that it is about; None for all."""

    def allowed(self, sessions: int) -> float:
        """Return the sessions that may fail, or the minutes that may be waited, of so many sessions."""
        return sessions * (1 - self.target if self.measure == "sessions_done" else self.target)


@frozen
class ObjectiveState:
    """An objective, and how it stands."""

    objective: Objective
    title: str
    sessions: int
    """Sessions that ended in the period."""
    value: float | None
    """The share of sessions, or the minutes a session; null without a session."""
    used: float
    """Sessions that did not do their work, or minutes waited."""
    allowed: float
    budget_left: float | None
    """1 - used / allowed: 1 is untouched, 0 spent, negative overspent; null without a session."""
    burn_1h: float | None
    """Burn rate of the last hour; null without a session that ended in it."""
    burn_6h: float | None

    @property
    def is_missed(self) -> bool:
        """Return whether the budget is spent."""
        return self.budget_left is not None and self.budget_left < 0

    @property
    def burn_rates(self) -> dict[int, float]:
        """Return the burn rates that there are, by the hours that they are of."""
        rates = zip(BURNS, (self.burn_1h, self.burn_6h), strict=True)
        return {hours: rate for hours, rate in rates if rate is not None}

    @property
    def burns_fast(self) -> bool:
        """Return whether the last hours burn so fast that somebody should look."""
        hours = self.objective.days * 24
        return any(rate >= BURNS[length] * hours / length for length, rate in self.burn_rates.items())

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        content = json_fields(self)
        return {**content.pop("objective"), **content, "is_missed": self.is_missed, "burns_fast": self.burns_fast}


def objectives_of(section: object) -> tuple[Objective, ...]:
    """Return the objectives of the table `[objective]` of analyzer.toml.

    `sessions_done`, `waited_minutes` and `days` are about all callers, in `[objective.callers.NAME]` about one.

    Raises:
        AnalyzerError: an unknown key, or a value out of its range.
    """
    common = _checked(section, "objective", (*MEASURES, "days", "callers"))
    callers = _checked(common.get("callers", {}), "objective.callers", None)
    keys = (*MEASURES, "days")
    owns = [(name, _checked(own, f"objective.callers.{name}", keys)) for name, own in callers.items()]
    tables: list[tuple[str | None, Mapping[str, Any]]] = [(None, common), *owns]
    objectives: list[Objective] = []
    for caller, own in tables:
        days = own.get("days", common.get("days", DEFAULT_DAYS))
        if not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
            raise _refused(f"days = {days!r}", f"write 1 to {MOST_DAYS}")
        measures = [measure for measure in MEASURES if measure in own]
        objectives += [Objective(measure, _target(measure, own[measure]), days, caller) for measure in measures]
    if section and not objectives:
        raise _refused("[objective] has no objective", "write sessions_done = 0.95 or waited_minutes = 2")
    return tuple(objectives)


def _checked(section: object, name: str, keys: tuple[str, ...] | None) -> Mapping[str, Any]:
    if not isinstance(section, Mapping):
        raise _refused(f"{name} is no table", f"write [{name}]")
    unknown = sorted(set(section) - set(keys)) if keys else []
    if unknown:
        error = AnalyzerError.unknown_value(f"key in [{name}]", unknown[0], keys or ())
        raise _refused(error.message, error.hint)
    return section


def _target(measure: str, value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    most = 1 if measure == "sessions_done" else math.inf
    if not is_number or not 0 < float(value) < most:  # type: ignore[arg-type]
        hint = "write a share between 0 and 1, such as 0.95" if most == 1 else "write minutes a session, such as 2"
        raise _refused(f"{measure} = {value!r}", hint)
    return float(value)  # type: ignore[arg-type]


def _refused(message: str, hint: str) -> AnalyzerError:
    return AnalyzerError(f"analyzer.toml: {message}", hint, exit_code=USAGE)


def objective_states(
    store: Store, objectives: tuple[Objective, ...], at: datetime | None = None
) -> tuple[ObjectiveState, ...]:
    """Return how objectives stand at a moment (naive UTC; None: now).

    Raises:
        QueryError: the store cannot be asked.
    """
    moment, cache = at or now(), dict[timedelta, pl.DataFrame]()

    def use(objective: Objective, length: timedelta) -> tuple[int, float]:
        """Return the sessions that ended in a span up to the moment, and what they used of the budget."""
        if length not in cache:
            cache[length] = table(store, "objectives-sessions", Window(moment - length, moment)).frame
        rows = cache[length]
        if objective.caller is not None:
            rows = rows.filter(pl.col("caller") == objective.caller)
        is_share = objective.measure == "sessions_done"
        return int(rows["sessions"].sum()), float(rows["undone" if is_share else "waited_seconds"].sum()) / (
            1 if is_share else 60
        )

    states = []
    for objective in objectives:
        sessions, used = use(objective, timedelta(days=objective.days))
        allowed, value = objective.allowed(sessions), used / sessions if sessions else None
        burns = [use(objective, timedelta(hours=hours)) for hours in BURNS]
        rates = [spent / objective.allowed(ended) if ended else None for ended, spent in burns]
        if value is not None and objective.measure == "sessions_done":
            value = 1 - value
        title = MEASURES[objective.measure] + (f" of {objective.caller}" if objective.caller else "")
        left = 1 - used / allowed if sessions else None
        states.append(ObjectiveState(objective, title, sessions, value, used, allowed, left, *rates))
    return tuple(states)
