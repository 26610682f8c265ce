"""Codex's rollouts and printed runs, record by record, with made-up values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import analyzer
from analyzer.events import Event
from analyzer.events.codec import encode
from tests.importers.conftest import Read, of


def line(kind: str, second: int, **payload: Any) -> dict[str, Any]:
    """A record in the envelope of a rollout."""
    return {"timestamp": f"2026-03-05T10:00:{second:02}.000Z", "type": kind, "payload": payload}


def told(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    """An `event_msg`."""
    return line("event_msg", second, type=kind, **payload)


def meta(**keys: Any) -> dict[str, Any]:
    """The first line of a rollout."""
    keys = {"cwd": "/home/ada/engine", "cli_version": "0.150.0", "model_provider": "openai", **keys}
    return line("session_meta", 0, id="th-1", git={"branch": "main"}, **keys)


def usage(second: int, used: int, total: int, *, kept: bool = False, window: int = 200_000) -> dict[str, Any]:
    """A `token_count`; `kept` for what a compaction leaves."""
    own = {"input_tokens": 0 if kept else used - 10, "output_tokens": 0 if kept else 10, "total_tokens": used}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": own, "model_context_window": window}
    return told(second, "token_count", info=info, rate_limits=None)


def test_a_turn_that_failed_is_one_error_however_often_it_is_told(read: Read) -> None:
    """The error's own record and the end of its turn say the same; a later turn may fail in the same way again."""
    said = {"message": "unexpected status 503 Service Unavailable", "codex_error_info": "other"}
    end = told(2, "task_complete", turn_id="t-1", error=said)
    again = told(9, "task_complete", turn_id="t-2", error=said)
    events, rejects = read(meta(), told(1, "error", **said), end, again)
    assert not rejects
    first, second = of(events, "error.classified")
    assert first.payload["facts"]["status"] == 503
    assert (first.payload["caller"], first.payload["outcome"]) == ("codex@engine", "surfaced")
    assert first.id != second.id


@pytest.mark.parametrize(
    ("info", "status"),
    [({"response_too_many_failed_attempts": {"http_status_code": 429}}, 429), ({"http_connection_failed": {}}, None)],
)
def test_an_error_with_a_status_keeps_it(read: Read, info: object, status: int | None) -> None:
    """The name is the type; the status stands in its object."""
    events, _ = read(meta(), told(1, "error", message="gave up", codex_error_info=info))
    facts = of(events, "error.classified")[0].payload["facts"]
    assert facts.get("status") == status
    assert facts["type"] == next(iter(info))  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["thread_rollback_failed", {"active_turn_not_steerable": {"turn_kind": "review"}}])
def test_what_codex_does_not_count_is_no_error(read: Read, name: object) -> None:
    """Such records leave the turn as it is."""
    assert of(read(meta(), told(1, "error", message="no", codex_error_info=name))[0], "error.classified") == []


def test_a_usage_limit_takes_its_reset_from_the_limits(read: Read) -> None:
    """The clock in the message has no zone; the count of limits before it has seconds since 1970."""
    limits = {
        "primary": {"used_percent": 100.0, "window_minutes": 300, "resets_at": 1772712000},
        "secondary": {"used_percent": 51.0, "window_minutes": 10080, "resets_at": 1772972409},
    }
    said = {
        "message": "You've hit your usage limit. Try again at 10:45 PM.",
        "codex_error_info": "usage_limit_exceeded",
    }
    events, _ = read(meta(), told(1, "token_count", info=None, rate_limits=limits), told(2, "error", **said))
    (exhausted,) = of(events, "agent.exhausted")
    assert exhausted.payload["reset_at"] == "2026-03-05T12:00:00.000Z"
    events, _ = read(meta(), told(2, "error", **said))
    assert "reset_at" not in of(events, "agent.exhausted")[0].payload


