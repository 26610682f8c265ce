"""Making one conversation fit: reading the error, each strategy, their order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.errors import AnalyzerError
from analyzer.recovery import (
    ContextRecovery,
    ContextSettings,
    TokenLimit,
    TruncateState,
    outline,
)
from analyzer.recovery.context.conversation import role_of, tokens_of
from analyzer.recovery.context.hook import OUTLINE_CHARS

ANTHROPIC = "prompt is too long: 210000 tokens > 200000 maximum"
OPENAI = (
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130123 tokens. "
    "Please reduce the length of the messages."
)


def talk(turns: int, chars: int = 4_000) -> list[dict[str, Any]]:
    """A system message and turns of two messages of `chars` each."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        messages.append({"role": "user", "content": f"q{number} ".ljust(chars, "x")})
        messages.append({"role": "assistant", "content": f"a{number} ".ljust(chars, "y")})
    return [*messages, {"role": "user", "content": "last"}]


def only(*strategies: str, **more: Any) -> ContextRecovery:
    """Recovery with these strategies."""
    return ContextRecovery(ContextSettings(strategies=strategies), **more)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "1", "content": "r" * 100_000},
        {"role": "assistant", "content": "r" * 100_000, "metadata": {"toolName": "read"}},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "r" * 100_000}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "r" * 100_000}]}
            ],
        },
    ],
    ids=["openai", "plain", "anthropic", "anthropic blocks"],
)
def test_a_long_tool_output_keeps_its_first_40000_characters(message: dict[str, Any]) -> None:
    """And says how much went; the message is otherwise the same."""
    fitted = only("truncate_tool_outputs").fit([{"role": "user", "content": "go"}, message])
    assert fitted.change is not None
    assert (fitted.change.truncated_messages, fitted.change.removed_messages) == (1, 0)
    text = str(fitted.messages[1])
    assert text.count("r" * 40_000) == 1
    assert "r" * 40_001 not in text
    assert "[... truncated 60000 of 100000 characters due to context limit ...]" in text
    assert fitted.messages[1].keys() == message.keys()
    again = only("truncate_tool_outputs").fit(fitted.messages)
    assert (again.change, again.messages) == (None, fitted.messages)


def test_a_count_in_the_metadata_shrinks_with_its_text() -> None:
    """What was counted for the long text would be wrong for the short one."""
    message = {"role": "tool", "content": "r" * 100_000, "metadata": {"tokens": {"total": 50_000, "cached": 1}}}
    (cut,) = only("truncate_tool_outputs").fit([message]).messages
    assert cut["metadata"]["tokens"]["total"] == pytest.approx(20_000, rel=0.01)
    assert cut["metadata"]["tokens"]["cached"] == 1


def test_what_only_the_provider_counts_cannot_be_pruned() -> None:
    """Prompt and tools weigh 40,000 tokens that no counted message has: so much more has to go."""
    counted = [each | {"metadata": {"tokens": {"total": tokens_of(each)}}} for each in talk(30)]
    fitted = only("prune").fit(counted, TokenLimit(100_000, 90_000))
    assert fitted.change is not None
    assert fitted.change.removed_messages == 28
    assert 71_000 < fitted.change.post_tokens <= 72_000


@settings(deadline=None)
@given(heavy=st.integers(20, 800), over=st.floats(1.01, 2.5), counted=st.sampled_from([0, 40, 120]))
def test_dense_text_goes_by_its_real_weight(heavy: int, over: float, counted: int) -> None:
    """From a twentieth of a token a character to two, counted or not: what stays fits, and no more goes than must."""
    messages = [{"role": each["role"], "content": each["content"][:400].ljust(400)} for each in talk(60, 400)]
    messages[:counted] = [each | {"metadata": {"tokens": heavy}} for each in messages[:counted]]
    tokens = heavy * len(messages)
    most = int(tokens / over)
    fitted = only("prune").fit(messages, TokenLimit(tokens, most))
    assert fitted.change is not None
    assert 0.8 * most - 3 * heavy <= heavy * len(fitted.messages) <= most


def test_a_conversation_that_cannot_weigh_so_much_is_not_blamed() -> None:
    """Nothing has more than two tokens a character: the rest is prompt and tools, which no pruning makes smaller."""
    assert only("prune").fit(talk(30, 40), TokenLimit(210_000, 200_000)).change is None


