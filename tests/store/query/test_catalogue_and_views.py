"""Queries and views: their headers, what they promise, and what they answer on the samples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from analyzer.analysis import check, handle, json_rows
from analyzer.analysis.nightly.decisions import Undelivered
from analyzer.analysis.timeline import happening_of
from analyzer.classifier import REASONS
from analyzer.classifier.recovery_table import UNCOUNTED
from analyzer.errors import AnalyzerError, QueryError
from analyzer.events import Event
from analyzer.recovery.relay.config import STRATEGIES
from analyzer.report.store_work import catalogue_document
from analyzer.report.writers.text import to_text
from analyzer.store import Store, catalogue, find, open_store, views
from analyzer.store.db.connection import connect
from analyzer.store.db.tables.schema import parse_header
from tests import each_row

GOLDEN = Path(__file__).with_name("golden")
SAMPLES = Path(__file__).resolve().parents[3] / "sample_events"
# These answers name the checkout's own path or the text of a README that may change.
PLACES = {
    "sources-completeness",
    "quarantine-lines",
    "quarantine-reasons",
    "detection-excerpts",
    "timeline-events",
}
NIGHTS = {"detection-delivered", "detection-handled", "detection-latest", "detection-nights", "detection-reported"}
PARAMS = {
    "compare-messages": {"before_until": "2026-11-06", "after_since": "2026-11-06"},
    "detection-late": {"judged_at": "2026-11-01"},
    "whatif-model": {"model": "claude-opus-4-5", "other": "claude-sonnet-4-5"},
    "timeline-events": {"session": "5e1f0c2a-0000-4000-8000-00000000c0de"},
}
"""Of queries that answer nothing, or everything there is, when they are asked for nothing."""
NONE = {
    "unknown-recoveries",
    "tools-loops",
    "limits-ahead",
    "detection-ahead",
    "models-served",
    "tools-by-server",
    "claim-outages",
    "changes-noted",
}
"""The samples have no unknown error in a retry chain that ended, no command that fails again and again, no log that
states how much of a limit is used, no model that answered for another one, no tool of an MCP server, no outage
of a provider, and no change that somebody wrote down."""
VOLATILE = {
    "ruleset": "the digest of the rules of today",
    "applied_at": "the moment of the test",
    "applied_on": "the day of the test",
    "judged_at": "the moment of the check",
    "last_ingested_at": "the moment of the test",
    "handled_at": "the moment of the decision",
    "delivered_at": "the moment of the delivery",
    "night": "the name of the night",
    "result": "the result of the check",
    "content": "a finding of the check",
}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A store of the samples."""
    with open_store(":memory:") as opened:
        opened.ingest([str(SAMPLES)])
        yield opened


