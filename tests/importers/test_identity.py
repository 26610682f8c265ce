"""A record counts once, whoever wrote it down: a log and any copy, fork or resumption of it count as the log alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from analyzer.importers import FORMATS
from analyzer.store import Store, open_store
from tests import REPOSITORY, sampled
from tests.shown_formats import FILES, LOGS, PATHS

Records = list[dict[str, Any]]
_FIGURES = """
select
  (select count(*) from usage) as replies,
  (select sum(output_tokens) from usage) as tokens,
  (select round(sum(cost_usd), 6) from usage) as dollars,
  (select count(*) from errors) as errors,
  (select count(*) from retries) as chains,
  (select count(*) from relays) as hand_offs,
  (select count(*) from tool_failures) as failed_tools,
  (select count(*) from exhaustions) as limits,
  (select sum(requests) from sessions) as requests,
  (select sum(tool_calls) from sessions) as tool_calls
"""
_READ = [kind.name for kind in FORMATS if kind.reader is not None and not kind.native]


def _written(folder: Path, logs: Mapping[str, Iterable[object]]) -> str:
    for name, records in logs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (item if isinstance(item, str) else json.dumps(item) for item in records)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(folder)


def _figures(store: Store) -> dict[str, Any]:
    (row,) = store.sql(_FIGURES).to_dicts()
    return row


def test_a_copied_file_counts_once_in_every_format(tmp_path: Path) -> None:
    """A backup in another place adds no event and no figure."""
    logs = {}
    for name in (kind.name for kind in FORMATS if kind.reader is not None and not kind.native):
        sample = (REPOSITORY / "sample_events" / FILES[name]).read_text("utf-8").splitlines() if name in FILES else []
        logs[f"{name}/{PATHS.get(name, f'{name}-1/one.jsonl').strip('/')}"] = [*sample, *LOGS.get(name, ())]
    by_format = "select source_format, count(*) from events where source_format is not null group by 1 order by 1"
    with open_store(":memory:", writable=True) as store:
        store.ingest(_written(tmp_path / "home", logs))
        figures, events = _figures(store), store.sql(by_format).rows()
        assert len(events) == len(logs) - 1  # both stores of opencode hold the same records
        store.ingest(_written(tmp_path / "backup", logs))
        assert store.sql(by_format).rows() == events
        assert _figures(store) == figures


_AT = "2026-03-05T10:00:{:02d}.000Z"
_CALL = {"type": "tool_use", "id": "toolu_01Aa", "name": "Bash", "input": {"command": "make"}}
_RESULT = {"type": "tool_result", "tool_use_id": "toolu_01Aa", "is_error": True, "content": "Exit code 2"}


def _reply(name: str, output: int, *content: object) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 100}
    return {"id": name, "role": "assistant", "model": "claude-sonnet-4-5", "content": [*content], "usage": usage}


def _claude(session: str) -> Records:
    """Return a session with two failed attempts, a failed tool, a compaction and two replies."""
    failed = {"subtype": "api_error", "error": {"status": 529}, "maxRetries": 10, "retryInMs": 500}
    records = [
        {"type": "user", "message": {"role": "user", "content": "hi"}},
        {"type": "system", **failed, "retryAttempt": 1},
        {"type": "system", **failed, "retryAttempt": 2},
        {"type": "assistant", "message": _reply("msg_01Aa", 50, _CALL)},
        {"type": "user", "message": {"role": "user", "content": [_RESULT]}},
        {"type": "assistant", "message": _reply("msg_01Ab", 60)},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"preTokens": 9000, "postTokens": 900}},
    ]
    common = {"sessionId": session, "cwd": "/home/me/shop"}
    return [{**common, "uuid": f"u{at}", "timestamp": _AT.format(at), **row} for at, row in enumerate(records)]


def _claude_fork(records: Records, session: str, *, renamed: bool) -> Records:
    """Copy records as Claude Code's /branch does, or as its SDK does, which gives them new names."""
    return [
        {
            **row,
            "sessionId": session,
            "uuid": f"{session}-{row['uuid']}" if renamed else row["uuid"],
            "forkedFrom": {"sessionId": row["sessionId"], "messageUuid": row["uuid"]},
        }
        for row in records
    ]


