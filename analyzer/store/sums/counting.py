"""Sum rows by session to days and callers, out of rows in the order of `detection-groups`.

Equal rows stand together in that order, and numbers replace names. A row is a day, caller, session,
message and verdict; a group is a distinct message of a session of a day and caller.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

LOUD = 30
"""A group with so many repeats of its message in one session of a day is kept by its names."""


def counted(rows: pl.DataFrame, relays: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Count everything by session, under the names of `schemas.SCHEMAS`.

    `relays` are hand-offs by session.
    """
    repeats, loud = repeats_of(rows)
    busy = rows.select("day", "caller", "session").join(relays, on=["day", "caller"], how="semi")
    at_work = pl.concat([busy, relays.select(busy.columns)]).group_by("day", "caller").agg(_sessions().alias("at_work"))
    return {
        "counts": counts_of(rows),
        "templates": templates_of(rows),
        "known_templates": known_templates_of(rows),
        "rules": rules_of(rows),
        "repeats": repeats,
        "loud": loud,
        "relays": by_step(relays).join(at_work, on=["day", "caller"]),
    }


def _sessions() -> pl.Expr:
    return pl.col("session").n_unique().cast(pl.Int64)


def by_step(relays: pl.DataFrame) -> pl.DataFrame:
    """Sum hand-offs by session to day, caller and step."""
    return relays.group_by("day", "caller", "step").agg(
        pl.col("relays").sum(),
        _sessions().alias("sessions"),
        pl.col("relays").max().alias("most"),
    )


def counts_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the rows of `detection-counts`, and the verdicts, by day and caller.

    `verdicts` are the rows themselves, and of these `unknown_verdicts` were recorded as unknown and
    `unknown_verdicts_replayed` are unknown under the ruleset.
    """
    unknown, was_unknown, events = pl.col("reason") == "unknown", pl.col("was_unknown"), pl.col("events")
    by_group = (
        _numbered(rows)
        .with_columns(
            unknown=unknown,
            unknown_events=events * was_unknown,
            unknown_events_replayed=events * unknown,
            not_replayed=events * ~pl.col("judged"),
            unknown_verdicts=was_unknown.cast(pl.Int64),
            unknown_verdicts_replayed=unknown.cast(pl.Int64),
        )
        .group_by("group", maintain_order=True)
        .agg(
            pl.first("row", "session"),
            pl.any("unknown", "was_unknown"),
            pl.len().cast(pl.Int64).alias("verdicts"),
            pl.sum("events", *_SUMMED),
        )
    )
    by_session = by_group.group_by("session", maintain_order=True).agg(
        pl.first("row"),
        pl.len().cast(pl.Int64).alias("groups"),
        pl.col("was_unknown").sum().cast(pl.Int64).alias("unknown_groups"),
        pl.col("unknown").sum().cast(pl.Int64).alias("unknown_groups_replayed"),
        pl.sum("events", "verdicts", *_SUMMED),
    )
    by_row = by_session.group_by("row", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("sessions"),
        pl.sum("groups", "events"),
        (pl.col("unknown_groups") > 0).sum().cast(pl.Int64).alias("unknown_sessions"),
        pl.sum("unknown_groups", "unknown_events"),
        (pl.col("unknown_groups_replayed") > 0).sum().cast(pl.Int64).alias("unknown_sessions_replayed"),
        pl.sum("unknown_groups_replayed", "unknown_events_replayed", "not_replayed"),
        pl.sum("verdicts", "unknown_verdicts", "unknown_verdicts_replayed"),
    )
    return pl.concat([_names(rows), by_row.drop("row")], how="horizontal")


_SUMMED = (
    "unknown_events",
    "unknown_events_replayed",
    "not_replayed",
    "unknown_verdicts",
    "unknown_verdicts_replayed",
)


def templates_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the rows of `detection-templates`."""
    return _sessions_by(rows, ("template",), pl.col("reason") == "unknown", pl.col("events").sum())


def known_templates_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the sessions with each message that has a reason, and those that weak evidence decided.

    The counts are by day and caller.

    Errors without a message are left out.
    """
    weak = pl.col("session").filter(pl.col("confidence").eq_missing("weak")).n_unique().cast(pl.Int64)
    has_reason = (pl.col("reason") != "unknown") & (pl.col("template") != "")
    return _sessions_by(rows, ("template", "reason"), has_reason, weak.alias("weak_sessions"), pl.col("events").sum())


def weakly_known(templates: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of `known_templates_of` whose message weak evidence decided at least once."""
    weak = templates.filter(pl.col("weak_sessions") > 0).select("template").unique()
    return templates.join(weak, on="template", how="semi", maintain_order="left")


def rules_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Count the sessions in which each rule matched, by day and caller, with its reason."""
    return _sessions_by(rows, ("rule", "reason"), pl.col("rule").is_not_null())


def _sessions_by(rows: pl.DataFrame, keys: Sequence[str], chosen: pl.Expr, *more: pl.Expr) -> pl.DataFrame:
    """Count the sessions of chosen rows by day, caller and keys, with further aggregates."""
    counted = (
        _numbered(rows)
        .filter(chosen)
        .group_by("row", *keys)
        .agg(_sessions().alias("sessions"), *more)
        .sort("row", *keys)
    )
    return _with_names(counted, rows)


def _with_names(counted: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Replace the number of a pair of day and caller with the pair."""
    names = _names(rows).with_row_index("row")
    return counted.join(names, on="row", maintain_order="left").select(
        "day", "caller", pl.exclude("row", "day", "caller")
    )


def repeats_of(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Count the groups by their number of events, by day and caller; and return the loud groups.

    A group is loud from `LOUD` events on.
    """
    numbered = _numbered(rows).group_by("group", maintain_order=True).agg(pl.first("row"), pl.sum("events"))
    repeats = numbered.group_by("row", "events").agg(pl.len().cast(pl.Int64).alias("groups")).sort("row", "events")
    begins = _begins("day") | _begins("caller") | _begins("session") | _begins("template")
    loud = (
        rows.filter(begins)
        .select("day", "caller", "session", "template")
        .with_columns(numbered["events"])
        .filter(pl.col("events") >= LOUD)
    )
    return _with_names(repeats, rows), loud


def _numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Number the pair of day and caller, the session and the message of each row, from 0."""
    row = _begins("day") | _begins("caller")
    session = row | _begins("session")
    group = session | _begins("template")
    numbers = (begins.cum_sum().cast(pl.UInt32).sub(1).set_sorted() for begins in (row, session, group))
    return rows.select(
        *(number.alias(name) for name, number in zip(("row", "session", "group"), numbers, strict=True)),
        # Only rows out of a store have `confidence`.
        *("template", "reason", "rule", "was_unknown", "judged", "events", "^confidence$"),
    )


def _names(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of day and caller, in order."""
    return rows.select("day", "caller").filter(_begins("day") | _begins("caller"))


def _begins(name: str) -> pl.Expr:
    """Say whether a row has another value than the row before it.

    The first row has, as no name is null.
    """
    return pl.col(name).ne_missing(pl.col(name).shift())
