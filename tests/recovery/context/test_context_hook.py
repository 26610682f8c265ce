"""The handler of session events: when it recovers, when it stops, what it leaves."""

from __future__ import annotations

import threading
from typing import Any

from analyzer.recovery import (
    ContextRecovery,
    ContextRecoveryHook,
    ContextSettings,
    MemorySessions,
    Notice,
)
from analyzer.recovery.context.recovery import STRATEGIES
from analyzer.store import Store
from tests.recovery.context.test_context import talk
from tests.recovery.simulated import OVERFLOW, FakeClock, Log


class Agent:
    """A session, its hook, and what both did."""

    def __init__(self, log: Log, messages: list[Any], **settings: Any) -> None:
        self.resumed: list[str] = []
        self.notices: list[Notice] = []
        self.sessions = MemorySessions({"s-1": messages})
        summarizer = settings.pop("summarizer", None)
        self.hook = ContextRecoveryHook(
            self.sessions,
            ContextRecovery(ContextSettings(**settings), summarizer=summarizer),
            resume=self.resumed.append,
            notify=self.notices.append,
            log=log,
        )

    @property
    def messages(self) -> list[Any]:
        """The conversation as it is now."""
        return self.sessions["s-1"]


def big_output() -> list[dict[str, Any]]:
    """A conversation with one tool output of a million characters."""
    return [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "r" * 1_000_000},
    ]


def test_one_recovery_of_a_session_at_a_time(log: Log) -> None:
    """An error during a recovery waits for idle; another session is not held up."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(_: list[Any]) -> str:
        inside.set()
        assert go_on.wait(30)
        return "short"

    agent = Agent(log, talk(105), strategies=("summarize",), summarizer=slow)
    agent.sessions["s-2"] = big_output()
    first = threading.Thread(target=agent.hook.handle, args=("session.error", "s-1", OVERFLOW))
    first.start()
    assert inside.wait(30)
    assert agent.hook.handle("message.error", "s-1", OVERFLOW) is None
    assert agent.hook.pending("s-1")
    assert agent.hook.handle("session.deleted", "s-2") is None
    go_on.set()
    first.join()
    assert agent.resumed == ["s-1"]
    assert len(log.payloads("context.recovered")) == 1


def test_a_session_that_is_deleted_during_its_recovery_stays_deleted(log: Log) -> None:
    """Its conversation is not written back, nothing is resumed, no state is left."""
    agent = Agent(log, talk(105), strategies=("summarize",))

    def deleting(_: list[Any]) -> str:
        del agent.sessions["s-1"]
        agent.hook.handle("session.deleted", "s-1")
        return "short"

    agent.hook = ContextRecoveryHook(
        agent.sessions,
        ContextRecovery(ContextSettings(strategies=("summarize",)), summarizer=deleting),
        resume=agent.resumed.append,
    )
    assert agent.hook.handle("session.error", "s-1", OVERFLOW) is None
    assert (dict(agent.sessions), agent.resumed, agent.hook.pending("s-1")) == ({}, [], False)


def test_a_skipped_strategy_is_a_notice(log: Log) -> None:
    """The person hears that there is no summarizer."""
    agent = Agent(log, talk(105), strategies=("summarize", "remove_old_messages"))
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    assert "Passed over: summarize: there is no summarizer." in agent.notices[-1].message


def test_a_recovery_makes_one_warning(log: Log) -> None:
    """That the limit was hit; what was passed over stands in the notice of how it ended, of a failure too."""
    agent = Agent(log, [{"role": "user", "content": "q" * 1_000_000}])
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    assert [notice.level for notice in agent.notices] == ["warning", "error"]
    assert all(name in agent.notices[-1].message for name in STRATEGIES)
    agent = Agent(log, talk(105))
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    assert [notice.level for notice in agent.notices] == ["warning", "success"]


def answered(agent: Agent, steps: int, chars: int = 400_000) -> None:
    """The model goes on: so many calls of a tool, whose last output overflows."""
    for number in range(steps):
        call = f"c{len(agent.messages)}"
        agent.messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": call}]})
        size = chars if number + 1 == steps else 40
        agent.messages.append({"role": "tool", "tool_call_id": call, "content": f"{call} " + "r" * size})


def test_attempts_start_anew_after_a_recovery_that_lasted(log: Log) -> None:
    """Behind each overflow the model answers a few times: a session of any length is recovered each time."""
    agent = Agent(log, talk(105))
    for _ in range(7):
        assert agent.hook.handle("session.error", "s-1", OVERFLOW) is not None
        answered(agent, 3)
    assert [each["attempt"] for each in log.payloads("context.recovered")] == [1] * 7


def test_a_recovery_that_held_for_ten_minutes_lasted(log: Log) -> None:
    """Where the conversation does not show it, time does; nine minutes are not enough."""
    for seconds, expected in ((540, [True, True, True, False]), (600, [True, True, True, True])):
        clock = FakeClock()
        agent = Agent(log, talk(105))
        hook = ContextRecoveryHook(agent.sessions, clock=clock)
        results = []
        for _ in range(4):
            results.append(hook.handle("session.error", "s-1", OVERFLOW) is not None)
            clock.advance(seconds)
        assert results == expected


def test_the_list_of_the_agent_stays_the_same_object(log: Log) -> None:
    """An agent that holds on to its list sees the smaller conversation, and may go on appending."""
    messages = big_output()
    agent = Agent(log, messages)
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    assert agent.messages is messages
    assert len(messages[2]["content"]) < 41_000


def test_the_analyzer_sees_recoveries_and_failures(log: Log, memory: Store) -> None:
    """One row an attempt in the view, with tokens before and after."""
    agent = Agent(log, talk(105))
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    agent.sessions["s-2"] = [{"role": "user", "content": "q" * 1_000_000}]
    agent.hook.handle("session.error", "s-2", OVERFLOW)
    memory.ingest([log.folder])
    rows = memory.sql(
        "select session_id, caller, strategy, attempt, recovered, pre_tokens, post_tokens < 160001, "
        "removed_messages > 9 from context_recoveries order by session_id"
    ).rows()
    assert rows == [
        ("s-1", "context-recovery", "prune", 1, True, 210_000, True, True),
        ("s-2", "context-recovery", None, 1, False, 210_000, None, None),
    ]