def _pi(session: str) -> Records:
    def message(at: int, **fields: Any) -> dict[str, Any]:
        return {"type": "message", "id": f"e{at}", "timestamp": _AT.format(at), "message": fields}

    spent = {"usage": {"input": 7, "output": 20}, "provider": "x", "model": "m"}
    return [
        {"type": "session", "version": 3, "id": session, "timestamp": _AT.format(0), "cwd": "/home/me/shop"},
        message(1, role="user", content=[]),
        message(2, role="assistant", stopReason="error", errorMessage="503 busy", provider="x", model="m"),
        message(4, role="assistant", stopReason="stop", **spent),
        message(5, role="toolResult", toolName="bash", isError=True, content=[{"type": "text", "text": "boom"}]),
        {"type": "compaction", "id": "e6", "timestamp": _AT.format(6), "tokensBefore": 800},
        message(8, role="assistant", stopReason="stop", **spent),
    ]


def _pi_fork(records: Records, session: str, *, at: int = 30) -> Records:
    """Copy entries as pi does, under a first line of their own that names the parent's file."""
    parent = f"/home/me/.pi/agent/sessions/x/2026-03-05T10-00-00-000Z_{records[0]['id']}.jsonl"
    return [{**records[0], "id": session, "timestamp": _AT.format(at), "parentSession": parent}, *records[1:]]


