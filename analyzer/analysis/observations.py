"""What a detector looks at: daily counts by caller, and the sessions that showed each unknown template.

The unit of count is the group, a distinct pair of session and template: a session that repeats one error a hundred
times is one observation. Invariant: errors that do not take part in the unknown share (aborts, errors without any
detail) are counted nowhere.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from analyzer.analysis.churn import counted_unknown, takes_part
from analyzer.analysis.tables import table
from analyzer.analysis.templates import merge
from analyzer.analysis.window import Window, window
from analyzer.store import Store


def counts(
    store: Store,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    *,
    timezone: str = "UTC",
    verdicts: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row a day and caller that has errors, in this order.

    `day` DATE, `caller`, `sessions`, `groups`, `events`, and of them `unknown_sessions`, `unknown_groups`,
    `unknown_events` as the producers recorded them; the same three with `_replayed` behind as the active ruleset says,
    so that a change of rules is no change of the world. With `verdicts`, a frame of
    `analyzer.analysis.churn.verdicts`, `_replayed` is what those rules say.

    Raises:
        AnalyzerError: a window that cannot be read.
    """
    errors = _judged(store, window(since, until, timezone=timezone), verdicts)
    both = errors.with_columns(
        recorded=counted_unknown("recorded_reason", "recorded_detail"), replayed=counted_unknown("reason", "detail")
    ).with_columns(group=pl.struct("session_id", "template"))
    return (
        both.group_by("day", "caller")
        .agg(
            sessions=pl.col("session_id").n_unique().cast(pl.Int64),
            groups=pl.col("group").n_unique().cast(pl.Int64),
            events=pl.len().cast(pl.Int64),
            **_unknown("recorded", ""),
            **_unknown("replayed", "_replayed"),
        )
        .sort("day", "caller")
    )


def _unknown(which: str, suffix: str) -> dict[str, pl.Expr]:
    return {
        f"unknown_sessions{suffix}": pl.col("session_id").filter(pl.col(which)).n_unique().cast(pl.Int64),
        f"unknown_groups{suffix}": pl.col("group").filter(pl.col(which)).n_unique().cast(pl.Int64),
        f"unknown_events{suffix}": pl.col(which).sum().cast(pl.Int64),
    }


def templates(
    store: Store,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    *,
    timezone: str = "UTC",
    verdicts: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row a day, caller and unknown template, in this order: `day`, `caller`, `template`, `sessions`, `events`.

    Unknown is what the active ruleset calls so, or with `verdicts` what those rules do. Templates are merged as for
    `analyzer.unknowns`, over all of the window.

    Raises:
        AnalyzerError: a window that cannot be read.
    """
    errors = _judged(store, window(since, until, timezone=timezone), verdicts)
    errors = errors.filter(counted_unknown("reason", "detail"))
    merged = merge(errors["template"].unique())
    return (
        errors.with_columns(pl.col("template").replace_strict(merged, return_dtype=pl.String))
        .group_by("day", "caller", "template")
        .agg(sessions=pl.col("session_id").n_unique().cast(pl.Int64), events=pl.len().cast(pl.Int64))
        .sort("day", "caller", "template")
    )


def _judged(store: Store, within: Window, verdicts: pl.DataFrame | None) -> pl.DataFrame:
    frame = table(store, "errors-judged", within).frame
    if verdicts is not None:
        new = verdicts.select("event_id", reason="new_reason", detail="new_detail")
        frame = frame.drop("reason", "detail").join(new, on="event_id", maintain_order="left")
    return frame.filter(takes_part("detail"))
