"""The handler of session events: when it recovers, when it stops, what it leaves."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from analyzer.recovery import (
    ContextRecovery,
    ContextRecoveryHook,
    ContextSettings,
    MemorySessions,
    Notice,
    RetryState,
    TruncateState,
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


class TestExecuteRecovery:
    """What a recovery does."""

    def test_should_truncate_large_tool_outputs(self, log: Log) -> None:
        """The conversation in the store is the cut one."""
        agent = Agent(log, big_output())
        result = agent.hook.handle("session.error", "s-1", OVERFLOW)
        assert result is not None
        assert result.stop_propagation
        assert len(agent.messages[2]["content"]) < 41_000
        (change,) = log.payloads("context.recovered")
        assert (change["strategy"], change["attempt"], change["pre_tokens"]) == ("truncate_tool_outputs", 1, 210_000)
        assert change["truncated_messages"] == 1

    def test_should_apply_dcp_when_truncation_insufficient(self, log: Log) -> None:
        """There is nothing to cut: turns go, down to the target ratio."""
        agent = Agent(log, talk(105))
        agent.hook.handle("message.error", "s-1", OVERFLOW)
        (change,) = log.payloads("context.recovered")
        assert change["strategy"] == "prune"
        assert 150_000 < change["post_tokens"] <= 160_000
        assert agent.messages[0]["role"] == "system"

    def test_should_respect_max_retry_attempts(self, log: Log) -> None:
        """Three recoveries of a session; the fourth error goes on to others, and the person is told."""
        agent = Agent(log, talk(105))
        results = [agent.hook.handle("session.error", "s-1", OVERFLOW) for _ in range(5)]
        assert [result is not None for result in results] == [True, True, True, False, False]
        assert len(agent.resumed) == 3
        assert [each["attempt"] for each in log.payloads("context.recovered")] == [1, 2, 3]
        assert agent.notices[-1].level == "error"
        assert "3 times" in agent.notices[-1].message
        assert not agent.hook.pending("s-1")

    def test_should_resume_session_after_successful_recovery(self, log: Log) -> None:
        """Once, with the session's id, and only where it fits."""
        agent = Agent(log, big_output())
        agent.hook.handle("session.error", "s-1", OVERFLOW)
        assert agent.resumed == ["s-1"]
        hopeless = Agent(log, [{"role": "user", "content": "q" * 1_000_000}])
        assert hopeless.hook.handle("session.error", "s-1", OVERFLOW) is None
        assert hopeless.resumed == []


class TestContextWindowRecoveryHook:
    """Which event leads to what."""

    def test_should_detect_token_limit_errors_on_session_error(self, log: Log) -> None:
        """That error is dealt with; another one goes on, and changes nothing."""
        agent = Agent(log, big_output())
        assert agent.hook.handle("session.error", "s-1", "Rate limit reached") is None
        assert agent.notices == []
        result = agent.hook.handle("session.error", "s-1", {"error": {"message": OVERFLOW}})
        assert result is not None
        assert result.stop_propagation
        assert (agent.notices[0].title, agent.notices[0].level) == ("Context limit hit", "warning")
        assert agent.notices[-1].level == "success"

    def test_should_trigger_recovery_on_session_idle(self, log: Log) -> None:
        """A recovery that could not be made is made when the session is idle; otherwise idle means nothing."""
        agent = Agent(log, [{"role": "user", "content": "q" * 1_000_000}])
        assert agent.hook.handle("session.idle", "s-1") is None
        assert agent.hook.handle("session.error", "s-1", OVERFLOW) is None
        assert agent.hook.pending("s-1")
        assert log.types() == ["context.unrecovered"]
        agent.sessions["s-1"] = big_output()
        result = agent.hook.handle("session.idle", "s-1")
        assert result is not None
        assert log.types() == ["context.unrecovered", "context.recovered"]
        assert agent.resumed == ["s-1"]
        assert not agent.hook.pending("s-1")
        assert agent.hook.handle("session.idle", "s-1") is None

    def test_should_cleanup_state_on_session_deleted(self, log: Log) -> None:
        """Attempts and what was pending are forgotten; a session of the same name begins anew."""
        agent = Agent(log, [{"role": "user", "content": "q" * 1_000_000}], max_attempts=1)
        agent.hook.handle("session.error", "s-1", OVERFLOW)
        assert agent.hook.pending("s-1")
        assert agent.hook.handle("session.deleted", "s-1") is None
        assert not agent.hook.pending("s-1")
        agent.sessions["s-1"] = big_output()
        assert agent.hook.handle("session.error", "s-1", OVERFLOW) is not None
        assert log.payloads("context.recovered")[0]["attempt"] == 1


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


def test_an_overflow_during_resume_is_another_attempt(log: Log) -> None:
    """The agent goes on and overflows again: the recursion ends with the attempts."""
    agent = Agent(log, talk(105))

    def resume(session: str) -> None:
        agent.resumed.append(session)
        agent.hook.handle("session.error", session, OVERFLOW)

    agent.hook = ContextRecoveryHook(agent.sessions, resume=resume, log=log)
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    assert len(agent.resumed) == 3
    assert log.types() == ["context.recovered"] * 3 + ["context.unrecovered"]


