"""`NightFigures`: errors, sessions and unknown shares of a judged night by caller, and how its store stands.

Invariant: no more callers are named than `MAX_CALLERS`, however many the fleet has; the sums lose none.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

import polars as pl

from analyzer.analysis.nightly.night import Night
from analyzer.analysis.observations import end_of, start_of
from analyzer.analysis.tables import table
from analyzer.analysis.window import Window
from analyzer.store import Judging

MAX_CALLERS = 50
"""Callers that are named: those with the most errors, and among equal ones with the most sessions."""
OTHERS = "(others)"
"""The name under which the rest is summed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightFigures:
    """The figures of one night; no caller but `OTHERS` stands for more than one."""

    errors: dict[tuple[str, str], int]
    """By caller and reason."""
    error_sessions: dict[tuple[str, str], int]
    """Sessions with such an error, by caller and reason; who met several reasons counts in each."""
    sessions: dict[str, int]
    """Sessions at work by caller, with errors or without."""
    unknown_share: dict[str, float]
    """By caller, 0..1, of the errors that count; callers without any have none."""
    last_ingest_seconds: float | None
    """Unix time of the latest reading of a log that had something new; None before the first."""
    quarantine_rows: int
    """Stretches of logs that could not be read."""
    store_bytes: int | None
    """The size of the store's file with what waits beside it; None where the store is no file."""


def night_figures(store: Judging, night: Night) -> NightFigures:
    """The figures of the day or the hours that a night judged, and of the store as it is.

    Raises:
        QueryError: the store cannot be asked.
    """
    since, until = night.hours or (start_of(night.day, night.timezone), end_of(night.day, night.timezone))
    chosen = Window(since, until, night.timezone)
    errors = table(store, "errors-by-caller-reason", chosen).frame
    work = table(store, "detection-work", chosen).frame.select("caller", "sessions")
    shares = table(store, "unknown-share", chosen).frame.select("caller", "errors", "unknown_errors")
    met = pl.concat(
        [
            errors.select("caller", "errors", sessions=pl.lit(0, pl.Int64)),
            work.select("caller", pl.lit(0, pl.Int64).alias("errors"), "sessions"),
        ]
    )
    ranked = met.group_by("caller").sum().sort("errors", "sessions", "caller", descending=[True, True, False])
    named = ranked["caller"].head(MAX_CALLERS).implode()
    caller = pl.when(pl.col("caller").is_in(named)).then("caller").otherwise(pl.lit(OTHERS)).alias("caller")
    errors = errors.group_by(caller, "reason").sum().sort("caller", "reason")
    work = work.group_by(caller).sum().sort("caller")
    shares = shares.group_by(caller).sum().sort("caller")
    (standing,) = table(store, "sources-standing").frame.iter_rows(named=True)
    read_at = standing["last_ingested_at"]
    return NightFigures(
        errors={(who, reason): count for who, reason, count, _ in errors.rows()},
        error_sessions={(who, reason): count for who, reason, _, count in errors.rows()},
        sessions=dict(work.rows()),
        unknown_share={who: unknown / count for who, count, unknown in shares.rows()},
        last_ingest_seconds=read_at.replace(tzinfo=UTC).timestamp() if read_at else None,
        quarantine_rows=standing["quarantine_rows"],
        store_bytes=store.size_bytes,
    )