@pytest.mark.parametrize("newer", [False, True])
def test_a_compaction_has_the_tokens_before_and_after(read: Read, newer: bool) -> None:
    """Newer builds tell what is left behind the record, older ones in front of it; each compaction is told twice."""
    left = usage(4, 9_000, 500_000, kept=True)
    compacted = line("compacted", 4, message="", replacement_history=[])
    middle = [compacted, left] if newer else [left, compacted]
    events, _ = read(
        meta(), usage(2, 180_000, 500_000), *middle, told(4, "context_compacted"), usage(6, 20_000, 520_000)
    )
    (begun,), (done,) = of(events, "relay.triggered"), of(events, "relay.resumed")
    assert (begun.payload["pre_tokens"], done.payload["post_tokens"]) == (180_000, 9_000)
    assert begun.payload["relay"] == done.payload["relay"] == begun.id


def test_a_compaction_that_only_the_older_record_tells_counts_too(read: Read) -> None:
    """`context_compacted` alone is one; and one behind the next reply is another."""
    events, _ = read(meta(), told(1, "context_compacted"), usage(2, 20_000, 1), told(3, "context_compacted"))
    assert [event.payload.get("pre_tokens") for event in of(events, "relay.triggered")] == [None, 20_000]


def test_impossible_and_repeated_counts_of_tokens_are_left_out(read: Read) -> None:
    """More tokens than the window holds is a known fault of the log; the same count again is no request."""
    counts = [usage(1, 50_000, 50_000), usage(2, 50_000, 50_000), usage(3, 940_499, 990_499)]
    events, _ = read(meta(), *counts, line("compacted", 4, message=""))
    assert of(events, "relay.triggered")[0].payload["pre_tokens"] == 50_000
    assert of(events, "session.observed")[0].payload["requests"] == 1


def test_a_session_is_one_however_often_its_first_line_stands_there(read: Read) -> None:
    """Resumed rollouts repeat it, and forks go on with their parent's; a stop by the user is counted, and no error."""
    parent = {**meta(), "payload": {**meta()["payload"], "id": "th-0"}}
    events, _ = read(meta(), parent, meta(), told(5, "turn_aborted", reason="interrupted"))
    (seen,) = events
    assert (seen.session_id, seen.type) == ("th-1", "session.observed")
    assert (seen.payload["aborted"], seen.payload["agent_version"]) == (1, "0.150.0")
    assert seen.payload["retry_visibility"] == "terminal"


def test_a_subagent_is_a_caller_of_its_own(read: Read) -> None:
    """Its source is an object."""
    events, _ = read(meta(source={"subagent": "review"}), told(1, "error", message="x", codex_error_info="other"))
    assert of(events, "error.classified")[0].payload["caller"] == "codex@engine/subagent"


def test_the_first_generation_has_sessions_and_no_errors(read: Read) -> None:
    """Bare items behind a first line without a type."""
    first = {"id": "th-7", "timestamp": "2025-08-20T08:00:00.000Z", "instructions": "x", "git": {"branch": "b"}}
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": '"type":"error"'}]}
    events, rejects = read(first, {"record_type": "state"}, item, item)
    (seen,) = events
    assert not rejects
    assert (seen.session_id, seen.payload["requests"]) == ("th-7", 2)


def test_reading_line_by_line_gives_the_same(read: Read) -> None:
    """The state that is put away in between loses nothing."""
    records = [
        meta(),
        usage(1, 150_000, 1),
        line("compacted", 2, message=""),
        usage(3, 8_000, 1, kept=True),
        told(4, "error", message="x", codex_error_info="bad_request"),
        told(5, "task_complete", turn_id="t", error={"message": "x", "codex_error_info": "bad_request"}),
    ]
    at_once, in_pieces = read(*records)[0], read(*records, split=1)[0]
    plain = [event for event in at_once if event.type != "session.observed"]
    assert plain == [event for event in in_pieces if event.type != "session.observed"]
    assert at_once[-1] == in_pieces[-1]
    assert len(of(at_once, "usage.recorded")) == 1


