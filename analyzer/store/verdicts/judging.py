"""Facts → verdicts of one ruleset, appended by facts and ruleset and never overwritten.

What was interrupted goes on where it stopped.

The second opinion on what no rule knows is asked once for each distinct facts; it stands beside them and decides
nothing.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import duckdb

from analyzer.classifier import Ruleset
from analyzer.classifier.batch import Verdict, judge_in_parallel, judge_json
from analyzer.errors import StoreError
from analyzer.events.times import now
from analyzer.store.db.frames import register
from analyzer.store.db.sql_text import sql

CHUNK = 20_000
"""Facts a worker judges at a time, and that are saved at a time."""
PAGE = 10 * CHUNK
"""Facts that are read at a time."""
ALONE = 10_000
"""So few are judged in this process: starting others takes longer."""


def add_verdicts(
    connection: duckdb.DuckDBPyConnection,
    ruleset: Ruleset,
    target: str,
    progress: Callable[[int, int], None] | None,
    before: datetime | None = None,
) -> int:
    """Verdicts for the facts that lack one, in batches that are each kept as soon as they are made.

    No more than a page of facts is in memory, however many wait.
    """
    import polars as pl

    moment = now()
    done = 0
    dtypes: dict[str, Any] = dict.fromkeys(_TEXTS, pl.String) | {
        "retryable": pl.Boolean,
        "judged_at": pl.Datetime("us"),
    }
    # A checkpoint may move rows to where they are no longer met: whoever was missed is met the next time.
    while waiting := _waiting(connection, ruleset, target, before):
        total = done + waiting
        for ids, verdicts in _verdicts(_chunks(connection), ruleset, waiting):
            columns = list(zip(*verdicts, strict=True))
            frame = pl.DataFrame(
                {
                    "facts_id": ids,
                    "ruleset": [ruleset.digest] * len(ids),
                    **dict(
                        zip(
                            ("reason", "detail", "retryable", "action", "rule", "confidence"),
                            map(list, columns),
                            strict=True,
                        )
                    ),
                    "judged_at": [moment] * len(ids),
                },
                schema_overrides=dtypes,
            )
            register(connection, "staged_verdict", frame)
            connection.execute(f"insert into {target} by name from staged_verdict").fetchall()
            done += len(ids)
            if progress is not None:
                progress(done, total)
    return done


_Chunk = tuple[list[str], list[str]]
"""Ids and facts."""


def _waiting(connection: duckdb.DuckDBPyConnection, ruleset: Ruleset, target: str, before: datetime | None) -> int:
    """How many facts lack a verdict, with all that tells them from others in temporary tables."""
    connection.execute(
        sql("create or replace temp table judged as select facts_id from {target} where ruleset = $1", target=target),
        [ruleset.digest],
    ).fetchall()
    connection.execute(
        "create or replace temp table asked as select distinct facts_id from internal.event_v1 where occurred_at < $1",
        [before],
    ).fetchall()
    connection.execute(f"create or replace temp view waiting as {_ASKED if before else _ALL}").fetchall()
    return int(connection.execute("select count(*) from waiting").fetchall()[0][0])


_ALL = "select f.rowid as place, f.facts_id, f.facts from internal.facts_v1 as f anti join judged using (facts_id)"
_ASKED = f"{_ALL} semi join asked using (facts_id)"


def _chunks(connection: duckdb.DuckDBPyConnection) -> Iterator[_Chunk]:
    end = int(connection.execute("select coalesce(max(place), -1) from waiting").fetchall()[0][0]) + 1
    for begin in range(0, end, PAGE):
        bounds = [begin, begin + PAGE]
        page = connection.execute("select * from waiting where place >= $1 and place < $2", bounds).fetchall()
        for start in range(0, len(page), CHUNK):
            chunk = page[start : start + CHUNK]
            yield [facts_id for _, facts_id, _ in chunk], [facts for _, _, facts in chunk]


def _verdicts(chunks: Iterator[_Chunk], ruleset: Ruleset, waiting: int) -> Iterator[tuple[list[str], list[Verdict]]]:
    """Judge chunk by chunk; gives ids and verdicts. Where that pays, there is a process for each core."""
    if waiting <= ALONE:
        for ids, texts in chunks:
            yield ids, judge_json(texts, ruleset)
        return
    asked: deque[list[str]] = deque()

    def texts_of() -> Iterator[list[str]]:
        for ids, texts in chunks:
            asked.append(ids)
            yield texts

    try:
        for verdicts in judge_in_parallel(texts_of(), ruleset, os.cpu_count() or 1):
            yield asked.popleft(), verdicts
    except OSError as error:
        raise StoreError(f"judging broke off: {error}", "what was judged is kept; run the same command again") from None


_TEXTS = ("facts_id", "ruleset", "reason", "detail", "action", "rule", "confidence")


def add_suggestions(connection: duckdb.DuckDBPyConnection) -> None:
    """Ask for all facts of unknown errors that were not asked about yet; the model is loaded only if there are any.

    Raises:
        duckdb.Error: the database refuses.
    """
    while rows := connection.execute(_WAITING, [CHUNK]).fetchall():
        import polars as pl

        from analyzer.classifier.reading.facts import Facts
        from analyzer.classifier.suggestion import suggest
        from analyzer.store.db.frames import register

        found = [suggest(Facts.from_dict(json.loads(facts))) for _, facts in rows]
        frame = pl.DataFrame(
            {
                "facts_id": [facts_id for facts_id, _ in rows],
                "reason": [each.reason if each else None for each in found],
                # Without a proposal it is 0, which says that the model was asked.
                "probability": [round(each.probability, 3) if each else 0.0 for each in found],
            },
            schema={"facts_id": pl.String, "reason": pl.String, "probability": pl.Float64},
        )
        register(connection, "staged_suggestion", frame)
        connection.execute(_SAVED).fetchall()


_WAITING = """
with active as (
  select v.facts_id, v.reason
  from internal.verdict_v1 as v
  inner join internal.store_v1 as s
    on s.key = 'active_ruleset'
    and v.ruleset = s.value
),

unknown as (
  select facts_id
  from internal.event_v1
  where type = 'error.classified'
    and facts_id is not null
    and coalesce(reason, 'unknown') = 'unknown'
    and facts_id not in (select facts_id from active)
  union
  select facts_id
  from active
  where reason = 'unknown'
)

select facts_id, facts
from internal.facts_v1
where suggested_probability is null
  and facts_id in (select facts_id from unknown)
limit $1
"""
_SAVED = """
update internal.facts_v1
set suggested_reason = s.reason, suggested_probability = s.probability
from staged_suggestion as s
where facts_v1.facts_id = s.facts_id
"""
