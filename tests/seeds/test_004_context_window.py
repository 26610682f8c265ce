"""The document "Context Window Limit Recovery Hook": types, parser, executor, hook, test plan and success criteria."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from analyzer.recovery import (
    ContextRecovery,
    ContextRecoveryHook,
    ContextSettings,
    MemorySessions,
    Notice,
    PruneState,
    RetryState,
    TokenLimit,
    TruncateState,
    is_token_limit_error,
    parse_token_limit_error,
)
from analyzer.recovery.context.conversation import estimated_tokens, tokens_of
from analyzer.recovery.context.recovery import STRATEGIES
from tests.recovery.simulated import FakeClock, Log

ANTHROPIC = "prompt is too long: 210000 tokens > 200000 maximum"
OPENAI = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
Messages = list[dict[str, Any]]


def chat(turns: int, chars: int = 4_000) -> Messages:
    """A conversation without instructions: a task, and turns of two messages."""
    messages: Messages = [{"id": "m0", "role": "user", "content": "Translate the manual. ".ljust(chars, "x")}]
    for number in range(1, 2 * turns, 2):
        messages.append({"id": f"m{number}", "role": "assistant", "content": "y" * chars})
        messages.append({"id": f"m{number + 1}", "role": "user", "content": "z" * chars})
    return messages


def outputs(chars: int = 100_000, count: int = 8) -> Messages:
    """A task and outputs of a tool, as plain messages of the assistant keep them."""
    messages: Messages = [{"id": "m0", "role": "user", "content": "read them"}]
    for number in range(1, count + 1):
        said = {"role": "assistant", "content": "r" * chars, "metadata": {"toolName": "read"}}
        messages.append({"id": f"m{number}", **said})
    return messages


class Agent:
    """A session with the hook, and all that it did."""

    def __init__(self, messages: Messages, **settings: Any) -> None:
        self.clock = FakeClock()
        self.notices: list[Notice] = []
        self.resumed: list[str] = []
        self.sessions = MemorySessions({"s-1": messages})
        self.hook = ContextRecoveryHook(
            self.sessions,
            ContextRecovery(ContextSettings(**settings)),
            resume=self.resumed.append,
            notify=self.notices.append,
            clock=self.clock,
        )

    def overflow(self, event: str = "session.error", error: object = ANTHROPIC) -> bool:
        """Whether the error was dealt with."""
        result = self.hook.handle(event, "s-1", error)
        return result is not None and result.stop_propagation


class TestTypes:
    """What the types hold."""

    def test_004_77_parsed_token_limit_error(self) -> None:
        """It has current and maximal tokens, provider, model and the raw error, each of them optional but the last."""
        error = {"message": ANTHROPIC, "providerID": "atlas", "modelID": "atlas-9"}
        limit = parse_token_limit_error(error)
        assert limit == TokenLimit(210_000, 200_000, "atlas", "atlas-9")
        assert limit is not None
        assert limit.raw_error is error
        assert parse_token_limit_error("context_length_exceeded") == TokenLimit()

    def test_004_86_retry_state(self) -> None:
        """It has attempts, the most of them, the time of the last one and its strategy, by session."""
        agent = Agent(outputs())
        assert agent.overflow()
        state = agent.hook.state("s-1")
        assert state is not None
        assert state.retry == RetryState(1, 3, datetime(2026, 11, 2, 8, tzinfo=UTC), "truncate_tool_outputs")

    def test_004_93_truncate_state(self) -> None:
        """It has the truncated messages with their sizes before and after, by session."""
        agent = Agent(outputs(count=2))
        assert agent.overflow(error="prompt is too long: 50000 tokens > 40000 maximum")
        state = agent.hook.state("s-1")
        assert state is not None
        after = len(agent.sessions["s-1"][1]["content"])
        assert state.truncate == TruncateState(("m1", "m2"), {"m1": 100_000, "m2": 100_000}, {"m1": after, "m2": after})
        assert 40_000 < after < 40_100

    def test_004_99_dcp_state(self) -> None:
        """It says whether pruning is on, its target ratio, and how many tokens were pruned, by session."""
        agent = Agent(chat(110), target_ratio=0.5)
        before = sum(map(tokens_of, agent.sessions["s-1"]))
        assert agent.overflow()
        state = agent.hook.state("s-1")
        assert state is not None
        gone = before - sum(map(tokens_of, agent.sessions["s-1"]))
        assert state.prune.pruned_tokens == pytest.approx(gone * 210_000 / before, rel=0.01)
        assert state.prune == PruneState(True, 0.5, state.prune.pruned_tokens)
        without = Agent(outputs(), strategies=("truncate_tool_outputs",))
        without.overflow()
        other = without.hook.state("s-1")
        assert other is not None
        assert other.prune == PruneState(False, 0.8, 0)

    def test_004_105_auto_compact_state(self) -> None:
        """What is pending, in progress, and which error asked for it, can be read of each session."""
        agent = Agent([{"role": "user", "content": "q" * 1_000_000}])
        assert agent.hook.state("s-1") is None
        error = ValueError(ANTHROPIC)
        assert not agent.overflow(error=error)
        state = agent.hook.state("s-1")
        assert state is not None
        assert (state.pending, state.in_progress) == (True, False)
        assert state.error is not None
        assert state.error.raw_error is error

    def test_004_130_default_config(self) -> None:
        """Enabled, three attempts, 50,000 characters, a target ratio of 0.8, and the strategies in this order."""
        settings = ContextSettings()
        assert (settings.enabled, settings.max_attempts) == (True, 3)
        assert (settings.truncate_over_chars, settings.target_ratio) == (50_000, 0.8)
        named = [name for name in settings.strategies if name in ("truncate_tool_outputs", "prune", "summarize")]
        assert named == ["truncate_tool_outputs", "prune", "summarize"]
        assert settings.strategies == STRATEGIES


class TestParser:
    """`parseTokenLimitError` and `isTokenLimitError`."""

    @pytest.mark.parametrize("error", [ANTHROPIC, {"error": {"message": ANTHROPIC}}, ValueError(ANTHROPIC)])
    def test_004_147_should_parse_anthropic_token_limit_errors(self, error: object) -> None:
        """Anthropic's token limit errors are parsed, with both numbers."""
        assert parse_token_limit_error(error) == TokenLimit(210_000, 200_000)

    def test_004_153_should_parse_openai_token_limit_errors(self) -> None:
        """OpenAI's token limit errors are parsed, whose limit stands first."""
        assert parse_token_limit_error(OPENAI) == TokenLimit(9_000, 8_192)

    @pytest.mark.parametrize("error", [None, "", {}, "Rate limit reached", {"status": 401}, ValueError("no")])
    def test_004_194_should_return_null_for_non_token_limit_errors(self, error: object) -> None:
        """Any other error gives nothing."""
        assert parse_token_limit_error(error) is None
        assert not is_token_limit_error(error)

    @pytest.mark.parametrize(
        "text",
        [
            "maximum context length exceeded: 9000 tokens of 8192",
            "maximum context length is 8192 tokens, 9000 were requested",
            "prompt is too long: 9000 tokens > 8192 maximum",
        ],
    )
    def test_004_177_should_extract_token_counts_when_available(self, text: str) -> None:
        """The counts stand in their places in whichever order the text names them."""
        assert parse_token_limit_error(text) == TokenLimit(9_000, 8_192)

    @pytest.mark.parametrize(
        "text",
        [
            "context_length_exceeded",
            "Request too large",
            "Please reduce the length of the messages",
            "token limit exceeded",
            "the context is far too long",
        ],
    )
    def test_004_154_every_pattern_of_the_document_is_a_token_limit_error(self, text: str) -> None:
        """Patterns without numbers are token limit errors too."""
        assert is_token_limit_error(text)

    @pytest.mark.parametrize("code", ["context_length_exceeded", "token_limit_exceeded"])
    @pytest.mark.parametrize("keys", [(), ("error",), ("data",)])
    def test_004_188_known_codes_are_token_limit_errors(self, code: str, keys: tuple[str, ...]) -> None:
        """A code alone is enough, at the top, below `error` and below `data`."""
        error: dict[str, Any] = {"code": code}
        for key in keys:
            error = {key: error}
        assert is_token_limit_error(error)

    @pytest.mark.parametrize("keys", [(), ("error",), ("data",), ("error", "data"), ("anything",)])
    def test_004_213_the_message_is_found_wherever_it_is_nested(self, keys: tuple[str, ...]) -> None:
        """At the top, below `error`, below `data`, below both, and anywhere in the object."""
        error: dict[str, Any] = {"message": ANTHROPIC}
        for key in keys:
            error = {key: error}
        assert parse_token_limit_error(error) == TokenLimit(210_000, 200_000)


