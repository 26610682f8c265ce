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
        """A parsed error has current and maximal tokens, provider, model and the raw error."""
        error = {"message": ANTHROPIC, "providerID": "atlas", "modelID": "atlas-9"}
        limit = parse_token_limit_error(error)
        assert limit == TokenLimit(210_000, 200_000, "atlas", "atlas-9")
        assert limit is not None
        assert limit.raw_error is error
        assert "message" not in repr(limit)
        assert parse_token_limit_error("context_length_exceeded") == TokenLimit()

    def test_004_86_retry_state(self) -> None:
        """The state of a session has its attempts, their maximum, the time of the last one and its strategy."""
        agent = Agent(outputs())
        assert agent.overflow()
        state = agent.hook.state("s-1")
        assert state is not None
        assert state.retry == RetryState(1, 3, datetime(2026, 11, 2, 8, tzinfo=UTC), "truncate_tool_outputs")

    def test_004_93_truncate_state(self) -> None:
        """The state of a session has the truncated messages with their sizes before and after."""
        agent = Agent(outputs(count=2))
        assert agent.overflow(error="prompt is too long: 50000 tokens > 40000 maximum")
        state = agent.hook.state("s-1")
        assert state is not None
        after = len(agent.sessions["s-1"][1]["content"])
        assert state.truncate == TruncateState(("m1", "m2"), {"m1": 100_000, "m2": 100_000}, {"m1": after, "m2": after})
        assert 40_000 < after < 40_100

    def test_004_99_dcp_state(self) -> None:
        """The state of a session says whether pruning is on, its target ratio, and how many tokens were pruned."""
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
        """The state of a session says what is pending, what is in progress, and which error asked for it."""
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
        """By default recovery is on: three attempts, 50,000 characters, a ratio of 0.8, the strategies in order."""
        settings = ContextSettings()
        assert (settings.enabled, settings.max_attempts) == (True, 3)
        assert (settings.truncate_over_chars, settings.target_ratio) == (50_000, 0.8)
        named = [name for name in settings.strategies if name in ("truncate_tool_outputs", "prune", "summarize")]
        assert named == ["truncate_tool_outputs", "prune", "summarize"]
        assert settings.strategies == STRATEGIES


NO_LIMITS = (
    *(None, "", {}, "Rate limit reached", {"status": 401}, ValueError("no")),
    "Request too large: tokens per min (TPM): Limit 30000",
)


class TestParser:
    """`parseTokenLimitError` and `isTokenLimitError`."""

    @pytest.mark.parametrize("error", [ANTHROPIC, {"error": {"message": ANTHROPIC}}, ValueError(ANTHROPIC)])
    def test_004_147_should_parse_anthropic_token_limit_errors(self, error: object) -> None:
        """Anthropic's token limit errors are parsed, with both numbers."""
        assert parse_token_limit_error(error) == TokenLimit(210_000, 200_000)

    def test_004_153_should_parse_openai_token_limit_errors(self) -> None:
        """OpenAI's token limit errors are parsed, whose limit stands first."""
        assert parse_token_limit_error(OPENAI) == TokenLimit(9_000, 8_192)

    @pytest.mark.parametrize("error", [*NO_LIMITS])
    def test_004_194_should_return_null_for_non_token_limit_errors(self, error: object) -> None:
        """Any error that is no token limit error gives nothing."""
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
        """Current and maximal tokens are told apart in whichever order the text names them."""
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
        """Every documented pattern without numbers is a token limit error."""
        assert is_token_limit_error(text)

    @pytest.mark.parametrize("code", ["context_length_exceeded", "token_limit_exceeded"])
    @pytest.mark.parametrize("keys", [(), ("error",), ("data",)])
    def test_004_188_known_codes_are_token_limit_errors(self, code: str, keys: tuple[str, ...]) -> None:
        """A known code is enough, at the top, below error and below data."""
        error: dict[str, Any] = {"code": code}
        for key in keys:
            error = {key: error}
        assert is_token_limit_error(error)

    @pytest.mark.parametrize("keys", [(), ("error",), ("data",), ("error", "data"), ("anything",)])
    def test_004_213_the_message_is_found_wherever_it_is_nested(self, keys: tuple[str, ...]) -> None:
        """The message is read at the top, below error, below data, below both, and anywhere else in the object."""
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
        """What cutting outputs does not bring below the target is pruned."""
        agent = Agent([*chat(110), *outputs(60_000, 1)[1:], {"role": "user", "content": "so?"}])
        assert agent.overflow(error="prompt is too long: 240000 tokens > 200000 maximum")
        state = agent.hook.state("s-1")
        assert state is not None
        assert state.retry.strategy == "truncate_tool_outputs+prune"

    def test_004_451_dcp_keeps_the_first_message_and_the_last_ones(self) -> None:
        """Pruning keeps the task and the last three messages."""
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
        """A summary takes the place of old messages, after the task."""
        settings = ContextSettings(strategies=("summarize",))
        recovery = ContextRecovery(settings, summarizer=lambda old: f"{len(old)} messages about the manual")
        fitted = recovery.fit(chat(110), TokenLimit(210_000, 200_000))
        assert fitted.change is not None
        assert fitted.messages[0]["id"] == "m0"
        assert f"{fitted.change.removed_messages} messages about the manual" in fitted.messages[2]["content"]

    def test_004_492_remove_old_messages(self) -> None:
        """Removing old messages keeps the first message and the last ten."""
        messages = chat(60)
        fitted = ContextRecovery(ContextSettings(strategies=("remove_old_messages",))).fit(messages)
        assert fitted.messages[0] == messages[0]
        assert fitted.messages[-10:] == messages[-10:]
        assert len(fitted.messages) <= 13

    def test_004_328_strategies_are_tried_in_the_configured_order(self) -> None:
        """Strategies are tried in the configured order until one makes the conversation fit."""
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
        """A session is resumed after its recovery, and nothing is pending any more."""
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
        """Tokens are those of a message's metadata, and else about four characters a token."""
        assert tokens_of({"role": "user", "content": "x" * 400, "metadata": {"tokens": {"total": 7}}}) == 7
        assert estimated_tokens({"role": "user", "content": "x" * 401}) == 101


