"""Tables of agents' databases, and their rows as records without prose.

Of a failure only the first line is kept. Only the tables and columns in this module are read, never
accounts or credentials.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec

from analyzer.agent_stream import mapping, text
from analyzer.events import Reject
from analyzer.events.codec import diagnosed, parsed
from analyzer.events.model import derived_id
from analyzer.frozen import frozen
from analyzer.importers.base import glance, shape

GOOSE_FAILURES = ("Ran into this error", "Network error: ", "Error: Context length exceeds limits")
"""Beginnings of the messages that goose writes in place of a failed reply."""
GOOSE_NOTICES = frozenset({"systemNotification", "conversationCompacted", "contextLengthExceeded"})
"""Types of the message parts that goose itself writes."""

Row = dict[str, Any]
Ask = Callable[[str, tuple[object, ...]], Iterable[tuple[Any, ...]]]
"""A function that runs a query with parameters in the row's own database, and returns its rows."""


@frozen
class RowTable:
    """A table that is read."""

    name: str
    changed: str
    """The column, or the SQL expression, that grows with each change of a row."""
    columns: str
    """The columns to read, with spaces between; a column that the table lacks is None."""
    record: Callable[[Row], Row]
    """Makes the record of a row."""
    ahead: bool = False
    """True if its rows are read before those of other tables, which refer to them."""
    completing: Callable[[Ask], Callable[[Row, int], None]] | None = None
    """Makes, once a reading, a function that adds other rows' fields to a record of a rowid."""
    key: str = "id"
    """The column that names a row."""


