"""What a finding rests on, out of the frames that its test looked at: its errors, and their sessions and messages.

Invariant: the errors are those that `Observations` holds; one look at history serves every finding.
"""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection.settings import RECENT_DAYS
from analyzer.analysis.kinds.finding import Behind, Finding
from analyzer.analysis.observations import Observations
from analyzer.store import CallerDays

MAX_TEMPLATES = 10
"""Messages shown behind a finding."""
MAX_SESSIONS = 10
"""Sessions shown behind a finding."""
MESSAGES: dict[str, type[pl.DataType]] = {"template": pl.String, "sessions": pl.Int64, "events": pl.Int64}
SESSIONS: dict[str, type[pl.DataType]] = {"session": pl.String, "day": pl.Date, "events": pl.Int64}


def unknown(_one: Finding) -> str | None:
    """The reason `unknown`."""
    return "unknown"


def _since_onset(one: Finding, last: date) -> tuple[date, date]:
    return one.onset, one.resolved_on or last


def its_days(one: Finding, _last: date) -> tuple[date, date]:
    """From its onset to the last day on which it was detected."""
    return one.onset, one.last_on


def its_week(one: Finding, _last: date) -> tuple[date, date]:
    """The week up to the last day on which it was detected."""
    return one.last_on - timedelta(days=RECENT_DAYS - 1), one.last_on


def _unknown_errors(one: Finding, _seen: Observations) -> pl.Expr:
    errors = pl.col("reason") == "unknown"
    return errors if one.scope.template is None else errors & (pl.col("template") == one.scope.template)


UNKNOWN = Behind("that are unknown, since its onset", _unknown_errors, _since_onset, unknown=True)
MESSAGE = Behind("of its days with the message", lambda one, _seen: pl.col("template") == one.scope.template, its_days)
EVERY = Behind("of its days", lambda _one, _seen: pl.lit(True), its_days)


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
    if one.kind.behind.hand_offs:
        relays = seen.rows.hand_offs([CallerDays(one.scope.caller, *its_days(one, last))])
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
