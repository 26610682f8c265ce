"""Facts → verdicts of one ruleset, appended by facts and ruleset and never overwritten.

What was interrupted goes on where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import duckdb
import polars as pl

from analyzer.classifier import Ruleset
from analyzer.classifier.batch import judge_json
from analyzer.classifier.parallel import judge_in_parallel
from analyzer.errors import StoreError
from analyzer.events.times import now
from analyzer.store.db.frames import register

CHUNK = 20_000
"""Facts a worker judges at a time, and that are saved at a time."""
ALONE = 10_000
"""So few are judged in this process: starting others takes longer."""


def add_verdicts(
    connection: duckdb.DuckDBPyConnection,
    ruleset: Ruleset,
    target: str,
    progress: Callable[[int, int], None] | None,
    before: datetime | None = None,
) -> int:
    """Verdicts for the facts that lack one, in batches that are each kept as soon as they are made."""
    waiting = connection.execute(
        "select facts_id, facts from internal.facts_v1"  # noqa: S608 - one of two names
        f" anti join (from {target} where ruleset = $1) using (facts_id)"
        " where $2 is null or facts_id in (select facts_id from internal.event_v1 where occurred_at < $2)",
        [ruleset.digest, before],
    ).fetchall()
    moment = now()
    done = 0
    for ids, verdicts in _verdicts(waiting, ruleset):
        columns = list(zip(*verdicts, strict=True))
        frame = pl.DataFrame(
            {
                "facts_id": ids,
                "ruleset": [ruleset.digest] * len(ids),
                **dict(zip(("reason", "detail", "retryable", "action", "rule"), map(list, columns), strict=True)),
                "judged_at": [moment] * len(ids),
            },
            schema=_SCHEMA,
        )
        register(connection, "staged_verdict", frame)
        connection.execute(f"insert into {target} from staged_verdict").fetchall()
        done += len(ids)
        if progress is not None:
            progress(done, len(waiting))
    return done


_Rows = tuple[list[str], list[tuple[str, str | None, bool, str, str]]]


def _verdicts(waiting: list[tuple[str, str]], ruleset: Ruleset) -> Iterator[_Rows]:
    """Judge chunk by chunk; gives ids and verdicts. Where that pays, there is a process for each core."""
    chunks = [waiting[start : start + CHUNK] for start in range(0, len(waiting), CHUNK)]
    texts = [[facts for _, facts in chunk] for chunk in chunks]
    if len(waiting) <= ALONE:
        for chunk, chunk_texts in zip(chunks, texts, strict=True):
            yield [facts_id for facts_id, _ in chunk], judge_json(chunk_texts, ruleset)
        return
    answers = judge_in_parallel(texts, ruleset, os.cpu_count() or 1)
    try:
        for chunk, verdicts in zip(chunks, answers, strict=True):
            yield [facts_id for facts_id, _ in chunk], verdicts
    except OSError as error:
        raise StoreError(f"judging broke off: {error}", "what was judged is kept; run the same command again") from None


_SCHEMA: dict[str, Any] = {
    "facts_id": pl.String,
    "ruleset": pl.String,
    "reason": pl.String,
    "detail": pl.String,
    "retryable": pl.Boolean,
    "action": pl.String,
    "rule": pl.String,
    "judged_at": pl.Datetime("us"),
}
