"""Databases of agents are read row by row, beside whoever writes into them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analyzer.importers import records
from analyzer.importers.shapes import files, rows
from analyzer.importers.shapes.threads import SHAPES
from analyzer.store import Store
from analyzer.store.ingest import inputs

SCHEMA = """
create table session (id text primary key, directory text, version text, time_updated integer);
create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text);
create table part (id text primary key, message_id text, session_id text, time_created integer, time_updated integer,
  data text);
create table account (id text primary key, access_token text);
insert into account values ('a', 'tok-that-nobody-reads');
insert into session values ('ses_1', '/home/ada/engine', '1.0.1', 1);
"""
BEGAN = 1_772_704_800_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database lies."""
    return tmp_path / "opencode.db"


@pytest.fixture
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    """The agent, which has its database open all the time."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.executescript(SCHEMA)
    yield connection
    connection.close()


@pytest.fixture
def fail(writer: sqlite3.Connection) -> Callable[..., None]:
    """Write a message that failed."""

    def write(number: int, *, status: int = 500, changed: int | None = None) -> None:
        at = BEGAN + number
        error = {"name": "APIError", "data": {"message": "busy", "statusCode": status}}
        data: dict[str, Any] = {"role": "assistant", "time": {"created": at, "completed": at}, "error": error}
        data["parts"] = "a prompt that nobody keeps"
        values = f"msg_{number}", "ses_1", at, changed or at, msgspec.json.encode(data).decode()
        writer.execute("insert or replace into message values (?, ?, ?, ?, ?)", values)

    return write


@pytest.mark.parametrize("table", ["claude_import", "external_import"])
def test_what_was_taken_over_from_another_agent_is_that_agents(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None], table: str
) -> None:
    """MiMoCode lists the messages that it has made of the sessions of others; strange lists name none."""
    writer.execute(f"create table {table} (source_uuid text, session_id text, message_ids text)")
    writer.executemany(
        f"insert into {table} values ('u', 'ses_1', ?)", [('["msg_1", 5]',), ("{",), (None,), ('"msg_2"',)]
    )
    fail(1)
    fail(2)
    read = memory.ingest([str(path)])
    assert (read.total.lines, read.total.event_lines) == (4, 1)


def test_rows_are_read_once_beside_their_writer(memory: Store, path: Path, fail: Callable[..., None]) -> None:
    """What is still in the log of the writer is read too, and a second look reads what is new."""
    fail(1)
    first = memory.ingest([str(path)])
    assert (first.total.lines, first.total.event_lines, first.total.skipped) == (3, 1, 2)
    assert first.sources[0].checkpoint.format == "opencode_db"
    assert memory.ingest([str(path)]).unchanged == 1
    fail(2)
    fail(3)
    again = memory.ingest([str(path)])
    assert (again.total.lines, again.total.event_lines, again.total.duplicates) == (2, 2, 0)
    assert memory.sql("select count(*), count(distinct session_id) from errors").rows() == [(3, 1)]
    assert memory.sql("select count(*) from sources").rows() == [(1,)]


def test_a_row_that_changes_is_read_again_and_counts_once(memory: Store, path: Path, fail: Callable[..., None]) -> None:
    """Messages are written when they begin, and again when they end."""
    fail(1)
    memory.ingest([str(path)])
    fail(1, changed=BEGAN + 50)
    again = memory.ingest([str(path)])
    assert (again.total.lines, again.total.duplicates) == (1, 1)
    assert memory.sql("select count(*) from errors").rows() == [(1,)]


def test_rows_of_one_moment_are_told_apart(memory: Store, path: Path, fail: Callable[..., None]) -> None:
    """A row that comes later and changed in the same millisecond is new, the one before it is not."""
    fail(5, changed=BEGAN + 9)
    memory.ingest([str(path)])
    fail(2, changed=BEGAN + 9)
    again = memory.ingest([str(path)])
    assert (again.total.lines, again.total.event_lines) == (1, 1)


def test_nothing_is_left_beside_a_database_without_a_writer(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None]
) -> None:
    """A reader makes no files in somebody else's folder."""
    fail(1)
    writer.close()
    before = sorted(os.listdir(path.parent))
    memory.ingest([str(path)])
    assert sorted(os.listdir(path.parent)) == before
    assert memory.sql("select count(*) from errors").rows() == [(1,)]


