"""What a finding rests on, out of the frames that its test looked at: its errors, and their sessions and messages.

Invariant: the errors are those that `Observations` holds; one look at history serves every finding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import polars as pl

from analyzer.analysis.detection.settings import RECENT_DAYS
from analyzer.analysis.kinds.chart_numbers import mix
from analyzer.analysis.observations import Observations
from analyzer.store import CallerDays

if TYPE_CHECKING:
    from analyzer.analysis.nightly.findings import Finding

MAX_TEMPLATES = 10
"""Messages shown behind a finding."""
MAX_SESSIONS = 10
"""Sessions shown behind a finding."""
MESSAGES: dict[str, type[pl.DataType]] = {"template": pl.String, "sessions": pl.Int64, "events": pl.Int64}
SESSIONS: dict[str, type[pl.DataType]] = {"session": pl.String, "day": pl.Date, "events": pl.Int64}


@dataclass(frozen=True, slots=True)
class Behind:
    """Which errors speak for a finding in a report."""

    said: str
    """In words, behind "Errors" or "Hand-offs"."""
    errors: Callable[[Finding, Observations], pl.Expr]
    """What they have beside the caller and the days, in the columns of `detection-groups`."""
    span: Callable[[Finding, date], tuple[date, date]]
    """Their first and last day; the argument is the last day of all."""


def unknown(_one: Finding) -> str | None:
    """The reason `unknown`."""
    return "unknown"


def own_reason(one: Finding) -> str | None:
    """The reason that a finding is about; None where it is about none."""
    return one.scope.reason


def judged_otherwise(one: Finding) -> str | None:
    """The second reason of `old → new`."""
    return (one.scope.reason or "").rpartition(" → ")[2]


def reworded(one: Finding) -> str | None:
    """The reason of new texts; where a rule fell silent `unknown`, which came in place of the texts that it took."""
    return "unknown" if one.scope.rule else one.scope.reason


def _since_onset(one: Finding, last: date) -> tuple[date, date]:
    return one.onset, one.resolved_on or last


def _its_days(one: Finding, _last: date) -> tuple[date, date]:
    return one.onset, one.last_on


def _week(one: Finding, _last: date) -> tuple[date, date]:
    return one.last_on - timedelta(days=RECENT_DAYS - 1), one.last_on


def _unknown_errors(one: Finding, _seen: Observations) -> pl.Expr:
    errors = pl.col("reason") == "unknown"
    return errors if one.scope.template is None else errors & (pl.col("template") == one.scope.template)


def _grown(one: Finding, seen: Observations) -> pl.Expr:
    """The reason whose share grew most, of the errors that the test of mixes looks at."""
    grown = mix(one, seen).sort(pl.col("after_share") - pl.col("before_share"))["reason"].tail(1)
    return ~pl.col("was_unknown") & pl.col("reason").is_in(grown.to_list())


UNKNOWN = Behind("that are unknown, since its onset", _unknown_errors, _since_onset)
MESSAGE = Behind("of its days with the message", lambda one, _seen: pl.col("template") == one.scope.template, _its_days)
GROWN_REASON = Behind("of the last week with the reason that grew most", _grown, _week)
CHAINS = Behind("of the last week with its reason", lambda one, _seen: pl.col("reason") == one.scope.reason, _week)
HAND_OFFS = Behind("of its days", lambda _one, _seen: pl.lit(False), _its_days)
"""Hand-offs are no errors."""
EVERY = Behind("of its days", lambda _one, _seen: pl.lit(True), _its_days)
NOTHING = Behind("", lambda _one, _seen: pl.lit(False), _its_days)


def errors_behind(one: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """The rows of `detection-groups` that a finding rests on."""
    behind = one.kind.behind
    errors = seen.errors(one.scope.caller, *behind.span(one, last)).filter(behind.errors(one, seen))
    for what in ("provider", "model"):
        if (name := getattr(one.scope, what)) is not None:
            shown = seen.volumes.filter(pl.col(what) == name).select("day", "caller", "reason").unique()
            errors = errors.join(shown, on=["day", "caller", "reason"], how="semi")
    return errors


def sessions_behind(one: Finding, seen: Observations, errors: pl.DataFrame, last: date) -> pl.DataFrame:
    """The sessions behind a finding, a row each, those with the most events, then the latest first.

    `session`, the first `day` on which it shows the finding, `events` (errors, or hand-offs).
    """
    if one.kind.behind is HAND_OFFS:
        relays = seen.rows.hand_offs([CallerDays(one.scope.caller, *_its_days(one, last))])
        errors = relays.filter(pl.col("step") == (one.scope.step or "")).rename({"relays": "events"})
    rows = errors.group_by("session").agg(pl.col("day").min(), pl.col("events").sum())
    return rows.sort("events", "day", "session", descending=[True, True, False]).select(
        pl.col(n).cast(t) for n, t in SESSIONS.items()
    )


def templates_behind(errors: pl.DataFrame) -> pl.DataFrame:
    """The messages of errors, a row each, the one that most sessions show first: `template`, `sessions`, `events`."""
    rows = errors.group_by("template").agg(pl.col("session").n_unique().alias("sessions"), pl.col("events").sum())
    ranked = rows.sort("sessions", "events", "template", descending=[True, True, False])
    return ranked.select(pl.col(n).cast(t) for n, t in MESSAGES.items())
