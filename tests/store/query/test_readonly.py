"""Ad-hoc SQL only reads: parser, binder, transaction and settings of the database each see to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from analyzer.errors import QueryError
from analyzer.store import Store, open_store
from analyzer.store.db.connection import connect
from analyzer.store.query.adhoc import READING_TABLE_FUNCTIONS, only_reading, reading
from tests import each_row

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
    "select nextval('s')",
    "select setval('s', 1)",
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
    "select json_serialize_plan('from query(''select 1'')')",
    "select write_log('x')",
    "select " + " + ".join(["1"] * 300),
]

HOSTILE = """
from 'secret.json'
from "secret.csv"
from 'secret.parquet'
from 'other.duckdb'
from read_csv_auto('secret.csv')
from read_csv(['secret.csv'])
from read_json_auto('secret.json')
from read_json_objects('secret.json')
from read_json_objects_auto('secret.json')
from read_ndjson('secret.json')
from read_ndjson_auto('secret.json')
from read_ndjson_objects('secret.json')
from parquet_scan('secret.parquet')
from parquet_schema('secret.parquet')
from parquet_file_metadata('secret.parquet')
from parquet_kv_metadata('secret.parquet')
from parquet_full_metadata('secret.parquet')
from parquet_bloom_probe('secret.parquet', 'token', 'x')
from read_single_csv_file('secret.csv')
from read_single_json_file('secret.json')
from read_single_parquet_file('secret.parquet')
from read_text('secret.*')
from read_text(['secret.csv'])
from read_text('{store}')
from read_blob('{store}')
from read_text('{store}.wal')
from read_blob('/proc/self/environ')
from read_text('/proc/self/cmdline')
from read_text('file:///etc/passwd')
from read_text('/dev/stdin')
from read_text('../f/secret.csv')
from glob('/etc/*')
from glob('{store}*')
select * from glob('**')
from sniff_csv('/etc/passwd')
from query_table('secret.csv')
from query_table(['errors', 'secret.csv'])
from query('from read_csv(''secret.csv'')')
from query('select * from ''secret.csv''')
from read_duckdb('{store}')
from read_duckdb('other.duckdb', table_name='t')
from 's3://bucket/x.parquet'
from read_parquet('hf://datasets/a/b/x.parquet')
from read_csv('https://127.0.0.1:9/x.csv')
from read_text('http://127.0.0.1:9/x')
attach 'http://127.0.0.1:9/x.duckdb' as h
attach '{store}' as again
attach 'other.duckdb' as o (read_only)
attach 'sqlite:x.db' as q (type sqlite)
install 'httpfs' from community
force install spatial
load '/tmp/evil.duckdb_extension'
update extensions
create persistent secret p (type s3, key_id 'x')
create secret (type http)
drop secret x
from duckdb_secrets()
from which_secret('s3://x', 's3')
set secret_directory = '/tmp'
set global lock_configuration = false
reset lock_configuration
reset enable_external_access
set disabled_filesystems = ''
reset disabled_filesystems
set allowed_paths = ['/etc/passwd']
set allowed_directories = ['/']
set home_directory = '/tmp'
set temp_directory = 'spill'
set python_enable_replacements = true
set python_scan_all_frames = true
set file_search_path = '/etc'
set enable_profiling = 'json'
set profiling_output = 'prof.json'
pragma profiling_output='prof.json'
pragma enable_profiling='json'
pragma enable_logging
pragma temp_directory='t2'
pragma disable_checkpoint_on_shutdown
pragma add_parquet_key('k', '0123456789112345')
call pragma_version()
call enable_logging('FileSystem', storage='file', storage_path='logs')
from enable_logging('QueryLog', storage = 'file', storage_path = 'logs')
from enable_profiling('json', 'prof2.json')
from enable_profiling(save_location = 'prof2.json')
select current_setting('secret_directory')
select current_setting('s3_secret_access_key')
select current_setting('temp_directory')
from duckdb_settings() select name, value where value ilike '%correct%'
select getenv('ANALYZER_TOKEN')
select getvariable('x')
select * from duckdb_logs
select write_log('correct', scope := 'database', level := 'error')
create or replace macro f() as (select 1)
create temp macro g() as table from read_csv('secret.csv')
create temp macro h(x) as (select content from read_text(x))
create temp view v as from read_csv('secret.csv')
create temp table t as from range(100000000)
create or replace temp table x as select repeat('x', 1000) from range(10000000)
create temp sequence q
create schema n
create index i on internal.event_v1(event_id)
drop table internal.event_v1
drop schema internal cascade
alter view errors rename to e
alter database s set x = 1
truncate internal.event_v1
update internal.store_v1 set value = 'x'
merge into internal.store_v1 using (select 1) as s on true when matched then delete
insert or replace into internal.store_v1 values ('a', 'b')
insert into internal.store_v1 from read_csv('secret.csv')
copy internal.store_v1 to 'out.parquet' (format parquet)
copy (select 1) to 'out.json' (format json)
copy (select 1) to 'parts' (format csv, partition_by (1))
copy (select 1 as a, 2 as b) to 'parts' (format parquet, partition_by (a), overwrite_or_ignore)
copy (select 1) to '{store}.wal' (format csv, use_tmp_file false)
copy (select 1) to '{store}.tmp/x' (format csv)
copy (select 1) to '/dev/stderr' (format csv)
copy from database s to memory
copy internal.store_v1 from '/dev/stdin'
export database 'out' (format parquet)
prepare p as from read_csv('secret.csv')
execute p
execute immediate 'select 1'
select 1; copy (select 1) to 'out.csv'
copy (select 1) to 'out.csv'; select 1
explain analyze copy (select 1) to 'out.csv'
explain (analyze, format json) copy (select 1) to 'out.csv'
explain analyze attach 'other.duckdb'
explain analyze export database 'out'
explain analyze create secret s (type s3)
explain analyze set threads = 1
explain from read_csv('secret.csv')
describe from read_csv('secret.csv')
describe 'secret.csv'
summarize from read_csv('secret.csv')
summarize 'secret.csv'
show tables from 'other.duckdb'
pivot 'secret.csv' on token
pivot read_csv('secret.csv') on token in ('correct-horse')
from json_execute_serialized_sql(json_serialize_sql('from read_csv(''secret.csv'')'))
from json_execute_serialized_sql('{"error":false,"statements":[]}')
select json_serialize_plan('from read_csv(''secret.csv'')')
select (select content from read_text('secret.csv'))
select * from errors where message in (select content from read_text('secret.csv'))
with x as (from read_csv('secret.csv')) from x
with recursive x as (select token from 'secret.csv' union all from x) from x
with x as (export database 'out') from x
with x as (attach 'other.duckdb') from x
with x as (install httpfs) select 1
with x as (set threads = 1) select 1
with x as (create table y as select 1) select 1
with x as (call enable_logging()) from x
from before
from st
from os
from D
from pandas_scan(140000000000000)
from arrow_scan(1, 2, 3)
from python_map_function()
from seq_scan()
from register_external_resource('x')
from register_external_resource_type('x')
from create_external_resource('x')
from destroy_external_resource('x')
from deregister_external_resource('x')
from duckdb_external_file_cache()
from duckdb_temporary_files()
from load_aws_credentials()
from postgres_scan('host=127.0.0.1', 'public', 't')
from sqlite_scan('x.db', 't')
from st_read('x')
from read_xlsx('x.xlsx')
from delta_scan('/tmp')
from iceberg_scan('/tmp')
select http_get('http://127.0.0.1:9')
select shell('id')
select system('id')
from shellfs('id |')
from read_csv('cat /etc/passwd |')
use memory
use temp
detach s
set schema = 'internal'
set search_path = 'internal'
set variable x = (select content from read_text('secret.csv'))
comment on table internal.event_v1 is 'x'
vacuum analyze
analyze
checkpoint s
force checkpoint
rollback; copy (select 1) to 'out.csv'
commit; drop table internal.event_v1
begin; drop table internal.event_v1; commit
load json
create function f(x) as x
create type t as enum (select token from read_csv('secret.csv'))
values (getenv('HOME'))
from test_vector_types(null::int)
create trigger t after insert on internal.store_v1 for each row select 1
grant all on errors to x
select sleep_ms(1)
select setseed(0.5)
from force_checkpoint('s')
from truncate_duckdb_logs()
from disable_logging()
from disable_profiling()
from disable_checkpoint_on_shutdown()
from checkpoint('s')
"""
"""Statements, one a line, that want to read files, write, reach hosts, change settings or fill memory and disk."""


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


@each_row("statement", WRITING)
def test_what_writes_or_acts_is_refused_wherever_it_stands(store: Store, path: str, statement: str) -> None:
    """In a CTE, below EXPLAIN, in a function's text, behind a semicolon: refused in one line, nothing changes."""
    before, events = content(), store.sql("from events")
    with pytest.raises(QueryError) as caught:
        store.sql(statement.format(store=path))
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert content() == before
    assert store.sql("from events").equals(events)