def left(writer: sqlite3.Connection, path: Path, to: Path, fail: Callable[..., None]) -> Path:
    """What a writer leaves that dies within a transaction: of 300 failures with status 500 many have 401 already."""
    writer.execute("begin")
    for number in range(300):
        fail(number)
    writer.execute("commit")
    writer.execute("pragma cache_size = 1")
    writer.execute("begin")
    writer.execute("update message set data = replace(data, '500', '401')")
    to.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, to)
    writer.execute("rollback")
    return to / path.name


STATUSES = "select status, count(*) from errors group by all"


def test_rows_that_nobody_committed_are_not_counted(
    memory: Store,
    path: Path,
    writer: sqlite3.Connection,
    fail: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hot rollback journal takes them back, in a copy that goes; once it is gone itself they are read again."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    writer.execute("pragma journal_mode = delete")
    crashed = left(writer, path, tmp_path / "crashed", fail)
    before = {file.name: file.read_bytes() for file in crashed.parent.iterdir()}
    assert sorted(before) == [path.name, f"{path.name}-journal"]
    with sqlite3.connect(f"file:{crashed}?immutable=1", uri=True) as torn:
        assert torn.execute("select count(*) from message where instr(data, '401') > 0").fetchone() > (0,)
    memory.ingest([str(crashed)])
    assert memory.sql(STATUSES).rows() == [(500, 300)]
    assert {file.name: file.read_bytes() for file in crashed.parent.iterdir()} == before
    assert not any((tmp_path / "temporary").iterdir())
    crashed.with_name(f"{path.name}-journal").unlink()
    assert memory.ingest([str(crashed)]).unchanged == 0


def test_a_log_without_its_index_is_read_and_nothing_is_left_beside_it(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None], tmp_path: Path
) -> None:
    """A write-ahead log that was copied, or whose writer is dead, holds what was committed and what was not."""
    crashed = left(writer, path, tmp_path / "crashed", fail)
    before = sorted(os.listdir(crashed.parent))
    assert before == [path.name, f"{path.name}-wal"]
    memory.ingest([str(crashed)])
    assert memory.sql(STATUSES).rows() == [(500, 300)]
    assert sorted(os.listdir(crashed.parent)) == before


def test_a_journal_makes_sqlite_delete_no_file_that_it_names(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None], tmp_path: Path
) -> None:
    """The name of a transaction over several databases: SQLite deletes what it names, once all of them are done."""
    writer.execute("pragma journal_mode = delete")
    crashed = left(writer, path, tmp_path / "crashed", fail)
    victim = tmp_path / "notes.txt"
    victim.write_text("kept")
    name = os.fsencode(victim)
    end = struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    journal = crashed.with_name(f"{path.name}-journal")
    journal.write_bytes(journal.read_bytes() + b"\xff" * 4 + name + end)
    memory.ingest([str(crashed)])
    assert memory.sql(STATUSES).rows() == [(500, 300)]
    assert victim.read_text() == "kept"


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_is_no_file_beside_a_database_is_left_alone(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None], ending: str
) -> None:
    """A pipe of that name would keep its reader waiting for good."""
    writer.execute("pragma journal_mode = delete")
    fail(1)
    writer.close()
    os.mkfifo(f"{path}{ending}")
    assert memory.ingest([str(path)]).total.event_lines == 1


