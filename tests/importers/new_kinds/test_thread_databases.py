"""Databases of agents themselves: what their rows become, read on as conversations grow, and with strange values."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

import analyzer
from analyzer.events import Event
from analyzer.importers import Source, base, block_of, records
from analyzer.importers.shapes.files import rows_as_lines
from analyzer.importers.transcripts.threads import ZedReader
from tests.importers.new_kinds.cases import MS
from tests.importers.new_kinds.test_new_kinds import STRANGE

Q_SCHEMA = """
create table auth_kv (key text primary key, value text);
create table conversations (key text primary key, value text);
"""
ZED_SCHEMA = """
create table threads (id text primary key, summary text not null, updated_at text not null, data_type text not null,
  data blob not null, parent_id text, folder_paths text, folder_paths_order text, created_at text);
"""
WARP_SCHEMA = """
create table agent_conversations (id integer primary key, conversation_id text, conversation_data text);
create table ai_queries (id integer primary key autoincrement, exchange_id text unique, conversation_id text,
  start_ts datetime, input text, working_directory text, output_status text, model_id text);
"""
GROK_SCHEMA = """
create table sessions (id text primary key, model text, cwd_at_start text, updated_at text);
create table tool_calls (id integer primary key autoincrement, session_id text, tool_name text, started_at text);
create table tool_results (id integer primary key autoincrement, tool_call_row_id integer, output_json text,
  success integer, created_at text);
create table usage_events (id integer primary key autoincrement, session_id text, model text, input_tokens integer,
  output_tokens integer, created_at text);
create table compactions (id integer primary key autoincrement, session_id text, tokens_before integer,
  summary text, created_at text);
"""


def _entry(second: int, user: dict[str, Any], *called: str) -> dict[str, Any]:
    uses = [{"id": call, "name": "execute_bash", "args": {}} for call in called]
    said = {"ToolUse": {"message_id": "m", "content": "", "tool_uses": uses}} if uses else {"Response": {"content": ""}}
    meta = {"message_id": f"r{second}", "stream_end_timestamp_ms": MS + second * 1000, "model_id": "m"}
    return {"user": {"content": user, "timestamp": None}, "assistant": said, "request_metadata": meta}


def _results(call: str, status: str, code: str) -> dict[str, Any]:
    content = [{"Json": {"exit_status": code, "stdout": "secret words", "stderr": ""}}]
    return {"ToolUseResults": {"tool_use_results": [{"tool_use_id": call, "content": content, "status": status}]}}


_PROMPT = {"Prompt": {"prompt": "secret words"}}
_TURNS = [
    _entry(1, _PROMPT, "c1", "c2"),
    _entry(2, _results("c1", "Success", "2")),
    _entry(3, _results("c2", "Success", "0")),
    _entry(4, {"CancelledToolUses": {"prompt": None, "tool_use_results": []}}),
]


def _q(path: Path, turns: list[Any], summary: Any = None) -> None:
    state = {"conversation_id": "s1", "history": turns, "latest_summary": summary, "transcript": ["secret words"]}
    _run(path, "insert or replace into conversations values (?, ?)", "/home/me/shop", json.dumps(state))


def _thread(*tool_results: tuple[str, bool]) -> dict[str, Any]:
    uses = [{"ToolUse": {"id": call, "name": "terminal", "input": {}}} for call, _ in tool_results]
    results = {
        call: {"tool_use_id": call, "tool_name": "terminal", "is_error": failed, "content": [{"Text": "ENOENT: x"}]}
        for call, failed in tool_results
    }
    user = {"User": {"id": "u1", "content": [{"Text": "secret words"}]}}
    return {
        "title": "…",
        "version": "0.3.0",
        "messages": [user, {"Agent": {"content": uses, "tool_results": results}}, "Resume"],
        "model": {"provider": "p", "model": "m"},
        "request_token_usage": {"u1": {"input_tokens": 70, "output_tokens": 7}},
    }


def _zed(path: Path, second: int, kind: str, data: bytes | str, name: str = "t1") -> None:
    at = f"2026-03-05T10:00:0{second}+00:00"
    row = (name, "…", at, kind, data, None, "/home/me/shop\n/home/me/lib", "0,1", at)
    grown = "on conflict (id) do update set updated_at = excluded.updated_at, data_type = excluded.data_type"
    _run(path, f"insert into threads values ({', '.join('?' * len(row))}) {grown}, data = excluded.data", *row)


def _run(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def _make(path: Path, schema: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    connection.close()


def _seen(store: Any) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The failed tools, and the requests of all sessions."""
    failed = store.sql("select tool, project, agent from tool_failures order by tool").rows()
    return failed, store.sql("select sum(requests) from sessions").rows()


