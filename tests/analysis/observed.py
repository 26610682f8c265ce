"""Observations out of rows by session, as a store would give them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import polars as pl

from analyzer.analysis.observations import Observations, daily_totals
from analyzer.store import CallerDays, counts_of, known_templates_of, repeats_of, rules_of, templates_of
from analyzer.store.sums.counting import weakly_known
from analyzer.store.sums.schemas import empty, sorted_sums


@dataclass(frozen=True)
class MadeRows:
    """Rows that need no store."""

    made: pl.DataFrame
    """As those of `detection-groups`."""
    relays: pl.DataFrame
    """As those of `detection-relays`."""

    def groups(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """Those of some stretches."""
        parts = [_within(self.made, one) for one in asked]
        return pl.concat([self.made.clear(), *parts]).unique(maintain_order=True)

    def hand_offs(self, asked: Iterable[CallerDays]) -> pl.DataFrame:
        """Those of some stretches."""
        return pl.concat([self.relays.clear(), *(_within(self.relays, one) for one in asked)])


def observations(
    groups: pl.DataFrame,
    relays: pl.DataFrame,
    chains: pl.DataFrame,
    versions: pl.DataFrame,
    night: date,
    *,
    volumes: pl.DataFrame | None = None,
    work: pl.DataFrame | None = None,
    signals: pl.DataFrame | None = None,
) -> Observations:
    """What these rows by session come to, counted in the simplest way."""
    repeats, loud = repeats_of(groups)
    together = pl.concat([groups.select(_SESSION), relays.select(_SESSION)]).unique()
    at_work = together.group_by("day", "caller").agg(pl.len().cast(pl.Int64).alias("at_work"))
    by_step = relays.group_by("day", "caller", "step").agg(
        pl.col("relays").sum(),
        pl.len().cast(pl.Int64).alias("sessions"),
        pl.col("relays").max().alias("most"),
    )
    return Observations(
        night,
        "UTC",
        "abc",
        counts=counts_of(groups),
        templates=templates_of(groups),
        known_templates=weakly_known(known_templates_of(groups)),
        rules=rules_of(groups),
        repeats=repeats,
        loud=loud,
        relays=by_step.join(at_work, on=["day", "caller"]).sort("day", "caller", "step"),
        volumes=daily_totals(empty("volumes") if volumes is None else volumes),
        work=daily_totals(empty("work") if work is None else work),
        hourly_volumes=empty("volumes") if volumes is None else sorted_sums("volumes", volumes),
        hourly_work=empty("work") if work is None else sorted_sums("work", work),
        signals=empty("signals") if signals is None else sorted_sums("signals", signals),
        chains=chains,
        versions=versions,
        rows=MadeRows(groups, relays),
    )


_SESSION = ("day", "caller", "session")


def _within(rows: pl.DataFrame, one: CallerDays) -> pl.DataFrame:
    days = rows.filter(pl.col("day").is_between(one.first, one.last))
    return days if one.caller is None else days.filter(pl.col("caller") == one.caller)
