"""Replay of a lake: executors judge its facts by another ruleset, and Spark counts what changes.

Invariant: `apply` is one batch, so that a lake is as before or as after; what reaches the driver grows with distinct
facts and kinds of change, never with events.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.classifier.rules.toml_text import ruleset_text
from analyzer.events.times import now
from analyzer.lake.answers import stored
from analyzer.lake.files import check_version, files
from analyzer.lake.files import opened as table_of
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import Lake, for_spark
from analyzer.lake.session import own_views, require, session
from analyzer.lake.writing.applying import SUMMED
from analyzer.lake.writing.deciding import load, record, rows_of
from analyzer.lake.writing.judging import judged_by, kept_name, slices, verdict_rows, waiting_for
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.meeting import rows_with
from analyzer.lake.writing.opening import opened, spark_failures
from analyzer.store.db.connection import connect, store_errors
from analyzer.store.db.lock import MEMORY
from analyzer.store.verdicts.reclassify import Reclassification, apply_ruleset, compared
from analyzer.store.verdicts.suggesting import add_suggestions

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import DataFrame, SparkSession

_VERDICT = ("facts_id", "reason", "detail", "action")


def reclassify(lake: Lake, rules: Rules, *, apply: bool = False) -> Reclassification:
    """Judge all facts of a lake that have no verdict of these rules yet, and compare, as a store in a file does.

    A dry run writes nothing. With `apply` the verdicts are kept, and the ruleset becomes the active one.

    Raises:
        RulesError: the rules cannot be used.
        StoreBusyError: another process writes to the lake.
        StoreError: there is no lake, or it cannot be read or written; then nothing of it is applied.
    """
    ruleset = ruleset_for(rules)
    require(lake)
    check_version(lake)
    with spark_failures(), store_errors():
        if not apply:
            return _Replay(lake, ruleset).result(applied=False)
        with opened(lake) as ledger:
            replay = _Replay(lake, ruleset)
            replay.apply(ledger, rules)
            return replay.result(applied=True)


class _Replay:
    """One ruleset over one lake."""

    def __init__(self, lake: Lake, ruleset: Ruleset) -> None:
        self._lake, self._ruleset = lake, ruleset
        self._spark: SparkSession = own_views(session(lake))
        self._active = _settings(table_of(lake, "store_v1").to_pyarrow_table()).get("active_ruleset")
        waiting = waiting_for(self._spark, partial(files, lake), ruleset.digest)
        self._count = waiting.count() if waiting is not None else 0
        self._judged = judged_by(waiting, ruleset_text(ruleset)) if waiting is not None and self._count else None

    def apply(self, ledger: Ledger, rules: Rules) -> None:
        """Keep the verdicts, the decision and the rules as one batch."""
        digest = self._ruleset.digest
        with connect(MEMORY, read_only=False) as connection, ledger.batch():
            if self._judged is not None:
                for part in slices(self._judged, self._count):
                    ledger.append("verdict_v1", verdict_rows(part, digest))
            record(
                ledger,
                connection,
                lambda own, journal: apply_ruleset(own, self._ruleset, rules, MEMORY, journal),
            )
            name = kept_name(digest)
            if not ledger.rows(JOURNAL, [("event_id", "=", name)]).num_rows:
                ledger.append(
                    JOURNAL,
                    pa.table({"event_id": [name], "line": [ruleset_text(self._ruleset)]}, tables()[JOURNAL].schema),
                )
            if ledger.rows(SUMMED).num_rows:
                ledger.delete(SUMMED, "true")
            suggest(self._spark, ledger, connection, digest)
            ledger.replace("store_v1", rows_of(connection, "store_v1"))
        self._judged = None

    def result(self, *, applied: bool) -> Reclassification:
        """What the verdicts of these rules change."""
        verdicts = self._table("verdict_v1")
        found = verdicts.where(verdicts.ruleset == self._ruleset.digest).select(*_VERDICT)
        if self._judged is not None:
            found = found.unionByName(self._judged.select(*_VERDICT))
        found.createOrReplaceTempView("replayed_verdict")
        self._table("event_v1").createOrReplaceTempView("replayed_event")
        replayed = self._spark.sql(_REPLAYED).toArrow()
        with connect(MEMORY, read_only=False) as connection:
            connection.register("counted", replayed)
            connection.execute("create temp table replayed as from counted").fetchall()
            asked = connection.execute("select distinct unnest(samples) from replayed where reason is not null")
            facts = rows_with(
                lambda: self._spark, table_of(self._lake, "facts_v1"), "facts_id", [one for (one,) in asked.fetchall()]
            )
            if facts is not None:
                load(connection, "facts_v1", facts)
            return compared(connection, self._ruleset.digest, self._count, active=self._active, applied=applied)

    def _table(self, name: str) -> DataFrame:
        return stored(self._spark, tables()[name], files(self._lake, name))


def suggest(
    spark: SparkSession,
    ledger: Ledger,
    connection: duckdb.DuckDBPyConnection,
    digest: str,
    *,
    recorded: bool = False,
) -> None:
    """The second opinion on what the active rules do not know and nobody was asked about; of what they have not judged,
    too, where it was `recorded` as unknown. Call it inside of a batch.

    `connection` is of a store in memory with the lake's settings.
    """

    # As the batch has them by now, which no reader sees.
    def table(name: str) -> DataFrame:
        return stored(spark, tables()[name], [for_spark(one) for one in ledger[name].file_uris()])

    facts, verdicts = table("facts_v1"), table("verdict_v1").where(f"ruleset = '{digest}'")
    unknown = verdicts.where("reason = 'unknown'").select("facts_id")
    if recorded:
        said = table("event_v1").where("type = 'error.classified' and coalesce(reason, 'unknown') = 'unknown'")
        unknown = unknown.union(said.join(verdicts, "facts_id", "left_anti").select("facts_id"))
    unasked = facts.where(facts.suggested_probability.isNull()).join(unknown, "facts_id", "left_semi")
    count = unasked.count()
    for part in slices(unasked, count) if count else ():
        load(connection, "facts_v1", part)
        connection.execute("delete from internal.verdict_v1").fetchall()
        connection.execute(
            "insert into internal.verdict_v1 (facts_id, ruleset, reason, retryable, action, rule, judged_at)"
            " select facts_id, $1, 'unknown', false, '', '', $2 from internal.facts_v1",
            [digest, now()],
        ).fetchall()
        add_suggestions(connection)
        ledger.upsert("facts_v1", "facts_id", rows_of(connection, "facts_v1"))


def _settings(rows: pa.Table) -> dict[str, Any]:
    return dict(zip(*rows.to_pydict().values(), strict=True))


# What the store's own statement counts at once is counted by facts first: an aggregate of the engine keeps all of its
# values before it cuts them, which the 24 smallest of a window do not ask for.
_REPLAYED = """
with pairs as (
  select
    coalesce(r.reason, '(none)') as recorded_reason,
    r.detail as recorded_detail,
    r.action as recorded_action,
    r.ruleset as recorded_ruleset,
    v.reason,
    v.detail,
    v.action,
    r.facts_id,
    count(*) as errors
  from replayed_event as r
  left join replayed_verdict as v
    on r.facts_id = v.facts_id
  where r.type = 'error.classified'
  group by all
),

placed as (
  select
    *,
    coalesce(
      sum(errors) over (
        partition by
          recorded_reason, recorded_detail, recorded_action, recorded_ruleset, reason, detail, action
        order by facts_id
        rows between unbounded preceding and 1 preceding
      ),
      0
    ) as earlier
  from pairs
)

select
  recorded_reason,
  recorded_detail,
  recorded_action,
  recorded_ruleset,
  reason,
  detail,
  action,
  cast(sum(errors) as bigint) as errors,
  collect_list(facts_id) filter (where earlier < 24 and not reason <=> recorded_reason) as samples
from placed
group by recorded_reason, recorded_detail, recorded_action, recorded_ruleset, reason, detail, action
"""