class TestHook:
    """`createContextWindowRecoveryHook`."""

    def test_004_573_the_hook_says_what_it_is(self) -> None:
        """The hook has its name, a high priority, and four events."""
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
        """What is pending is recovered when the session becomes idle."""
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
        """A person is shown one warning that the limit was hit, and how it ended."""
        agent = Agent(chat(110))
        agent.overflow()
        assert [(notice.title, notice.level) for notice in agent.notices] == [
            ("Context limit hit", "warning"),
            ("Context recovered", "success"),
        ]

    def test_004_122_it_can_be_switched_off(self) -> None:
        """Recovery can be switched off, and then nothing is handled."""
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
        """A tool output of more than 50,000 characters is cut, and one of 50,000 is not."""
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
        assert "3 times" in agent.notices[-1].message

    def test_004_9_a_session_that_goes_on_is_recovered_any_number_of_times(self) -> None:
        """A session that goes on after each recovery is recovered any number of times."""
        agent = Agent(chat(110))
        for number in range(10):
            assert agent.overflow()
            agent.sessions["s-1"] += [
                {"role": "assistant", "content": f"chapter {number} " + "y" * 40_000},
                {"role": "user", "content": f"now chapter {number + 1} " + "z" * 200_000},
            ]

    def test_004_349_every_recovery_is_an_event(self, log: Log) -> None:
        """Each recovery and each failure to recover is an event."""
        sessions = MemorySessions({"s-1": chat(110), "s-2": [{"role": "user", "content": "q" * 1_000_000}]})
        hook = ContextRecoveryHook(sessions, log=log)
        for session_id in ("s-1", "s-2"):
            hook.handle("session.error", session_id, ANTHROPIC)
        assert log.types() == ["context.recovered", "context.unrecovered"]


