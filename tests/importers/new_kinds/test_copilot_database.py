"""Copilot Chat's database of spans itself: what its columns and its tables of attributes and events say of failures."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import analyzer

SCHEMA = """
create table schema_version (version integer not null);
create table spans (span_id text primary key, trace_id text not null, parent_span_id text, name text not null,
  start_time_ms integer not null, end_time_ms integer not null, status_code integer not null default 0,
  status_message text, operation_name text, provider_name text, agent_name text, conversation_id text,
  request_model text, response_model text, input_tokens integer, output_tokens integer, cached_tokens integer,
  reasoning_tokens integer, tool_name text, tool_call_id text, tool_type text, chat_session_id text, turn_index integer,
  ttft_ms real);
create table span_attributes (span_id text not null, key text not null, value text, primary key (span_id, key));
create table span_events (id integer primary key autoincrement, span_id text not null, name text not null,
  timestamp_ms integer not null, attributes text);
"""
SPAN = """insert or replace into spans (span_id, trace_id, name, start_time_ms, end_time_ms, status_code,
  status_message, operation_name, provider_name, request_model, chat_session_id,
  input_tokens, output_tokens, cached_tokens, tool_name)
  values (?, 't', 'x', ?, ?, ?, ?, ?, 'github', 'm', 's', ?, ?, ?, ?)"""
MS = 1_772_704_800_000


def _write(path: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement, values in statements:
            connection.execute(statement, values)


def test_the_database_is_read_and_read_on(tmp_path: Path) -> None:
    """As `copilot_spans`: errors, stops, tokens and failed tools; nothing that was said; what comes later once."""
    path = tmp_path / "agent-traces.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    said = ("insert into span_attributes values (?, ?, ?)", ("a", "gen_ai.input.messages", "a secret plan"))
    thrown = '{"exception.type": "Error", "exception.message": "Server error: 503", "exception.stacktrace": "at x"}'
    _write(
        path,
        (SPAN, ("a", MS, MS + 500, 2, None, "chat", None, None, None, None)),
        ("insert into span_attributes values (?, ?, ?)", ("a", "error.type", "Error")),
        said,
        (
            "insert into span_events (span_id, name, timestamp_ms, attributes) values (?, ?, ?, ?)",
            ("a", "exception", MS, thrown),
        ),
        (SPAN, ("b", MS, MS + 900, 1, None, "chat", 900, 100, 700, None)),
    )
    with analyzer.open_store(str(tmp_path / "x.duckdb"), writable=True) as store:
        first = store.ingest([str(path)]).to_dict()
        assert [source["format"] for source in first["sources"]] == ["copilot_spans"]
        _write(
            path,
            (SPAN, ("c", MS, MS + 1_000, 2, "canceled", "chat", None, None, None, None)),
            ("insert into span_attributes values (?, ?, ?)", ("c", "copilot_chat.canceled", "true")),
            (SPAN, ("d", "later", MS + 2_000, 2, "no such file", "execute_tool", None, None, None, "read_file")),
        )
        store.ingest([str(path)])
        store.ingest([str(path)])
        assert store.sql("select caller, model, message from errors").rows() == [
            ("copilot-chat", "m", "Server error: 503")
        ]
        assert store.sql("select tool, kind from tool_failures").rows() == [("read_file", "not_found")]
        tokens = "select input_tokens, output_tokens, cache_read_tokens from usage"
        assert store.sql(tokens).rows() == [(200, 100, 700)]
        assert store.sql("select requests from sessions").rows() == [(3,)]
