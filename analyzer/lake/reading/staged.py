"""What executors have read, on its way to the driver: staged as files that both reach, taken part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from analyzer.lake.reading.parts import SCHEMA, Read, header_of
from analyzer.store.ingest.batch import MAX_EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS = {pa.int64(): "bigint", pa.int32(): "int", pa.string(): "string", pa.binary(): "binary"}
DDL = ", ".join(f"{field.name} {_KINDS[field.type]}" for field in SCHEMA)
"""The columns of parts, in the words of Spark."""


HEADERS = 1_000
"""Parts whose headers are held at a time."""


def batches(parts: Iterable[Read]) -> Iterator[list[Read]]:
    """Parts, as many at a time as are a batch, and the rest of them, which may be none."""
    waiting: list[Read] = []
    height = 0
    for one in parts:
        waiting.append(one)
        height += one.header.height
        if height >= MAX_EVENTS or len(waiting) >= HEADERS:
            yield waiting
            waiting, height = [], 0
    yield waiting


class Staged:
    """The parts that executors make of a relation, all of them written below `place` before the first is taken."""

    def __init__(self, spark: SparkSession, read: DataFrame, place: str) -> None:
        read.write.mode("overwrite").option("parquet.block.size", 16 << 20).parquet(place)
        self._rows = spark.read.schema(DDL).parquet(place)

    def headers(self) -> Iterator[Read]:
        """All parts in their order, without their rows."""
        found = self._rows.where("header is not null").select("part_group", "part", "header")
        # Sorted here: Spark would shuffle them for it.
        for row in found.toArrow().sort_by([("part_group", "ascending"), ("part", "ascending")]).to_pylist():
            yield Read(row["part_group"], row["part"], header_of(row["header"]))

    def rows(self, parts: Sequence[Read]) -> pa.Table | None:
        """The events of parts that follow each other; None where they have none."""
        if not any(one.header.height for one in parts):
            return None
        first, last = parts[0], parts[-1]
        return self._rows.where(
            "header is null"
            f" and part_group in ({', '.join(map(str, sorted({one.group for one in parts})))})"
            f" and (part_group > {first.group} or part >= {first.part})"
            f" and (part_group < {last.group} or part <= {last.part})"
        ).toArrow()
