"""The store: opening, locking, ad-hoc SQL, and times as people type them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pytest

from analyzer.errors import AnalyzerError, QueryError, StoreBusyError, StoreError
from analyzer.store import Store, journal_of, moment, open_store, rebuild, span
from analyzer.store.db.frames import ask, register
from analyzer.store.query.adhoc import run


@pytest.fixture
def path(tmp_path: Path, native: Callable[..., bytes]) -> str:
    """A store file with two events."""
    (tmp_path / "log.jsonl").write_bytes(
        native("a", caller="x", reason="unknown") + native("b", caller="y", reason="unknown")
    )
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])
    return str(tmp_path / "s.duckdb")


def test_a_missing_store_says_how_to_make_one(tmp_path: Path) -> None:
    """Reading makes no file."""
    with pytest.raises(StoreError) as caught:
        open_store(tmp_path / "none.duckdb")
    assert "analyzer ingest" in caught.value.hint
    assert not (tmp_path / "none.duckdb").exists()


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """Another DuckDB file, and a file that is no database at all."""
    duckdb.connect(str(tmp_path / "other.duckdb")).execute("create table t (i integer)").close()
    (tmp_path / "text.duckdb").write_text("hello")
    for name in ("other.duckdb", "text.duckdb"):
        for writable in (False, True):
            with pytest.raises(StoreError):
                open_store(tmp_path / name, writable=writable)


def test_a_store_of_another_version_is_refused(path: str) -> None:
    """Rather than answered wrongly."""
    duckdb.connect(path).execute("update internal.store_v1 set value = '0'").close()
    with pytest.raises(StoreError, match="another version"):
        open_store(path)


def test_store_files_are_for_their_owner_alone(path: str) -> None:
    """0600, whatever the umask."""
    before = os.umask(0)
    try:
        with open_store(path + "2", writable=True):
            modes = {stat.S_IMODE(os.stat(name).st_mode) for name in (path + "2", path + "2.lock")}
    finally:
        os.umask(before)
    assert modes == {0o600}


def test_a_second_writer_is_told_who_is_first(path: str) -> None:
    """Busy, with the process, and free again afterwards."""
    with open_store(path, writable=True):
        code = (
            "from analyzer.store import open_store; from analyzer.errors import StoreBusyError\n"
            "import sys\n"
            "try: open_store(sys.argv[1], writable=True)\n"
            "except StoreBusyError as error: print(error.message, error.exit_code)"
        )
        said = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout
        reader = code.replace("writable=True", "writable=False")
        read = subprocess.run([sys.executable, "-c", reader, path], capture_output=True, text=True, check=True).stdout
    assert f"process {os.getpid()} 75" in said.replace("\n", " ")
    assert "75" in read
    open_store(path, writable=True).close()
    assert issubclass(StoreBusyError, StoreError)


def test_readers_share_a_store(path: str) -> None:
    """Two at once see the same rows."""
    with open_store(path) as first, open_store(path) as second:
        assert first.sql("select count(*) from errors").equals(second.sql("select count(*) from errors"))


@pytest.mark.parametrize(
    "statement",
    [
        "insert into internal.event_v1 select * from internal.event_v1",
        "drop view errors",
        "copy (select 1) to '/tmp/analyzer-test-out.csv'",
        "attach ':memory:' as other",
        "set threads = 1",
        "install httpfs",
        "load icu",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from glob('/*')",
        "select 1; select 2",
        "",
        "selec 1",
        "select * from nothing_here",
        "pragma database_list; select 1",
    ],
)
def test_ad_hoc_sql_only_reads_and_only_the_store(path: str, statement: str) -> None:
    """Writing, files, settings, two statements and nonsense are refused in one line."""
    with open_store(path) as store, pytest.raises(QueryError) as caught:
        store.sql(statement)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_ad_hoc_sql_does_not_see_the_callers_variables(path: str) -> None:
    """A frame of the host program is no table."""
    secrets = pl.DataFrame({"token": ["x"]})
    with open_store(path) as store, pytest.raises(QueryError):
        store.sql("select * from secrets")
    assert secrets.height == 1


@pytest.mark.parametrize(
    "statement",
    [
        "from errors",
        "describe errors",
        "show tables",
        "summarize errors",
        "explain select 1",
        "with t as (select 1) from t",
    ],
)
def test_ad_hoc_sql_reads_in_every_dialect(path: str, statement: str) -> None:
    """Whatever gives rows."""
    with open_store(path) as store:
        assert store.sql(statement).height > 0


def test_types_without_a_safe_way_out_come_as_text(path: str) -> None:
    """INTERVAL would crash a frame, TIMESTAMPTZ would need another library."""
    with open_store(path) as store:
        frame = store.sql("""select interval 3 days as "a ""b", timestamptz '2026-01-01 00:00:00Z' as c, 1 as d""")
    assert frame.rows() == [("3 days", "2026-01-01 00:00:00+00", 1)]


def test_days_and_zoneless_texts_do_not_depend_on_the_machine(path: str) -> None:
    """Every connection works in UTC, the second one of a process too."""
    code = (
        "from analyzer.store import open_store; import sys\n"
        "query = \"select timestamptz '2026-01-01 00:00:00' as moment\"\n"
        "first, second = open_store(sys.argv[1]), open_store(sys.argv[1])\n"
        "print(first.sql(query).item(), second.sql(query).item(), open_store(':memory:').sql(query).item())"
    )
    environment = {**os.environ, "TZ": "Asia/Kathmandu"}
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == ["2026-01-01", "00:00:00+00"] * 3


def test_a_limit_is_told(path: str) -> None:
    """Cut answers say so, whole ones do not."""
    with open_store(path) as store:
        cut, whole = run(store._connection, "from errors", 1), run(store._connection, "from errors", 2)
    assert (cut.frame.height, cut.truncated, whole.frame.height, whole.truncated) == (1, True, 2, False)


def test_an_answer_is_the_same_by_a_relation(memory: Store) -> None:
    """For a version of DuckDB's package whose shorter way is another one, or none; and what is wrong is told alike."""

    class Plain:
        sql = memory._connection.sql

    class Other(Plain):
        def _submit(self, statement: str) -> object:
            raise AssertionError(statement)

    roads = [memory._connection, cast("Any", Plain()), cast("Any", Other())]

    for statement, given in (
        ("select $a::int as one, [$a] as list, null as nothing, 'x'::enum('x', 'y') as kind", {"a": 1}),
        ("select i, i / 3 as third from range(3000) as t(i) where i < ?", [2500]),
    ):
        first, *others = (ask(each, statement, given) for each in roads)
        for other in others:
            assert first.equals(other)
            assert first.schema == other.schema
    for connection in roads:
        with pytest.raises(duckdb.InvalidInputException, match="parameter"):
            ask(connection, "select $a", {"b": 1})


