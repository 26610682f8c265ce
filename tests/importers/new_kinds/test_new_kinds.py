"""What is read of each agent's log, in whatever pieces and however often it is read, and that nothing makes it stop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from analyzer.events import Event
from analyzer.importers import BY_NAME, FORMATS, Source, base, block_of, detect, head_of
from tests import each_row
from tests.importers.new_kinds.cases import AGENTS, CASES, CHAINS, CHATS, PLATFORMS, SPANS, Case
from tests.shown_formats import events_of

ALL = (*CASES, *AGENTS, *CHAINS, *PLATFORMS, *SPANS, *CHATS)
NAMED = [pytest.param(case, id=f"{case.format}-{number}") for number, case in enumerate(ALL)]
STRANGE: tuple[object, ...] = (
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    "\0\ud800",
    [],
    {},
    [[None]],
    {"a": {"a": []}},
    [{"x": 1}],
)


def _lines(case: Case) -> list[bytes]:
    return [item.encode() if isinstance(item, str) else json.dumps(item).encode() for item in case.records]


def read(case: Case, *, split: int = 1_000) -> list[Event]:
    """The events of the log, read in blocks of `split` lines, each by a reader of its own."""
    lines = _lines(case)
    events: list[Event] = []
    state: dict[str, Any] = {}
    kind = detect(head_of(b"\n".join(lines) + b"\n"))
    assert kind.name == case.format
    assert kind.reader is not None
    for start in range(0, len(lines), split):
        reader = kind.reader(Source(case.path, datetime(2026, 11, 1)), state)
        block = block_of(b"".join(line + b"\n" for line in lines[start : start + split]))
        hits = list(reader.read(block))
        assert not [hit for hit in hits if hit.why]
        events += [event for hit in hits for event in hit.events]
        if start + split >= len(lines):
            events += reader.finish()
        state = json.loads(json.dumps(reader.state()))
    return events


def _told_waits(events: list[Event]) -> set[float]:
    """The delays that events of their own tell already."""
    return {event.payload.get("delay_seconds") or 0 for event in events if event.type == "retry.scheduled"}


def told(events: list[Event]) -> Iterator[str]:
    """A line for each event; the counts of all sessions in one."""
    seen: dict[str, int] = {"requests": 0, "calls": 0, "stops": 0}
    counted = False
    for event in events:
        payload: dict[str, Any] = dict(event.payload)
        if event.type == "error.classified":
            number = f" {payload['attempt']}" if "attempt" in payload else ""
            yield f"error {payload['facts'].get('status', 'none')}{number}"
        elif event.type == "retry.scheduled":
            waited = payload.get("delay_seconds")
            yield f"retry {payload['attempt']}" + (f" after {waited}" if waited is not None else "")
        elif event.type == "retry.settled":
            waited = payload["waited_seconds"] if payload["waited_seconds"] not in (0, *_told_waits(events)) else None
            yield f"settled {payload['outcome']} {payload['attempts']}" + (f" waited {waited}" if waited else "")
        elif event.type == "tool.failed":
            yield f"tool {payload.get('tool')} {payload['kind']}"
        elif event.type in ("relay.resumed", "relay.halted"):
            begun = next(found for found in events if found.type == "relay.triggered" and found.id == payload["relay"])
            words = (begun.payload.get("pre_tokens"), payload.get("post_tokens"))
            shown = (
                " failed" if event.type == "relay.halted" else "".join(f" {word}" for word in words if word is not None)
            )
            yield f"compaction{shown}"
        elif event.type == "session.observed":
            counted = True
            seen["requests"] += payload["requests"]
            seen["calls"] += sum((payload.get("tools") or {}).values())
            seen["stops"] += payload.get("aborted") or 0
        elif event.type == "budget.exhausted":
            yield f"budget {payload.get('consumed')} of {payload.get('limit')}"
        elif event.type == "agent.exhausted":
            yield "limit"
    if counted:
        yield ", ".join(f"{count} {name}" for name, count in seen.items()).join(("session ", ""))


@each_row("case", NAMED)
def test_the_events_of_a_log(case: Case) -> None:
    """All that the log shows, and no more."""
    assert sorted(told(read(case))) == sorted(case.told)


@each_row("case", NAMED)
def test_a_log_that_is_read_on_gives_the_same_events(case: Case) -> None:
    """A reader for each line gives the ids that one for the whole log gives."""
    assert {event.id for event in read(case, split=1)} == {event.id for event in read(case)}


@each_row("case", NAMED)
def test_a_log_that_is_read_twice_has_the_same_ids(case: Case) -> None:
    """So that a second import is no second event, and no two events of a log share one."""
    first, again = read(case), read(case)
    ids = [event.id for event in first if event.type != "session.observed"]
    assert [event.id for event in first] == [event.id for event in again]
    assert (
        len(set(ids))
        == len({(event.type, event.id) for event in first if event.type != "session.observed"})
        == len(ids)
    )


@each_row("case", NAMED)
def test_strange_values_stop_nothing(case: Case) -> None:
    """Whatever stands in a key, the rest of the log is read."""
    kind = next(found for found in FORMATS if found.name == case.format)
    assert kind.reader is not None
    for record in (item for item in case.records if isinstance(item, dict)):
        reader = kind.reader(Source(case.path, datetime(2026, 11, 1)), {})
        for broken in _broken(record):
            list(reader.read(block_of(json.dumps(broken).encode() + b"\n")))
        json.dumps(reader.state())
        list(reader.finish())


def _broken(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The record with each of its values, however deep, in the shape of something else."""
    for key, value in record.items():
        yield from ({**record, key: strange} for strange in STRANGE)
        if isinstance(value, dict):
            yield from ({**record, key: inner} for inner in _broken(value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from ({**record, key: [inner]} for inner in _broken(value[0]))


def test_messages_without_numbers_are_as_many() -> None:
    """Named by texts, or by their places where they have no names at all: no two are taken for one."""
    reply = {"role": "assistant", "usage": {"inputTokens": 70}, "state": {"type": "error"}}
    amp = {"id": "T-1", "created": 1, "messages": [{**reply, "messageId": name} for name in ("a", "b", None, [])]}
    step = {"error": "503", "tool_results": [{"success": False, "error": "no"}]}
    trae = {"llm_interactions": [], "agent_steps": [step, step]}
    for name, record, counts in (("amp", amp, (4, 4, 0)), ("trae_agent", trae, (2, 0, 2))):
        reader = BY_NAME[name].reader
        assert reader is not None
        made = reader(Source("s.json", datetime(2026, 11, 1)), {}).read(block_of(json.dumps(record).encode() + b"\n"))
        ids = {(event.type, event.id) for hit in made for event in hit.events}
        kinds = [kind for kind, _ in ids]
        assert tuple(map(kinds.count, ("error.classified", "usage.recorded", "tool.failed"))) == counts


def test_turns_of_a_long_chat_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the first ones are forgotten; turns that are pushed again stand for those that were there."""
    monkeypatch.setattr(base, "MOST_OPEN", 2)
    make = BY_NAME["copilot_chat"].reader
    assert make is not None
    state: dict[str, Any] = {}
    changes = [{"k": ["requests"], "v": [{"requestId": f"r{number}", "timestamp": 1}]} for number in range(5)]
    changes += [{**changes[4], "i": 3}, changes[4]]
    for change in changes:
        reader = make(Source("c.jsonl", datetime(2026, 11, 1)), state)
        list(reader.read(block_of(json.dumps({"kind": 2, **change}).encode() + b"\n")))
        state = json.loads(json.dumps(reader.state()))
    assert [*state["turns"]] == ["3", "4"]


UNTOLD = {
    ("crush", "recovered"): "no line is written of a call that is answered",
    ("litellm", "exhausted"): "no payload says that nobody calls again",
    ("copilot", "recovered"): "only retries in vain are told",
    ("openclaw_db", "exhausted"): "its records are those of `pi`, whose logs have both ends",
}
"""Ends of chains that a log does not tell, and why."""
_READ = [kind.name for kind in FORMATS if kind.reader is not None and not kind.native]


@each_row("name", _READ)
def test_each_log_of_retries_has_one_that_recovers_and_one_that_does_not(name: str) -> None:
    """Where a log tells how chains end, fixtures hold both ends, but for those that it cannot tell."""
    events = [*events_of(name), *(event for case in ALL if case.format == name for event in read(case))]
    ends = {event.payload["outcome"] for event in events if event.type == "retry.settled"}
    if ends:
        assert {"recovered", "exhausted"} - ends == {end for kind, end in UNTOLD if kind == name}
