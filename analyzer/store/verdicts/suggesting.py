"""The second opinion on what no rule knows, once for each distinct facts: it stands beside them and decides nothing."""

from __future__ import annotations

import json

import duckdb

CHUNK = 20_000
"""Facts that are asked about at a time, and saved at a time."""


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