@each_row("statement", READING)
def test_what_reads_is_answered(store: Store, statement: str) -> None:
    """Every dialect of a query, and what tells of the database or of a query."""
    before = content()
    assert store.sql(statement.format()).width > 0
    assert content() == before


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


def test_a_closed_store_reads_and_writes_nothing_else_whatever_is_asked(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings do it: no check sees these statements, and a planted mark is in no file, variable or answer."""
    monkeypatch.setenv("ANALYZER_TOKEN", "correct-horse")
    Path("secret.csv").write_text("token\ncorrect-horse\n", "utf-8")
    Path("secret.json").write_text('{"token": "correct-horse"}\n', "utf-8")
    duckdb.sql("copy (select 'correct-horse' as token) to 'secret.parquet'")
    with duckdb.connect("other.duckdb") as other:
        other.execute("create table t as select 'correct-horse' as token")
    before = content()
    settings = {"temp_directory": "", "memory_limit": "300MB", "threads": "1"}
    with connect(path, read_only=True, closed=True, settings=settings) as connection:
        for statement in (*WRITING, *HOSTILE.strip().splitlines()):
            with connection.cursor() as cursor:
                try:
                    result = cursor.execute(statement.replace("{store}", path))
                    rows = result.fetchall() if result else []
                except duckdb.Error as error:
                    rows = [(str(error).replace(statement, ""),)]
            assert "correct-horse" not in str(rows), statement
            assert content() == before, statement
            # The next statement meets a store that answers.
            assert connection.execute("select count(*) from internal.event_v1").fetchall() == [(1,)], statement


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
    # Sequences change in no transaction that only reads, and a log is kept in memory.
    harmless |= {"nextval", "setval", "write_log"}
    assert {name for kind, name, has in rows if kind == "scalar" and has} <= harmless


@pytest.mark.parametrize("count", [900, 20_000])
def test_a_statement_that_is_nested_deeply_is_answered_or_refused(path: str, count: int) -> None:
    """The database decides, and no stack overflows."""
    with open_store(path) as store:
        for opening, inner, closing in ("[1]", "(1)", ("(select ", "1", ")"), ("not ", "true", "")):
            with suppress(QueryError):
                reading(store._connection, "select " + opening * count + inner + closing * count)