@pytest.fixture(scope="module")
def judged() -> Iterator[Store]:
    """A store of the samples, judged again by the rules of today, with one night checked."""
    with open_store(":memory:") as opened:
        opened.ingest([str(SAMPLES)])
        opened.reclassify(apply=True)
        night = check(opened, until="2026-11-10")
        handle(opened, night.findings[0].id, "acknowledged", note="the provider knows")
        Undelivered.of(opened, night).write_down(opened, [("a hash", night.findings[0])])
        yield opened


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty store."""
    with connect(":memory:", read_only=False) as opened:
        yield opened


@each_row("name", sorted(catalogue()))
def test_a_querys_header_and_its_statement_agree(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """One SELECT, the parameters that the header lists, and the columns and types that it promises."""
    header = find(name).header
    (statement,) = connection.extract_statements(header.body)
    assert statement.type == duckdb.StatementType.SELECT
    assert statement.named_parameters == {param.name for param in header.params}
    relation = connection.sql(header.body, params=find(name).values({}))
    described = list(zip(relation.columns, map(str, relation.types), strict=True))
    assert [(column.name, column.type) for column in header.columns] == described
    assert "order by" in header.body


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_query_answers_the_samples_as_before(
    store: Store, judged: Store, name: str, request: pytest.FixtureRequest
) -> None:
    """The rows are those of the golden file; `pytest --golden` writes them anew."""
    asked = judged if name.startswith("ruleset-") or name in NIGHTS else store
    rows = json_rows(asked.query(name, **PARAMS.get(name, {})))
    for row in rows:
        row.update({key: words for key, words in VOLATILE.items() if key in row})
    for row in rows:
        if name in PLACES:
            row["source_path"] = Path(str(row["source_path"])).name
    rows = [row for row in rows if row.get("source_path") != "README.md"]
    rows = [{name: round(cell, 9) if isinstance(cell, float) else cell for name, cell in row.items()} for row in rows]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path = GOLDEN / f"{name}.jsonl"
    if request.config.getoption("--golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == rows
    assert rows or name in NONE


def test_views_describe_every_column_they_have(store: Store) -> None:
    """Comments stand in the database itself, with the types that the header gives."""
    for name, header in views().items():
        if header.params:
            continue
        query = f"select column_name, data_type, comment from duckdb_columns() where table_name = '{name}'"
        query += " order by column_index"
        rows = store.sql(query).rows()
        assert [(column.name, column.type, column.description) for column in header.columns] == rows
        comment = store.sql(f"select comment from duckdb_views() where view_name = '{name}'").item()
        assert comment == header.description


def test_views_with_parameters_give_the_columns_that_they_describe(store: Store) -> None:
    """Asked for anything, they have the columns and types of their header; the database holds their description."""
    asked = {name: header for name, header in views().items() if header.params}
    assert set(asked) == {"errors_under", "comparable_errors", "answers_between"}
    for name, header in asked.items():
        nulls = ", ".join(f"null::{param.type}" for param in header.params)
        rows = store.sql(f"describe select * from {name}({nulls})").select("column_name", "column_type").rows()
        assert rows == [(column.name, column.type) for column in header.columns]
        comment = store.sql(f"select comment from duckdb_functions() where function_name = '{name}'").item()
        assert comment == header.description


def test_sql_and_python_agree_on_what_counts(store: Store) -> None:
    """An unknown error counts unless its detail is on the classifier's list; one of another reason always does."""
    for detail in (*UNCOUNTED, "other", None):
        counts = detail not in UNCOUNTED
        said = store.sql(
            "select is_unknown('unknown', $1), is_counted('unknown', $1), is_counted('validation', $1)".replace(
                "$1", "null" if detail is None else f"'{detail}'"
            )
        ).row(0)
        assert said == (counts, counts, True)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "compact", None])
@pytest.mark.parametrize("step", ["implement", None])
def test_sql_and_python_agree_on_what_a_compaction_is(store: Store, strategy: str | None, step: str | None) -> None:
    """A hand-off without a step, by another strategy than a checkpoint, is an agent's own compaction."""
    payload = {"relay": "r-1", "step_id": step, "strategy": strategy}
    values = ("null" if value is None else f"'{value}'" for value in (step, strategy))
    in_sql = store.sql(f"select coalesce(is_compaction({', '.join(values)}), false)").item()
    event = Event("relay.triggered", datetime(2026, 11, 20), "s-1", payload, "e-1")
    assert happening_of(event).compaction == in_sql == (step is None and strategy == "compact")