def test_amazon_qs_conversations_are_read_as_they_grow(tmp_path: Path) -> None:
    """What was counted counts once, also where a compaction has cut a conversation; nothing that was said is kept."""
    path = tmp_path / "data.sqlite3"
    _make(path, Q_SCHEMA)
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        _q(path, _TURNS[:2])
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["amazon_q"]
        _q(path, _TURNS[1:], ["secret words", {"message_id": "k1", "stream_end_timestamp_ms": MS + 3500}])
        store.ingest([str(path)])
        store.ingest([str(path)])
        failed, counted = _seen(store)
        assert failed == [("execute_bash", "shop", "amazon-q")]
        assert counted == [(4,)]
        assert store.sql("select count(*) from relays").rows() == [(1,)]
    assert b"secret words" not in b"".join(rows_as_lines(str(path), {}))


def test_kiros_conversations_are_those_of_amazon_q(tmp_path: Path) -> None:
    """In a table of their own; the one that Kiro has from Amazon Q does not make it one of Amazon Q's."""
    path = tmp_path / "data.sqlite3"
    _make(path, Q_SCHEMA)
    columns = "key text, conversation_id text, value text, created_at integer, updated_at integer"
    _run(path, f"create table conversations_v2 ({columns}, primary key (key, conversation_id))")
    state = json.dumps({"conversation_id": "s1", "history": _TURNS[:2], "latest_summary": None})
    _run(path, "insert into conversations_v2 values ('/home/me/shop', 's1', ?, ?, ?)", state, MS, MS + 9)
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["kiro_db"]
        assert _seen(store) == ([("execute_bash", "shop", "kiro-cli")], [(2,)])


def test_zeds_threads_are_unpacked(tmp_path: Path) -> None:
    """Packed or not; one that is broken, packed otherwise or has nothing gives nothing, and the rest is read."""
    path = tmp_path / "threads.db"
    _make(path, ZED_SCHEMA)
    packed = zstandard.ZstdCompressor().compress(json.dumps(_thread(("c1", False))).encode())
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        _zed(path, 1, "zstd", packed)
        _zed(path, 2, "zstd", b"broken", "t2")
        _zed(path, 3, "brotli", b"\xff\xfe", "t3")
        _zed(path, 4, "json", "[]", "t4")
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["zed"]
        _zed(path, 5, "json", json.dumps(_thread(("c1", True), ("c2", False))).encode())
        store.ingest([str(path)])
        failed, counted = _seen(store)
        assert failed == [("terminal", "shop", "zed")]
        assert counted == [(1,)]
        assert store.sql("select count(*), sum(input_tokens) from usage").rows() == [(1, 70)]


def test_warps_queries_are_read_once_they_have_ended(tmp_path: Path) -> None:
    """One that is at work is left where it is."""
    path = tmp_path / "warp.sqlite"
    _make(path, WARP_SCHEMA)
    insert = "insert into ai_queries values (?, ?, 's1', '2026-03-05 10:00:01', '[]', '/home/me/shop', ?, 'm')"
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        _run(path, insert, 1, "x1", '"Completed"')
        _run(path, insert, 2, "x2", '"Pending"')
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["warp"]
        _run(path, "update ai_queries set output_status = '\"Failed\"' where id = 2")
        _run(path, insert, 3, "x3", '"Cancelled"')
        store.ingest([str(path)])
        assert store.sql("select count(*) from errors").rows() == [(1,)]
        assert _seen(store)[1] == [(3,)]


def test_grok_clis_rows_name_their_tools(tmp_path: Path) -> None:
    """A result names the row of its call, which names session and tool."""
    path = tmp_path / "grok.db"
    _make(path, GROK_SCHEMA)
    at = "2026-03-05T10:00:01.000Z"
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        _run(path, "insert into sessions values ('s1', 'm', '/home/me/shop', ?)", at)
        _run(path, "insert into tool_calls values (7, 's1', 'bash', ?)", at)
        failed = json.dumps({"success": False, "error": "no such file\nsecret words"})
        _run(path, "insert into tool_results values (1, 7, ?, 0, ?)", failed, at)
        _run(path, "insert into usage_events values (1, 's1', 'm', 70, 7, ?)", at)
        _run(path, "insert into compactions values (1, 's1', 900, 'secret words', ?)", at)
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["grok_cli"]
        assert _seen(store) == ([("bash", "shop", "grok-cli")], [(1,)])
        assert store.sql("select pre_tokens from relays").rows() == [(900,)]
    assert b"secret words" not in b"".join(rows_as_lines(str(path), {}))