class TestExecutor:
    """`executeRecovery`."""

    def test_004_371_should_truncate_large_tool_outputs(self) -> None:
        """Outputs over the threshold keep four fifths of it, and say how many characters went."""
        agent = Agent(outputs())
        assert agent.overflow()
        text = agent.sessions["s-1"][1]["content"]
        assert text.startswith("r" * 40_000 + "\n\n[... truncated 60000 of 100000 characters")
        assert agent.sessions["s-1"][0]["content"] == "read them"

    def test_004_716_should_apply_dcp_when_truncation_insufficient(self) -> None:
        """What cutting does not bring below the target, pruning does."""
        agent = Agent([*chat(110), *outputs(60_000, 1)[1:], {"role": "user", "content": "so?"}])
        assert agent.overflow(error="prompt is too long: 240000 tokens > 200000 maximum")
        state = agent.hook.state("s-1")
        assert state is not None
        assert state.retry.strategy == "truncate_tool_outputs+prune"

    def test_004_451_dcp_keeps_the_first_message_and_the_last_ones(self) -> None:
        """With default settings a long chat without instructions keeps its task and its last three messages."""
        agent = Agent(chat(110))
        task, last = agent.sessions["s-1"][0], agent.sessions["s-1"][-3:]
        assert agent.overflow()
        assert agent.sessions["s-1"][0] == task
        assert agent.sessions["s-1"][-3:] == last
        assert len(agent.sessions["s-1"]) < 200

    def test_004_440_dcp_reduces_to_the_target_ratio_and_no_more(self) -> None:
        """The oldest messages go until the target ratio of the maximum is reached."""
        fitted = ContextRecovery().fit(chat(110), TokenLimit(210_000, 200_000))
        assert fitted.change is not None
        assert 157_000 < fitted.change.post_tokens <= 160_000

    def test_004_477_summarize_old_messages(self) -> None:
        """A summary takes the place of old messages, behind the task."""
        settings = ContextSettings(strategies=("summarize",))
        recovery = ContextRecovery(settings, summarizer=lambda old: f"{len(old)} messages about the manual")
        fitted = recovery.fit(chat(110), TokenLimit(210_000, 200_000))
        assert fitted.change is not None
        assert fitted.messages[0]["id"] == "m0"
        assert f"{fitted.change.removed_messages} messages about the manual" in fitted.messages[2]["content"]

    def test_004_492_remove_old_messages(self) -> None:
        """The first message and the last ten stay."""
        messages = chat(60)
        fitted = ContextRecovery(ContextSettings(strategies=("remove_old_messages",))).fit(messages)
        assert fitted.messages[0] == messages[0]
        assert fitted.messages[-10:] == messages[-10:]
        assert len(fitted.messages) <= 13

    def test_004_328_strategies_are_tried_in_the_configured_order(self) -> None:
        """The first one that makes the conversation fit is the last one that is used."""
        messages = [*chat(110), *outputs(400_000, 1)[1:], {"role": "user", "content": "so?"}]
        for strategies in (("truncate_tool_outputs", "prune"), ("prune", "truncate_tool_outputs")):
            fitted = ContextRecovery(ContextSettings(strategies=strategies)).fit(messages, TokenLimit(None, 300_000))
            assert fitted.change is not None
            assert fitted.change.strategy == strategies[0]

    def test_004_320_should_respect_max_retry_attempts(self) -> None:
        """A session that overflows again at once has three attempts."""
        agent = Agent(chat(110))
        assert [agent.overflow() for _ in range(5)] == [True, True, True, False, False]

    def test_004_353_should_resume_session_after_successful_recovery(self) -> None:
        """The session is resumed, and nothing is pending any more."""
        agent = Agent(chat(110))
        assert agent.overflow()
        assert agent.resumed == ["s-1"]
        assert not agent.hook.pending("s-1")

    def test_004_363_all_strategies_failed(self) -> None:
        """Where nothing helps, nothing is resumed and the conversation stays as it was."""
        messages = [{"role": "user", "content": "q" * 1_000_000}]
        agent = Agent(list(messages))
        assert not agent.overflow()
        assert (agent.sessions["s-1"], agent.resumed) == (messages, [])

    def test_004_433_tokens_are_counted_by_metadata_or_estimated(self) -> None:
        """The metadata's total counts; without it about four characters are a token."""
        assert tokens_of({"role": "user", "content": "x" * 400, "metadata": {"tokens": {"total": 7}}}) == 7
        assert estimated_tokens({"role": "user", "content": "x" * 401}) == 101


