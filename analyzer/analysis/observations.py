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

    def only(self, *names: str) -> Observations:
        """The same with the rows of these frames alone: of a large fleet, each frame takes much room."""
        others = {*_DATED, "versions"}.difference(names)
        return replace(self, **{name: getattr(self, name).clear() for name in others})


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
    """The rows of `detection-counts`, out of those of `detection-groups` in the order of that query.

    Equal rows stand together in it, so that numbers take the place of names. Asking the store instead costs a third
    more processor time a check, for another look at every error; verdicts that no store holds are counted by this as
    well. A test holds the two together.
    """
    unknown, was_unknown, events = pl.col("reason") == "unknown", pl.col("was_unknown"), pl.col("events")
    by_group = (
        _numbered(groups)
        .with_columns(
            unknown=unknown,
            unknown_events=events * was_unknown,
            unknown_events_replayed=events * unknown,
            not_replayed=events * ~pl.col("judged"),
        )
        .group_by("group", maintain_order=True)
        .agg(pl.first("row", "session"), pl.any("unknown", "was_unknown"), pl.sum("events", *_EVENTS))
    )
    by_session = by_group.group_by("session", maintain_order=True).agg(
        pl.first("row"),
        pl.len().cast(pl.Int64).alias("groups"),
        pl.col("was_unknown").sum().cast(pl.Int64).alias("unknown_groups"),
        pl.col("unknown").sum().cast(pl.Int64).alias("unknown_groups_replayed"),
        pl.sum("events", *_EVENTS),
    )
    by_row = by_session.group_by("row", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("sessions"),
        pl.sum("groups", "events"),
        (pl.col("unknown_groups") > 0).sum().cast(pl.Int64).alias("unknown_sessions"),
        pl.sum("unknown_groups", "unknown_events"),
        (pl.col("unknown_groups_replayed") > 0).sum().cast(pl.Int64).alias("unknown_sessions_replayed"),
        pl.sum("unknown_groups_replayed", "unknown_events_replayed", "not_replayed"),
    )
    return pl.concat([_names(groups), by_row.drop("row")], how="horizontal")


_EVENTS = ("unknown_events", "unknown_events_replayed", "not_replayed")


def templates_of(groups: pl.DataFrame) -> pl.DataFrame:
    """The rows of `detection-templates`, out of the same in the same order."""
    names = _names(groups).with_row_index("row")
    return (
        _numbered(groups)
        .filter(pl.col("reason") == "unknown")
        .group_by("row", "template")
        .agg(pl.col("session").n_unique().cast(pl.Int64).alias("sessions"), pl.col("events").sum())
        .sort("row", "template")
        .join(names, on="row", maintain_order="left")
        .select("day", "caller", "template", "sessions", "events")
    )


def _numbered(groups: pl.DataFrame) -> pl.DataFrame:
    """The groups with the number of their pair of day and caller, of its session and of its template, from 0."""
    row = _begins("day") | _begins("caller")
    session = row | _begins("session")
    group = session | _begins("template")
    numbers = (begins.cum_sum().cast(pl.UInt32) - 1 for begins in (row, session, group))
    return groups.select(
        *(number.alias(name) for name, number in zip(("row", "session", "group"), numbers, strict=True)),
        *("template", "reason", "was_unknown", "judged", "events"),
    )


def _names(groups: pl.DataFrame) -> pl.DataFrame:
    """Each pair of day and caller, in order."""
    return groups.select("day", "caller").filter(_begins("day") | _begins("caller"))


def _begins(name: str) -> pl.Expr:
    """Whether a row has another value than the one before it; the first one has."""
    other = pl.col(name).ne_missing(pl.col(name).shift())
    return pl.when(pl.int_range(pl.len()) == 0).then(True).otherwise(other)


def exposed(seen: Observations) -> pl.DataFrame:
    """Hand-offs by step, with their exposure: the sessions in which the caller was at work.

    One row for each session that handed off in a step, and one for all the caller's other sessions of that day, which
    are those with an error or with a hand-off in another step.
    """
    steps = seen.relays.select("caller", "step").unique()
    at_work = (
        pl.concat(
            [
                frame.select("day", "caller", "session").join(steps, on="caller", how="semi")
                for frame in (seen.relays, seen.groups)
            ]
        )
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
