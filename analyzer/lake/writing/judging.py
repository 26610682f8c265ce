"""Verdicts of the active ruleset for facts that came after it was applied: made by executors, kept slice by slice.

What was interrupted goes on where it stopped, as facts that have a verdict are not judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.classifier.batch import judge_json
from analyzer.classifier.rules.loading import parse_ruleset
from analyzer.classifier.rules.toml_text import ruleset_text
from analyzer.errors import RulesError
from analyzer.events.times import now
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import for_spark
from analyzer.lake.moving import RULESETS
from analyzer.lake.writing.ledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLICE = 200_000
"""Facts whose verdicts reach the driver together, about."""
_JUDGED = (
    "facts_id string, reason string, detail string, retryable boolean, action string, rule string, confidence string"
)
_SLICES = "0123456789abcdef"
"""How the ids of facts begin: they are hexadecimal digests."""


def keep_up(spark: Callable[[], SparkSession], ledger: Ledger) -> int:
    """Judge what the active ruleset has not judged; how many facts could not be, as its rules are not at hand."""
    settings: dict[str, Any] = dict(zip(*ledger.rows("store_v1").to_pydict().values(), strict=True))
    digest = settings.get("active_ruleset")
    if digest is None:
        return 0
    return _judge(spark(), ledger, digest, lambda: _ruleset(ledger, settings.get("active_rules"), digest))


def judge_all(spark: Callable[[], SparkSession], ledger: Ledger, rules: Rules) -> None:
    """Judge what rules (a file, a ruleset, None: built in) have not judged.

    Raises:
        RulesError: the rules cannot be used.
    """
    ruleset = ruleset_for(rules)
    _judge(spark(), ledger, ruleset.digest, lambda: ruleset)


def judge_former(spark: Callable[[], SparkSession], ledger: Ledger, digest: str, before: datetime) -> None:
    """Judge what happened before a moment (naive UTC) by a ruleset that was active then, if its rules are at hand."""
    _judge(spark(), ledger, digest, lambda: _ruleset(ledger, None, digest), before)


def _judge(
    spark: SparkSession,
    ledger: Ledger,
    digest: str,
    rules: Callable[[], Ruleset | None],
    before: datetime | None = None,
) -> int:
    """Judge what a ruleset has not judged; how many facts wait because there are no rules."""

    def paths(name: str) -> list[str]:
        return [for_spark(one) for one in ledger[name].file_uris()]

    waiting = waiting_for(spark, paths, digest)
    if waiting is not None and before is not None:
        events = spark.read.parquet(*paths("event_v1"))
        asked = events.where(f"occurred_at < timestamp_ntz'{before.isoformat(' ')}'").select("facts_id").distinct()
        waiting = waiting.join(asked, "facts_id", "left_semi")
    count = waiting.count() if waiting is not None else 0
    if waiting is None or not count:
        return 0
    ruleset = rules()
    if ruleset is None:
        return int(count)
    for found in slices(judged_by(waiting, ruleset_text(ruleset)), count):
        with ledger.batch():
            ledger.append("verdict_v1", verdict_rows(found, digest))
    return 0


def judged_by(waiting: DataFrame, rules: str) -> DataFrame:
    """What executors make of waiting facts by these rules."""
    return waiting.mapInArrow(partial(judge_rows, rules), _JUDGED)


def slices(rows: DataFrame, count: int) -> Iterator[pa.Table]:
    """The rows of so many facts on the driver, no more than about `SLICE` of them at a time."""
    for begin in _SLICES if count > SLICE else ("",):
        yield rows.where(rows.facts_id.startswith(begin)).toArrow()


def kept_name(digest: str) -> str:
    """Under which id the journal of a lake keeps the rules of an applied ruleset, as text."""
    return f"{RULESETS}/{digest}.toml"


def judge_rows(rules: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of `facts_id` and `facts` → what the rules say of each."""
    ruleset = parse_ruleset(rules)
    for batch in batches:
        verdicts = judge_json(batch.column("facts").to_pylist(), ruleset)
        columns: list[Any] = list(zip(*verdicts, strict=True)) or [()] * 6
        names = [part.split()[0] for part in _JUDGED.split(", ")]
        kinds = [pa.bool_() if name == "retryable" else pa.string() for name in names[1:]]
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays([batch.column("facts_id"), *arrays], names=names)


def waiting_for(spark: SparkSession, paths: Callable[[str], list[str]], digest: str) -> DataFrame | None:
    """The facts that a ruleset has not judged, out of the files of each table; None where there are no facts at all."""
    facts, verdicts = paths("facts_v1"), paths("verdict_v1")
    if not facts:
        return None
    all_facts = spark.read.parquet(*facts).select("facts_id", "facts")
    if not verdicts:
        return all_facts
    judged = spark.read.parquet(*verdicts)
    return all_facts.join(judged.where(judged.ruleset == digest).select("facts_id"), "facts_id", "left_anti")


def _ruleset(ledger: Ledger, path: str | None, digest: str) -> Ruleset | None:
    return rules_at_hand(ledger.rows(JOURNAL, kept_filter(digest))["line"].to_pylist(), path, digest)


def kept_filter(digest: str) -> list[tuple[str, str, object]]:
    """Which row of a lake's journal has the rules of an applied ruleset, as text."""
    return [("event_id", "=", kept_name(digest))]


def rules_at_hand(kept: Sequence[str], path: str | None, digest: str) -> Ruleset | None:
    """The rules of this digest: those that the lake keeps, else of the file that they were read from, or built in."""
    ways: list[Callable[[], Ruleset]] = [partial(parse_ruleset, text) for text in kept]
    ways.extend(partial(ruleset_for, place) for place in (path, None))
    for load in ways:
        try:
            found = load()
        except RulesError:
            continue
        if found.digest == digest:
            return found
    return None


def verdict_rows(judged: pa.Table, digest: str) -> pa.Table:
    """Verdicts of a ruleset, made now, as the lake has them."""
    count = judged.num_rows
    moments = pa.array([now()] * count, pa.timestamp("us"))
    whole = judged.append_column("ruleset", pa.array([digest] * count, pa.string()))
    return tables()["verdict_v1"].rows(whole.append_column("judged_at", moments))
