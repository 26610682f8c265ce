"""What is read of the rows of agents' databases: nothing that was said, but the first line of a failure.

Only the tables and columns named here are read: never accounts or tokens.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec

from analyzer.agent_stream import mapping, text
from analyzer.events import Reject
from analyzer.events.codec import diagnosed, parsed
from analyzer.events.model import derived_id
from analyzer.importers.base import glance, shape

GOOSE_FAILURES = ("Ran into this error", "Network error: ", "Error: Context length exceeds limits")
"""How a message of goose begins that stands for a reply which failed."""
GOOSE_NOTICES = frozenset({"systemNotification", "conversationCompacted", "contextLengthExceeded"})
"""Parts of messages that goose itself writes."""

Row = dict[str, Any]
Ask = Callable[[str, tuple[object, ...]], Iterable[tuple[Any, ...]]]
"""A query to the database that a row is of, with its parameters: the rows found."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table that is read."""

    name: str
    changed: str
    """The column, or the expression, that grows with each change of a row."""
    columns: str
    """Those that the table may have, with spaces between; others, and those of other versions, are left out."""
    record: Callable[[Row], Row]
    """What of a row is a record."""
    ahead: bool = False
    """Whether its rows are read before those of other tables, which refer to them."""
    completing: Callable[[Ask], Callable[[Row, int], None]] | None = None
    """What writes into a record, of a row at a place, what stands in other rows; made once a reading."""
    key: str = "id"
    """The column that names a row."""