def test_a_torn_line_is_told_and_an_intact_one_behind_it_is_read(read: Read) -> None:
    """Whoever dies in the middle of a line leaves it so."""
    whole = '{"timestamp":"2026-03-05T10:00:02.000Z","type":"compacted","payload":{"message":""}}'
    said = '{"timestamp":"2026-03-05T10:00:01Z","type":"event_msg","payload":{"type":"agent_message","message":"x"}}'
    fine = (
        '{"timestamp":"2026-03-05T10:00:01.000Z","type":"response_item","payload":{"type":"function_call_output",'
        '"call_id":"c","output":"Exit code: 0\\nWall time: 0.1 seconds"}}'
    )
    for line in (said, fine):
        for cut in range(1, len(line), 3):
            events, rejects = read(meta(), line[:cut] + whole)
            assert [reject.why for reject in rejects] == ["torn"], line[:cut]
            assert len(of(events, "relay.triggered")) == 1


def test_a_byte_that_is_no_text_costs_no_other_line(read: Read) -> None:
    """Wherever it stands in a line that would be passed over."""
    line = b'{"timestamp":"2026-03-05T10:00:01Z","type":"event_msg","payload":{"type":"agent_message","message":"x"}}'
    for place in range(len(line)):
        events, _ = read(meta(), line[:place] + b"\xff" + line[place + 1 :], told(2, "error", message="x"))
        assert len(of(events, "error.classified")) == 1, place


def test_a_printed_run_tells_its_reconnections(read: Read) -> None:
    """Each is a failed call and a retry; the end of the turn settles them."""
    events, _ = read(
        {"type": "thread.started", "thread_id": "th-9"},
        {"type": "turn.started"},
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "error", "message": "Reconnecting... 2/5"},
        {"type": "turn.completed", "usage": {"input_tokens": 5}},
    )
    assert [event.payload["attempt"] for event in of(events, "retry.scheduled")] == [1, 2]
    (settled,) = of(events, "retry.settled")
    assert (settled.payload["outcome"], settled.payload["attempts"]) == ("recovered", 3)
    assert all(event.time_source == "file" and event.session_id == "th-9" for event in events)


def test_a_printed_run_that_failed_tells_its_failure_once(read: Read) -> None:
    """`error` and `turn.failed` say the same; behind reconnections the chain is exhausted."""
    said = "unexpected status 401 Unauthorized: Missing bearer"
    events, _ = read(
        {"type": "thread.started", "thread_id": "th-9"},
        {"id": "0", "msg": {"type": "stream_error", "message": "stream error: idle; retrying 1/5 in 187ms…"}},
        {"type": "error", "message": said},
        {"type": "turn.failed", "error": {"message": said}},
    )
    assert [event.payload["attempt"] for event in of(events, "error.classified")] == [1, 2]
    assert of(events, "retry.scheduled")[0].payload["delay_seconds"] == 0.187
    assert of(events, "retry.settled")[0].payload["outcome"] == "exhausted"


def test_requests_have_the_names_that_a_fork_repeats_them_by(read: Read) -> None:
    """Tokens are those of the last reply, without what a cache held; the same count again is no request."""
    parent = {**meta(), "payload": {**meta()["payload"], "id": "th-0"}}
    second = {"input_tokens": 900, "cached_input_tokens": 700, "output_tokens": 50, "reasoning_output_tokens": 20}
    info = {"total_token_usage": {"total_tokens": 1_450}, "last_token_usage": {**second, "total_tokens": 950}}
    counts = [usage(1, 500, 500), usage(2, 500, 500), told(3, "token_count", info=info)]
    one, two = of(read(parent, line("turn_context", 0, model="gpt-x"), *counts)[0], "usage.recorded")
    fork = of(read(meta(), parent, line("turn_context", 0, model="gpt-x"), *counts)[0], "usage.recorded")
    assert (one.payload["input_tokens"], one.payload["output_tokens"], one.payload["model"]) == (490, 10, "gpt-x")
    told_of = {"input_tokens": 200, "output_tokens": 50, "cache_read_tokens": 700, "reasoning_tokens": 20}
    assert {key: value for key, value in two.payload.items() if key.endswith("_tokens")} == told_of
    assert [each.payload["request"] for each in fork] == [one.payload["request"], two.payload["request"]]


