"""What numbers of errors are held against: the sessions of a caller's day where logs show those without errors, too.

Where they do not, a day is a day: more errors may then come of more work, which the finding says.
"""

from __future__ import annotations

import polars as pl

from analyzer.analysis.detection.volume.units import LEAST_MORE


def exposures(work: pl.DataFrame, counts: pl.DataFrame, versions: pl.DataFrame | None = None) -> pl.DataFrame:
    """A row for each day on which a caller was at work, with what its errors are held against.

    `work`: columns `day`, `caller`, `sessions`, `observed` (sessions that logs report whether they have errors or not).
    `counts`: columns `day`, `caller`, `sessions`, `groups` of errors. The result has `day`, `caller`, `exposure`
    (sessions, else 1), `seen` (whether it is sessions), `error_sessions`, `groups`. Callers with next to no errors are
    left out. `versions`: columns `caller`, `ruleset`, `first_on`; where a caller's errors were recorded under several
    rulesets, those before the newest do not count, and neither do its days.
    """
    busy = counts.group_by("caller").agg(pl.sum("groups")).filter(pl.col("groups") >= LEAST_MORE).select("caller")
    own = work.join(busy, on="caller", how="semi")
    if versions is not None:
        cut = versions.group_by("caller").agg(pl.col("first_on").max().alias("cut"), pl.len().alias("rulesets"))
        own = own.join(cut.filter(pl.col("rulesets") > 1), on="caller", how="left")
        own = own.filter(pl.col("cut").is_null() | (pl.col("day") >= pl.col("cut"))).drop("cut", "rulesets")
    begins = own.filter(pl.col("observed") > 0).group_by("caller").agg(pl.col("day").min().alias("begins"))
    dated = own.join(begins, on="caller", how="left")
    sessions = dated.filter((pl.col("day") >= pl.col("begins")) & (pl.col("sessions") > 0)).select(
        "day", "caller", pl.col("sessions").cast(pl.Float64).alias("exposure"), seen=pl.lit(True)
    )
    # A day without a word of anybody is a hole in the logs, and no quiet day.
    days = work.select("day").unique().sort("day")
    first = dated.group_by("caller").agg(pl.col("day").min().alias("first"), pl.col("begins").first())
    time = (
        first.join(days, how="cross")
        .filter((pl.col("day") >= pl.col("first")) & (pl.col("begins").is_null() | (pl.col("day") < pl.col("begins"))))
        .select("day", "caller", exposure=pl.lit(1.0), seen=pl.lit(False))
    )
    errors = counts.select("day", "caller", pl.col("sessions").alias("error_sessions"), "groups")
    return (
        pl.concat([sessions, time])
        .join(errors, on=["day", "caller"], how="left")
        .with_columns(pl.col("error_sessions", "groups").fill_null(0))
        .sort("day", "caller")
    )