class TestFurtherRequirements:
    """The lines that the tests above do not hold by themselves."""

    @pytest.mark.parametrize(
        "text", ["context_length_exceeded", "Request too large", "token limit exceeded", "context is too long"]
    )
    def test_004_149_patterns_do_not_depend_on_case(self, text: str) -> None:
        """The words of a token limit error count in capitals, too."""
        assert is_token_limit_error(text)
        assert is_token_limit_error(text.upper())

    def test_004_148_a_maximum_of_something_else_is_no_limit(self) -> None:
        """A maximum context counts with a length, a window, tokens or a code, and not in a sentence about a meeting."""
        assert is_token_limit_error("maximum context length is 8192 tokens, but 9000 were sent")
        assert not is_token_limit_error("The maximum context of the meeting was 12 people and 30 slides")

    def test_004_200_provider_and_model_are_taken_from_the_error(self) -> None:
        """The ids of provider and model stand in the parsed error."""
        limit = parse_token_limit_error({"message": ANTHROPIC, "providerID": "atlas", "modelID": "atlas-9"})
        assert limit is not None
        assert (limit.provider, limit.model) == ("atlas", "atlas-9")

    def test_004_208_a_text_is_an_error_too(self) -> None:
        """A plain text is read like the message of an error, and an empty one is none."""
        assert parse_token_limit_error(ANTHROPIC) == TokenLimit(210_000, 200_000)
        assert parse_token_limit_error("") is None

    def test_004_227_an_object_that_cannot_be_written_is_no_limit(self) -> None:
        """An object that refers to itself is read without an error of its own."""
        odd: dict[str, Any] = {}
        odd["self"] = odd
        assert parse_token_limit_error(odd) is None

    def test_004_299_a_session_is_recovered_by_one_at_a_time(self) -> None:
        """An error that comes while its session is being recovered begins no second recovery."""
        agent = Agent(chat(110))
        during: list[bool] = []

        def notify(notice: Notice) -> None:
            if notice.level == "warning":
                during.append(agent.overflow())

        agent.hook = ContextRecoveryHook(agent.sessions, notify=notify)
        assert agent.overflow()
        assert during == [False]

    def test_004_307_attempts_are_counted_from_the_first(self) -> None:
        """The first recovery of a session is its first attempt of three, with its time."""
        agent = Agent(chat(110))
        agent.overflow()
        state = agent.hook.state("s-1")
        assert state is not None
        assert (state.retry.attempts, state.retry.max_attempts) == (1, 3)
        assert state.retry.last_attempt_at == agent.clock.now()

    def test_004_356_nothing_is_pending_after_a_recovery(self) -> None:
        """A recovery that succeeds clears the error that asked for it."""
        agent = Agent(chat(110))
        agent.overflow()
        state = agent.hook.state("s-1")
        assert state is not None
        assert (state.pending, state.error) == (False, None)

    def test_004_367_a_recovery_that_fails_is_over(self) -> None:
        """A session is no longer in progress after its recovery, also where its store raised."""

        class Broken(MemorySessions):
            def messages(self, session_id: str) -> Messages:
                raise OSError("disk")

        hook = ContextRecoveryHook(Broken())
        with pytest.raises(OSError, match="disk"):
            hook.handle("session.error", "s-1", ANTHROPIC)
        state = hook.state("s-1")
        assert state is not None
        assert (state.pending, state.in_progress) == (True, False)

    def test_004_385_without_large_outputs_nothing_is_cut(self) -> None:
        """Cutting outputs does nothing where none is large."""
        fitted = ContextRecovery(ContextSettings(strategies=("truncate_tool_outputs",))).fit(chat(10))
        assert fitted.change is None
        assert fitted.messages == chat(10)

    def test_004_416_a_cut_output_keeps_four_fifths_of_the_threshold(self) -> None:
        """A cut output keeps four fifths of the threshold and ends in a note that says how much went."""
        messages = [{"role": "tool", "content": "r" * 3_000}, {"role": "user", "content": "so?"}]
        settings = ContextSettings(strategies=("truncate_tool_outputs",), truncate_over_chars=1_000)
        text = ContextRecovery(settings).fit(messages).messages[0]["content"]
        assert text.startswith("r" * 800 + "\n\n[... truncated 2200 of 3000 characters")

    def test_004_427_pruning_can_be_left_out(self) -> None:
        """Without pruning among the strategies it removes no message."""
        agent = Agent(chat(110), strategies=("truncate_tool_outputs",))
        assert not agent.overflow()
        assert len(agent.sessions["s-1"]) == 221

    def test_004_438_an_error_without_numbers_is_recovered_from(self) -> None:
        """Where the error names no maximum, what there is counts as too much, and is made smaller."""
        agent = Agent(chat(20))
        assert agent.overflow(error="context_length_exceeded")
        assert len(agent.sessions["s-1"]) < 41

    def test_004_454_the_oldest_messages_go_first(self) -> None:
        """Pruning removes the oldest messages after the task, and leaves all that came after them."""
        messages = [{**message, "content": f"{n} {message['content']}"} for n, message in enumerate(chat(110))]
        fitted = ContextRecovery(ContextSettings(strategies=("prune",))).fit(messages, TokenLimit(210_000, 200_000))
        kept = [messages.index(message) for message in fitted.messages]
        begins = next(n for n in range(1, len(kept)) if kept[n] != n)
        assert kept == [*range(begins), *range(kept[begins], 221)]
        assert begins <= 2

    def test_004_483_without_a_summarizer_old_messages_are_removed(self) -> None:
        """Where nobody can write a summary the next strategy removes old messages instead."""
        fitted = ContextRecovery(ContextSettings(strategies=("summarize", "remove_old_messages"))).fit(chat(110))
        assert fitted.change is not None
        assert fitted.change.strategy == "remove_old_messages"
        assert any("summarizer" in skipped for skipped in fitted.skipped)

    def test_004_598_another_error_changes_nothing(self) -> None:
        """An error that is no token limit error goes on to others, and leaves no state."""
        agent = Agent(chat(110))
        assert not agent.overflow(error="Rate limit reached")
        assert agent.hook.state("s-1") is None
        assert agent.notices == []

    def test_004_634_a_recovered_error_goes_no_further(self) -> None:
        """The answer to an error that was mended tells the host to stop passing it on."""
        result = Agent(chat(110)).hook.handle("session.error", "s-1", ANTHROPIC)
        assert result is not None
        assert result.stop_propagation

    def test_004_639_an_idle_session_without_an_error_stays_as_it_is(self) -> None:
        """An idle session for which nothing is pending is left alone, without a notice."""
        agent = Agent(chat(110))
        assert agent.hook.handle("session.idle", "s-1") is None
        assert (len(agent.sessions["s-1"]), agent.notices) == (221, [])

    def test_004_737_a_deleted_session_leaves_other_sessions_alone(self) -> None:
        """Deleting a session forgets what is known of that session only."""
        agent = Agent(chat(110))
        agent.sessions["s-2"] = chat(110)
        for session in ("s-1", "s-2"):
            agent.hook.handle("session.error", session, ANTHROPIC)
        agent.hook.handle("session.deleted", "s-1")
        assert (agent.hook.state("s-1") is None, agent.hook.state("s-2") is None) == (True, False)

    @pytest.mark.parametrize("seconds", [1, 900])
    @pytest.mark.parametrize("stamped", [True, False])
    def test_004_736_a_host_cannot_make_it_loop(self, stamped: bool, seconds: float) -> None:
        """A host that sends its history again with new times, or says one text in all turns, has three recoveries."""
        texts = [f"question {n} about verse {n}" if stamped else "again, please" for n in range(200)]
        history = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
        agent = Agent(list(history))
        granted = 0
        for attempt in range(12):
            granted += agent.overflow(error="prompt is too long: 2100 tokens > 2000 maximum")
            history.append({"role": "user", "content": f"and then {attempt}?"})
            stamp = f"[{attempt}] " if stamped else ""
            agent.sessions["s-1"] = [{**message, "content": stamp + message["content"]} for message in history]
            agent.clock.advance(seconds)
        assert granted == 3

    def test_004_730_the_limits_of_both_providers_are_recovered_from(self) -> None:
        """An error of Anthropic's and one of OpenAI's lead to a recovery alike."""
        for error in (ANTHROPIC, OPENAI):
            assert Agent(chat(110)).overflow(error=error)

    def test_004_733_the_context_is_at_the_target_ratio_afterwards(self) -> None:
        """Another target ratio leaves a conversation of that share of the maximum."""
        fitted = ContextRecovery(ContextSettings(target_ratio=0.5)).fit(chat(110), TokenLimit(210_000, 200_000))
        assert fitted.change is not None
        assert 90_000 < fitted.change.post_tokens <= 100_000

    def test_004_734_a_session_is_resumed_once_it_fits(self) -> None:
        """The host hears the id of the session to resume after the smaller conversation is stored, and once."""
        agent = Agent(chat(110))
        sizes: list[int] = []
        agent.hook = ContextRecoveryHook(agent.sessions, resume=lambda name: sizes.append(len(agent.sessions[name])))
        agent.overflow()
        assert len(sizes) == 1
        assert sizes[0] < 221

    def test_004_735_a_failure_is_shown_as_well(self) -> None:
        """A person is shown that the limit was hit, and that nothing could be done about it."""
        agent = Agent([{"role": "user", "content": "q" * 1_000_000}])
        agent.overflow()
        assert [notice.level for notice in agent.notices] == ["warning", "error"]
