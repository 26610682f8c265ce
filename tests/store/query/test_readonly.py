"""Ad-hoc SQL only reads: told by the tree of a statement, by the binder, and by a transaction that cannot write."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from analyzer.errors import QueryError
from analyzer.store import Store, open_store
from analyzer.store.db.connection import connect
from analyzer.store.query.adhoc import ACTING_FUNCTIONS, READING_TABLE_FUNCTIONS, only_reading, reading

WRITING = [
    "with x as (copy (select 1) to '{store}' (format csv, use_tmp_file false)) from x",
    "with x as (copy (select 1) to '{store}.wal' (format csv, use_tmp_file false)) from x",
    "with x as (copy (select 1) to '{store}.wal.checkpoint' (format csv, use_tmp_file false)) select 1",
    "WITH x AS MATERIALIZED (COPY (SELECT 1) TO '{store}' (FORMAT CSV)) SELECT 1",
    "/* harmless */ with y as (select 1), x as (copy y to 'out.csv') from y -- select",
    "from (with x as (copy (select 1) to 'out.csv') from x)",
    "select 1 where exists (with x as (copy (select 1) to 'out.csv') from x)",
    "explain analyze copy (select 1) to '{store}' (format csv, use_tmp_file false)",
    "explain analyze with x as (copy (select 1) to '{store}' (format csv, use_tmp_file false)) from x",
    "explain (analyze) with x as (copy (select 1) to '{store}' (format csv, use_tmp_file false)) from x",
    "explain (analyze, format json) delete from internal.event_v1",
    "explain analyze delete from internal.event_v1",
    "explain analyze (with x as (delete from internal.event_v1 returning *) from x)",
    "explain/**/analyze/**/truncate internal.event_v1",
    "explain analyze drop table internal.event_v1",
    "explain analyze create table t as select 1",
    "explain analyze insert into internal.store_v1 values ('a', 'b')",
    "explain delete from internal.event_v1",
    "explain analyze pragma force_checkpoint",
    "explain analyze call force_checkpoint()",
    "explain analyze set threads = 1",
    "explain analyze attach ':memory:' as m",
    "explain",
    "explain analyze",
    "with x as (delete from internal.event_v1 returning *) from x",
    "with x as (truncate internal.event_v1) select 1",
    "with x as (insert into internal.store_v1 values ('a', 'b') returning *) from x",
    "with x as (update internal.store_v1 set value = 'x' returning *) from x",
    "with x as (merge into internal.store_v1 using (select 1) as s on true when matched then delete) from x",
    "with y as (with x as (delete from internal.event_v1 returning *) from x) from y",
    "describe (with x as (delete from internal.event_v1 returning *) from x)",
    "summarize (with x as (delete from internal.event_v1 returning *) from x)",
    "pivot (with x as (delete from internal.event_v1 returning *) from x) on type in ('a')",
    "pivot errors on reason",
    "from query('with x as (copy (select 1) to ''out.csv'') from x')",
    "from query('from ' || 'errors')",
    "from json_execute_serialized_sql(json_serialize_sql('with x as (truncate internal.event_v1) select 1'))",
    "from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select json_serialize_plan('from query(''select 1'')')",
    "select nextval('s')",
    "select setval('s', 1)",
    "select write_log('x')",
    "from checkpoint()",
    "from force_checkpoint()",
    "from main.force_checkpoint()",
    "from system.main.force_checkpoint()",
    "from errors, force_checkpoint()",
    "select (select count(*) from force_checkpoint())",
    "from enable_profiling('json', 'out.json')",
    "from enable_logging(storage_path = 'out')",
    "from truncate_duckdb_logs()",
    "from arrow_scan(1, 1, 1)",
    "from pandas_scan(1)",
    "from no_such_function(1)",
    "call force_checkpoint()",
    "pragma force_checkpoint",
    "pragma table_info('errors')",
    "export database 'out'",
    "import database 'out'",
    "install httpfs",
    "load 'out'",
    "attach 'out.duckdb'",
    "detach s",
    "use memory",
    "set threads = 1",
    "reset threads",
    "set variable x = 1",
    "prepare p as select 1",
    "execute p",
    "deallocate p",
    "vacuum",
    "analyze",
    "checkpoint",
    "begin",
    "commit",
    "create macro f() as 1",
    "create sequence s",
    "create type t as enum ('a')",
    "create secret x (type s3, key_id 'x')",
    "comment on table errors is 'x'",
    "alter table internal.event_v1 rename to x",
    "delete from internal.event_v1 returning *",
    "insert into internal.store_v1 values ('a', 'b') returning *",
    "copy (select 1) to '{store}'",
    "copy internal.store_v1 from 'out.csv'",
    "select 1; delete from internal.event_v1",
    "delete from internal.event_v1; select 1",
    "; ;",
]

READING = [
    "  SELECT 1;;  -- done",
    "/* a */ from errors",
    "(from errors)",
    "table errors",
    "values (1), (2)",
    "with x as (select 1 as a), y as materialized (from x) from y",
    "with recursive r as (select 1 as a union all select a + 1 from r where a < 5) from r",
    "select caller, row_number() over (partition by caller order by occurred_at) from errors",
    "from errors select caller, count(*) group by all order by all",
    "select reason, count(*) filter (where status = 429) from errors group by rollup (reason) having count(*) > 1",
    "describe errors",
    "describe select 1",
    "summarize errors",
    "summarize select 1 as a",
    "show tables",
    "show all tables",
    "show databases",
    "explain from errors",
    "EXPLAIN ANALYZE (FORMAT JSON) from errors;",
    "explain (analyze, format json) select 1",
    "explain (select 1) union select 2",
    "explain/* ü */(from errors); -- ü",
    "explain describe errors",
    "pivot errors on reason in ('unknown', 'rate_limited') using count(*) group by caller",
    "from (pivot errors on reason in ('unknown') using count(*))",
    "unpivot (select 1 as a, 2 as b) on a, b",
    "select * exclude (message) from errors",
    "select columns('.*_id') from errors",
    "select unnest([1, 2]), list_transform([1, 2], lambda x: x + 1), {{'a': 1}}, map {{'a': 1}}",
    "from range(3) as t(i), lateral (select i + 1)",
    "select * from errors semi join events on errors.event_id = events.event_id",
    "select 1 intersect select 1 except select 2",
    "select * from errors using sample 10 rows",
    "select comment from duckdb_columns() where table_name = 'errors'",
    "from json_each('{{\"a\": 1}}')",
    "from pragma_table_info('errors')",
    "from errors_under(null)",
    "select reason from main.Errors_Under(null) semi join errors using (event_id)",
    "select internal.template('x 1')",
    "select 'delete from t; copy x to ''y''', $$ ; insert $$ as \"drop; \"",
    "select case when exists (select 1 from errors) then 1 else (select max(status) from errors) end",
    "select " + " + ".join(["1"] * 300),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with an event and a sequence, in a folder of its own that is the working directory."""
    folder = tmp_path_factory.mktemp("readonly")
    log = folder / "log.jsonl"
    log.write_text('{"type":"relay.triggered","timestamp":"2026-11-02T08:00:00Z","sessionId":"s","payload":{}}\n')
    with pytest.MonkeyPatch.context() as patched, open_store(folder / "s.duckdb", writable=True) as store:
        patched.chdir(folder)
        store.ingest([str(log)])
        store._connection.execute("create sequence s")
        store._connection.execute("checkpoint")
        store.close()
        yield str(folder / "s.duckdb")