class UnreadableError(Exception):
    """A value of a row that is no JSON and should be."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.why)
        self.reject = reject


def decoded(value: object) -> Any:
    """Decode the JSON in a column; None for an empty column.

    Raises:
        UnreadableError: it is no JSON.
    """
    decoded_value = parsed(value)
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if decoded_value is None and isinstance(raw, bytes) and raw.strip() not in (b"", b"null"):
        raise UnreadableError(diagnosed(raw, "the value of a row"))
    return decoded_value


def first_words(value: object) -> str | None:
    """Return the first line of a text, cut at 2,000 characters; None for anything but a text."""
    return value.strip().split("\n", 1)[0][:2_000] if isinstance(value, str) else None


_MESSAGE_KEYS = frozenset(
    {"role", "time", "error", "modelID", "providerID", "agent", "mode", "tokens", "cost", "parentID", "finish", "path"}
)
_PART_KEYS = {"compaction": frozenset({"auto", "overflow"}), "retry": frozenset({"attempt", "error", "time"})}


def slim_message(message: Mapping[str, Any]) -> Row:
    """Return the fields of an opencode message that are read, which hold no prose."""
    kept = {key: value for key, value in message.items() if key in _MESSAGE_KEYS}
    return {**kept, "summary": message.get("summary") is True}


def _opencode_message(row: Row) -> Row:
    return {**slim_message(mapping(decoded(row["data"]))), "id": row["id"], "sessionID": row["session_id"]}


_part = glance("type tool attempt error auto overflow time", state=shape("status time error")).decode


def _opencode_part(row: Row) -> Row:
    try:
        # Inputs and outputs of tools are most of a store; none of them is decoded.
        data: Mapping[str, Any] = _part(row["data"])
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        data = mapping(decoded(row["data"]))
    kind = data.get("type")
    kept = {key: value for key, value in data.items() if key in _PART_KEYS.get(str(kind), ())}
    if kind == "tool":
        state = mapping(data.get("state"))
        shown = {"status": state.get("status"), "time": state.get("time"), "error": first_words(state.get("error"))}
        kept = {"tool": data.get("tool"), "state": shown}
    named = {"id": row["id"], "sessionID": row["session_id"], "messageID": row["message_id"], "type": kind}
    created = mapping(data.get("time")).get("created") if kind == "retry" else None
    return {**kept, **named, "time": {"created": created or row["time_created"]}}


def _opencode_session(row: Row) -> Row:
    return {
        "id": row["id"],
        "directory": row["directory"],
        "version": row["version"],
        "time": {"created": row["time_created"]},
    }


def _opencode2_session(row: Row) -> Row:
    return {**_opencode_session(row), "forkedFrom": row["fork_session_id"]}


def _opencode2_message(row: Row) -> Row:
    """Return a message of OpenCode 2 in the shape of the first version, with its calls of tools as parts.

    Source: the tables `session_v2` and `session_message` of its databases, opencode-ai 2.0.14.
    """
    data, kind = mapping(decoded(row["data"])), row["type"]
    if kind not in ("assistant", "compaction"):
        return {"id": row["id"]}
    model, error, time = mapping(data.get("model")), mapping(data.get("error")), mapping(data.get("time"))
    failure = {key: error[key] for key in ("message", "statusCode", "responseBody", "responseHeaders") if key in error}
    kept = {key: data[key] for key in ("agent", "tokens", "cost", "finish", "parentID") if key in data}
    is_summary = kind == "compaction" and data.get("status") == "completed"
    return {
        **kept,
        "id": row["id"],
        "sessionID": row["session_id"],
        "role": "assistant",
        "time": time if is_summary is False else {"completed": time.get("created"), **time},
        "modelID": model.get("id"),
        "providerID": model.get("providerID"),
        "error": {"name": _ERRORS.get(str(error.get("type")), error.get("type")), "data": failure} if error else None,
        "summary": is_summary,
        "auto": data.get("reason") == "auto" if is_summary else None,
        "parts": [_opencode2_part(row, part) for part in listed(data.get("content")) if part.get("type") == "tool"],
    }


def _opencode2_part(row: Row, part: Mapping[str, Any]) -> Row:
    state, time = mapping(part.get("state")), mapping(part.get("time"))
    error = mapping(state.get("error")).get("message") or state.get("error")
    ended = {"start": time.get("created"), "end": time.get("completed")}
    return {
        "id": f"prt_{row['id']}_{part.get('id')}",
        "sessionID": row["session_id"],
        "messageID": row["id"],
        "type": "tool",
        "tool": part.get("name"),
        "time": time,
        "state": {"status": state.get("status"), "error": first_words(error), "time": ended},
    }


_ERRORS = {"provider": "APIError", "unknown": "UnknownError", "aborted": "MessageAbortedError"}
"""Names of errors of the first version by the types of the second."""


def _openclaw_entry(row: Row) -> Row:
    entry = mapping(decoded(row["event_json"]))
    return {**entry, "$session": row["session_id"]}


def _crush_message(row: Row) -> Row:
    finished, called, failed = [], [], []
    for part in listed(decoded(row.pop("parts"))):
        data = mapping(part.get("data"))
        match part.get("type"):
            case "finish":
                finished.append({key: data.get(key) for key in ("reason", "time", "message", "details")})
            case "tool_call":
                called.append({"name": data.get("name")})
            case "tool_result" if data.get("is_error") is True:
                message = first_words(data.get("content"))
                failed.append({"name": data.get("name"), "call": data.get("tool_call_id"), "said": message})
    return {**row, "finished": finished, "called": called, "failed": failed}


_IMPORTS = ("claude_import", "external_import")
"""Tables of MiMoCode with sessions of other agents, and their messages in `message_ids`."""
_HAS_MESSAGES = "select 1 from pragma_table_info(?) where name = 'message_ids'"


def _opencode_own(ask: Ask) -> Callable[[Row, int], None]:
    """Empty the messages that MiMoCode imported from other agents.

    The logs of those agents have them. Source: XiaomiMiMo/MiMo-Code,
    `session/claude-import.sql.ts`, 2026.
    """
    tables = [table for table in _IMPORTS if any(ask(_HAS_MESSAGES, (table,)))]
    rows = (row for table in tables for row in ask(f"select message_ids from {table}", ()))  # noqa: S608 - named above
    imported = {name for (message_ids,) in rows for name in _names(parsed(message_ids))}

    def complete(record: Row, _rowid: int) -> None:
        if imported and (record.get("messageID") or record["id"]) in imported:
            record.clear()

    return complete


def _names(value: object) -> list[str]:
    """Return the texts of a list; an empty list for anything else."""
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


_CRUSH_CALLS = "select session_id, rowid, parts from messages where instr(parts, 'tool_call') > 0 order by rowid"


def _crush_tools(ask: Ask) -> Callable[[Row, int], None]:
    """Add the tools to results that name only their calls.

    The row of a call may change after that of its result.
    """

    @cache
    def tools() -> dict[tuple[object, str], list[tuple[int, object]]]:
        """Collect the rowids and tools of all calls, in one pass when the first is needed."""
        tools_of: dict[tuple[object, str], list[tuple[int, object]]] = {}
        for session, rowid, parts in ask(_CRUSH_CALLS, ()):
            for part in listed(parsed(parts)):
                data = mapping(part.get("data"))
                if part.get("type") == "tool_call" and (call := text(data.get("id"))):
                    tools_of.setdefault((session, call), []).append((rowid, data.get("name")))
        return tools_of

    def complete(record: Row, rowid: int) -> None:
        for result in record["failed"]:
            call = text(result["call"])
            if call and not text(result["name"]):
                calls = tools().get((record["session_id"], call), [])
                newest = bisect_right(calls, rowid, key=itemgetter(0)) - 1
                result["name"] = calls[newest][1] if newest >= 0 else None

    return complete


def listed(value: object) -> Iterator[Mapping[str, Any]]:
    """Return the elements of a list as objects; none where the value is no list.

    An element that is no object becomes an empty one.
    """
    return map(mapping, value if isinstance(value, list) else ())


def slim_goose(role: object, created: object, content: object) -> Row:
    """Return the record of a goose message: called tools, failed ones, and goose's notices.

    `shape` is an id of the message that needs no prose: of its role, time, parts and their sizes.
    """
    parts = list(listed(content))
    called, failed, notices = [], [], []
    for part in parts:
        kind, call = text(part.get("type")), text(part.get("id"))
        if kind in ("toolRequest", "frontendToolRequest"):
            request = mapping(mapping(part.get("toolCall")).get("value"))
            called.append({"name": text(request.get("name")), "call": call})
        elif kind == "toolResponse":
            result = mapping(part.get("toolResult"))
            value = mapping(result.get("value"))
            if result.get("status") == "error":
                failed.append({"call": call, "said": first_words(result.get("error"))})
            elif value.get("isError") is True:
                texts = (item.get("text") for item in listed(value.get("content")))
                failed.append({"call": call, "said": first_words(next(filter(None, texts), None))})
        elif kind in GOOSE_NOTICES:
            notices.append({"type": text(part.get("notificationType")) or kind, "said": first_words(part.get("msg"))})
        elif kind == "text" and role == "assistant" and len(parts) == 1:
            message = first_words(part.get("text")) or ""
            if message.startswith(GOOSE_FAILURES):
                notices.append({"type": "text", "said": message})
    types, ids = [part.get("type") for part in parts], [part.get("id") for part in parts]
    sizes = [len(text(part.get("text")) or "") for part in parts]
    shape_id = derived_id(role, created, types, ids, sizes)
    return {"role": role, "created": created, "called": called, "failed": failed, "told": notices, "shape": shape_id}


_ACCUMULATED = ("accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cost")


def _goose_session(row: Row) -> Row:
    model = mapping(decoded(row["model_config_json"])).get("model_name")
    kept = {key: row[key] for key in ("id", "working_dir", "session_type", "provider_name", *_ACCUMULATED)}
    return {**kept, "model": model, "updated": row["updated_at"]}


def _goose_message(row: Row) -> Row:
    slim = slim_goose(row["role"], row["created_timestamp"], decoded(row["content_json"]))
    return {**slim, "session": row["session_id"]}


def slim_hermes(row: Mapping[str, Any]) -> Row:
    """Return the record of a Hermes message: the tools that it calls, or a failure.

    `failed` is the message of a failure, which may be empty, or None.
    """
    calls = row.get("tool_calls")
    called = [mapping(call.get("function")) for call in listed(parsed(calls) if isinstance(calls, str) else calls)]
    answer = mapping(parsed(row.get("content"))) if row.get("role") == "tool" else {}
    failed, code = text(answer.get("error")), answer.get("exit_code")
    if type(code) is int and code != 0:
        failed = f"Exit code {code}"
    elif failed is None and answer.get("success") is False:
        failed = ""
    common = {key: row.get(key) for key in ("session_id", "role", "timestamp")}
    names = {"tool": row.get("tool_name"), "call": row.get("tool_call_id"), "model": row.get("_model")}
    return {**common, **names, "called": [{"name": call.get("name")} for call in called], "failed": first_words(failed)}


_SPAN_OWN = "span_id trace_id parent_span_id start_time_ms end_time_ms status_code status_message"
_SPAN_COLUMNS = {
    "operation_name": "gen_ai.operation.name",
    "provider_name": "gen_ai.provider.name",
    "conversation_id": "gen_ai.conversation.id",
    "chat_session_id": "copilot_chat.chat_session_id",
    "request_model": "gen_ai.request.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning_tokens",
    "tool_name": "gen_ai.tool.name",
}
"""Attributes of Copilot Chat's spans, by the columns that hold them."""


