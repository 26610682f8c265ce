"""A lake and a DuckDB store, compared row by row: what differs is when something was met, and by which batch."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import duckdb

from analyzer.cli import call
from analyzer.lake.former import current
from analyzer.lake.layout import rows
from analyzer.lake.location import Lake

RULES = """
[[rule]]
id = "samples.some"
reason = "validation"
text = ['[nr]o']
source = "made up"
examples = ["what is not known", "one does not know"]
counter_examples = ["the design is missing"]
"""
TABLES = ("event_v1", "facts_v1", "quarantine_v1", "source_v1", "verdict_v1")
_WHEN = {"ingested_at", "first_ingested_at", "last_ingested_at", "incident_at", "judged_at", "batch_id"}
_MOMENTS = {"aside", "applied_at", "generated_at", "judged_at", "last_ingested_at", "seconds", "store"}
"""Names of what is another one in every run: when it was, how long it took, and where the store is."""


def differences(lake: Lake, store: Path, beside: Collection[str] = ()) -> dict[str, tuple[int, int]]:
    """By table, where there are any: the rows that only the store has, and those that only the lake has.

    Columns that are `beside` what is compared may differ, as may the numbers of sources.
    """
    found: dict[str, tuple[int, int]] = {}
    at = current(lake)
    with duckdb.connect(str(store), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        for name in TABLES:
            connection.register("lake", rows(lake, name, at.files[name]))
            asked = f"select column_name from duckdb_columns() where schema_name = 'internal' and table_name = '{name}'"
            known = [row[0] for row in connection.execute(asked).fetchall()]
            shown = ", ".join(
                f"cast({column} as varchar) as {column}"
                for column in known
                if column not in {*_WHEN, *beside, "source_id"}
            )
            here, there = f"select {shown} from internal.{name}", f"select {shown} from lake"
            counts = tuple(
                connection.execute(f"select count(*) from ({one} except all {other})").fetchall()[0][0]
                for one, other in ((here, there), (there, here))
            )
            if any(counts):
                found[name] = counts
    return found


def said(capsys: Any, store: str, *line: str) -> tuple[int, Any]:
    """The exit code of a command on a store, and its JSON without what is another one in every run."""
    code = call([*line, "--json", "-q", "--store", store])
    # Commands that are told name their store.
    return code, lasting(json.loads(capsys.readouterr().out.replace(store, "STORE")))


def lasting(value: Any) -> Any:
    """A result without what is another one in every run."""
    if isinstance(value, dict):
        return {key: lasting(each) for key, each in value.items() if key not in _MOMENTS}
    return [lasting(each) for each in value] if isinstance(value, list) else value