def _codex(session: str) -> Records:
    def usage(at: int, spent: int, total: int) -> dict[str, Any]:
        last = {"input_tokens": spent, "output_tokens": 10, "total_tokens": spent + 10}
        info = {"last_token_usage": last, "total_token_usage": {"total_tokens": total}}
        return {"timestamp": _AT.format(at), "type": "event_msg", "payload": {"type": "token_count", "info": info}}

    call = {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": '{"command":["make"]}'}
    output = {"type": "function_call_output", "call_id": "c1", "output": "Exit code: 2\nOutput:\nno rule"}
    failed = {"type": "error", "message": "stream error: 503", "codex_error_info": "other"}
    return [
        {"timestamp": _AT.format(0), "type": "session_meta", "payload": {"id": session, "cwd": "/home/me/shop"}},
        {"timestamp": _AT.format(1), "type": "turn_context", "payload": {"model": "gpt-5"}},
        {"timestamp": _AT.format(2), "type": "response_item", "payload": call},
        {"timestamp": _AT.format(4), "type": "response_item", "payload": output},
        usage(5, 500, 510),
        {"timestamp": _AT.format(7), "type": "event_msg", "payload": failed},
        usage(9, 600, 1_120),
        {"timestamp": _AT.format(11), "type": "compacted", "payload": {"message": ""}},
    ]


def _codex_fork(records: Records, session: str, *, stamped: bool, named: bool = False) -> Records:
    """Copy lines as Codex does for a sub-agent: after a first line of its own, with their times or its own time.

    If `named`, that line names the origin, whose first line is left out.
    """
    origin = {"forked_from_id": records[0]["payload"]["id"]} if named else {}
    own = {**records[0], "timestamp": _AT.format(40), "payload": {**records[0]["payload"], "id": session, **origin}}
    copied = records[1:] if named else records
    return [own, *({**row, "timestamp": _AT.format(40)} if stamped else row for row in copied)]


def _qwen(session: str) -> Records:
    tokens = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    error = {"event.name": "qwen-code.api_error", "error_type": "RateLimit", "status_code": 429, "model": "m"}
    rows = [
        {"type": "user"},
        {"type": "assistant", "usageMetadata": tokens},
        {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": error}},
        {"type": "assistant", "usageMetadata": tokens},
    ]
    common = {"sessionId": session, "version": "0.14.0", "cwd": "/home/me/shop", "model": "m", "gitBranch": "main"}
    return [
        {"uuid": f"q{at}", "parentUuid": None, "timestamp": _AT.format(at), **common, **row}
        for at, row in enumerate(rows)
    ]


def _opencode(session: str, *, began: int = 0, made: str = "a") -> Records:
    ms = 1_772_704_800_000
    tokens = {"input": 10, "output": 30, "cache": {"read": 5, "write": 0}}
    failed = {"name": "APIError", "data": {"message": "busy", "statusCode": 503}}
    tool = {"status": "error", "error": "boom", "time": {"start": ms + 3_000, "end": ms + 4_000}}

    def message(name: str, at: int, **fields: Any) -> dict[str, Any]:
        row = {"id": f"msg_{made}{name}", "sessionID": session, "role": "assistant", "modelID": "m", "providerID": "x"}
        return {**row, "time": {"created": ms + at * 1_000, "completed": ms + at * 1_000 + 500}, **fields}

    part = {"id": f"prt_{made}1", "sessionID": session, "messageID": f"msg_{made}1", "type": "tool", "tool": "bash"}
    return [
        {"id": session, "directory": "/home/me/shop", "version": "1.2", "time": {"created": ms + began * 1_000}},
        message("1", 2, tokens=tokens, cost=0.01),
        {**part, "state": tool},
        message("2", 6, error=failed),
        message("3", 9, tokens=tokens, cost=0.02),
    ]


_DATABASE = {"sqlite": {"tables": ["session", "message", "part"]}}
_QWEN = _qwen("q")
_ORIGINAL = {
    "claude": _claude("s-1"),
    "pi": _pi("p-1"),
    "codex": _codex("th-1"),
    "qwen": _QWEN,
    "opencode": [_DATABASE, *_opencode("ses_1")],
}
_SDK_FORK = _claude_fork(_claude("s-1"), "s-2", renamed=True)
_FORKS: list[tuple[str, str, Records]] = [
    ("claude", "a resumed copy", [{**row, "sessionId": "s-2"} for row in _claude("s-1")]),
    ("claude", "/branch", _claude_fork(_claude("s-1"), "s-2", renamed=False)),
    ("claude", "fork_session of the SDK", _claude_fork(_claude("s-1"), "s-2", renamed=True)),
    ("claude", "a fork of a fork of the SDK", _claude_fork(_SDK_FORK, "s-3", renamed=True)),
    ("pi", "a fork", _pi_fork(_pi("p-1"), "p-2")),
    ("pi", "a fork of a fork", _pi_fork(_pi_fork(_pi("p-1"), "p-2"), "p-3", at=50)),
    ("codex", "a fork", _codex_fork(_codex("th-1"), "th-2", stamped=False)),
    ("codex", "a sub-agent's copy with the time of the spawn", _codex_fork(_codex("th-1"), "th-2", stamped=True)),
    ("codex", "a fork that names its origin", _codex_fork(_codex("th-1"), "th-2", stamped=False, named=True)),
    ("codex", "such a fork with its own time", _codex_fork(_codex("th-1"), "th-2", stamped=True, named=True)),
    ("qwen", "a resumed copy", [{**row, "sessionId": "q-2"} for row in _QWEN]),
    ("qwen", "/branch", _claude_fork(_QWEN, "q-2", renamed=True)),
    ("opencode", "a fork", [_DATABASE, *_opencode("ses_1"), *_opencode("ses_2", began=60, made="b")]),
]


@pytest.mark.parametrize(
    ("name", "fork"), [pytest.param(*row[::2], id=f"{row[0]}: {row[1]}") for row in sampled(_FORKS, step=2)]
)
def test_a_log_with_its_fork_counts_as_the_log_alone(name: str, fork: Records, tmp_path: Path) -> None:
    """Whichever is read first; a fork whose original is gone keeps the tokens of what it copied.

    A resumed session that names no origin repeats the numbers of its calls of tools.
    """
    log = {"log.jsonl": _ORIGINAL[name]}
    with open_store(":memory:", writable=True) as store:
        store.ingest(_written(tmp_path / "log", log))
        alone = _figures(store)
        assert alone["replies"] == 2
        assert (alone["errors"], alone["requests"]) >= (1, 2)
        if name == "claude" and "forkedFrom" not in fork[0]:
            alone["tool_calls"] *= 2
        store.ingest(_written(tmp_path / "fork", {"fork.jsonl": fork}))
        assert _figures(store) == alone
    with open_store(":memory:", writable=True) as store:
        store.ingest(str(tmp_path / "fork"))
        lonely = _figures(store)
        assert [lonely[figure] for figure in ("replies", "tokens")] == [alone["replies"], alone["tokens"]]
        store.ingest(str(tmp_path / "log"))
        assert _figures(store) == alone


def test_a_session_names_what_it_is_a_fork_of(tmp_path: Path) -> None:
    """The lineage is kept, and what the fork did itself counts as its own."""
    own = {"type": "assistant", "uuid": "n1", "sessionId": "s-2", "timestamp": _AT.format(50)}
    fork = [*_claude_fork(_claude("s-1"), "s-2", renamed=True), {**own, "message": _reply("msg_01Ac", 70)}]
    with open_store(":memory:", writable=True) as store:
        store.ingest(_written(tmp_path, {"fork.jsonl": fork, "log.jsonl": _claude("s-1")}))
        rows = store.sql("select session_id, forked_from, requests, errors, tool_calls from sessions order by 1").rows()
    assert rows == [("s-1", None, 2, 2, 1), ("s-2", "s-1", 1, 0, None)]
