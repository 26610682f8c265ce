"""A failure that an agent's own log and its telemetry both tell counts once, whichever is read first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.importers import FORMATS
from analyzer.store import Store, open_store
from analyzer.store.db.connection import connect
from analyzer.store.export.slices import cut_slice
from analyzer.store.upkeep.rebuild import rebuild
from tests.growth import assert_linear

SECOND = 1_772_704_800
"""2026-03-05T10:00:00Z in seconds."""
Record = dict[str, Any]
Logs = dict[str, list[Record]]


def at(second: float) -> str:
    """A moment as logs write it."""
    return f"2026-03-05T10:00:{second:06.3f}Z"


def otel(service: str, second: float, name: str, **found: Any) -> Record:
    """An event of telemetry; two underscores of a name are a dot."""
    kinds = {int: "intValue", bool: "boolValue"}
    attributes = [
        {"key": key.replace("__", "."), "value": {kinds.get(type(value), "stringValue"): value}}
        for key, value in {"event__name": name, "event__timestamp": at(second), **found}.items()
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [{"attributes": attributes}]}]}]}


def codex(status: int = 503, later: float = 0.2) -> Logs:
    """A call of Codex that failed twice, as its telemetry tells it, and the turn that it ended."""
    meta = {"timestamp": at(0), "type": "session_meta", "payload": {"id": "c-1", "cwd": "/home/ada/engine"}}
    failed = {"type": "error", "message": f"exceeded retry limit, last status: {status} X", "codex_error_info": "other"}
    tool = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "t"}
    result = {"type": "function_call_output", "call_id": "t", "output": "Exit code: 2\nOutput:\n"}
    lines = [
        meta,
        {"timestamp": at(1), "type": "response_item", "payload": tool},
        {"timestamp": at(2), "type": "response_item", "payload": result},
        {"timestamp": at(9 + later), "type": "event_msg", "payload": failed},
    ]
    calls = [
        otel(
            "codex_exec",
            8 + number,
            "codex.api_request",
            conversation__id="c-1",
            attempt=number,
            http__response__status_code=503,
            error__message="http 503",
        )
        for number in (0, 1)
    ]
    told = otel("codex_exec", 2.1, "codex.tool_result", conversation__id="c-1", tool_name="shell", success="false")
    return {"rollout": lines, "telemetry": [told, *calls]}


def gemini() -> Logs:
    """A call of Gemini CLI that failed, in its chat and in its telemetry."""
    head = {"sessionId": "g-1", "projectHash": "h", "startTime": at(0)}
    shown = {"id": "m", "timestamp": at(8.4), "type": "error", "content": '[API Error: {"code": 503}]'}
    call = {"id": "t", "name": "edit", "status": "error", "timestamp": at(4), "resultDisplay": "0 occurrences"}
    reply = {"id": "r", "timestamp": at(1), "type": "gemini", "content": "", "toolCalls": [call]}
    told = [
        otel("gemini-cli", 4.1, "gemini_cli.tool_call", session__id="g-1", function_name="edit", success=False),
        otel("gemini-cli", 8, "gemini_cli.api_error", session__id="g-1", error="busy", status_code=503),
        otel("gemini-cli", 5, "gemini_cli.api_response", session__id="g-1"),
    ]
    return {"chat": [head, reply, shown], "telemetry": told}


def claude() -> Logs:
    """A call of Claude Code that failed twice, and was given up."""

    def record(second: float, kind: str, **keys: Any) -> Record:
        return {"type": kind, "uuid": f"u{second}", "sessionId": "a-1", "timestamp": at(second), **keys}

    again = {"subtype": "api_error", "retryAttempt": 1, "maxRetries": 10, "retryInMs": 500}
    lines = [
        record(1, "system", **again, error={"status": 529, "message": "Overloaded"}),
        record(3, "assistant", isApiErrorMessage=True, message={"content": "API Error: 529 Overloaded"}),
    ]
    told = otel(
        "claude-code", 3.1, "claude_code.api_error", session__id="a-1", error="Overloaded", status_code="529", attempt=2
    )
    return {"transcript": lines, "telemetry": [told]}


def copilot(status: int = 503) -> Logs:
    """A call of Copilot CLI that failed, in its session's log and as a span, and one that did not."""

    def record(second: float, kind: str, **data: Any) -> Record:
        return {"type": kind, "id": f"e{second}", "parentId": None, "timestamp": at(second), "data": data}

    def call(number: int, second: float, **found: Any) -> Record:
        named = {"gen_ai.conversation.id": "p-1", "gen_ai.operation.name": "chat", **found}
        return {
            "traceId": "t",
            "spanId": f"s{number}",
            "endTimeUnixNano": int((SECOND + second) * 10**9),
            "attributes": [
                {"key": key, "value": {"intValue" if isinstance(value, int) else "stringValue": value}}
                for key, value in named.items()
            ],
            "status": {"code": "STATUS_CODE_ERROR", "message": "busy"} if found else {},
        }

    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "github-copilot"}}]}
    spans = [call(1, 2), call(2, 8, **{"http.response.status_code": 503})]
    return {
        "session": [
            record(0, "session.start", sessionId="p-1", copilotVersion="1.0.77", context={"cwd": "/home/ada/engine"}),
            record(1, "assistant.message", content="x"),
            record(8.4, "session.error", errorType="query", message="busy", statusCode=status),
        ],
        "telemetry": [{"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": spans}]}]}],
    }


