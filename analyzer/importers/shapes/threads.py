"""Tables with a conversation or a call in each row, as records without prose.

A record has tools, failures and counts. A conversation becomes one record: `session`, `folder`,
`model`, its `turns` (each with a `place` that only grows, and what was `called`, `failed` and
`stopped` in it), its `spent` tokens and its compactions (`compacted`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Reject
from analyzer.importers.failures import number
from analyzer.importers.shapes.rows import SHAPES as ROWS
from analyzer.importers.shapes.rows import Ask, Row, RowTable, UnreadableError, decoded, first_words, listed

_MOST_BYTES = 64 * 1024 * 1024
"""Bytes of the largest conversation, once unpacked, that is read."""
_CODE = re.compile(r"-?\d{1,6}")


# Amazon Q, and Kiro CLI, which is built on it:
# aws/amazon-q-developer-cli, `crates/chat-cli/src/cli/chat/`, April 2026


def _q_conversation(row: Row) -> Row:
    state = mapping(decoded(row["value"]))
    summary = state.get("latest_summary")
    meta = mapping(summary[1]) if isinstance(summary, list) and len(summary) == 2 else {}
    return {
        "session": text(state.get("conversation_id")),
        "folder": row["key"],
        "model": text(mapping(state.get("model_info")).get("model_id")),
        "turns": [_q_turn(entry) for entry in listed(state.get("history"))],
        "compacted": [meta.get("message_id")] if text(meta.get("message_id")) else [],
        "updated": meta.get("stream_end_timestamp_ms"),
    }


def _q_turn(entry: Mapping[str, Any]) -> Row:
    meta, content = mapping(entry.get("request_metadata")), mapping(mapping(entry.get("user")).get("content"))
    kind, body = next(iter(content.items()), ("", None))
    results = listed(mapping(body).get("tool_use_results"))
    reply = mapping(mapping(entry.get("assistant")).get("ToolUse"))
    at = number(meta.get("stream_end_timestamp_ms"))
    return {
        "place": at,
        "at": at,
        "model": text(meta.get("model_id")),
        "called": [{"name": call.get("name"), "call": call.get("id")} for call in listed(reply.get("tool_uses"))],
        "failed": [failed for result in results if (failed := _q_failure(result))] if kind == "ToolUseResults" else [],
        "stopped": kind == "CancelledToolUses",
    }


def _q_failure(result: Mapping[str, Any]) -> Row | None:
    """Return the record of a failed call, by its status or exit code; None for other calls."""
    message, code = None, None
    for block in listed(result.get("content")):
        message = message or text(block.get("Text"))
        exited = _CODE.search(text(mapping(block.get("Json")).get("exit_status")) or "")
        code = code or (exited[0] if exited and exited[0] != "0" else None)
    if code is None and str(result.get("status")).lower() != "error":
        return None
    return {"call": result.get("tool_use_id"), "said": f"Exit code {code}" if code else first_words(message)}


# Zed: zed-industries/zed, `crates/agent/src/db.rs` and `thread.rs`, threads of version 0.3.0


def _zed_thread(row: Row) -> Row:
    thread = mapping(decoded(_unpack(row["data_type"], row["data"])))
    model = mapping(thread.get("model"))
    messages = enumerate(listed(thread.get("messages")))
    spent = mapping(thread.get("request_token_usage"))
    return {
        "session": row["id"],
        "folder": (text(row["folder_paths"]) or "").split("\n")[0] or None,
        "role": "subagent" if text(row["parent_id"]) else None,
        "model": text(model.get("model")),
        "provider": text(model.get("provider")),
        "created": row["created_at"],
        "updated": row["updated_at"],
        "turns": [_zed_turn(place, mapping(message["Agent"])) for place, message in messages if "Agent" in message],
        "spent": [{"request": key, **mapping(usage)} for key, usage in spent.items()],
    }


def _zed_turn(index: int, message: Mapping[str, Any]) -> Row:
    used = [mapping(part.get("ToolUse")) for part in listed(message.get("content")) if "ToolUse" in part]
    results = ((call, mapping(result)) for call, result in mapping(message.get("tool_results")).items())
    return {
        "place": index + 1,
        "called": [{"name": call.get("name"), "call": call.get("id")} for call in used],
        "failed": [
            {"call": call, "name": result.get("tool_name"), "said": first_words(_zed_output(result.get("content")))}
            for call, result in results
            if result.get("is_error") is True
        ],
    }


def _zed_output(content: object) -> str | None:
    """Return the first text of an output: a text, an object with a `Text`, or a list of them."""
    parts = content if isinstance(content, list) else [content]
    return next((words for part in parts if (words := text(part) or text(mapping(part).get("Text")))), None)


def _unpack(kind: object, data: object) -> str:
    """Return a conversation as JSON; empty where it is packed in an unknown way.

    Raises:
        UnreadableError: it is damaged, or too large.
    """
    if isinstance(data, str):
        return data
    if kind == "zstd" and isinstance(data, bytes):
        import zstandard

        try:
            stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(BytesIO(data))
            data = stream.read(_MOST_BYTES + 1)
        except zstandard.ZstdError as error:
            raise UnreadableError(Reject("not_json", f"damaged zstd data: {error}")) from None
        if len(data) > _MOST_BYTES:
            raise UnreadableError(Reject("line_too_long", f"more than {_MOST_BYTES >> 20} MiB when it is unpacked"))
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else ""


# grok-cli: superagent-ai/grok-cli, `src/storage/migrations.ts`, version 3 of May 2026

_TOOL_OF_RESULT = "select session_id, tool_name from tool_calls where id = ?"


def _grok_result(row: Row) -> Row:
    output = mapping(decoded(row["output_json"]))
    failed = row["success"] == 0
    message = first_words(text(output.get("error")) or text(output.get("value")) or "") if failed else None
    return {"result": row["id"], "at": row["created_at"], "failed": message, "of": row["tool_call_row_id"]}


def _grok_tools(ask: Ask) -> Callable[[Row, int], None]:
    """Add the session and the tool to a result, which names only the row of its call."""

    def complete(record: Row, _rowid: int) -> None:
        calls: Iterator[tuple[Any, ...]] = iter(ask(_TOOL_OF_RESULT, (record.pop("of"),)))
        record["session"], record["tool"] = next(calls, (None, None))

    return complete


_Q = (
    RowTable(
        "conversations",
        # No column shows a change, but the time of the conversation's last reply does.
        "case when json_valid(value) then coalesce(json_extract(value, "
        "'$.history[#-1].request_metadata.stream_end_timestamp_ms'), 0) else 0 end",
        "key value",
        _q_conversation,
        key="key",
    ),
)
_KIRO = (
    # Its columns as agentsview reads them, August 2026: `internal/parser/kiro_sqlite.go` of kenn-io/agentsview.
    RowTable(
        "conversations_v2", "updated_at", "key conversation_id value updated_at", _q_conversation, key="conversation_id"
    ),
)
_ZED = (
    RowTable(
        "threads",
        "(julianday(updated_at) - 2440587.5) * 86400.0",
        "id parent_id folder_paths created_at updated_at data_type data",
        _zed_thread,
    ),
)
_WARP = (
    # A query's row changes when it ends: a pending query, and all after it, wait for up to a day.
    RowTable(
        "ai_queries",
        """case when id < coalesce((select min(id) from ai_queries where output_status = '"Pending"' and start_ts >"""
        " (select datetime(max(start_ts), '-1 day') from ai_queries)), id + 1)"
        """ and output_status <> '"Pending"' then id end""",
        "id exchange_id conversation_id start_ts working_directory output_status model_id",
        dict,
    ),
)
_GROK_CLI = (
    RowTable(
        "sessions", "cast(strftime('%s', updated_at) as integer)", "id model cwd_at_start updated_at", dict, ahead=True
    ),
    RowTable("tool_calls", "id", "id session_id tool_name started_at", dict),
    RowTable(
        "tool_results", "id", "id tool_call_row_id output_json success created_at", _grok_result, completing=_grok_tools
    ),
    RowTable("usage_events", "id", "id session_id model input_tokens output_tokens created_at", dict),
    RowTable("compactions", "id", "id session_id tokens_before created_at", dict),
)
SHAPES = (
    *ROWS,
    (frozenset({"conversations_v2"}), _KIRO),
    (frozenset({"auth_kv", "conversations"}), _Q),
    (frozenset({"ai_queries", "agent_conversations"}), _WARP),
    (frozenset({"tool_calls", "tool_results", "usage_events", "compactions"}), _GROK_CLI),
    (frozenset({"threads.data_type"}), _ZED),
)
"""The tables, or `table.column`, that identify each database, and the tables that are read."""