@pytest.fixture(scope="module", params=["reading", "writing", "memory"])
def store(request: pytest.FixtureRequest, path: str) -> Iterator[Store]:
    """The store, opened in each way that there is."""
    with open_store(":memory:" if request.param == "memory" else path, writable=request.param == "writing") as opened:
        yield opened


def content() -> dict[str, str]:
    """What lies in the working directory."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in Path().iterdir() if path.is_file()}


@pytest.mark.parametrize("statement", WRITING)
def test_what_writes_or_acts_is_refused_wherever_it_stands(store: Store, path: str, statement: str) -> None:
    """In a CTE, below EXPLAIN, in a function's text, behind a semicolon: refused in one line, nothing changes."""
    before, events = content(), store.sql("from events")
    with pytest.raises(QueryError) as caught:
        store.sql(statement.format(store=path))
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert content() == before
    assert store.sql("from events").equals(events)


@pytest.mark.parametrize("statement", READING)
def test_what_reads_is_answered(store: Store, statement: str) -> None:
    """Every dialect of a query, and what tells of the database or of a query."""
    before = content()
    assert store.sql(statement.format()).width > 0
    assert content() == before


@pytest.mark.parametrize("statement", [text for text in WRITING if text.startswith("with x as (")])
def test_the_binder_refuses_what_the_tree_does_not_show(
    path: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second layer is independent of the first: below one more query the database itself allows nobody to write."""
    monkeypatch.setattr("analyzer.store.query.adhoc._check", lambda _: None)
    with open_store(path, writable=True) as store, pytest.raises(QueryError):
        store.sql(statement.format(store=path))


@pytest.mark.parametrize(
    "statement",
    ["delete from internal.event_v1", "select nextval('s')", "with x as (truncate internal.event_v1) select 1"],
)
def test_a_reading_transaction_writes_to_no_store(path: str, statement: str) -> None:
    """Not even a statement that nobody looked at, on a store that is open for writing."""
    with open_store(path, writable=True) as store:
        with pytest.raises(duckdb.Error, match="read-only mode"), only_reading(store._connection):
            store._connection.execute(statement).fetchall()
        assert store.sql("from events").height == 1


@pytest.mark.parametrize("target", ["{store}", "{store}.wal", "{store}.tmp/x", "out.csv"])
def test_a_closed_store_opens_no_file_for_a_statement_that_nobody_looked_at(path: str, target: str) -> None:
    """COPY could write to the files of a store that is open for reading, as these are exempt from other settings."""
    connection = connect(path, read_only=True, closed=True)
    before = content()
    copy = f"copy (select 1) to '{target.format(store=path)}' (format csv, use_tmp_file false)"
    for statement in (copy, f"explain analyze {copy}", f"with x as ({copy}) from x"):
        with pytest.raises(duckdb.PermissionException):
            connection.execute(statement).fetchall()
    assert connection.execute("select count(*) from events").fetchall() == [(1,)]
    connection.close()
    assert content() == before


def test_every_function_of_the_database_that_could_act_is_known() -> None:
    """A new version of the database fails here, so that someone looks at what its new functions do."""
    listed = "select function_type, lower(function_name), has_side_effects from duckdb_functions()"
    rows = duckdb.connect().execute(listed).fetchall()
    acting = {
        *("arrow_scan", "arrow_scan_dumb", "checkpoint", "create_external_resource", "deregister_external_resource"),
        *("destroy_external_resource", "disable_logging", "disable_profiling", "enable_logging", "enable_profiling"),
        *("force_checkpoint", "json_execute_serialized_sql", "pandas_scan", "python_arrow_scan", "python_map_function"),
        *("query", "register_external_resource", "register_external_resource_type", "seq_scan", "truncate_duckdb_logs"),
    }
    tables = {name for kind, name, _ in rows if kind.startswith("table")}
    assert tables - READING_TABLE_FUNCTIONS == acting
    harmless = {
        *("current_connection_id", "current_database", "current_date", "current_query", "current_query_id", "currval"),
        *("current_schema", "current_schemas", "current_setting", "current_transaction_id", "error", "random", "stats"),
        *("gen_random_uuid", "get_current_time", "get_current_timestamp", "getvariable", "in_search_path", "now"),
        *("setseed", "sleep_ms", "today", "transaction_timestamp", "txid_current", "uuid", "uuidv4", "uuidv7"),
        *("vector_type", "any_value", "version"),
    }
    effects = {name for kind, name, has in rows if kind == "scalar" and has}
    assert effects - ACTING_FUNCTIONS <= harmless


def test_a_statement_that_is_nested_too_deeply_is_refused(path: str) -> None:
    """In our words, instead of an error of the interpreter."""
    with open_store(path) as store:
        with pytest.raises(QueryError, match="nested too deeply"):
            store.sql("select " + "[" * 900 + "]" * 900)
        assert reading(store._connection, "from errors;").query == "from errors"