@pytest.fixture
def stores(tmp_path: Path, jsonl: Callable[..., Path]) -> Callable[[Logs], list[Store]]:
    """Stores that have read the logs in each order."""

    def read(logs: Logs) -> list[Store]:
        paths = [str(jsonl(f"{name}.jsonl", *records)) for name, records in logs.items()]
        made = []
        for order in permutations(paths):
            store = open_store(":memory:")
            for path in order:
                store.ingest([path])
            made.append(store)
        return made

    return read


def shown(store: Store) -> tuple[Any, ...]:
    """Errors by format, chains, failed tools, and what the session counts of them."""
    errors = store.sql("select source_format, status from errors order by all").rows()
    chains = store.sql("select attempts from retries order by all").rows()
    tools = store.sql("select source_format, tool from tool_failures").rows()
    (seen,) = store.sql("select errors, tool_failures, requests, tool_calls from sessions").rows()
    return errors, chains, tools, seen


def test_a_turn_of_codex_fails_once(stores: Callable[[Logs], list[Store]]) -> None:
    """The telemetry has each call that failed, so the end of the turn, which repeats the last one, is left out."""
    for store in stores(codex()):
        errors, chains, tools, seen = shown(store)
        assert (errors, tools) == ([("otlp", 503)] * 2, [("otlp", "shell")])
        assert (chains, seen) == ([(2,)], (2, 1, 0, 1))
        assert store.sql("select count(*) from events where type = 'error.classified'").rows() == [(3,)]
        assert store.sql("select count(*) from errors_under(null)").rows() == [(2,)]


@pytest.mark.parametrize("other", [{"status": 400}, {"later": 6}])
def test_another_failure_of_the_same_session_counts(stores: Callable[[Logs], list[Store]], other: Any) -> None:
    """One of another status, or of another moment."""
    for store in stores(codex(**other)):
        assert len(shown(store)[0]) == 3


def test_a_failure_of_another_session_counts(stores: Callable[[Logs], list[Store]]) -> None:
    """However near it is."""
    logs = codex()
    logs["rollout"][0]["payload"]["id"] = "c-2"
    for store in stores(logs):
        assert store.sql("select count(*) from errors").rows() == [(3,)]


def test_a_call_of_gemini_fails_once(stores: Callable[[Logs], list[Store]]) -> None:
    """Its chat and its telemetry count the same requests and calls of tools, too."""
    for store in stores(gemini()):
        errors, _, tools, seen = shown(store)
        assert (errors, tools) == ([("otlp", 503)], [("otlp", "edit")])
        assert seen == (1, 1, 1, 1)
        assert store.sql("select tool, calls from tool_calls").rows() == [("edit", 1)]


def test_a_transcript_of_claude_says_more_than_its_telemetry(stores: Callable[[Logs], list[Store]]) -> None:
    """It has every retry: the telemetry's error and its chain are left out."""
    for store in stores(claude()):
        errors, chains, _, seen = shown(store)
        assert ([name for name, _ in errors], len(chains), seen[0]) == (["claude_code"] * 2, 1, 2)