class TestHook:
    """`createContextWindowRecoveryHook`."""

    def test_004_573_the_hook_says_what_it_is(self) -> None:
        """It has the document's name, a high priority and the four events."""
        hook = ContextRecoveryHook(MemorySessions())
        assert (hook.name, hook.priority) == ("context-window-limit-recovery", 100)
        assert hook.events == ("session.error", "message.error", "session.idle", "session.deleted")

    @pytest.mark.parametrize("event", ["session.error", "message.error"])
    def test_004_594_should_detect_token_limit_errors_on_session_error(self, event: str) -> None:
        """A token limit error is dealt with and goes no further; another error goes on."""
        agent = Agent(chat(110))
        assert not agent.overflow(event, "Rate limit reached")
        assert agent.overflow(event)

    def test_004_638_should_trigger_recovery_on_session_idle(self) -> None:
        """What is pending is recovered when the session is idle; without anything pending, idle means nothing."""
        agent = Agent([{"role": "user", "content": "q" * 1_000_000}])
        assert agent.hook.handle("session.idle", "s-1") is None
        assert not agent.overflow()
        agent.sessions["s-1"] = outputs()
        assert agent.hook.handle("session.idle", "s-1") is not None
        assert agent.resumed == ["s-1"]

    def test_004_582_should_cleanup_state_on_session_deleted(self) -> None:
        """A deleted session has no state, and one of the same name begins anew."""
        agent = Agent(chat(110))
        assert [agent.overflow() for _ in range(4)] == [True, True, True, False]
        agent.hook.handle("session.deleted", "s-1")
        assert agent.hook.state("s-1") is None
        assert agent.overflow()

    def test_004_611_toasts_are_shown(self) -> None:
        """One warning that the limit was hit, and how it ended."""
        agent = Agent(chat(110))
        agent.overflow()
        assert [(notice.title, notice.level) for notice in agent.notices] == [
            ("Context limit hit", "warning"),
            ("Context recovered", "success"),
        ]

    def test_004_122_it_can_be_switched_off(self) -> None:
        """Without `enabled` nothing is handled."""
        assert not Agent(chat(110), enabled=False).overflow()

    def test_004_698_storage_and_resumption_are_the_agents_own(self) -> None:
        """Messages are read and exchanged through an interface, and resuming may be a coroutine function."""

        class Database:
            def __init__(self) -> None:
                self.rows = {"s-1": chat(110)}

            def messages(self, session_id: str) -> Messages:
                return self.rows[session_id]

            def replace(self, session_id: str, messages: Messages) -> None:
                self.rows[session_id] = messages

        resumed: list[str] = []

        async def resume(session_id: str) -> None:
            resumed.append(session_id)

        database = Database()
        hook = ContextRecoveryHook(database, resume=resume)
        assert asyncio.run(hook.handle_async("session.error", "s-1", ANTHROPIC)) is not None
        assert resumed == ["s-1"]
        assert len(database.rows["s-1"]) < 200