def test_switched_off_it_does_nothing(log: Log) -> None:
    """No event is handled."""
    agent = Agent(log, big_output(), enabled=False)
    assert agent.hook.handle("session.error", "s-1", OVERFLOW) is None
    assert (agent.notices, agent.messages, log.types()) == ([], big_output(), [])


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


def test_a_finished_turn_shows_that_a_recovery_lasted(log: Log) -> None:
    """One answer, and a new question behind it."""
    agent = Agent(log, talk(105))
    for _ in range(5):
        assert agent.hook.handle("session.error", "s-1", OVERFLOW) is not None
        agent.messages.extend(
            [{"role": "assistant", "content": "done"}, {"role": "user", "content": "and this? " + "q" * 200_000}]
        )
    assert {each["attempt"] for each in log.payloads("context.recovered")} == {1}


def test_an_overflow_at_once_keeps_counting(log: Log) -> None:
    """One call whose output overflows again, or an error written down as an answer: three attempts in all."""
    agent = Agent(log, talk(105))
    results = []
    for _ in range(5):
        results.append(agent.hook.handle("session.error", "s-1", OVERFLOW) is not None)
        answered(agent, 1)
    assert results == [True, True, True, False, False]
    agent = Agent(log, talk(105))
    results = []
    for _ in range(5):
        results.append(agent.hook.handle("session.error", "s-1", OVERFLOW) is not None)
        agent.messages.append({"role": "assistant", "content": f"API Error: {OVERFLOW}"})
        agent.messages.append({"role": "user", "content": "go on"})
    assert results == [True, True, True, False, False]


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


def test_the_state_of_a_session_can_be_read(log: Log) -> None:
    """Attempts, what was cut and how far, what was pruned, and the error that waits; a deleted session has none."""
    clock = FakeClock()
    messages = [*talk(150), {"role": "tool", "id": "m-9", "content": "r" * 100_000}, {"role": "user", "content": "so?"}]
    agent = Agent(log, messages)
    hook = ContextRecoveryHook(agent.sessions, clock=clock)
    assert hook.state("s-1") is None
    hook.handle("session.error", "s-1", "prompt is too long: 325000 tokens > 200000 maximum")
    state = hook.state("s-1")
    assert state is not None
    assert (state.pending, state.in_progress, state.error) == (False, False, None)
    assert state.retry == RetryState(1, 3, clock.now(), "truncate_tool_outputs+prune")
    assert state.truncate == TruncateState(("m-9",), {"m-9": 100_000}, {"m-9": 40_069})
    assert (state.prune.enabled, state.prune.target_ratio) == (True, 0.8)
    assert 100_000 < state.prune.pruned_tokens < 165_000
    agent.sessions["s-2"] = [{"role": "user", "content": "q" * 1_000_000}]
    error = ValueError(OVERFLOW)
    hook.handle("session.error", "s-2", error)
    waiting = hook.state("s-2")
    assert waiting is not None
    assert waiting.pending
    assert waiting.error is not None
    assert waiting.error.raw_error is error
    assert (waiting.retry.attempts, waiting.truncate, waiting.prune.pruned_tokens) == (1, TruncateState(), 0)
    hook.handle("session.deleted", "s-1")
    assert hook.state("s-1") is None


def test_a_store_that_fails_leaves_the_recovery_pending(log: Log) -> None:
    """The error is the store's; the next idle tries again."""

    class Broken(MemorySessions):
        def messages(self, session_id: str) -> Any:
            raise OSError("disk")

    hook = ContextRecoveryHook(Broken())
    with pytest.raises(OSError, match="disk"):
        hook.handle("session.error", "s-1", OVERFLOW)
    assert hook.pending("s-1")
    with pytest.raises(OSError, match="disk"):
        hook.handle("session.idle", "s-1")


def test_the_list_of_the_agent_stays_the_same_object(log: Log) -> None:
    """An agent that holds on to its list sees the smaller conversation, and may go on appending."""
    messages = big_output()
    agent = Agent(log, messages)
    agent.hook.handle("session.error", "s-1", OVERFLOW)
    assert agent.messages is messages
    assert len(messages[2]["content"]) < 41_000


def test_coroutines_have_a_handler_of_their_own(log: Log) -> None:
    """Summarizer and resume may be coroutine functions; the outcome is the same."""
    resumed: list[str] = []

    async def resume(session: str) -> None:
        await asyncio.sleep(0)
        resumed.append(session)

    async def summarize(_: list[Any]) -> str:
        await asyncio.sleep(0)
        return "short"

    sessions = MemorySessions({"s-1": talk(105)})
    recovery = ContextRecovery(ContextSettings(strategies=("summarize",)), summarizer=summarize)
    hook = ContextRecoveryHook(sessions, recovery, resume=resume, log=log)

    async def main() -> None:
        assert await hook.handle_async("session.idle", "s-1") is None
        result = await hook.handle_async("session.error", "s-1", OVERFLOW)
        assert result is not None
        assert result.stop_propagation

    asyncio.run(main())
    assert resumed == ["s-1"]
    assert log.payloads("context.recovered")[0]["strategy"] == "summarize"


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