class UnreadableError(Exception):
    """A value of a row that is no JSON and should be."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.why)
        self.reject = reject


def decoded(value: object) -> Any:
    """Decode the JSON that a column holds; None where it holds nothing.

    Raises:
        UnreadableError: it is no JSON.
    """
    found = parsed(value)
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if found is None and isinstance(raw, bytes) and raw.strip() not in (b"", b"null"):
        raise UnreadableError(diagnosed(raw, "the value of a row"))
    return found


def first_words(said: object) -> str | None:
    """The first line of a text, as far as it is kept; None of anything else."""
    return said.strip().split("\n", 1)[0][:2_000] if isinstance(said, str) else None


_MESSAGE_KEYS = frozenset(
    {"role", "time", "error", "modelID", "providerID", "agent", "mode", "tokens", "cost", "parentID", "finish", "path"}
)
_PART_KEYS = {"compaction": frozenset({"auto", "overflow"}), "retry": frozenset({"attempt", "error", "time"})}


def slim_message(message: Mapping[str, Any]) -> Row:
    """What is read of a message of opencode: nothing that was said."""
    kept = {key: value for key, value in message.items() if key in _MESSAGE_KEYS}
    return {**kept, "summary": message.get("summary") is True}


def _opencode_message(row: Row) -> Row:
    return {**slim_message(mapping(decoded(row["data"]))), "id": row["id"], "sessionID": row["session_id"]}


_part = glance("type tool attempt error auto overflow time", state=shape("status time error"))


def _opencode_part(row: Row) -> Row:
    try:
        # What a tool was given and answered is most of a store, and none of it is read.
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
    return {**kept, **named, "time": {"created": row["time_created"]}}


def _opencode_session(row: Row) -> Row:
    return {"id": row["id"], "directory": row["directory"], "version": row["version"], "time": {}}


def _crush_message(row: Row) -> Row:
    parts = decoded(row.pop("parts"))
    listed = [
        (part.get("type"), mapping(part.get("data"))) for part in map(mapping, parts if isinstance(parts, list) else ())
    ]
    finished = [
        {key: data.get(key) for key in ("reason", "time", "message", "details")}
        for kind, data in listed
        if kind == "finish"
    ]
    # Of tools their names, and of those that failed what they said first.
    called = [{"name": data.get("name")} for kind, data in listed if kind == "tool_call"]
    failed = [
        {"name": data.get("name"), "call": data.get("tool_call_id"), "said": first_words(data.get("content"))}
        for kind, data in listed
        if kind == "tool_result" and data.get("is_error") is True
    ]
    return {**row, "finished": finished, "called": called, "failed": failed}


_IMPORTS = ("claude_import", "external_import")
"""Tables of what MiMoCode has taken over from other agents: `message_ids` are the messages that it made of them."""
_HAS_MESSAGES = "select 1 from pragma_table_info(?) where name = 'message_ids'"


def _opencode_own(ask: Ask) -> Callable[[Row, int], None]:
    """Empty the rows of messages that MiMoCode has taken over from other agents, whose own logs tell them.

    Source: XiaomiMiMo/MiMo-Code, `session/claude-import.sql.ts`, 2026.
    """
    tables = [table for table in _IMPORTS if any(ask(_HAS_MESSAGES, (table,)))]
    rows = (row for table in tables for row in ask(f"select message_ids from {table}", ()))  # noqa: S608 - named above
    taken = {name for (made,) in rows for name in _names(parsed(made))}

    def complete(record: Row, _place: int) -> None:
        if taken and (record.get("messageID") or record["id"]) in taken:
            record.clear()

    return complete


def _names(found: object) -> list[str]:
    """The texts of a list; none where there is no list."""
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


_CRUSH_CALLS = "select session_id, rowid, parts from messages where instr(parts, 'tool_call') > 0 order by rowid"


def _crush_tools(ask: Ask) -> Callable[[Row, int], None]:
    """Name the tools of results that name their calls alone; the row of a call may change after that of its result."""

    @cache
    def calls() -> dict[tuple[object, str], list[tuple[int, object]]]:
        """The rows and the tool of each call of a session: one pass, once any is asked for."""
        found: dict[tuple[object, str], list[tuple[int, object]]] = {}
        for session, place, parts in ask(_CRUSH_CALLS, ()):
            for part in listed(parsed(parts)):
                data = mapping(part.get("data"))
                if part.get("type") == "tool_call" and (call := text(data.get("id"))):
                    found.setdefault((session, call), []).append((place, data.get("name")))
        return found

    def complete(record: Row, place: int) -> None:
        for failed in record["failed"]:
            call = text(failed["call"])
            if call and not text(failed["name"]):
                named = calls().get((record["session_id"], call), [])
                newest = bisect_right(named, place, key=itemgetter(0)) - 1
                failed["name"] = named[newest][1] if newest >= 0 else None

    return complete


def listed(found: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; none where there is no list."""
    return map(mapping, found if isinstance(found, list) else ())


def slim_goose(role: object, created: object, content: object) -> Row:
    """What is read of a message of goose: its failures, and of tools their names and what those that failed said."""
    parts = list(listed(content))
    called, failed, told = [], [], []
    for part in parts:
        kind, call = text(part.get("type")), text(part.get("id"))
        if kind in ("toolRequest", "frontendToolRequest"):
            asked = mapping(mapping(part.get("toolCall")).get("value"))
            called.append({"name": text(asked.get("name")), "call": call})
        elif kind == "toolResponse":
            result = mapping(part.get("toolResult"))
            value = mapping(result.get("value"))
            if result.get("status") == "error":
                failed.append({"call": call, "said": first_words(result.get("error"))})
            elif value.get("isError") is True:
                said = (item.get("text") for item in listed(value.get("content")))
                failed.append({"call": call, "said": first_words(next(filter(None, said), None))})
        elif kind in GOOSE_NOTICES:
            told.append({"type": text(part.get("notificationType")) or kind, "said": first_words(part.get("msg"))})
        elif kind == "text" and role == "assistant" and len(parts) == 1:
            words = first_words(part.get("text")) or ""
            told += [{"type": "text", "said": words}] if words.startswith(GOOSE_FAILURES) else []
    sizes = [len(part.get("text") or "") if isinstance(part.get("text"), str) else 0 for part in parts]
    shape = derived_id(role, created, [part.get("type") for part in parts], [part.get("id") for part in parts], sizes)
    return {"role": role, "created": created, "called": called, "failed": failed, "told": told, "shape": shape}


