"""`analyzer sql`: what it denies, what it ends at its limits, and that the store survives all of it."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from analyzer.errors import QueryError
from analyzer.store import open_store
from tests import sampled
from tests.cli.conftest import forks
from tests.cli.forking import Forks, Line

__all__ = ["forks"]
Sql = Callable[..., subprocess.CompletedProcess[str]]
COMMAND = [sys.executable, "-c", "from analyzer.cli import main; main()", "sql"]
LIMIT = 124
MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(json.loads(sys.argv[1]), capture_output=True, check=False)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, usage.ru_maxrss // 1024, done.stderr.decode()]))
"""
"""Largest resident set, in MiB, of the command or of the process that it starts and reaps."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a few errors."""
    folder = tmp_path_factory.mktemp("sandbox")
    log = {"v": 1, "type": "error.classified", "timestamp": "2026-11-02T08:00:00Z", "sessionId": "s"}
    payload = {"caller": "c", "reason": "unknown", "facts": {"message": "Overloaded", "status": 529}}
    lines = [json.dumps({**log, "id": f"id-{number}", "payload": payload}) for number in range(20)]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "secret.csv").write_text("token\ncorrect-horse\n", "utf-8")
    command = [*COMMAND[:-1], "ingest", "log.jsonl", "--store", "s.duckdb"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "s.duckdb"


@pytest.fixture
def sql(store: Path, forks: Forks) -> Sql:
    """`sql("select 1", "--json")` in the store's folder."""

    def call(statement: str, *options: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        arguments = ["sql", statement, "--store", str(store), *options]
        done = forks.run(Line(arguments, str(store.parent), environment=env or {}, seconds=120))
        assert isinstance(done.code, int), arguments
        return subprocess.CompletedProcess(arguments, done.code, done.stdout, done.stderr)

    return call


def content(folder: Path) -> dict[str, str]:
    """What lies in a folder: names and digests."""
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


DENIED = [
    "from read_csv('secret.csv')",
    "from 'secret.csv'",
    "from read_text('/etc/passwd')",
    "from read_blob('secret.csv')",
    "from read_json('secret.csv')",
    "from read_parquet('/dev/stdin')",
    "from parquet_metadata('x.parquet')",
    "from sniff_csv('secret.csv')",
    "from glob('*')",
    "from 'http://127.0.0.1:9/x.csv'",
    "from read_duckdb('other.duckdb')",
    "copy errors to 'out.csv'",
    "copy (select 1) to '/dev/stdout'",
    "copy errors from 'secret.csv'",
    "export database 'out'",
    "import database 'out'",
    "attach 'other.duckdb'",
    "attach ':memory:' as m",
    "install httpfs",
    "load httpfs",
    "set memory_limit = '100GB'",
    "set enable_external_access = true",
    "reset memory_limit",
    "pragma enable_profiling",
    "pragma database_list",
    "create secret s (type s3, key_id 'x')",
    "select getenv('HOME')",
    "from enable_logging()",
    "call enable_logging()",
    "create temp table t as select 1",
    "create view v as select 1",
    "insert into internal.store_v1 values ('a', 'b')",
    "with x as (delete from internal.store_v1 returning *) from x",
    "drop view errors",
    "begin",
    "checkpoint",
    "set variable x = 1",
    "prepare p as select 1",
    "explain analyze insert into internal.store_v1 values ('a', 'b')",
    "with x as (copy (select 1) to 's.duckdb' (format csv, use_tmp_file false)) from x",
    "explain analyze copy (select 1) to 's.duckdb' (format csv, use_tmp_file false)",
    "from force_checkpoint()",
    "select 1; select 2",
    "",
    "-- nothing",
    "from request",
    "from answer",
]
"""The last two are variables of the program: replacement scans read those."""


UNCHECKED = "import analyzer.store.query.adhoc as r; r.reading = lambda c, sql, *_: sql; "
"""Takes the check of statements away."""


@pytest.mark.parametrize("statement", DENIED[:-2])
def test_a_statement_that_reaches_beyond_the_store_is_refused_to_programs_too(store: Path, statement: str) -> None:
    """By the same check, in their own process."""
    with open_store(store) as opened, pytest.raises(QueryError):
        opened.sql(statement)


@pytest.mark.parametrize("statement", [*sampled(DENIED[:-2]), *DENIED[-2:]])
def test_nothing_but_the_store_can_be_reached_or_changed(sql: Sql, store: Path, statement: str) -> None:
    """Files, network, other databases, settings, secrets, environment, variables: refused in one line, exit code 2."""
    before = content(store.parent)
    done = sql(statement, env={"ANALYZER_TOKEN": "correct-horse"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("analyzer: ")
    assert len(done.stderr.splitlines()) <= 2
    assert "Traceback" not in done.stderr
    assert "correct-horse" not in done.stderr
    assert content(store.parent) == before


@pytest.mark.parametrize(
    "statement",
    [
        "with x as (copy (select 1) to '{store}' (format csv, use_tmp_file false)) from x",
        "explain analyze copy (select 1) to '{store}' (format csv, use_tmp_file false)",
        "explain analyze with x as (copy (select 1) to '{store}.wal' (format csv, use_tmp_file false)) from x",
        "from json_execute_serialized_sql(json_serialize_sql('with x as (copy (select 1) to ''{store}'') from x'))",
    ],
)
@pytest.mark.parametrize("without", ["", UNCHECKED], ids=["by the statement", "by the database"])
def test_a_store_survives_what_names_its_own_files(store: Path, statement: str, without: str) -> None:
    """The check of the statement protects it, and without that the settings of the database do."""
    before = content(store.parent)
    request = {"store": str(store), "sql": statement.format(store=store), "rows": 10, "row_format": "json"}
    done = subprocess.run(
        [sys.executable, "-c", f"{without}from analyzer.cli.sandbox import main; main()"],
        input=json.dumps({**request, "width": None, "seconds": 30, "memory": 10**9}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout.splitlines()[0])["exit_code"] == 2
    assert content(store.parent) == before


@pytest.mark.parametrize(
    "statement",
    [
        "select sum(a.range + b.range) from range(1000000) a, range(1000000) b",
        "select sum(range % 7) from range(3000000000000)",
        "select count(*) from range(1000000000) where hash(range) = 1",
        "with recursive x as (select 1 as a union all select a + 1 from x) select max(a) from x",
        "select levenshtein(repeat('a', 300000), repeat('b', 300000))",
    ],
)
def test_time_ends_a_query(sql: Sql, store: Path, statement: str) -> None:
    """The process is killed when its time is over, whatever the database is doing just then."""
    before = content(store.parent)
    done = sql(statement, "--timeout", "0.8")
    assert (done.returncode, done.stdout) == (LIMIT, "")
    assert "stopped after 0.8 s" in done.stderr
    assert "--timeout" in done.stderr
    assert content(store.parent) == before


@pytest.mark.skipif(sys.platform != "linux", reason="address space bounds memory on Linux alone")
@pytest.mark.parametrize(
    "statement",
    sampled(
        [
            "select repeat('x', 1000000000)",
            "select lpad('x', 1000000000, 'y')",
            "select printf('%1000000000d', 1)",
            "select list_aggregate(range(2000000000), 'sum')",
            "select array_agg(range) over (order by range) from range(100000)",
            "select * from range(100000000) order by hash(range)",
            "select (repeat('[', 20000) || repeat(']', 20000))::json::variant",
            "select json_contains(repeat('[', 200000) || repeat(']', 200000), '1')",
            "from range(10000000)",
        ],
    ),
)
def test_memory_ends_a_query(store: Path, statement: str) -> None:
    """No process grows much beyond --memory, and the store is as it was: by error, by signal or by time."""
    before = content(store.parent)
    options = ["--memory", "300MB", "--timeout", "8", "--limit", "0", "--format", "jsonl"]
    command = [*COMMAND, statement, "--store", str(store), *options]
    measured = subprocess.run(
        [sys.executable, "-c", MEASURED, json.dumps(command)], capture_output=True, text=True, check=True
    )
    code, megabytes, said = json.loads(measured.stdout)
    assert code == LIMIT, said
    assert megabytes < 300 + 150
    assert said.startswith("analyzer: ")
    assert "hint: " in said
    assert content(store.parent) == before


def test_a_limit_of_rows_is_told(sql: Sql) -> None:
    """In the JSON and on stderr; three billion rows are no work then."""
    done = sql("from range(3000000000)", "--limit", "5", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["truncated"], len(answer["rows"])) == (0, True, 5)
    assert "cut after 5 rows" in done.stderr


def test_an_answer_larger_than_its_file_may_be_is_no_answer(sql: Sql) -> None:
    """Half an answer would look like a whole one."""
    done = sql("select repeat('x', 90000000) as x, x as y, x as z", "--memory", "250MB", "--format", "jsonl")
    assert (done.returncode, done.stdout) == (LIMIT, "")
    assert "250 MB" in done.stderr


def test_the_classifier_works_there(sql: Sql) -> None:
    """Rules and numpy are loaded before the limits stand."""
    done = sql("select distinct classify(message, status) as r from errors", "--json", "--memory", "250MB")
    assert [row["r"] for row in json.loads(done.stdout)["rows"]] == ["network_transient"]


@pytest.mark.parametrize("row_format", ["table", "json", "jsonl", "csv", "markdown", "parquet"])
def test_every_format_comes_out_whole(sql: Sql, store: Path, row_format: str, tmp_path: Path) -> None:
    """To stdout and to a file alike, and the file is its owner's alone."""
    target = tmp_path / "out"
    assert sql("from errors", "-f", row_format, "-o", str(target)).returncode == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    raw = subprocess.run(
        [*COMMAND, "from errors", "--store", str(store), "-f", row_format], capture_output=True, check=True
    )
    assert raw.stdout == target.read_bytes()


def test_an_error_late_in_an_answer_says_what_it_is(sql: Sql) -> None:
    """The database's own words, also when rows have begun to flow."""
    done = sql("select cast(case when range > 5000 then 'x' else '1' end as int) from range(10000)")
    assert done.returncode == 2
    assert "Could not convert string 'x' to INT32" in done.stderr


def test_a_store_that_is_not_there_or_busy_keeps_its_exit_codes(sql: Sql, store: Path) -> None:
    """3 and 75, as for every other command."""
    assert sql("select 1", "--store", "none.duckdb").returncode == 3
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import duckdb; c = duckdb.connect({str(store)!r}); print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert sql("select 1").returncode == 75
    finally:
        holder.communicate(b"\n")


def test_a_store_in_memory_is_as_closed(sql: Sql) -> None:
    """No file behind it does not mean that any file may be read."""
    done = sql("from read_text('secret.csv')", "--store", ":memory:")
    assert done.returncode == 2
    assert "correct-horse" not in done.stdout


def test_modules_of_the_working_directory_are_not_loaded(sql: Sql, store: Path) -> None:
    """A folder of logs may come from a stranger."""
    planted = store.parent / "duckdb.py"
    planted.write_text("open('planted', 'w').close()\n", "utf-8")
    try:
        command = [COMMAND[0], "-P", *COMMAND[1:], "select 1", "--store", str(store)]
        done = subprocess.run(command, cwd=store.parent, capture_output=True, check=False)
        assert done.returncode == 0
        assert not (store.parent / "planted").exists()
    finally:
        planted.unlink()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="children are found in /proc")
@pytest.mark.parametrize(("sent", "code", "seconds"), [(signal.SIGINT, 130, "600"), (signal.SIGKILL, -9, "5")])
def test_no_process_is_left_behind(store: Path, sent: signal.Signals, code: int, seconds: str) -> None:
    """Ctrl-C ends the query at once; if even this program is killed, the query ends by itself soon after its time."""
    statement = "select sum(a.range + b.range) from range(1000000) a, range(1000000) b"
    process = subprocess.Popen(
        [*COMMAND, statement, "--store", str(store), "--timeout", seconds],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 300
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (found := children.read_text().split()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child = Path("/proc") / found[0]
    while b"cli.sandbox" not in (child / "cmdline").read_bytes() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(sent)
    process.communicate(timeout=300)
    assert process.returncode == code
    # On Ctrl-C that is long before the query's own time; a process that was killed may take a moment to be gone.
    while running(child) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running(child)


def running(process: Path) -> bool:
    """Whether it is there, and not merely waiting for someone to read its exit code."""
    try:
        return process.joinpath("stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_process_gets_no_environment_and_no_descriptors(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tokens and open files of this program are not there to be found."""
    from analyzer.cli import sandbox

    started: list[tuple[list[str], dict[str, object]]] = []

    def popen(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append((command, options))
        return original(command, **options)  # type: ignore[call-overload,no-any-return]

    original = subprocess.Popen
    monkeypatch.setenv("ANTHROPIC_API_KEY", "correct-horse")
    monkeypatch.setattr(sandbox.subprocess, "Popen", popen)
    request = sandbox.Request(str(store), "select 1 as one", 1, "csv", None, 30, 10**9)
    with sandbox.answer(request) as answered:
        assert answered.content.read() == b'"one"\n1\n'
    command, options = started[0]
    assert "correct-horse" not in str(options["env"])
    assert set(options["env"]) <= {*sandbox._KEPT, *sandbox._OWN, "PYTHONPATH"}  # type: ignore[call-overload]
    assert options["close_fds"] is True
    assert "select 1" not in " ".join(command)