def _copilot_span(row: Row) -> Row:
    """Return a span as OpenTelemetry's SDK writes it.

    Times are pairs of seconds and nanoseconds. Source: microsoft/vscode-copilot-chat,
    `otelSqliteStore.ts`, 2026.
    """
    begin, end = (
        [row[name] // 1000, row[name] % 1000 * 10**6] if type(row[name]) is int else None
        for name in ("start_time_ms", "end_time_ms")
    )
    return {
        "resource": {"attributes": {"service.name": "copilot-chat"}},
        "traceId": row["trace_id"],
        "spanId": row["span_id"],
        "parentSpanId": row["parent_span_id"],
        "startTime": begin,
        "endTime": end,
        "status": {"code": row["status_code"], "message": first_words(row["status_message"])},
        "attributes": {name: row[column] for column, name in _SPAN_COLUMNS.items() if row[column] is not None},
    }


_SPAN_ERRORS = (
    "select key, value from span_attributes where span_id = ? and key in ('error.type', 'copilot_chat.canceled')"
)
_SPAN_EXCEPTIONS = "select attributes from span_events where span_id = ? and name = 'exception' order by id"


def _span_errors(ask: Ask) -> Callable[[Row, int], None]:
    """Add to a span what describes its failure; its other attributes hold prose."""

    def complete(record: Row, _rowid: int) -> None:
        span = (record["spanId"],)
        record["attributes"] |= {row[0]: row[1] for row in ask(_SPAN_ERRORS, span)}
        record["events"] = []
        for (attributes,) in ask(_SPAN_EXCEPTIONS, span):
            thrown = mapping(parsed(attributes))
            kept = {key: thrown[key] for key in ("exception.type", "exception.message") if key in thrown}
            record["events"].append({"name": "exception", "attributes": kept})

    return complete


_SPANS = (
    RowTable(
        "spans",
        "rowid",
        "span_id trace_id parent_span_id start_time_ms end_time_ms status_code status_message "
        + " ".join(_SPAN_COLUMNS),
        _copilot_span,
        completing=_span_errors,
        key="span_id",
    ),
)
_HERMES = (
    # The row of a session changes when it ends; its fields are needed before its messages.
    RowTable(
        "sessions",
        "coalesce(ended_at, started_at)",
        "id model billing_provider started_at ended_at end_reason cwd git_branch compression_failure_error",
        dict,
        ahead=True,
    ),
    RowTable("messages", "id", "id session_id role content tool_call_id tool_calls tool_name timestamp", slim_hermes),
)
_OPENCODE = (
    RowTable(
        "session",
        "time_updated",
        "id directory version time_created time_updated",
        _opencode_session,
        ahead=True,
    ),
    RowTable("message", "time_updated", "id session_id time_updated data", _opencode_message, completing=_opencode_own),
    RowTable(
        "part",
        "time_updated",
        "id message_id session_id time_created time_updated data",
        _opencode_part,
        completing=_opencode_own,
    ),
)
_OPENCODE_2 = (
    RowTable(
        "session_v2",
        "time_updated",
        "id directory version fork_session_id time_created time_updated",
        _opencode2_session,
        ahead=True,
    ),
    RowTable(
        "session_message", "time_updated", "id session_id type time_created time_updated data", _opencode2_message
    ),
)
_OPENCLAW = (RowTable("transcript_events", "rowid", "session_id seq event_json", _openclaw_entry, key="seq"),)
_CRUSH = (
    RowTable("sessions", "updated_at", "id parent_session_id summary_message_id updated_at", dict),
    RowTable(
        "messages",
        "updated_at",
        "id session_id role parts model provider is_summary_message created_at updated_at",
        _crush_message,
        completing=_crush_tools,
    ),
)
_GOOSE = (
    RowTable(
        "sessions",
        "cast(strftime('%s', updated_at) as integer)",
        "id working_dir session_type provider_name model_config_json updated_at " + " ".join(_ACCUMULATED),
        _goose_session,
        ahead=True,
    ),
    # Ids only grow, even where a compaction writes the whole conversation anew.
    RowTable("messages", "id", "id session_id role content_json created_timestamp", _goose_message),
)
SHAPES: tuple[tuple[frozenset[str], tuple[RowTable, ...]], ...] = (
    # A database that was upgraded keeps the tables of the first version.
    (frozenset({"session", "message", "part", "session_v2", "session_message"}), (*_OPENCODE, *_OPENCODE_2)),
    (frozenset({"session_v2", "session_message"}), _OPENCODE_2),
    (frozenset({"session", "message", "part"}), _OPENCODE),
    (frozenset({"transcript_events", "session_windows"}), _OPENCLAW),
    (frozenset({"sessions", "messages", "files", "goose_db_version"}), _CRUSH),
    (frozenset({"sessions", "messages", "state_meta"}), _HERMES),
    (frozenset({"sessions", "messages", "schema_version"}), _GOOSE),
    (frozenset({"spans", "span_attributes", "span_events"}), _SPANS),
)
"""The tables by which each database is recognised, and the tables that are read."""