def test_limits_are_events_where_they_change(read: Read) -> None:
    """A share or a window that is stated again is no news; an end that is stated as a wait moves by seconds."""

    def stated(second: int, used: float, wait: int) -> dict[str, Any]:
        primary = {"used_percent": used, "window_minutes": 300, "resets_in_seconds": wait}
        return told(second, "token_count", info=None, rate_limits={"plan_type": "plus", "primary": primary})

    events, _ = read(meta(), stated(1, 10, 3600), stated(4, 10, 3598), stated(7, 12.5, 3594), stated(9, 12.5, 9000))
    assert [(event.payload["used_share"], event.payload["reset_at"]) for event in of(events, "limit.observed")] == [
        (0.1, "2026-03-05T11:00:01.000Z"),
        (0.125, "2026-03-05T11:00:01.000Z"),
        (0.125, "2026-03-05T12:30:09.000Z"),
    ]
    assert events[0].payload["plan"] == "plus"


@pytest.mark.parametrize(
    "primary",
    [
        {"used_percent": -3, "window_minutes": 300},
        {"used_percent": True, "window_minutes": 300},
        {"used_percent": "12", "window_minutes": 300},
        {"used_percent": 12, "window_minutes": None},
        {"used_percent": 12, "window_minutes": -300},
        "12 %",
    ],
)
def test_a_limit_without_a_share_or_a_window_is_none(read: Read, primary: object) -> None:
    """What cannot be a share of a window is not told, and the lines behind it are read."""
    limits = {"primary": primary, "secondary": {"used_percent": 7, "window_minutes": 10080, "resets_in_seconds": 1e300}}
    events, rejects = read(meta(), told(1, "token_count", info=None, rate_limits=limits))
    assert not rejects
    (week,) = of(events, "limit.observed")
    assert (week.payload["used_share"], week.payload.get("reset_at")) == (0.07, None)


def test_a_session_ends_with_its_last_record_and_is_counted_once_however_often_that_is_told(
    read: Read, tmp_path: Path
) -> None:
    """An answer that nothing is read of ends it later than the last count of tokens; a log that has grown, or that an
    earlier version read to another end, tells the same part of the same session again, and the latest end holds.
    """
    call = line("response_item", 3, type="function_call", name="shell", call_id="c", arguments="{}")
    records = [meta(), usage(2, 50_000, 1), call, line("response_item", 9, type="message", role="assistant")]
    (before,), (seen,) = (of(read(*some)[0], "session.observed") for some in (records[:3], records))
    assert (before.payload["ended_at"], seen.payload["ended_at"]) == (call["timestamp"], records[-1]["timestamp"])
    assert before.id != seen.id
    assert before.payload["part"] == seen.payload["part"]
    rollout, earlier = tmp_path / "rollout.jsonl", tmp_path / "journal.jsonl"
    rollout.write_text("".join(json.dumps(record) + "\n" for record in records))
    earlier.write_bytes(encode(before))
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(earlier), str(rollout)])
        counted = "select requests, tool_calls, ended_at, (select sum(calls) from tool_calls) as calls from sessions"
        assert store.sql("select count(*) as n from events where type = 'session.observed'").rows() == [(2,)]
        ((requests, calls, ended, by_tool),) = store.sql(counted).rows()
    assert (requests, calls, by_tool) == (1, 1, 1)
    assert ended.isoformat() == "2026-03-05T10:00:09"


def _record(second: int, response: str, **tokens: int) -> dict[str, Any]:
    return line("token_usage_record", second, response_id=response, usage={"total_tokens": 1_100, **tokens})


