"""Where a running agent may be paused: right behind the answers of all the tools that it called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from analyzer.recovery.relay.config import RelaySettings
from analyzer.recovery.relay.monitor import RelayMonitor, RelayStream


class Watched:
    """A stream with a threshold of 70 % of 1,000 tokens, and what it told."""

    def __init__(self) -> None:
        self.pauses = 0
        self.first: list[int] = []
        self.monitor = RelayMonitor(RelaySettings(context_window=1_000))
        self.stream = RelayStream(self.monitor, at_safe_point=self._pause, first_reply=self.first.append)

    def _pause(self) -> None:
        self.pauses += 1

    def see(self, *records: dict[str, Any]) -> int:
        """Follows these records; how often it wanted to pause so far."""
        self.stream.follow("".join(json.dumps(record) + "\n" for record in records).encode())
        return self.pauses


@pytest.fixture
def watched() -> Iterator[Watched]:
    """A fresh stream."""
    made = Watched()
    yield made
    made.stream.close()


def reply(tokens: int, *calls: str, **more: Any) -> dict[str, Any]:
    """A reply that calls tools."""
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in calls]
    return {"type": "assistant", "message": {"content": content, "usage": {"input_tokens": tokens}}, **more}


def answers(*calls: str, **more: Any) -> dict[str, Any]:
    """The answers of tools."""
    content = [{"type": "tool_result", "tool_use_id": call, "content": "fine"} for call in calls]
    return {"type": "user", "message": {"content": content}, **more}


def test_below_the_threshold_nothing_is_paused(watched: Watched) -> None:
    """69.9 % is not 70 %."""
    assert watched.see(reply(699, "a"), answers("a")) == 0


def test_the_pause_waits_for_all_tools(watched: Watched) -> None:
    """Of two tools that were called at once, both have to have answered, in whichever order and records."""
    assert watched.see(reply(700, "a"), reply(700, "b")) == 0
    assert watched.see(answers("b")) == 0
    assert watched.see(answers("a")) == 1


def test_a_piece_of_many_lines_is_read_as_its_lines_are(watched: Watched) -> None:
    """Wherever in a piece the reply stands that makes a relay due, and whatever subagents say behind it."""
    quiet = [reply(100, "q"), answers("q")] * 50
    side = [reply(10, "s", parent_tool_use_id="a")] * 20
    assert watched.see(*quiet) == 0
    assert watched.see(*quiet, reply(700, "a", "b"), answers("a"), *side) == 0
    assert watched.see(*side, answers("b")) == 1
    assert watched.monitor.tokens == 700


def test_pieces_of_one_line_are_read_as_a_long_one_is(watched: Watched) -> None:
    """What was called and answered below the threshold is not waited for later."""
    for record in (reply(100, "a"), answers("a"), reply(300, "b", "c"), answers("b", "c"), reply(700, "d")):
        assert watched.see(record) == 0
    assert watched.see(answers("d")) == 1


def test_it_is_paused_once(watched: Watched) -> None:
    """Until the agent goes on, further records change nothing."""
    assert watched.see(reply(700, "a"), answers("a"), reply(800, "b"), answers("b")) == 1
    watched.stream.go_on()
    assert watched.see(reply(800, "c"), answers("c")) == 2


def test_a_reply_without_a_tool_ends_the_run_by_itself(watched: Watched) -> None:
    """An agent that calls no tool is done; nothing is handed off."""
    assert watched.see(reply(900), {"type": "result", "subtype": "success"}) == 0


def test_subagents_have_a_context_of_their_own(watched: Watched) -> None:
    """What a subagent uses does not count, and its tools are not waited for."""
    side = {"parent_tool_use_id": "a"}
    assert watched.see(reply(100, "a"), reply(990, "s", **side), answers("s", **side)) == 0
    assert watched.monitor.tokens == 100


def test_a_compaction_by_the_agent_itself_is_seen(watched: Watched) -> None:
    """When its context is smaller with the next reply, no relay is due any more."""
    assert watched.see(reply(750, "a"), reply(200, "b"), answers("a", "b")) == 0


def test_the_first_reply_is_told_once(watched: Watched) -> None:
    """It shows what a fresh instance begins with."""
    watched.see(reply(300, "a"), answers("a"), reply(400, "b"))
    assert watched.first == [300]


def test_what_was_said_is_kept_for_the_summarizer(watched: Watched) -> None:
    """All records come back in order, and what is no record does not matter."""
    watched.stream.follow(b"a warning\n")
    watched.see(reply(10, "a"), answers("a"))
    kinds = [record.get("type") for record in watched.stream.records()]
    assert [kind for kind in kinds if kind] == ["assistant", "user"]


@pytest.mark.parametrize(
    "line", [b'{"type":"assistant"', b'{"type":"user","message":7}', b'{"type":"assistant","message":{"content":[1]}}']
)
def test_odd_records_are_let_go(watched: Watched, line: bytes) -> None:
    """A record of another shape stops nothing."""
    watched.stream.follow(line + b"\n")
    assert watched.see(reply(700, "a"), answers("a")) == 1