def test_frames_reach_sql_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB reads the Arrow C stream of anything that has one; it asks for pyarrow when it sees polars itself."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    connection = duckdb.connect()
    register(connection, "staged", pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [datetime(2026, 1, 1)] * 2}))
    assert connection.execute("select sum(a), count(b), max(c) from staged").fetchall() == [
        (3, 1, datetime(2026, 1, 1))
    ]


def test_a_failed_statement_makes_commit_a_lie() -> None:
    """DuckDB's COMMIT returns without an error after a failed statement; this is why batches look at what was kept."""
    connection = duckdb.connect()
    connection.execute("create table t (i integer)")
    connection.execute("begin")
    connection.execute("insert into t values (1)")
    with pytest.raises(duckdb.Error):
        connection.execute("insert into t values ('x')")
    connection.execute("commit")
    assert connection.execute("select count(*) from t").fetchall() == [(0,)]


def test_older_clients_can_read_a_store(path: str, tmp_path: Path) -> None:
    """Made anew or again: the README says that DuckDB 1.5 reads it, in the format of 1.4."""
    rebuild(path)
    rebuild(str(tmp_path / "again.duckdb"), [str(tmp_path / "log.jsonl")])
    for file in (path, str(tmp_path / "again.duckdb")):
        with closing(duckdb.connect(file, read_only=True)) as connection:
            (tags,) = connection.execute("select tags from duckdb_databases() where not internal").fetchone() or ()
        assert tags["storage_version"].startswith("v1.4.0")


