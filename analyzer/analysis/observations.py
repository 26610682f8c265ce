"""`Observations`: the frames that detection is worked out from, with all of history judged by one ruleset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from heapq import nsmallest
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.detection.settings import BASELINE_DAYS
from analyzer.store import Store


@dataclass(frozen=True, slots=True)
class Observations:
    """History up to the end of one day. Each frame has the rows of the catalogue's query of its name."""

    night: date
    """The last day of it."""
    timezone: str
    ruleset: str | None
    """Digest of the ruleset that judged; None for the active one, or for what was recorded where none is."""
    counts: pl.DataFrame
    """One row a day and caller."""
    templates: pl.DataFrame
    """One row a day, caller and unknown template."""
    groups: pl.DataFrame
    """One row a day, caller, session, template and verdict."""
    relays: pl.DataFrame
    """One row a day, caller, step and session with a hand-off."""
    chains: pl.DataFrame
    """One row a day, caller and reason with a retry chain that was settled."""
    versions: pl.DataFrame
    """One row a caller and ruleset that its errors without facts were recorded under."""

    @property
    def days(self) -> list[date]:
        """The days of history with anything to judge, in order."""
        return self.counts["day"].unique().sort().to_list()

    def traffic(self, callers: Iterable[str | None]) -> dict[str, tuple[date, ...]]:
        """The days on which each of some callers had anything to judge, in order."""
        asked = pl.DataFrame({"caller": list(set(callers) - {None})}, {"caller": pl.String})
        days: dict[str, list[date]] = {}
        rows = self.counts.select("day", "caller").join(asked, on="caller", how="semi").sort("day")
        for day, caller in rows.iter_rows():
            days.setdefault(caller, []).append(day)
        return {caller: tuple(own) for caller, own in days.items()}

    def around(self, split: date, until: date, caller: str | None) -> pl.DataFrame:
        """A caller's rows of `groups` to `until`, with `period`: `before` in the baseline of `split`, else `after`."""
        first = split - timedelta(days=BASELINE_DAYS)
        own = self.groups.filter((pl.col("caller") == caller) & pl.col("day").is_between(first, until))
        before = pl.when(pl.col("day") < split).then(pl.lit("before"))
        return own.with_columns(period=before.otherwise(pl.lit("after")))

    def up_to(self, day: date) -> Observations:
        """The same history as it was at the end of an earlier day."""
        dated = {name: getattr(self, name).filter(pl.col("day") <= day) for name in _DATED}
        return replace(self, night=day, **dated, versions=self.versions.filter(pl.col("first_on") <= day))


_DATED = ("counts", "templates", "groups", "relays", "chains")


def observe(store: Store, night: date, timezone: str = "UTC", ruleset: str | None = None) -> Observations:
    """The observations of a store up to the end of `night`.

    Raises:
        QueryError: the store cannot be asked.
    """
    span = {"until": end_of(night, timezone), "timezone": timezone}
    judged = {**span, "ruleset": ruleset}
    groups = store.query("detection-groups", **judged)
    return Observations(
        night,
        timezone,
        ruleset,
        counts=counts_of(groups),
        templates=templates_of(groups),
        groups=groups,
        relays=store.query("detection-relays", **span),
        chains=store.query("detection-chains", **judged),
        versions=store.query("detection-versions", **span),
    )


def counts_of(groups: pl.DataFrame) -> pl.DataFrame:
    """The rows of `detection-counts`, out of those of `detection-groups`.

    Asking the store instead costs a third more processor time a check, for another look at every error; verdicts that
    no store holds are counted by this as well. A test holds the two together.
    """
    unknown, was_unknown = pl.col("unknown"), pl.col("was_unknown")
    return (
        groups.group_by("day", "caller", "session", "template")
        .agg(
            (pl.col("reason") == "unknown").any().alias("unknown"),
            was_unknown.any(),
            pl.col("events").sum(),
            pl.col("events").filter(was_unknown).sum().alias("unknown_events"),
            pl.col("events").filter(pl.col("reason") == "unknown").sum().alias("unknown_events_replayed"),
            pl.col("events").filter(~pl.col("judged")).sum().alias("not_replayed"),
        )
        .group_by("day", "caller")
        .agg(
            pl.col("session").n_unique().cast(pl.Int64).alias("sessions"),
            pl.len().cast(pl.Int64).alias("groups"),
            pl.col("events").sum(),
            pl.col("session").filter(was_unknown).n_unique().cast(pl.Int64).alias("unknown_sessions"),
            was_unknown.sum().cast(pl.Int64).alias("unknown_groups"),
            pl.col("unknown_events").sum(),
            pl.col("session").filter(unknown).n_unique().cast(pl.Int64).alias("unknown_sessions_replayed"),
            unknown.sum().cast(pl.Int64).alias("unknown_groups_replayed"),
            pl.col("unknown_events_replayed", "not_replayed").sum(),
        )
        .sort("day", "caller")
    )


def templates_of(groups: pl.DataFrame) -> pl.DataFrame:
    """The rows of `detection-templates`, by the same way."""
    return (
        groups.filter(pl.col("reason") == "unknown")
        .group_by("day", "caller", "template")
        .agg(pl.col("session").n_unique().cast(pl.Int64).alias("sessions"), pl.col("events").sum())
        .sort("day", "caller", "template")
    )


def exposed(seen: Observations) -> pl.DataFrame:
    """Hand-offs by step, with their exposure: the sessions in which the caller was at work.

    One row for each session that handed off in a step, and one for all the caller's other sessions of that day, which
    are those with an error or with a hand-off in another step.
    """
    steps = seen.relays.select("caller", "step").unique()
    at_work = (
        pl.concat([frame.select("day", "caller", "session") for frame in (seen.relays, seen.groups)])
        .join(steps, on="caller", how="semi")
        .group_by("day", "caller")
        .agg(pl.col("session").n_unique().alias("all"))
    )
    own = seen.relays.with_columns(exposure=pl.lit(1.0))
    others = (
        at_work.join(steps, on="caller")
        .join(
            own.group_by("day", "caller", "step").agg(pl.len().alias("own")), on=["day", "caller", "step"], how="left"
        )
        .with_columns(exposure=(pl.col("all") - pl.col("own").fill_null(0)).cast(pl.Float64))
        .filter(pl.col("exposure") > 0)
        .select("day", "caller", "step", session=pl.lit("", pl.String), relays=pl.lit(0, pl.Int64), exposure="exposure")
    )
    return pl.concat([own.select(others.columns), others])


def drawn(names: Iterable[str], most: int) -> list[str]:
    """At most so many of the names, chosen and ordered by their digests: the same ones in every run."""
    return nsmallest(most, names, key=lambda name: sha256(name.encode("utf-8", "replace")).digest())


def end_of(day: date, timezone: str) -> datetime:
    """The first instant after a day of a zone, as naive UTC."""
    return start_of(day + timedelta(days=1), timezone)


def start_of(day: date, timezone: str) -> datetime:
    """The first instant of a day of a zone, as naive UTC."""
    return datetime.combine(day, time(), ZoneInfo(timezone)).astimezone(UTC).replace(tzinfo=None)
