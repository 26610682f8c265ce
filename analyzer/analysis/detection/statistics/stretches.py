"""Sums over stretches of days of very many units at once: a running sum of all their days, and differences of it.

The days of a unit stand together, beginning with so many empty ones that no stretch reaches into the unit before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl


def spans_of(rows: pl.DataFrame, unit: Sequence[str]) -> pl.DataFrame:
    """The `first` and the `last` day of each unit."""
    return rows.group_by(unit).agg(pl.col("day").min().alias("first"), pl.col("day").max().alias("last"))


def every_day(rows: pl.DataFrame, spans: pl.DataFrame, back: int) -> pl.DataFrame:
    """The rows and all other days of their unit's span, from `back` days before it on; their values are null.

    `rows` has `day`, and one row at most for a day of a unit. `spans` has the names of a unit, `first` and `last`.
    """
    unit = [name for name in spans.columns if name not in {"first", "last"}]
    days = pl.date_ranges(pl.col("first").dt.offset_by(f"-{back}d"), pl.col("last"))
    every = spans.select(*unit, day=days).explode("day")
    return every.join(rows, on=[*unit, "day"], how="left", maintain_order="left")


def running(*columns: str) -> Iterable[pl.Expr]:
    """The running sums that `stretch` takes; none of the columns holds a null."""
    return (pl.col(name).cum_sum().alias(f"{name}_so_far") for name in columns)


def stretch(column: str, first: int, last: int) -> pl.Expr:
    """The sum of a column over the days from `first` to `last` days before that of a row, both of them included."""
    so_far = pl.col(f"{column}_so_far")
    return so_far.shift(last, fill_value=0) - so_far.shift(first + 1, fill_value=0)