def test_each_way_to_state_the_tokens_of_a_reply_is_read(read: Read) -> None:
    """Sums alone, records of responses, both for one reply, cached writes, and prompts somewhat above the window."""
    last = {"input_tokens": 1_000, "output_tokens": 100, "total_tokens": 1_100, "cache_write_input_tokens": 600}
    sums = [{name: tokens * times for name, tokens in last.items()} for times in (1, 2)]
    only_sums = [told(at, "token_count", info={"total_token_usage": total}) for at, total in enumerate(sums)]
    counted = {"last_token_usage": last, "total_token_usage": last}
    both = [_record(1, "r1", **last), told(2, "token_count", info=counted)]
    large = {"input_tokens": 261_000, "output_tokens": 800, "total_tokens": 261_800}
    window = {"last_token_usage": large, "model_context_window": 258_400}
    tokens = {"input_tokens": 400, "output_tokens": 100, "cache_write_tokens": 600, "cache_read_tokens": 0}
    for records, expected in (
        (only_sums, [tokens, tokens]),
        (both, [tokens]),
        ([_record(1, "r1", **last), _record(2, "r1", **last), _record(3, "r2", **last)], [tokens, tokens]),
        ([told(1, "token_count", info=window)], [{"input_tokens": 261_000, "output_tokens": 800}]),
    ):
        events, _ = read(meta(), *records)
        spent = [event.payload for event in of(events, "usage.recorded")]
        assert [row | wanted for row, wanted in zip(spent, expected, strict=True)] == spent
        assert of(events, "session.observed")[0].payload["requests"] == len(expected)


def _done(second: int, kind: str, call: str, status: str = "failed", **item: Any) -> dict[str, Any]:
    return told(second, "item_completed", item={"type": kind, "id": call, "status": status, **item})


def test_items_tell_which_calls_of_a_script_failed(read: Read) -> None:
    """A command, a change of files, a call of MCP; a call whose output tells the failure too counts once."""
    ran = {"command": ["/bin/zsh", "-lc", "go test ./..."], "exit_code": 1, "aggregated_output": "--- FAIL: TestX"}
    direct = {"type": "function_call_output", "call_id": "c1", "output": "Exit code: 2\nOutput:\nno rule"}
    events, _ = read(
        meta(),
        _done(1, "CommandExecution", "exec-1", **ran),
        _done(2, "CommandExecution", "exec-2", "completed", exit_code=0),
        _done(3, "FileChange", "p1", "declined"),
        _done(4, "McpToolCall", "m1", tool="search", error={"message": "timed out"}),
        _done(5, "CommandExecution", "c1", command=["make"], exit_code=2, aggregated_output="no rule"),
        {"timestamp": line("x", 6)["timestamp"], "type": "response_item", "payload": direct},
    )
    rows = [(row.get("tool"), row["kind"], row.get("command"), row.get("exit_code")) for row in _failures(events)]
    assert rows == [
        ("exec_command", "tests", "go test", 1),
        ("apply_patch", "refused", None, None),
        ("search", "timeout", None, None),
        ("exec_command", "exit_code", "make", 2),
    ]


def test_a_printed_run_has_its_tokens_and_its_failed_calls(read: Read) -> None:
    """The end of a turn sums up the thread, so that its rollout's own counts replace it where they are there."""
    ran = {"command": "bash -lc make", "aggregated_output": "x", "exit_code": 2}
    item = {"id": "i1", "type": "command_execution", **ran}
    usage_of_run = {"input_tokens": 900, "cached_input_tokens": 700, "output_tokens": 50}
    events, _ = read(
        {"type": "thread.started", "thread_id": "th-1"},
        {"type": "item.completed", "item": {**item, "status": "failed"}},
        {"type": "turn.completed", "usage": usage_of_run},
    )
    (failed,) = _failures(events)
    assert (failed["tool"], failed["exit_code"], failed["command"]) == ("exec_command", 2, "make")
    (spent,) = (event.payload for event in of(events, "usage.recorded"))
    assert (spent["input_tokens"], spent["cache_read_tokens"], spent["whole_run"]) == (200, 700, True)


def _failures(events: list[Event]) -> list[Mapping[str, Any]]:
    return [event.payload for event in of(events, "tool.failed")]