def test_a_call_of_copilot_fails_once(stores: Callable[[Logs], list[Store]]) -> None:
    """Its session's log and its spans tell the same failure; one of another status is another one."""
    for store in stores(copilot()):
        assert store.sql("select source_format, status from errors").rows() == [("otlp", 503)]
        assert store.sql("select errors from sessions").rows() == [(1,)]
    for store in stores(copilot(400)):
        assert store.sql("select status from errors order by all").rows() == [(400,), (503,)]


def test_a_turn_of_copilot_chat_fails_once(stores: Callable[[Logs], list[Store]]) -> None:
    """Its chat and what a platform was sent of the same session tell the same failure."""
    turn = {
        "requestId": "r",
        "timestamp": SECOND * 1000,
        "result": {"errorDetails": {"message": "busy", "code": "failed"}},
    }
    chat = {"version": 3, "sessionId": "v-1", "responderUsername": "x", "requests": [turn]}
    run = {
        "id": "o",
        "traceId": "t",
        "sessionId": "v-1",
        "type": "GENERATION",
        "level": "ERROR",
        "statusMessage": "busy",
    }
    for store in stores({"chat": [chat], "platform": [{**run, "startTime": at(1), "endTime": at(1)}]}):
        assert store.sql("select source_format from errors").rows() == [("langfuse",)]


def test_what_whoever_watches_is_sent_is_known_as_such() -> None:
    """Each format of telemetry may tell what an agent's own log tells, but for what a gateway logs of its own calls."""
    watching = {kind.name for kind in FORMATS if kind.made_by.startswith("telemetry.")} - {"litellm"}
    query = "select name from (select unnest(?) as name) where internal.is_watching(name)"
    with open_store(":memory:") as store:
        named = store.sql(query, [[kind.name for kind in FORMATS]])
    assert {name for (name,) in named.rows()} == watching


@pytest.mark.parametrize(("later", "found"), [(0.2, 1), (9, 2)])
def test_a_hand_off_of_claude_counts_once(stores: Callable[[Logs], list[Store]], later: float, found: int) -> None:
    """The transcript's stays, with its tokens; a compaction at another moment is another one."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "sessionId": "a-1",
        "timestamp": at(5),
        "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 155_000},
    }
    told = otel("claude-code", 5 + later, "claude_code.compaction", session__id="a-1", trigger="auto", success="true")
    for store in stores({"transcript": [boundary], "telemetry": [told]}):
        assert store.sql("select count(*), max(pre_tokens) from relays").rows() == [(found, 155_000)]
    (alone,) = stores({"telemetry": [told]})
    assert alone.sql("select count(*) from relays").rows() == [(1,)]


def test_what_is_told_once_stays(stores: Callable[[Logs], list[Store]]) -> None:
    """Each log by itself gives all of its failures."""
    for name, found in (("rollout", 1), ("telemetry", 2)):
        (store,) = stores({name: codex()[name]})
        assert store.sql("select count(*) from errors").rows() == [(found,)]


@pytest.mark.parametrize("moved", ["slice", "rebuild", "earlier version"])
def test_a_store_that_gets_both_logs_at_once_counts_once(
    moved: str, tmp_path: Path, jsonl: Callable[..., Path]
) -> None:
    """A slice of such a store, one that is rebuilt after its logs are gone, and one that is brought up to date."""
    path, target = tmp_path / "store.duckdb", tmp_path / "store.duckdb"
    paths = [jsonl(f"{name}.jsonl", *records) for name, records in codex().items()]
    with open_store(path, writable=True) as store:
        store.ingest(map(str, paths))
    if moved == "slice":
        target = tmp_path / "slice.duckdb"
        cut_slice(str(path), str(target), None, datetime(2027, 1, 1))
    elif moved == "rebuild":
        for gone in (*paths, *tmp_path.glob("store.journal/*")):
            if gone.is_file():
                gone.unlink()
        rebuild(str(path))
    else:
        with duckdb.connect(str(path)) as connection:
            connection.execute("update internal.store_v1 set value = '22' where key = 'schema_version'")
    with open_store(target) as store:
        assert store.sql("select count(*) from events where type = 'error.classified'").rows() == [(3,)]
        assert store.sql("select count(*) from errors").rows() == [(2,)]


PAIRS = """
select distinct case when own.source_format in ('claude_code', 'claude_print', 'qwen') then seen.event_id
  else own.event_id end
