"""What was read again and what the former lake alone still has, as one: Spark joins them, and stages the rows of the
new tables.

Invariant: nothing of an event reaches the driver here but the figures of logs; rows have the order of their moments.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from analyzer.lake.answers import stored
from analyzer.lake.layout import tables
from analyzer.lake.location import for_spark
from analyzer.lake.reading.executing import where_held
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.pruning import DECIDED
from analyzer.store.upkeep.carry_over import bytes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS, FACTS, VERDICTS = "event_v1", "facts_v1", "verdict_v1"
_WHEN = ("ingested_at",)
_WHERE = ("source_format", "source_path", "source_line")
_SPLIT = "source_id bigint, events bigint, lines bigint, size bigint"


class Merging:
    """A lake that was read again, and the former one, in a session of Spark's of its own."""

    def __init__(self, spark: SparkSession, new: Ledger, former: Ledger | None, place: str) -> None:
        """What is staged stands below `place`."""
        self._spark, self._place = spark, place
        for kind, ledger in (("new", new), ("former", former)):
            for name in (EVENTS, FACTS, VERDICTS, "quarantine_v1"):
                files = [for_spark(one) for one in ledger[name].file_uris()] if ledger is not None else []
                stored(spark, tables()[name], files).createOrReplaceTempView(f"{kind}_{name}")

    def decisions(self) -> pa.Table:
        """The decisions that a rebuild acts on, of either lake, each once."""
        named = f"source_path is null and type in ({', '.join(map(repr, _ACTED_ON))})"
        return self._spark.sql(
            f"select * from new_{EVENTS} where {named} union all"  # noqa: S608 - names of ours
            f" select f.* from former_{EVENTS} as f left anti join new_{EVENTS} as n on f.event_id = n.event_id"
            f" where {named}"
        ).toArrow()

    def splits(self, sources: list[tuple[int, str, str]]) -> list[dict[str, int]]:
        """Of foreign logs, by id, path and format: their events, and the whole lines that gave these, with their bytes,
        which executors look up in the logs.
        """
        if not sources:
            return []
        names = pa.table(list(zip(*sources, strict=True)), names=["source_id", "path", "format"])
        self._spark.createDataFrame(names).createOrReplaceTempView("split_source")
        given = self._spark.sql(_GIVEN).repartition("source_id")
        found: list[dict[str, int]] = given.mapInArrow(partial(_measured, os.getcwd()), _SPLIT).toArrow().to_pylist()
        return found

    def stage(self, horizon: datetime | None, ruleset: str | None) -> None:
        """Stage events, facts and verdicts, without what lies before a moment; the ruleset is the active one."""
        places = {name: f"{self._place}/{name}" for name in (EVENTS, FACTS, VERDICTS)}
        moment = f"timestamp_ntz'{horizon.isoformat(' ')}'" if horizon is not None else None
        kept = f"not (occurred_at < {moment} and not ({DECIDED}))" if moment else "true"
        events = self._spark.sql(_events()).where(kept)
        self._staged(EVENTS, events.orderBy("occurred_at"), places)
        facts = self._spark.sql(_facts(ruleset))
        self._staged(FACTS, facts, places)
        verdicts = self._spark.sql(
            f"select v.* from former_{VERDICTS} as v left semi join staged_{FACTS} as f on v.facts_id = f.facts_id"  # noqa: S608
        )
        self._staged(VERDICTS, verdicts, places)

    def _staged(self, name: str, rows: DataFrame, places: dict[str, str]) -> None:
        rows.write.mode("overwrite").parquet(places[name])
        self._spark.read.schema(rows.schema).parquet(places[name]).createOrReplaceTempView(f"staged_{name}")

    def carried(self) -> int:
        """The staged events that the former lake alone had."""
        return int(self._spark.sql(f"select * from staged_{EVENTS} where carried").count())  # noqa: S608


_ACTED_ON = ("history.pruned", "ruleset.applied")


def _events() -> str:
    """New events with the moments and the places that they had, and those that only the former lake has."""
    columns = []
    for name in tables()[EVENTS].columns.names:
        held = f"n.`{name}`"
        if name in _WHEN:
            held = f"coalesce(f.{name}, n.{name}) as {name}"
        elif name in _WHERE:
            held = f"if(f.event_id is null, n.{name}, f.{name}) as {name}"
        elif name == "occurred_at":
            # A time of the file's own changes with the file.
            held = "if(f.event_id is not null and n.time_source = 'file', f.occurred_at, n.occurred_at) as occurred_at"
        columns.append(held)
    own = ", ".join(f"f.`{name}`" for name in tables()[EVENTS].columns.names)
    return (
        f"select {', '.join(columns)}, false as carried from new_{EVENTS} as n"  # noqa: S608 - names of ours
        f" left join former_{EVENTS} as f on n.event_id = f.event_id"
        f" union all select {own}, true as carried from former_{EVENTS} as f"
        f" left anti join new_{EVENTS} as n on f.event_id = n.event_id"
    )


def _facts(ruleset: str | None) -> str:
    """The facts of staged events. A second opinion stays with what the active rules do not know; of what they are yet
    to judge it waits for that.
    """
    names = tables()[FACTS].columns.names
    own = ", ".join(
        f"if(v.reason = 'unknown', n.{name}, null) as {name}"
        if ruleset and name.startswith("suggested_")
        else f"n.`{name}`"
        for name in names
    )
    return (
        f"with known as (select facts_id, max(reason) as reason from former_{VERDICTS}"  # noqa: S608
        f" where ruleset = '{ruleset or ''}' group by facts_id),"
        f" every as (select {own} from new_{FACTS} as n left join known as v on n.facts_id = v.facts_id"
        f" union all select {', '.join(f'f.`{name}`' for name in names)} from former_{FACTS} as f"
        f" left anti join new_{FACTS} as n on f.facts_id = n.facts_id)"
        f" select a.* from every as a left semi join staged_{EVENTS} as e on a.facts_id = e.facts_id"
    )


_GIVEN = f"""
select
  s.source_id,
  first(s.path) as path,
  count(*) as events,
  collect_set(e.source_line) filter (where q.line is null) as lines
from split_source as s
inner join new_{EVENTS} as e
  on e.source_path = s.path
  and e.source_format = s.format
left join (select distinct source_id, line from new_quarantine_v1) as q
  on q.source_id = s.source_id
  and q.line = e.source_line
group by s.source_id
"""  # noqa: S608 - names of ours


def _measured(folder: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of logs and lines → the number of the lines and their bytes; names of logs hold in this folder."""
    names = [part.split()[0] for part in _SPLIT.split(", ")]
    for batch in batches:
        found = batch.to_pylist()
        with where_held(folder, (row["path"] for row in found)):
            rows = [
                (row["source_id"], row["events"], len(row["lines"]), bytes_of(row["path"], set(row["lines"])))
                for row in found
            ]
        arrays = [pa.array([row[place] for row in rows], pa.int64()) for place in range(4)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)
