"""A store of two million errors with 850,000 distinct facts, judged again: `python -m benchmarks.replay`."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from analyzer.events.model import derived_id
from analyzer.store import open_store
from analyzer.store.db.frames import register
from analyzer.store.db.tables.columns import filled
from analyzer.store.store import Store

TEMPLATES: tuple[dict[str, object], ...] = (
    {"status": 429, "type": "rate_limit_error", "message": "This request would exceed your limit, request {n}"},
    {"status": 529, "type": "overloaded_error", "message": "Overloaded, request {n}"},
    {"message": "connect ECONNREFUSED 10.0.{a}.{b}:443, call {n}"},
    {"message": "prompt is too long: {n} tokens > 200000 maximum", "status": 400},
    {"status": 401, "message": "invalid x-api-key for workspace {n}"},
    {"exit_code": 1, "stdout": "step {n} failed: context deadline exceeded"},
    {"message": "figma node {n} came back without a parent"},
    {"status": 422, "message": "messages.{a}.content.{b}: field required, call {n}"},
    {"exception_class": "APITimeoutError", "message": "Request timed out after {a} s, call {n}"},
    {"message": "canvas shard {a} is parked behind {n} readers, please come back"},
)


def main(errors: int = 2_000_000, distinct: int = 850_000) -> None:
    """Fill a store, judge it, judge it again, and print both."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "bench.duckdb", writable=True) as store:
        fill(store, errors, distinct)
        rows = [(name, seconds, result.judged, result.changed) for name, seconds, result in runs(store)]
    print(f"{errors:,} errors, {distinct:,} distinct facts\n")
    print(f"{'run':10} {'seconds':>8} {'facts judged':>13} {'errors changed':>15} {'facts/s':>10}")
    for name, seconds, judged, changed in rows:
        print(f"{name:10} {seconds:8.2f} {judged:13,} {changed:15,} {judged / seconds:10,.0f}")


def measured(errors: int, distinct: int) -> Iterator[tuple[str, float, int]]:
    """Name, seconds and judged facts of each run."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "bench.duckdb", writable=True) as store:
        fill(store, errors, distinct)
        for name, seconds, result in runs(store):
            yield name, seconds, result.judged


def runs(store: Store) -> Iterator[tuple[str, float, object]]:
    """Name, seconds and result of each run."""
    for name in ("first", "repeated"):
        began = time.perf_counter()
        result = store.reclassify(apply=True)
        yield name, time.perf_counter() - began, result


def fill(store: Store, errors: int, distinct: int) -> None:
    """Straight into the tables: how events get there is not what is measured."""
    texts = []
    for number in range(distinct):
        facts = dict(TEMPLATES[number % len(TEMPLATES)])
        for key, value in facts.items():
            if isinstance(value, str):
                facts[key] = value.format(n=number, a=number % 250, b=number // 250 % 250)
        texts.append(json.dumps(facts, separators=(",", ":")))
    frame = pl.DataFrame({"facts_id": [derived_id("facts", text) for text in texts], "facts": texts})
    connection = store._connection
    register(connection, "staged", frame)
    connection.execute(filled("facts_v1", "from staged"))
    events = (
        "select i::varchar as event_id, 'error.classified' as type, f.facts_id, 's' || i % 9000 as session_id,"
        " timestamp '2026-11-01' + to_seconds(i) as occurred_at, timestamp '2026-11-02' as ingested_at,"
        """ '{"caller":"c' || i % 50 || '","reason":"unknown","action":"surface","ruleset":"old"}' as payload"""
        " from range($1) as r(i)"
        " inner join (select facts_id, row_number() over () - 1 as n from internal.facts_v1) as f on f.n = i % $2"
    )
    connection.execute(filled("event_v1", events), [errors, distinct])


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