def test_steps_of_one_long_turn_go_one_by_one() -> None:
    """An agent that was asked once: the question stays, its oldest calls go with their results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it all"}]
    for number in range(40):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "r" * 4_000}
        messages.append({"role": "user", "content": [result]})
    fitted = only("prune").fit(messages)
    assert fitted.messages[0] == messages[0]
    assert fitted.change is not None
    assert fitted.change.removed_messages == 18
    assert fitted.messages[1:] == messages[19:]
    assert 0.75 < fitted.change.post_tokens / fitted.change.pre_tokens <= 0.8


def test_a_summary_takes_the_place_of_what_it_summarizes() -> None:
    """The callable sees the oldest turns; its text stands before the next question."""
    seen: list[Any] = []

    def summarize(messages: list[Any]) -> str:
        seen.extend(messages)
        return "They agreed on blue."

    messages = talk(10)
    fitted = only("summarize", summarizer=summarize).fit(messages, TokenLimit(19_900, 15_000))
    assert fitted.change is not None
    assert seen == messages[3 : 3 + len(seen)]
    assert fitted.change.removed_messages == len(seen) == 8
    assert fitted.messages[:3] == messages[:3]
    assert fitted.messages[3]["content"].startswith(
        "[Summary of the earlier conversation]\nThey agreed on blue.\n[End of the summary]\n\nq5 "
    )
    assert fitted.messages[4:] == messages[12:]


def test_a_summarizer_that_fails_is_passed_over() -> None:
    """An error, an empty text, and a summary longer than what it stands for."""

    def fails(_: list[Any]) -> str:
        raise RuntimeError("no model")

    for summarizer in (fails, lambda _: "", lambda _: "x" * 900_000):
        fitted = only("summarize", "remove_old_messages", summarizer=summarizer).fit(talk(30))
        assert fitted.skipped[0].startswith("summarize: ")
        assert fitted.change is not None
        assert fitted.change.strategy == "remove_old_messages"


def test_a_summarizer_may_be_a_coroutine_function() -> None:
    """With `fit_async`; `fit` says that it cannot await, and a failing one is passed over."""

    async def summarize(_: list[Any]) -> str:
        await asyncio.sleep(0)
        return "short"

    async def fails(_: list[Any]) -> str:
        raise RuntimeError("no model")

    fitted = asyncio.run(only("summarize", summarizer=summarize).fit_async(talk(30)))
    assert fitted.change is not None
    assert "short" in fitted.messages[3]["content"]
    assert asyncio.run(only("summarize", summarizer=fails).fit_async(talk(30))).change is None
    assert asyncio.run(only("summarize", summarizer=lambda _: "sync").fit_async(talk(30))).change is not None
    with pytest.raises(AnalyzerError, match="coroutine function"):
        only("summarize", summarizer=summarize).fit(talk(30))


def test_the_outline_is_a_summary_without_a_model() -> None:
    """A line for each question, call and answer; bounded, and it says what it left out."""
    call = {"type": "tool_use", "id": "1", "name": "read", "input": {"path": "a.py"}}
    messages = [
        {"role": "user", "content": "Fix\nthe bug"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "secret contents"}]},
        {"role": "assistant", "content": "Done."},
    ]
    assert outline(messages).splitlines() == [
        "Asked: Fix the bug",
        "Answered: I look.",
        "Called: read {'path': 'a.py'}",
        "Answered: Done.",
    ]
    long = outline(messages * 200)
    assert len(long) <= OUTLINE_CHARS + 60
    assert "more lines left out" in long.splitlines()[-1]


@pytest.mark.parametrize("instructed", [False, True], ids=["without instructions", "with instructions"])
@pytest.mark.parametrize("strategy", ["prune", "summarize", "remove_old_messages"])
def test_the_task_stays_whatever_goes(strategy: str, instructed: bool) -> None:
    """The first question of a long conversation says what it is all about: no strategy removes it."""
    messages = talk(60)[not instructed :]
    task = messages[1 if instructed else 0]
    for recovery in (only(strategy, summarizer=outline), ContextRecovery(summarizer=outline)):
        kept: list[Any] = messages
        for _ in range(1 if strategy == "remove_old_messages" else 3):
            fitted = recovery.fit(kept, TokenLimit(None, sum(map(tokens_of, kept)) * 2 // 3))
            assert fitted.change is not None
            assert fitted.change.removed_messages
            kept = fitted.messages
            assert task in kept
            assert [role_of(each) for each in kept[-5:]] == ["user", "assistant", "user", "assistant", "user"]


def test_which_texts_were_cut_and_how_far_is_told() -> None:
    """By the message's own id, else its position at first, whatever went before it."""
    messages = talk(20)
    messages[4]["content"] = "a" * 60_000
    messages[38] |= {"content": "b" * 70_000, "id": "m-38"}
    fitted = only("remove_old_messages", "truncate_tool_outputs").fit(messages, TokenLimit(None, 25_000))
    assert fitted.truncated == TruncateState(("m-38",), {"m-38": 70_000}, {"m-38": 40_068})
    fitted = only("truncate_tool_outputs", "prune").fit(messages, TokenLimit(None, 30_000))
    assert fitted.truncated.original_sizes == {"#4": 60_000, "m-38": 70_000}
    assert fitted.change is not None
    assert fitted.pruned_tokens == sum(map(tokens_of, messages[3 : 3 + fitted.change.removed_messages])) - 4_983


def test_a_fit_that_is_still_too_large_is_none() -> None:
    """Something could go, not enough: the conversation is not exchanged for a smaller one that fails too."""
    messages = [*talk(4), {"role": "user", "content": "q" * 900_000}]
    fitted = ContextRecovery().fit(messages, TokenLimit(234_000, 200_000))
    assert (fitted.messages, fitted.change) == (messages, None)


@pytest.mark.parametrize(
    "wrong",
    [{"strategies": ("dcp",)}, {"target_ratio": 0}, {"target_ratio": 1.1}, {"max_attempts": 0}, {"lasting_seconds": 0}],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    """With the legal values."""
    with pytest.raises(AnalyzerError) as caught:
        ContextSettings(**wrong)
    assert caught.value.hint