def test_no_view_shows_a_type_that_frames_cannot_hold(store: Store) -> None:
    """No INTERVAL, no TIMESTAMPTZ, no HUGEINT: these have no safe way out."""
    ours = ", ".join(f"'{name}'" for name in views())
    rows = store.sql(f"select distinct data_type from duckdb_columns() where table_name in ({ours})").rows()
    assert {row[0] for row in rows} <= {"VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "BOOLEAN", "TIMESTAMP", "DATE"}


def test_the_contracts_views_are_all_there() -> None:
    """Users script against these names."""
    promised = "events errors retries relays context_recoveries exhaustions sessions verdicts"
    promised += " quarantine sources writers findings nights tool_failures tool_calls usage endings limits"
    assert {name for name, header in views().items() if not header.params} == set(promised.split())


def test_the_payload_of_an_event_has_its_facts_back(store: Store) -> None:
    """Facts are stored once and shown where they belong."""
    payload = json.loads(
        store.sql(
            "select payload from events where type = 'error.classified' and payload like '%facts%' limit 1"
        ).item()
    )
    assert "reason" in payload
    assert payload["facts"]


def test_window_and_caller_narrow_a_query(store: Store) -> None:
    """Half open: the first instant counts, the last does not."""
    everything = store.query("errors-by-reason")["errors"].sum()
    before = store.query("errors-by-reason", until="2026-11-09")["errors"].sum()
    after = store.query("errors-by-reason", since="2026-11-09")["errors"].sum()
    assert before + after == everything
    assert 0 < after < everything
    assert store.query("errors-by-caller", since="2026-11-09", until="2026-11-10").height > 1
    assert set(store.query("unknown-share", caller="figma-probe")["caller"]) == {"figma-probe"}


def test_days_begin_in_the_zone_that_was_asked_for(store: Store) -> None:
    """The same errors, other days."""
    utc = store.query("errors-timeline")
    tokyo = store.query("errors-timeline", timezone="Asia/Tokyo")
    assert utc["errors"].sum() == tokyo["errors"].sum()
    assert not utc.equals(tokyo)


@pytest.mark.parametrize(
    ("name", "params", "message", "hint"),
    [
        ("errors-by-reson", {}, "unknown query 'errors-by-reson'", "did you mean 'errors-by-reason', "),
        ("errors-by-reason", {"sinse": "7d"}, "unknown parameter", "did you mean 'since'?"),
        ("errors-by-reason", {"since": "tomorrow-ish"}, "not a time: 'tomorrow-ish'", "2026-11-01"),
        ("unknown-messages", {"limit": "many"}, "'many' is no BIGINT", "groups at most"),
        ("errors-timeline", {"timezone": "Mars/Olympus"}, "Mars/Olympus", ""),
    ],
    ids=["query", "parameter", "time", "number", "zone"],
)
def test_a_wrong_name_or_value_is_told_with_a_hint(
    store: Store, name: str, params: dict[str, object], message: str, hint: str
) -> None:
    """What is wrong, and the nearest thing that is right."""
    with pytest.raises(AnalyzerError) as caught:
        store.query(name, **params)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_header_that_cannot_be_read_says_where() -> None:
    """File and line."""
    with pytest.raises(QueryError, match=r"x\.sql:2: "):
        parse_header("-- title: T\n-- param since = null\nselect 1", "x.sql")
    with pytest.raises(QueryError, match="title and its columns"):
        parse_header("-- title: T\nselect 1", "x.sql")
    with pytest.raises(QueryError, match="no statement"):
        parse_header("-- title: T", "x.sql")


def test_an_offset_in_a_log_is_not_dropped(store: Store) -> None:
    """A cast to TIMESTAMP would silently forget the offset; reset times go through the zone."""
    reset = store.sql("select reset_at from errors where reset_at is not null limit 1").item()
    assert reset.tzinfo is None


def test_every_reason_in_the_samples_is_one_of_the_eight(store: Store) -> None:
    """No other word reaches the views."""
    assert set(store.sql("select distinct reason from errors")["reason"]) <= set(REASONS)


def test_the_queries_that_people_ask_come_first() -> None:
    """In the list, on the page and in completions; those that checks ask for themselves come last, under a heading."""
    names = list(catalogue())
    assert names[0].startswith("overview-")
    assert names[2].startswith("errors-")
    inner = [name for name, query in catalogue().items() if query.inner]
    assert any(name.startswith("detection-") for name in inner)
    assert names[-len(inner) :] == inner
    listed = to_text(catalogue_document())
    assert listed.count("What checks and reports ask for themselves:") == 1
    assert listed.index("What checks") < listed.index(inner[0])
    assert "What checks" not in to_text(catalogue_document(inner[0]))


@pytest.mark.parametrize(
    ("ask", "first", "listing"),
    [
        (lambda store: store.query("error-by-reason"), "errors-by-reason", "query --list"),
        (lambda store: store.view("erors"), "errors", "sql 'show tables'"),
    ],
    ids=["query", "view"],
)
def test_of_many_names_a_typo_is_told_the_three_nearest(
    memory: Store, ask: Callable[[Store], object], first: str, listing: str
) -> None:
    """And the command that lists them all."""
    with pytest.raises(QueryError) as caught:
        ask(memory)
    names = re.findall(r"'([a-z-]+)'", caught.value.hint.partition("?")[0])
    assert names[0] == first
    assert 1 < len(names) <= 3
    assert caught.value.hint.endswith(f": analyzer {listing}")


def test_of_few_names_a_typo_is_told_all(memory: Store) -> None:
    """The nearest first."""
    with pytest.raises(QueryError) as caught:
        memory.query("errors-by-reason", sinse="7d")
    assert caught.value.hint == "did you mean 'since'? known: caller, since, until"
