"""Hermes' database itself: it is told from goose's, whose tables it has, and only what is new is read again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import analyzer

SCHEMA = """
create table schema_version (version integer not null);
create table state_meta (key text primary key, value text);
create table sessions (id text primary key, source text, model text, started_at real not null, ended_at real,
  end_reason text, cwd text, git_branch text, billing_provider text, compression_failure_error text);
create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content text,
  tool_call_id text, tool_calls text, tool_name text, timestamp real not null, finish_reason text);
insert into sessions values
  ('s1', 'cli', 'm', 1772704800, 1772704900, 'compression', '/home/me/shop', 'main', 'p', null);
insert into messages (session_id, role, content, tool_name, tool_call_id, timestamp) values
  ('s1', 'assistant', 'hi', null, null, 1772704801), ('s1', 'tool', '{"exit_code": 2}', 'terminal', 'c1', 1772704802);
"""


def _write(path: Path, statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()


def test_the_database_is_read_and_read_on(tmp_path: Path) -> None:
    """As `hermes_db`: failed tools, the compaction that ended a session, and what comes later once."""
    path = tmp_path / "state.db"
    _write(path, SCHEMA)
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["hermes_db"]
        later = "insert into messages (session_id, role, content, tool_name, timestamp) values"
        _write(
            path, f"{later} ('s1', 'tool', '{{\"success\": false, \"error\": \"x not found\"}}', 'skill', 1772704803)"
        )
        store.ingest([str(path)])
        store.ingest([str(path)])
        failed = store.sql("select tool, project, agent from tool_failures order by tool").rows()
        assert failed == [("skill", "shop", "hermes"), ("terminal", "shop", "hermes")]
        assert store.sql("select count(*) from relays").rows() == [(1,)]
