"""Which messages of a conversation can go, so that what stays is a conversation that a provider still takes.

Invariants: a tool call goes with its results or not at all; roles that took turns still do; instructions stay.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from analyzer.recovery.context.conversation import (
    Messages,
    answers_a_call,
    calls_of,
    is_system,
    leads_to_the_next,
    results_of,
    role_of,
)


@dataclass(frozen=True, slots=True)
class MessageTurn:
    """From one message of the user to the next: what was asked, the steps, the answer."""

    messages: frozenset[int]
    """Positions of its messages, instructions left out."""
    opener: int | None
    """Position of the user's message; null for what stands before the first one."""
    steps: tuple[frozenset[int], ...]
    """What can go while the turn stays, oldest first: a call with its results, a word between two others."""


def turns_of(messages: Messages) -> list[MessageTurn]:
    """The turns, oldest first."""
    turns: list[list[range]] = []
    for atom in _atoms(messages):
        if not turns or _opens(messages, atom):
            turns.append([])
        turns[-1].append(atom)
    return [_turn(messages, atoms) for atoms in turns]


def task_of(messages: Messages) -> frozenset[int]:
    """Positions of the first message and of the first question: without them nobody knows what it is all about."""
    asked = next((turn.opener for turn in turns_of(messages) if turn.opener is not None), 0)
    return frozenset({0, asked}) if messages else frozenset()


def removable(messages: Messages, weights: list[float], need: float, keep: AbstractSet[int]) -> set[int]:
    """Positions that can go, oldest first, until they weigh `need`; fewer where not so much can go.

    A whole turn goes where none of it is to be kept. Where that would be more than needed, or part of it is to be kept,
    its steps go one by one.
    """
    gone: set[int] = set()
    weight = 0.0
    for turn in turns_of(messages):
        if weight >= need:
            break
        whole = sum(weights[index] for index in turn.messages)
        free = not turn.messages & keep
        if not free or weight + whole > need:
            for step in turn.steps:
                if weight < need and not step & keep:
                    gone |= step
                    weight += sum(weights[index] for index in step)
        if free and weight < need:
            weight += sum(weights[index] for index in turn.messages - gone)
            gone |= turn.messages
    return gone


def _turn(messages: Messages, atoms: list[range]) -> MessageTurn:
    opener = atoms[0][0] if _opens(messages, atoms[0]) else None
    inner = atoms if opener is None else atoms[1:]
    steps = []
    for atom, following in pairwise(inner):
        # What goes must leave a reply behind what stands before it.
        if role_of(messages[atom[0]]) == "assistant" and role_of(messages[following[0]]) == "assistant":
            steps.append(frozenset(index for index in atom if not is_system(messages[index])))
    everything = (index for atom in atoms for index in atom if not is_system(messages[index]))
    return MessageTurn(frozenset(everything), opener, tuple(steps))


def _opens(messages: Messages, atom: range) -> bool:
    return len(atom) == 1 and role_of(messages[atom[0]]) == "user" and not answers_a_call(messages[atom[0]])


def _atoms(messages: Messages) -> list[range]:
    """The conversation in the smallest pieces that keep each tool call and its results together."""
    calls: dict[str, int] = {}
    # By first position: where the piece that begins there has to end at the earliest.
    reaches = list(range(len(messages)))
    for index, message in enumerate(messages):
        answered = results_of(message)
        starts = [calls[each] for each in answered if each in calls]
        if not answered and index and answers_a_call(message):
            starts.append(index - 1)  # an output without an id belongs to what stands before it
        for start in starts:
            reaches[start] = max(reaches[start], index)
        if leads_to_the_next(message):
            reaches[index] = min(index + 1, len(messages) - 1)
        calls.update(dict.fromkeys(calls_of(message), index))
    atoms: list[range] = []
    index = 0
    while index < len(messages):
        last = reaches[index]
        position = index
        while position <= last:
            last = max(last, reaches[position])
            position += 1
        atoms.append(range(index, last + 1))
        index = last + 1
    return atoms
