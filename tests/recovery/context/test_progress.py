"""What counts as progress behind a recovery: three attempts, whatever a host does with the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzer.recovery import ContextRecovery, ContextRecoveryHook, ContextSettings, MemorySessions
from analyzer.recovery.context.conversation import tokens_of
from tests import LONG_RUNS, each_row
from tests.recovery.simulated import FakeClock

Messages = list[dict[str, Any]]
OVERFLOW = "prompt is too long: 2100 tokens > 2000 maximum"


def chat(turns: int) -> Messages:
    """Instructions, and turns of two messages of some ten words each."""
    messages: Messages = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        messages.append({"role": "user", "content": f"question {number} about verse {number} of song {number}"})
        messages.append({"role": "assistant", "content": f"answer {number} is that verse {number} rhymes {number}"})
    return [*messages, {"role": "user", "content": "last"}]


def rendered(messages: Messages) -> Messages:
    """The same words in blocks, with ids, counts and marks, as hosts write them anew."""
    return [
        {
            "id": f"m-{number}",
            "role": message["role"],
            "content": [{"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}],
            "metadata": {"at": number},
        }
        if isinstance(message["content"], str) and message["role"] != "tool"
        else message
        for number, message in enumerate(messages)
    ]


def stamped(messages: Messages, number: int) -> Messages:
    """The same messages, each with a new time before its words, as some hosts write them each time."""
    return [
        message | {"content": f"[10:{number:02}] {message['content'].removeprefix(f'[10:{number - 1:02}] ')}"}
        if isinstance(message["content"], str)
        else message
        for message in messages
    ]


def step(number: int) -> Messages:
    """One call of a tool, whose output is too much again."""
    call = f"c{number}"
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": call}]},
        {"role": "tool", "tool_call_id": call, "content": f"{number} " + "r" * 4_000},
    ]


def turn(number: int) -> Messages:
    """An answer, and a new question whose attachment is too much again."""
    return [
        {"role": "assistant", "content": f"answer {number}"},
        {"role": "user", "content": f"and this? {number} " + "q" * 1_200},
    ]


Host = Callable[[Messages, Messages, int], Messages]
"""What a host sends next, of what it sent before, what the recovery left of it, and the number of the round."""

STUCK: dict[str, Host] = {
    "ignores the result": lambda sent, left, number: sent,
    "sends its full history again, written anew": lambda sent, left, number: rendered(sent),
    "sends its full history behind the result": lambda sent, left, number: left + sent[-211:],
    "sends half of its history behind the result": lambda sent, left, number: left + sent[-211:-105],
    "puts back behind the result what was taken out": lambda sent, left, number: (
        left + [each for each in sent if each not in left]
    ),
    "sends its full history and a question": lambda sent, left, number: [*sent, {"role": "user", "content": "go on"}],
    "sends its full history and a step": lambda sent, left, number: sent + step(number),
    "sends its full history with new times, and a turn": lambda sent, left, number: stamped(
        sent + turn(number), number
    ),
    "puts back what was taken out with new times, and a turn": lambda sent, left, number: (
        left + stamped([each for each in sent if each not in left], number) + turn(number)
    ),
    "sends all but its last messages with new times, and a turn": lambda sent, left, number: (
        stamped(sent[:-2], number) + sent[-2:] + turn(number)
    ),
    "appends a step": lambda sent, left, number: left + step(number),
    "appends nothing": lambda sent, left, number: left,
    "appends the error as an answer": lambda sent, left, number: [
        *left,
        {"role": "assistant", "content": f"API Error: {OVERFLOW}"},
        {"role": "user", "content": "go on"},
    ],
    "cuts the result": lambda sent, left, number: left[: len(left) // 2],
    "drops what is old": lambda sent, left, number: left[len(left) // 2 :],
    "reorders the result": lambda sent, left, number: [*left[:1], *reversed(left[1:])],
    "takes another conversation": lambda sent, left, number: [
        {"role": "user", "content": f"task {number}"},
        *(each | {"content": f"{number} {each['content']}"} for each in chat(105)[1:]),
    ],
}
BACK = [name for name in STUCK if "full history" in name or "new times" in name or name == "ignores the result"]


def granted(hosts: list[str], messages: Messages, seconds: float = 1, **setting: Any) -> list[bool]:
    """Whether each overflow of a session was recovered from, of hosts that do this in turn."""
    clock = FakeClock()
    sessions = MemorySessions({"s-1": messages})
    hook = ContextRecoveryHook(sessions, ContextRecovery(ContextSettings(**setting)), clock=clock)
    found = []
    for number, name in enumerate(hosts):
        sent = list(sessions["s-1"])
        found.append(hook.handle("session.error", "s-1", OVERFLOW) is not None)
        sessions["s-1"] = STUCK[name](sent, list(sessions["s-1"]), number)
        clock.advance(seconds)
    return found


@each_row("name", STUCK)
def test_a_host_that_gets_nowhere_has_three_attempts(name: str) -> None:
    """Whatever it does with the result, the fourth overflow in a row and all behind it go on to others."""
    assert granted([name] * 6, chat(105)).count(True) <= 3
    output = [*chat(10), {"role": "tool", "content": " ".join(f"row {n}" for n in range(1_500))}]
    assert granted([name] * 8, output, truncate_over_chars=500).count(True) <= 3


MIXED = sorted(name for name in STUCK if "a turn" not in name and name != "takes another conversation")
"""A turn behind what stayed is progress where another host came before."""
OLD_ANSWERS = ["appends a step", *["sends its full history and a step"] * 2, "drops what is old", "reorders the result"]
"""What is left at their end has old answers behind the last message that was left."""


# The same mixtures each time: of 1,400 random ones one had a fourth attempt.
@settings(max_examples=20 * LONG_RUNS, deadline=None, derandomize=True)
@example([*OLD_ANSWERS, "appends a step"])
@given(st.lists(st.sampled_from(MIXED), min_size=4, max_size=8))
def test_hosts_that_change_their_ways_have_three_attempts(names: list[str]) -> None:
    """Nor does any mixture of them look like progress, as long as the conversation stays the same one."""
    assert granted(names, chat(105)).count(True) <= 3


@each_row("name", BACK)
def test_time_is_no_progress_where_the_full_history_is_back(name: str) -> None:
    """An overflow every quarter of an hour ends after three attempts, too, where the result is not used."""
    assert granted([name] * 8, chat(105), seconds=900).count(True) <= 3


@each_row("write", [list, rendered, lambda messages: stamped(messages, 1)])
@each_row("dropped", [0, 1])
@each_row("again", ["turn", "the same turn", "three steps"])
def test_a_host_that_gets_on_is_recovered_any_number_of_times(
    write: Callable[[Messages], Messages], dropped: int, again: str
) -> None:
    """New messages behind the ones that stayed: also where the host writes them anew, or drops old ones of its own."""
    sessions = MemorySessions({"s-1": chat(105)})
    hook = ContextRecoveryHook(sessions, clock=FakeClock())
    for number in range(5):
        tokens = sum(map(tokens_of, sessions["s-1"]))
        error = f"prompt is too long: {tokens} tokens > {tokens * 9 // 10} maximum"
        assert hook.handle("session.error", "s-1", error) is not None
        left = list(sessions["s-1"])
        new = turn(0 if again == "the same turn" else number)
        if again == "three steps":
            new = [each for part in range(3) for each in step(3 * number + part)]
        sessions["s-1"] = write([*left[:1], *left[1 + dropped :], *new])
        state = hook.state("s-1")
        assert state is not None
        assert state.retry.attempts == 1