class TestSuccessCriteria:
    """What the list at the end asks for beyond the tests above."""

    def test_004_732_tool_outputs_over_50k_characters_are_truncated(self) -> None:
        """50,001 characters are cut, 50,000 are not."""
        messages = [*outputs(50_000, 1), *outputs(50_001, 1)[1:]]
        fitted = ContextRecovery(ContextSettings(strategies=("truncate_tool_outputs",))).fit(messages)
        assert [len(message["content"]) > 45_000 for message in fitted.messages[1:]] == [True, False]

    def test_004_736_there_is_no_infinite_retry_loop(self) -> None:
        """An agent whose every resumption overflows at once comes to an end."""
        agent = Agent(chat(110))

        def resume(session_id: str) -> None:
            agent.resumed.append(session_id)
            agent.hook.handle("session.error", session_id, ANTHROPIC)

        agent.hook = ContextRecoveryHook(agent.sessions, resume=resume, notify=agent.notices.append)
        agent.overflow()
        assert len(agent.resumed) == 3
        assert agent.notices[-1].level == "error"

    def test_004_9_a_session_that_goes_on_is_recovered_any_number_of_times(self) -> None:
        """Attempts are counted anew behind a recovery that lasted."""
        agent = Agent(chat(110))
        for number in range(10):
            assert agent.overflow()
            agent.sessions["s-1"] += [
                {"role": "assistant", "content": f"chapter {number} " + "y" * 40_000},
                {"role": "user", "content": f"now chapter {number + 1} " + "z" * 200_000},
            ]

    def test_004_349_every_recovery_is_an_event(self, log: Log) -> None:
        """What was done, and what could not be done, can be counted afterwards."""
        sessions = MemorySessions({"s-1": chat(110), "s-2": [{"role": "user", "content": "q" * 1_000_000}]})
        hook = ContextRecoveryHook(sessions, log=log)
        for session_id in ("s-1", "s-2"):
            hook.handle("session.error", session_id, ANTHROPIC)
        assert log.types() == ["context.recovered", "context.unrecovered"]