from internal.event_v1 as seen
inner join internal.event_v1 as own
  on own.session_id = seen.session_id
  and own.type = seen.type
  and own.occurred_at between seen.occurred_at - interval 5 second and seen.occurred_at + interval 5 second
left join internal.facts_v1 as here on own.facts_id = here.facts_id
left join internal.facts_v1 as there on seen.facts_id = there.facts_id
where internal.is_watching(seen.source_format)
  and not internal.is_watching(own.source_format)
  and seen.type in ('error.classified', 'tool.failed', 'relay.triggered')
  and coalesce(here.status = there.status, true)
  and coalesce(own.seen[1].tool = seen.seen[1].tool, true)
order by all
"""
"""The same, pair by pair: plain to read, and quadratic."""
SECONDS = st.one_of(st.integers(0, 24).map(float), st.integers(0, 24_000).map(lambda number: number / 1000))
EVENTS = st.tuples(
    st.sampled_from(("s", "t", None)),
    st.sampled_from(("error.classified", "tool.failed", "relay.triggered", "retry.settled")),
    SECONDS,
    st.sampled_from(("429", "500", "none", None)),
    st.sampled_from(("otlp", "mlflow", "codex", "qwen", "claude_code", None)),
    st.sampled_from((None, "shell", "-", "*")),
)
"""Session, type, second, facts, format and tool."""


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty store's, with facts of two statuses and of none."""
    with connect(":memory:", read_only=False) as made:
        made.execute(
            "insert into internal.facts_v1 (facts_id, facts, status)"
            " values ('429', '{}', 429), ('500', '{}', 500), ('none', '{}', null)"
        )
        yield made


def fill(connection: duckdb.DuckDBPyConnection, rows: str, given: list[object]) -> None:
    """Put events into an empty table: rows of what `EVENTS` gives."""
    connection.execute("delete from internal.event_v1")
    connection.execute(
        "insert into internal.event_v1 by name select row_number() over ()::varchar as event_id, session_id, type,"
        " occurred_at, facts_id, source_format, [{'tool': tool}] as seen, '{}' as payload, occurred_at as ingested_at"
        f" from ({rows}) as r(session_id, type, occurred_at, facts_id, source_format, tool)",
        given,
    )


@given(st.lists(EVENTS, min_size=2, max_size=12))
def test_they_are_those_that_any_pair_tells(connection: duckdb.DuckDBPyConnection, events: list[Any]) -> None:
    """Whatever sessions, moments, statuses and tools there are."""
    began = datetime(2026, 3, 5, 10)
    rows = [(one, kind, began + timedelta(seconds=second), *rest) for one, kind, second, *rest in events]
    fill(
        connection, "values " + ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(rows)), [value for row in rows for value in row]
    )
    found = connection.execute("select distinct event_id from internal.told_by_both order by all").fetchall()
    assert found == connection.execute(PAIRS).fetchall()


@pytest.mark.parametrize("tool", ["null", "number"])
def test_a_flood_of_one_session_costs_no_more_an_event(connection: duckdb.DuckDBPyConnection, tool: str) -> None:
    """An agent and its telemetry may each tell thousands of failures within seconds, of as many tools."""

    def count(events: int) -> int:
        fill(
            connection,
            "select 's', 'tool.failed', timestamp '2026-03-05 10:00:00' + to_milliseconds(number * 7919 % 9000),"
            f" null, case number % 2 when 0 then 'otlp' else 'codex' end, ({tool})::varchar"
            " from (select unnest(range(?)) as number)",
            [events],
        )
        ((found,),) = connection.execute("select count(distinct event_id) from internal.told_by_both").fetchall()
        return int(found)

    assert count(1_000) == (500 if tool == "null" else 0)
    assert_linear(count, 4_000, 16_000)
