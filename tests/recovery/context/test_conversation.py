"""Conversations of any shape stay valid, whatever is taken out of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.recovery import ContextRecovery, ContextSettings, TokenLimit, outline
from analyzer.recovery.context.conversation import calls_of, estimated_tokens, results_of, role_of, text_of, tokens_of
from analyzer.recovery.context.recovery import STRATEGIES
from analyzer.recovery.context.strategies import removable, turns_of
from tests import each_row

Message = dict[str, Any]
Script = list[tuple[int, list[list[int]], int | None]]
"""Turns: length of the question, of each result of each step, of the answer (none: the turn is not over)."""

LENGTH = st.integers(1, 400) | st.sampled_from([2_000, 9_000])
TURN = st.tuples(LENGTH, st.lists(st.lists(LENGTH, min_size=1, max_size=3), max_size=6), LENGTH)
SCRIPT = st.tuples(
    st.lists(TURN, max_size=8),
    st.tuples(LENGTH, st.lists(st.lists(LENGTH, min_size=1, max_size=3), max_size=14)),
    st.booleans(),
).map(lambda parts: [*parts[0], (*parts[1], None)])


def anthropic(script: Script, same_ids: bool) -> list[Message]:
    """Blocks; results in a message of the user."""
    messages: list[Message] = []
    for number, (question, steps, answer) in enumerate(script):
        messages.append({"role": "user", "content": f"question {number} " + "q" * question})
        for step, results in enumerate(steps):
            ids = [f"call_{index}" if same_ids else f"call_{number}_{step}_{index}" for index in range(len(results))]
            calls = [{"type": "tool_use", "id": each, "name": "read", "input": {"path": "x"}} for each in ids]
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "Reading."}, *calls]})
            outputs = [
                {"type": "tool_result", "tool_use_id": each, "content": "r" * size}
                if size % 2
                else {"type": "tool_result", "tool_use_id": each, "content": [{"type": "text", "text": "r" * size}]}
                for each, size in zip(ids, results, strict=True)
            ]
            messages.append({"role": "user", "content": outputs})
        if answer is not None:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "a" * answer}]})
    return messages


def openai(script: Script, same_ids: bool) -> list[Message]:
    """A system message; results in messages of their own."""
    messages: list[Message] = [{"role": "system", "content": "Be brief."}]
    for number, (question, steps, answer) in enumerate(script):
        messages.append({"role": "user", "content": f"question {number} " + "q" * question})
        for step, results in enumerate(steps):
            ids = [f"call_{index}" if same_ids else f"call_{number}_{step}_{index}" for index in range(len(results))]
            calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": each, "content": "r" * size}
                for each, size in zip(ids, results, strict=True)
            ]
        if answer is not None:
            messages.append({"role": "assistant", "content": "a" * answer})
    return messages


def plain(script: Script, _: bool) -> list[Message]:
    """Roles and texts; outputs name their tool in the metadata, some messages their tokens."""
    messages: list[Message] = [{"role": "system", "content": "Be brief."}]
    for number, (question, steps, answer) in enumerate(script):
        messages.append({"role": "user", "content": "q" * question, "metadata": {"tokens": {"total": question}}})
        for results in steps:
            messages.append({"role": "assistant", "content": f"step of {number}"})
            messages += [
                {"role": "tool", "content": "r" * size, "metadata": {"toolName": "read", "tokens": {"total": size}}}
                for size in results
            ]
        if answer is not None:
            messages.append({"role": "assistant", "content": "a" * answer})
    return messages


def check_anthropic(messages: list[Message]) -> None:
    """The user begins, roles take turns, and every call is answered by the very next message, and no other is."""
    assert messages[0]["role"] == "user"
    waiting: set[str] = set()
    for position, message in enumerate(messages):
        assert message["role"] == ("assistant" if position % 2 else "user")
        blocks = message["content"] if isinstance(message["content"], list) else []
        assert blocks or message["content"]
        assert {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"} == waiting
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    assert not waiting


def check_openai(messages: list[Message]) -> None:
    """Instructions first, then the user; each call is answered at once, by as many outputs; roles take turns."""
    assert messages[0]["role"] == "system"
    before, waiting = "system", []
    for message in messages[1:]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            before = "tool"
            continue
        assert not waiting
        assert message["role"] in {"system": ["user"], "user": ["assistant"], "tool": ["assistant"]}.get(
            before, ["user"]
        )
        waiting = [call["id"] for call in message.get("tool_calls", [])]
        before = message["role"]
    assert not waiting


def check_plain(messages: list[Message]) -> None:
    """Instructions first; an output stands behind its step; nobody speaks twice in a row."""
    assert messages[0]["role"] == "system"
    roles = [message["role"] for message in messages]
    for before, role in pairwise(roles):
        allowed = {"system": ["user"], "user": ["assistant"], "tool": ["tool", "assistant"]}
        assert role in allowed.get(before, ["user", "tool"])


SHAPES: list[tuple[Callable[[Script, bool], list[Message]], Callable[[list[Message]], None]]] = [
    (anthropic, check_anthropic),
    (openai, check_openai),
    (plain, check_plain),
]


@pytest.mark.parametrize(("shape", "check"), SHAPES, ids=["anthropic", "openai", "plain"])
@given(
    script=SCRIPT,
    same_ids=st.booleans(),
    order=st.lists(st.sampled_from(STRATEGIES), min_size=1, max_size=4, unique=True),
    ratio=st.sampled_from([0.1, 0.5, 0.8]),
    known=st.sampled_from([(None, None), (None, 500), (4_000, 3_000), (900, 400)]),
    summarizer=st.sampled_from([None, outline, lambda messages: "", lambda messages: "x" * 99_999]),
)
@settings(max_examples=60, deadline=None)
def test_what_is_made_to_fit_is_a_valid_smaller_conversation(
    shape: Callable[..., list[Message]],
    check: Callable[[list[Message]], None],
    script: Script,
    same_ids: bool,
    order: list[str],
    ratio: float,
    known: tuple[int | None, int | None],
    summarizer: Any,
) -> None:
    """Any strategies in any order: roles take turns, calls keep their results, instructions and the end stay."""
    messages = shape(script, same_ids)
    check(messages)
    given_ = copy.deepcopy(messages)
    recovery = ContextRecovery(
        ContextSettings(strategies=tuple(order), truncate_over_chars=1_500, target_ratio=ratio), summarizer=summarizer
    )
    fitted = recovery.fit(messages, TokenLimit(*known))
    assert messages == given_
    check(fitted.messages)
    if fitted.change is None:
        assert fitted.messages == messages
        return
    change = fitted.change
    assert change.post_tokens < change.pre_tokens
    assert sum(map(tokens_of, fitted.messages)) < sum(map(tokens_of, messages))
    assert len(messages) - len(fitted.messages) == change.removed_messages
    assert role_of(fitted.messages[-1]) == role_of(messages[-1])
    assert text_of(messages[-1])[:100] in text_of(fitted.messages[-1])
    assert [each for each in fitted.messages if role_of(each) == "system"] == [
        each for each in messages if role_of(each) == "system"
    ]


@pytest.mark.parametrize(("shape", "check"), SHAPES, ids=["anthropic", "openai", "plain"])
@given(script=SCRIPT, same_ids=st.booleans())
@settings(max_examples=50, deadline=None)
def test_a_compressed_conversation_is_valid_and_about_half(
    shape: Callable[..., list[Message]], check: Callable[[list[Message]], None], script: Script, same_ids: bool
) -> None:
    """The oldest go first; no more than half and one piece more is taken."""
    messages = shape(script, same_ids)
    before = copy.deepcopy(messages)
    change = ContextRecovery(ContextSettings(truncate_over_chars=1_500)).compress(messages)
    check(messages)
    if change is None:
        assert messages == before
        return
    assert change.post_tokens == sum(map(tokens_of, messages)) < sum(map(tokens_of, before))
    assert messages[-1] == before[-1] or change.truncated_messages
    if change.strategy == "drop_oldest_turns":
        kept = [message for message in before if message in messages]
        assert [message for message in messages if message in kept] == messages
        pieces = [sum(tokens_of(before[index]) for index in turn.messages) for turn in turns_of(before)]
        assert change.post_tokens >= change.pre_tokens / 2 - max(pieces)


@given(
    st.lists(
        st.builds(
            dict,
            role=st.sampled_from(["user", "assistant", "tool", "system", "x", None]),
            content=st.none()
            | st.text()
            | st.lists(
                st.builds(
                    dict,
                    type=st.sampled_from(["text", "tool_use", "tool_result", "image"]),
                    id=st.sampled_from("abc"),
                    tool_use_id=st.sampled_from("abc"),
                    text=st.text(),
                )
            ),
            tool_call_id=st.sampled_from(["a", "b", None]),
        ),
        max_size=15,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_messages_are_taken_as_they_are(messages: list[Message]) -> None:
    """Even a conversation that no provider would take: nothing raises, and no call loses a result that it had."""
    for index in removable(messages, [1.0] * len(messages), 9.0, {len(messages) - 1}):
        assert role_of(messages[index]) not in ("system", "developer")
    fitted = ContextRecovery().fit(messages, TokenLimit(None, 10))
    answered = {each for message in fitted.messages for each in results_of(message)}
    called = {each for message in fitted.messages for each in calls_of(message)}
    # A result that stands before its call, or without one, is nobody's from the beginning.
    orphans, asked = set(), set()
    for message in messages:
        orphans |= set(results_of(message)) - asked
        asked |= set(calls_of(message))
    assert answered - called <= orphans


def test_objects_of_client_libraries_are_messages_too() -> None:
    """A message that a library made has attributes instead of keys."""

    class Function:
        name, arguments = "read", '{"path": "x"}'

    class Call:
        id, type, function = "call_1", "function", Function()

    class Reply:
        def __init__(self) -> None:
            self.role, self.content, self.tool_calls = "assistant", None, [Call()]

    messages: list[Any] = [
        {"role": "user", "content": "a" * 4_000},
        Reply(),
        {"role": "tool", "tool_call_id": "call_1", "content": "r" * 4_000},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "next"},
    ]
    assert [len(turn.messages) for turn in turns_of(messages)] == [4, 1]
    assert outline(messages).splitlines()[1] == 'Called: read {"path": "x"}'
    change = ContextRecovery().compress(messages)
    assert change is not None
    assert messages == [{"role": "user", "content": "next"}]


@each_row(
    "message, tokens",
    [
        ({"role": "user", "content": "x" * 400}, 100),
        ({"role": "user", "content": "字" * 400}, 300),
        ({"role": "user", "content": "x" * 400, "metadata": {"tokens": {"total": 7}}}, 7),
        ({"role": "user", "content": "x" * 400, "metadata": {"tokens": 8}}, 8),
        ({"role": "user", "content": "x" * 400, "metadata": {"tokens": {"total": 0}}}, 100),
        ({"role": "user", "content": "x" * 400, "metadata": {"tokens": {"total": 10**400}}}, 100),
        ({"role": "user", "content": [{"type": "image", "source": {"data": "A" * 9_999}}]}, 1_600),
        ({"role": "user", "content": None}, 1),
    ],
)
def test_tokens_are_counted_or_estimated(message: Message, tokens: int) -> None:
    """The metadata's count, else four bytes a token; a picture costs the same whatever its bytes."""
    assert tokens_of(message) == tokens
    assert estimated_tokens(message) >= 1
