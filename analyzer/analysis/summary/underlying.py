"""What a finding rests on, out of the frames that its test looked at: its errors, and their sessions and messages.

Invariant: the store is not asked; one look at history serves every finding.
"""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from analyzer.analysis.nightly.findings import Finding
from analyzer.analysis.nightly.reason_mixes import RECENT_DAYS
from analyzer.analysis.observations import Observations
from analyzer.analysis.summary.chart_numbers import mix

MAX_TEMPLATES = 10
"""Messages shown behind a finding."""
MAX_SESSIONS = 10
"""Sessions shown behind a finding."""
_OF_A_WEEK = frozenset(("reasons", "recovery_fell", "retry_in_vain", "retry_would_pay"))
"""Findings about the last week as a whole."""
MESSAGES: dict[str, type[pl.DataType]] = {"template": pl.String, "sessions": pl.Int64, "events": pl.Int64}
SESSIONS: dict[str, type[pl.DataType]] = {"session": pl.String, "day": pl.Date, "events": pl.Int64}


def span(one: Finding, last: date) -> tuple[date, date]:
    """The first and the last day whose errors speak for a finding; `last` is the last day of all."""
    if one.finding in _OF_A_WEEK:
        return one.last_on - timedelta(days=RECENT_DAYS - 1), one.last_on
    if one.finding in {"burst", "relays"}:
        return one.onset, one.last_on
    return one.onset, one.resolved_on or last


def errors_behind(one: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """The rows of `seen.groups` that a finding rests on; none for hand-offs, which are no errors."""
    about = (pl.col("caller") == one.scope.caller) & pl.col("day").is_between(*span(one, last))
    if one.finding == "relays":
        return seen.groups.clear()
    if one.finding == "burst":
        return seen.groups.filter(about & (pl.col("template") == one.scope.template))
    if one.finding == "reasons":
        grown = mix(one, seen).sort(pl.col("after_share") - pl.col("before_share"))["reason"].tail(1)
        return seen.groups.filter(about & ~pl.col("was_unknown") & pl.col("reason").is_in(grown.to_list()))
    reason = one.scope.reason if one.finding in _OF_A_WEEK else "unknown"
    errors = seen.groups.filter(about & (pl.col("reason") == reason))
    return errors if one.scope.template is None else errors.filter(pl.col("template") == one.scope.template)


def sessions_behind(one: Finding, seen: Observations, errors: pl.DataFrame, last: date) -> pl.DataFrame:
    """A row a session, those with the most, then the latest first.

    `session`, the first `day` on which it shows the finding, `events` (errors, or hand-offs).
    """
    if one.finding == "relays":
        errors = seen.relays.filter(
            (pl.col("caller") == one.scope.caller)
            & (pl.col("step") == (one.scope.step or ""))
            & pl.col("day").is_between(*span(one, last))
        ).rename({"relays": "events"})
    rows = errors.group_by("session").agg(pl.col("day").min(), pl.col("events").sum())
    return rows.sort("events", "day", "session", descending=[True, True, False]).select(
        pl.col(n).cast(t) for n, t in SESSIONS.items()
    )


def templates_behind(errors: pl.DataFrame) -> pl.DataFrame:
    """A row a message, the one that most sessions show first: `template`, `sessions`, `events`."""
    rows = errors.group_by("template").agg(pl.col("session").n_unique().alias("sessions"), pl.col("events").sum())
    ranked = rows.sort("sessions", "events", "template", descending=[True, True, False])
    return ranked.select(pl.col(n).cast(t) for n, t in MESSAGES.items())