def _goose_session(row: Row) -> Row:
    model = mapping(decoded(row["model_config_json"])).get("model_name")
    kept = {key: row[key] for key in ("id", "working_dir", "session_type", "provider_name")}
    return {**kept, "model": model, "updated": row["updated_at"]}


def _goose_message(row: Row) -> Row:
    slim = slim_goose(row["role"], row["created_timestamp"], decoded(row["content_json"]))
    return {**slim, "session": row["session_id"]}


def slim_hermes(row: Mapping[str, Any]) -> Row:
    """What is read of a message of Hermes: the tools that it calls, and what one that failed said."""
    calls, said = row.get("tool_calls"), row.get("content")
    called = [mapping(call.get("function")) for call in listed(parsed(calls) if isinstance(calls, str) else calls)]
    answer = mapping(parsed(said)) if row.get("role") == "tool" else {}
    error, code = text(answer.get("error")), answer.get("exit_code")
    coded = type(code) is int and code != 0
    failed = f"Exit code {code}" if coded else error or ("" if answer.get("success") is False else None)
    kept = {key: row.get(key) for key in ("session_id", "role", "timestamp")}
    named = {"tool": row.get("tool_name"), "call": row.get("tool_call_id"), "model": row.get("_model")}
    return {**kept, **named, "called": [{"name": call.get("name")} for call in called], "failed": first_words(failed)}


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
"""Columns of Copilot Chat's spans, and the attributes that they are."""


def _copilot_span(row: Row) -> Row:
    """A span as OpenTelemetry's SDK has it. Source: microsoft/vscode-copilot-chat, `otelSqliteStore.ts`, 2026."""
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


_SPAN_SAID = (
    "select key, value from span_attributes where span_id = ? and key in ('error.type', 'copilot_chat.canceled')"
)
_SPAN_THROWN = "select attributes from span_events where span_id = ? and name = 'exception' order by id"


def _span_errors(ask: Ask) -> Callable[[Row, int], None]:
    """Write into a span what it says of its failure, and nothing else of its attributes, which hold what was said."""

    def complete(record: Row, _place: int) -> None:
        span = (record["spanId"],)
        record["attributes"] |= {row[0]: row[1] for row in ask(_SPAN_SAID, span)}
        thrown = [mapping(parsed(attributes)) for (attributes,) in ask(_SPAN_THROWN, span)]
        kept = ("exception.type", "exception.message")
        record["events"] = [
            {"name": "exception", "attributes": {key: found[key] for key in kept if key in found}} for found in thrown
        ]

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
    # A session is written again as it ends; what is known of it stands before its messages.
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
    RowTable("session", "time_updated", "id directory version time_updated", _opencode_session),
    RowTable("message", "time_updated", "id session_id time_updated data", _opencode_message, completing=_opencode_own),
    RowTable(
        "part",
        "time_updated",
        "id message_id session_id time_created time_updated data",
        _opencode_part,
        completing=_opencode_own,
    ),
)
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
        "id working_dir session_type provider_name model_config_json updated_at",
        _goose_session,
        ahead=True,
    ),
    # Its numbers grow, also where a compaction writes the whole conversation anew.
    RowTable("messages", "id", "id session_id role content_json created_timestamp", _goose_message),
)
SHAPES: tuple[tuple[frozenset[str], tuple[RowTable, ...]], ...] = (
    (frozenset({"session", "message", "part"}), _OPENCODE),
    (frozenset({"sessions", "messages", "files", "goose_db_version"}), _CRUSH),
    (frozenset({"sessions", "messages", "state_meta"}), _HERMES),
    (frozenset({"sessions", "messages", "schema_version"}), _GOOSE),
    (frozenset({"spans", "span_attributes", "span_events"}), _SPANS),
)
"""The tables that each database is known by, and those that are read of it."""