@pytest.mark.parametrize(("schema", "table"), [(Q_SCHEMA, "conversations"), (ZED_SCHEMA, "threads")])
def test_strange_conversations_are_rows_like_others(tmp_path: Path, schema: str, table: str) -> None:
    """Whatever stands where a list or an object should, the line of the row is made."""
    path = tmp_path / "strange.db"
    _make(path, schema)
    whole: dict[str, Any] = {
        "conversation_id": "s",
        "history": _TURNS,
        "latest_summary": ["", {}],
        **_thread(("c", True)),
    }
    count = 0
    for key in whole:
        for strange in STRANGE:
            said = json.dumps({**whole, key: strange, "history": [strange] if key == "title" else whole["history"]})
            if table == "threads":
                _zed(path, 1, "json", said, f"t{count}")
            else:
                _run(path, "insert into conversations values (?, ?)", f"/x/{count}", said)
            count += 1
    assert len(list(rows_as_lines(str(path), {}))) == count + 1


def test_a_turn_counts_once_however_many_conversations_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that was forgotten all turns count again, as the same part; of one that is remembered what is new."""
    monkeypatch.setattr(base, "MOST_OPEN", 3)
    monkeypatch.setattr(records, "MOST_OPEN", 3)
    counts: dict[tuple[str | None, str], int] = {}
    state: dict[str, Any] = {}
    for round_ in range(1, 4):
        reader = ZedReader(Source("threads.db", datetime(2026, 11, 1)), state)
        events: list[Event] = []
        for number in range(round_ - 1, 9, round_):
            turns = [{"place": place} for place in range(1, round_ + 1)]
            conversation = {"session": f"t{number}", "created": MS + number * 1000, "turns": turns}
            hits = reader.read(block_of(json.dumps(conversation).encode() + b"\n"))
            events += [event for hit in hits for event in hit.events]
        for event in [*events, *reader.finish()]:
            if event.type == "session.observed":
                part = (event.session_id, event.payload["part"])
                counts[part] = max(counts.get(part, 0), event.payload["requests"])
        state = json.loads(json.dumps(reader.state()))
    assert [count for _, count in sorted(counts.items())] == [1, 2, 3, 2, 1, 3, 1, 2, 3]


def test_a_query_of_warp_that_ends_behind_later_ones_is_read(tmp_path: Path) -> None:
    """Those behind one that is at work wait for it, and for none that has not ended within a day."""
    path = tmp_path / "warp.sqlite"
    _make(path, WARP_SCHEMA)
    insert = "insert into ai_queries values (?, ?, 's1', ?, '[]', '/home/me/shop', ?, 'm')"
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        _run(path, insert, 1, "x1", "2026-03-04 10:00:01", '"Pending"')
        _run(path, insert, 2, "x2", "2026-03-05 10:00:02", '"Failed"')
        _run(path, insert, 3, "x3", "2026-03-05 10:00:03", '"Pending"')
        _run(path, insert, 4, "x4", "2026-03-05 10:00:04", '"Failed"')
        store.ingest([str(path)])
        assert _seen(store)[1] == [(1,)]
        _run(path, "update ai_queries set output_status = '\"Failed\"' where id = 3")
        store.ingest([str(path)])
        assert _seen(store)[1] == [(3,)]
        assert store.sql("select count(*) from errors").rows() == [(3,)]


def test_a_change_that_cannot_be_hides_no_later_one(tmp_path: Path) -> None:
    """A conversation of a moment beyond all others is left, and those behind it are read."""
    path = tmp_path / "data.sqlite3"
    _make(path, Q_SCHEMA)
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        for moment in ("1e999", "9e17"):
            turn = f'{{"request_metadata": {{"stream_end_timestamp_ms": {moment}}}}}'
            said = f'{{"conversation_id": "s0", "history": [{turn}]}}'
            _run(path, "insert into conversations values (?, ?)", moment, said)
        store.ingest([str(path)])
        _q(path, _TURNS[:2])
        store.ingest([str(path)])
        assert _seen(store)[1] == [(2,)]


def test_a_text_that_is_stored_as_bytes_is_a_text(tmp_path: Path) -> None:
    """What is secret of it is not kept, in no writing."""
    path, secret = tmp_path / "grok.db", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    _make(path, GROK_SCHEMA)
    _run(path, "insert into tool_calls values (1, 's1', ?, null)", f"bash {secret}".encode())
    _run(path, "insert into tool_results values (1, 1, '{}', 0, null)")
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        store.ingest([str(path)])
        (((tool, *_),), _) = _seen(store)
    assert str(tool).startswith("bash ")
    assert secret[4:] not in str(tool)


def test_a_database_without_a_column_that_is_needed_says_so(tmp_path: Path) -> None:
    """To wait until nobody writes to it would be of no use."""
    path = tmp_path / "threads.db"
    _make(path, "create table threads (id text, data_type text); insert into threads values ('t1', 'json');")
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        (problem,) = store.ingest([str(path)]).problems
    assert "no such column" in problem.message
    assert problem.hint == "it is damaged, or of another version"
