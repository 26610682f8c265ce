"""The rows of a lake that a batch meets: those with its keys, found by the engine, so that no more reach the driver."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from analyzer.lake.location import for_spark
from analyzer.store.db.frames import frame_of

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

_UTF8 = pa.string()


def rows_with(spark: Callable[[], SparkSession], table: DeltaTable, key: str, values: Sequence[str]) -> pa.Table | None:
    """The rows of a table whose `key` is one of the values; None where no file of it can hold one."""
    files = _files_with(table, key, sorted(values))
    if not files:
        return None
    from pyspark.sql.functions import broadcast

    keys = spark().createDataFrame(pa.table({key: pa.array(values, _UTF8)}))
    return (
        spark()
        .read.option("basePath", for_spark(table.table_uri))
        .parquet(*files)
        .join(broadcast(keys), key, "left_semi")
        .toArrow()
    )


def _files_with(table: DeltaTable, key: str, values: Sequence[str]) -> list[str]:
    """The files whose bounds of `key` have a value between them, as the log knows these; `values` are sorted."""
    actions = pl.DataFrame(table.get_add_actions(flatten=True))
    if not actions.height or not values:
        return []
    names = ("path", f"min.{key}", f"max.{key}")
    empty = frame_of(dict.fromkeys(names, "String"))
    known = pl.concat(
        [empty, actions.select(name for name in names if name in actions.columns)], how="diagonal_relaxed"
    )
    root = for_spark(table.table_uri.rstrip("/"))
    found: list[str] = []
    for path, low, high in known.iter_rows():
        at = bisect_left(values, low) if low is not None else 0
        # Without bounds it may hold anything.
        if low is None or high is None or (at < len(values) and values[at] <= high):
            found.append(f"{root}/{path}")
    return found