def test_the_journal_stands_beside_the_store(tmp_path: Path) -> None:
    """x.duckdb has x.journal; a throw-away store has none."""
    assert journal_of(str(tmp_path / "x.duckdb")) == str(tmp_path / "x.journal")
    assert journal_of(":memory:") is None


def test_sql_knows_the_classifier(path: str) -> None:
    """classify(message) and classify(message, status), over columns and constants, on a connection that only reads."""
    with open_store(path) as store:
        query = "select classify('Overloaded') as a, classify('no', 429) as b, classify(null) as c"
        assert store.sql(query).rows() == [("network_transient", "rate_limited", None)]
        assert store.sql("select distinct classify(caller) as reason from errors").rows() == [("unknown",)]


def test_a_program_with_a_store_ends_without_a_word(path: str) -> None:
    """Neither frames nor classify() leave anything behind that DuckDB's binding would complain of."""
    program = (
        "import sys, analyzer\n"
        "with analyzer.open_store(sys.argv[1]) as store:\n"
        "    store.sql('select 1 as one')\n"
        "    print(store.sql(\"select classify('Overloaded') as reason\").item())\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("network_transient\n", "")


def test_sql_without_numpy_says_what_to_install(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation that left dependencies out gets one line."""
    monkeypatch.setattr("analyzer.store.query.adhoc.find_spec", lambda _: None)
    with open_store(path) as store, pytest.raises(QueryError) as caught:
        store.sql("select classify('x')")
    assert "pip install numpy" in caught.value.hint


NOW = datetime(2026, 11, 21, 13, 30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("now-7d", NOW - timedelta(days=7)),
        ("7d", NOW - timedelta(days=7)),
        ("36h", NOW - timedelta(hours=36)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
        ("today", datetime(2026, 11, 21)),
        ("Yesterday", datetime(2026, 11, 20)),
        ("2026-11-01", datetime(2026, 11, 1)),
        ("2026-11-01T06:00", datetime(2026, 11, 1, 6)),
        ("2026-11-01T06:00:00+02:00", datetime(2026, 11, 1, 4)),
    ],
)
def test_times_are_read_as_people_type_them(text: str, expected: datetime) -> None:
    """Dates, times, spans back from now, and two words."""
    assert expected == moment(text, NOW)


def test_a_date_begins_in_the_chosen_zone() -> None:
    """Midnight in Kathmandu is 18:15 UTC the day before."""
    zone = ZoneInfo("Asia/Kathmandu")
    assert moment("2026-11-01", NOW, zone) == datetime(2026, 10, 31, 18, 15)
    assert moment("today", NOW, zone) == datetime(2026, 11, 20, 18, 15)
    assert moment("2026-11-01T00:00:00Z", NOW, zone) == datetime(2026, 11, 1)
    assert moment("now", NOW, UTC) == NOW


@pytest.mark.parametrize("text", ["", "7", "7x", "-7d", "2026-13-01", "last tuesday", "999999w"])
def test_what_is_no_time_is_refused_with_a_hint(text: str) -> None:
    """Never guessed."""
    with pytest.raises(AnalyzerError) as caught:
        moment(text, NOW)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "7", "d7", "1.5h", "yesterday"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    """A number and a unit, nothing else."""
    with pytest.raises(AnalyzerError, match="not a length of time"):
        span(text)


def test_a_store_is_a_small_interface(memory: Store) -> None:
    """An empty store answers every view with no rows."""
    for name in ("events", "errors", "retries", "relays", "sessions", "findings", "quarantine"):
        assert memory.sql(f"from {name}").height == 0