def test_a_database_that_changes_while_it_is_read_is_read_later(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lock keeps its writer waiting, so what was read may be torn: nothing of it is taken, and it is told."""
    writer.execute("pragma journal_mode = delete")
    fail(1)
    first_line = files._first_line

    def meanwhile(*args: Any) -> bytes:
        fail(2)
        return first_line(*args)

    monkeypatch.setattr(files, "_first_line", meanwhile)
    (problem,) = memory.ingest([str(path)]).problems
    assert "changed while it was read" in problem.message
    monkeypatch.undo()
    assert memory.ingest([str(path)]).total.event_lines == 2


def test_tokens_and_prompts_are_never_kept(memory: Store, path: Path, fail: Callable[..., None]) -> None:
    """Only what is named is read: of messages how they ended, of accounts nothing."""
    fail(1)
    memory.ingest([str(path)])
    said = str(memory.sql("select * from events").rows())
    assert "tok-that" not in said
    assert "a prompt" not in said


def test_a_database_made_anew_in_its_place_is_read_from_its_start(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None]
) -> None:
    """Its oldest row is another one, though its rows may be older than those that were read."""
    fail(9)
    memory.ingest([str(path)])
    writer.execute("delete from session")
    writer.execute("insert into session values ('ses_0', '/x', '1.0.1', 1)")
    fail(1)
    again = memory.ingest([str(path)])
    assert (again.total.event_lines, again.total.duplicates) == (1, 1)
    assert memory.sql("select incident from sources").rows() == [(None,)]


def test_a_database_of_no_known_kind_is_no_log(memory: Store, tmp_path: Path) -> None:
    """It is told as what it is, and nothing of it is read."""
    other = tmp_path / "places.db"
    with sqlite3.connect(other) as connection:
        connection.execute("create table places (url text)")
    connection.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(other.read_bytes()[:100] + b"\xff" * 4000)
    result = memory.ingest([str(other), str(broken)])
    assert result.unsupported() == {"sqlite": 2}
    assert result.problems == []


def test_a_database_that_its_writer_holds_is_a_problem_and_read_later(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is marked as read; other sources are."""
    fail(1)
    whole = files.rows_as_lines

    def interrupted(path: str, after: Mapping[str, Any]) -> Iterator[bytes]:
        yield next(whole(path, after))
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(inputs, "rows_as_lines", interrupted)
    (problem,) = memory.ingest([str(path)]).problems
    assert "database is locked" in problem.message
    monkeypatch.undo()
    assert memory.ingest([str(path)]).total.event_lines == 1


def test_rows_that_are_no_json_are_in_quarantine(
    memory: Store, path: Path, writer: sqlite3.Connection, fail: Callable[..., None]
) -> None:
    """They are rows all the same, with their table and name; the others are read."""
    fail(1)
    fail(2)
    writer.execute("update message set data = '{\"role\": NaN}' where id = 'msg_1'")
    total = memory.ingest([str(path)]).total
    assert (total.lines, total.event_lines, total.skipped, total.quarantined) == (4, 1, 2, 1)
    assert memory.sql("select why from quarantine").rows() == [("bad_number",)]
    assert memory.ingest([str(path)]).total.lines == 0


@pytest.mark.parametrize("name", range(len(SHAPES)))
def test_a_row_that_is_too_long_hides_no_other(
    memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: int
) -> None:
    """Each table of each database has one, between two that are read; each is in quarantine, once."""
    monkeypatch.setattr(files, "_LONGEST", 10_000)
    needed, tables = SHAPES[name]
    path = tmp_path / "agent.db"
    with sqlite3.connect(path) as connection:
        for other in {item.partition(".")[0] for item in needed} - {table.name for table in tables}:
            connection.execute(f'create table "{other}" (id, span_id, key, value, name, attributes)')
        for table in tables:
            columns = table.columns.split()
            own = [item.partition(".")[2] for item in needed if item.startswith(f"{table.name}.")]
            columns += [column for column in own if column not in columns]
            free = [column for column in columns if column not in table.changed and column != table.key]
            long = "value" if "value" in columns else free[-1]
            connection.execute(f'create table "{table.name}" ({", ".join(columns)})')
            for number in (1, 2, 3):
                values = dict.fromkeys(columns) | {table.key: number}
                at = "2026-03-05 10:00:00" if "strftime" in table.changed or "julian" in table.changed else BEGAN
                values |= {column: at for column in columns if column in table.changed and column != table.key}
                values |= {long: "x" * 20_000} if number == 2 else {"value": None} if "value" in columns else {}
                if "output_status" in columns:
                    values["output_status"] = "done"
                marks = ", ".join("?" for _ in columns)
                connection.execute(f'insert into "{table.name}" values ({marks})', [values[key] for key in columns])
    connection.close()
    first, second = memory.ingest([str(path)]), memory.ingest([str(path)])
    assert (first.problems, first.total.quarantined) == ([], len(tables))
    assert memory.sql("select distinct why from quarantine").rows() == [("line_too_long",)]
    assert first.total.lines == 1 + 3 * len(tables)
    assert (second.problems, second.total.lines) == ([], 0)


GOOSE = """
create table schema_version (version integer primary key);
create table sessions (id text primary key, name text, working_dir text, updated_at timestamp, provider_name text,
  model_config_json text);
create table messages (id integer primary key autoincrement, session_id text, role text, content_json text,
  created_timestamp integer);
insert into sessions values
  ('20260305_1', 'a name', '/home/ada/engine', '2026-03-05 10:00:09', 'openai', '{"model_name": "m"}');
"""


def test_a_conversation_of_goose_that_is_written_anew_counts_once(memory: Store, tmp_path: Path) -> None:
    """A compaction deletes all messages and writes them again; older versions kept them in a file."""
    path, began = tmp_path / "sessions.db", BEGAN // 1000
    contents = [
        [{"type": "text", "text": "Ran into this error: Server error: status: 503."}],
        [{"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "shell"}}}],
        [{"type": "toolResponse", "id": "c", "toolResult": {"status": "error", "error": "ENOENT"}}],
    ]
    rows = [
        ("20260305_1", role, msgspec.json.encode(parts).decode(), began + number)
        for number, (role, parts) in enumerate(zip(("assistant", "assistant", "user"), contents, strict=True))
    ]
    insert = "insert into messages (session_id, role, content_json, created_timestamp) values (?, ?, ?, ?)"
    with sqlite3.connect(path) as goose:
        goose.executescript(GOOSE)
        goose.executemany(insert, rows)
    first = memory.ingest([str(path)])
    assert (first.sources[0].checkpoint.format, first.total.event_lines, first.total.lines) == ("goose_db", 4, 5)
    with sqlite3.connect(path) as goose:
        goose.execute("delete from messages")
        goose.executemany(insert, rows)
        goose.execute(insert, ("20260305_1", "assistant", '[{"type": "text", "text": "done"}]', began + 60))
    again = memory.ingest([str(path)])
    assert (again.total.lines, again.total.duplicates, again.total.event_lines) == (4, 3, 1)
    lines = [{"working_dir": "/home/ada/engine", "message_count": 3}]
    lines += [
        {"role": role, "created": at, "content": parts} for (_, role, _, at), parts in zip(rows, contents, strict=True)
    ]
    older = tmp_path / "20260305_1.jsonl"
    older.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    memory.ingest([str(older)])
    shown = "select caller, provider, model, status from errors"
    assert memory.sql(shown).rows() == [("goose@engine", "openai", "m", 503)]
    assert memory.sql("select tool, message from tool_failures").rows() == [("shell", "ENOENT")]
    assert memory.sql("select requests, tool_calls from sessions").rows() == [(2, 1)]


CRUSH = """
create table sessions (id text primary key, updated_at integer);
create table files (id text);
create table goose_db_version (id integer);
create table messages (id text primary key, session_id text, role text, parts text, updated_at integer);
"""


def test_rows_of_one_moment_are_read_as_they_came(memory: Store, tmp_path: Path) -> None:
    """Crush's times are whole seconds, and its ids are random: a result follows the call that names its tool."""
    path, at = tmp_path / "crush.db", BEGAN // 1000
    call = [{"type": "tool_call", "data": {"id": "c", "name": "edit"}}, {"type": "finish", "data": {"reason": "x"}}]
    result = [{"type": "tool_result", "data": {"tool_call_id": "c", "content": "no changes made", "is_error": True}}]
    rows = [("z", "s", "assistant", call, at), ("a", "s", "tool", result, at)]
    with sqlite3.connect(path) as crush:
        crush.executescript(CRUSH)
        for *named, parts, moment in rows:
            crush.execute("insert into messages values (?, ?, ?, ?, ?)", (*named, json.dumps(parts), moment))
    memory.ingest([str(path)])
    assert memory.sql("select tool, message from tool_failures").rows() == [("edit", "no changes made")]


def test_a_call_that_ends_after_its_result_names_the_tool(memory: Store, tmp_path: Path) -> None:
    """The row of a call changes last, however many calls lie between; of calls with one id the newest."""
    path, at = tmp_path / "crush.db", BEGAN // 1000

    def call(name: str, call: str) -> str:
        return json.dumps([{"type": "tool_call", "data": {"id": call, "name": name}}, {"type": "finish", "data": {}}])

    said = {"content": "no changes made", "is_error": True}
    result = json.dumps([{"type": "tool_result", "data": {"tool_call_id": "c", **said}}])
    nobodys = json.dumps([{"type": "tool_result", "data": {"tool_call_id": "elsewhere", **said}}])
    calls = [
        ("old", "s", "assistant", call("view", "c"), at),
        ("of", "s", "assistant", call("edit", "c"), at + 200),
        ("another", "t", "assistant", call("bash", "c"), at),
        ("broken", "s", "assistant", '["c", {', at),
    ]
    between = [(f"b{number}", "s", "assistant", call("ls", f"b{number}"), at + 1) for number in range(100)]
    results = [("r", "s", "tool", result, at + 100), ("n", "s", "tool", nobodys, at + 101)]
    later = [("later", "s", "assistant", call("fetch", "c"), at + 1)]
    with sqlite3.connect(path) as crush:
        crush.executescript(CRUSH)
        rows = [*calls, *between, *results, *later]
        crush.executemany("insert into messages values (?, ?, ?, ?, ?)", rows)
    memory.ingest([str(path)])
    assert memory.sql("select tool from tool_failures order by occurred_at").rows() == [("edit",), ("(unknown)",)]
    assert memory.sql("select sum(tool_calls) from sessions").rows() == [(104,)]


def crush_of(path: Path, messages: int, tools: int) -> None:
    """A database of Crush whose every message has failed tools, of which none is named."""
    with sqlite3.connect(path) as crush:
        crush.executescript(CRUSH)
        for number in range(messages):
            parts = [
                {"type": "tool_result", "data": {"tool_call_id": f"{number}-{tool}", "content": "x", "is_error": True}}
                for tool in range(tools)
            ]
            row = (f"m{number}", f"s{number % 3}", "tool", json.dumps(parts), BEGAN // 1000 + number)
            crush.execute("insert into messages values (?, ?, ?, ?, ?)", row)


def test_a_message_is_parsed_twice_at_most_however_many_tools_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for what it says, and once for the calls that results elsewhere refer to."""
    crush_of(tmp_path / "crush.db", 60, 40)
    values: list[object] = []
    parse = rows.parsed
    monkeypatch.setattr(rows, "parsed", lambda value: (values.append(value), parse(value))[1])
    assert sum(1 for _ in files.rows_as_lines(str(tmp_path / "crush.db"), {})) == 61
    assert 60 <= len(values) <= 120


def test_a_cursor_takes_rows_of_one_moment_one_by_one() -> None:
    """Each is added to those before it, which are not copied for it."""
    cursor: dict[str, Any] = {}
    records.moved_on(cursor, {"$row": ["messages", 7, "a"]})
    names = cursor["messages"][1]
    records.moved_on(cursor, {"$row": ["messages", 7, "b"]})
    assert cursor == {"messages": [7, ["a", "b"]]}
    assert cursor["messages"][1] is names
    assert records.cursor_of({"cursor": cursor})["messages"][1] is not names
