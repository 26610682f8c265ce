"""The ways to make a conversation smaller, each a function of messages to messages.

Invariant: what comes out is as valid for its provider as what went in, or the strategy answers None.

Which messages can go is decided by turns, so that what stays is a conversation that a provider still takes;
attachments go oldest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from analyzer.recovery.context.conversation import (
    Media,
    Message,
    Messages,
    answers_a_call,
    blocks_of,
    body_of,
    calls_of,
    counted_tokens,
    estimated_tokens,
    is_system,
    is_tool_output,
    leads_to_the_next,
    media_of,
    results_of,
    role_of,
    text_block,
    tokens_of,
    with_content,
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


KEEP_LAST = 3
"""Messages at the end that pruning leaves alone."""
KEEP_RECENT = 10
"""Messages at the end that `remove_old_messages` keeps, beside the first one."""
KEPT_SHARE = 0.8
"""How much of the threshold stays of an output that passed it: 40,000 characters of 50,000."""


DENSEST = 8.0
"""A message may weigh so many times its estimate: two tokens a character. Beyond that it is prompt and tools."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What the conversation weighs, in the provider's tokens."""

    total: int
    """As the error says, else as counted or estimated."""
    weights: list[float]
    """By message. Where the provider counted more than the messages can weigh, the rest is prompt and tools."""
    share: float
    """What a token as estimated here weighs."""
    counted_share: float
    """What a token as the messages' metadata count it weighs, 0..1."""

    def weight(self, messages: Messages) -> float:
        """The weight of messages of this conversation, or of what they became."""
        return sum(_weight(each, self.share, self.counted_share) for each in messages)


def weigh(messages: Messages, current_tokens: int | None) -> Scale:
    """Weighs each message by the provider's own count.

    Dense text has more tokens than are estimated, and light text fewer: estimates grow and shrink to what the count
    leaves for them. Counts of single messages are what they are, unless they come to more than the whole.
    """
    counted = sum(counted_tokens(message) or 0 for message in messages)
    total = sum(map(tokens_of, messages))
    estimated = total - counted
    share = counted_share = 1.0
    if current_tokens is not None and total:
        if current_tokens - counted < estimated / DENSEST:
            share = counted_share = current_tokens / total
        elif estimated:
            share = min(DENSEST, (current_tokens - counted) / estimated)
    weights = [_weight(message, share, counted_share) for message in messages]
    return Scale(total if current_tokens is None else current_tokens, weights, share, counted_share)


def _weight(message: Message, share: float, counted_share: float) -> float:
    return tokens_of(message) * (share if counted_tokens(message) is None else counted_share)


def truncated(messages: Messages, over_chars: int) -> tuple[list[Message], set[int]]:
    """Tool outputs longer than `over_chars` cut to `KEPT_SHARE` of it; and the positions of messages that were cut."""
    shortened = [_truncated(message, over_chars) for message in messages]
    pairs = enumerate(zip(shortened, messages, strict=True))
    return shortened, {index for index, (new, old) in pairs if new is not old}


def old_enough(messages: Messages, scale: Scale, need: float) -> set[int]:
    """What pruning takes: the oldest turns and steps, until they weigh `need`; the task and the last messages stay."""
    last = range(max(0, len(messages) - KEEP_LAST), len(messages))
    return removable(messages, scale.weights, need, task_of(messages).union(last))


def all_but_recent(messages: Messages, scale: Scale) -> set[int]:
    """Everything between the task and the last messages, as far as calls and turns allow."""
    last = range(max(0, len(messages) - KEEP_RECENT), len(messages))
    return removable(messages, scale.weights, float("inf"), task_of(messages).union(last))


def oldest_turns(messages: Messages, scale: Scale, need: float) -> set[int]:
    """The oldest turns, until they weigh `need`; the last message stays."""
    return removable(messages, scale.weights, need, frozenset({len(messages) - 1}))


def without(messages: Messages, gone: set[int]) -> list[Message]:
    """The messages without those that go."""
    return [message for index, message in enumerate(messages) if index not in gone]


def with_summary(messages: Messages, gone: set[int], summary: str) -> list[Message] | None:
    """The messages without those that go. The next question begins with the summary of what went.

    Where no question is asked behind it, the summary stands before the words of the question that led to it. None where
    that message cannot be written to: then there is no place that every provider takes.
    """
    text = f"[Summary of the earlier conversation]\n{summary.strip()}\n[End of the summary]"
    openers = [turn.opener for turn in turns_of(messages) if turn.opener is not None and turn.opener not in gone]
    place = next((each for each in openers if each > min(gone)), max(openers, default=None))
    if place is None:
        return None
    opener = messages[place]
    body = body_of(opener)
    if not isinstance(opener, Mapping) or not isinstance(body, (str, list)):
        return None
    joined: Any = f"{text}\n\n{body}" if isinstance(body, str) else [text_block(text, body), *body]
    return without([*messages[:place], with_content(opener, joined), *messages[place + 1 :]], gone)


def _truncated(message: Message, over_chars: int) -> Message:
    """The message itself where there is nothing to cut."""
    if not isinstance(message, Mapping):
        return message
    content = body_of(message)
    if isinstance(content, str):
        # A plain conversation keeps outputs in the assistant's messages; no answer of a model is so long.
        if (is_tool_output(message) or role_of(message) == "assistant") and len(content) > over_chars:
            return with_content(message, cut(content, over_chars))
        return message
    if is_tool_output(message):
        blocks = _cut_blocks(blocks_of(message), over_chars)
    else:
        blocks = [_cut_result(block, over_chars) for block in blocks_of(message)]
    changed = any(new is not old for new, old in zip(blocks, blocks_of(message), strict=True))
    return with_content(message, blocks) if changed else message


def _cut_result(block: Any, over_chars: int) -> Any:
    """A `tool_result` block with its content cut."""
    if not isinstance(block, Mapping) or block.get("type") != "tool_result":
        return block
    content = block.get("content")
    if isinstance(content, str):
        return {**block, "content": cut(content, over_chars)} if len(content) > over_chars else block
    if isinstance(content, list):
        inner = _cut_blocks(content, over_chars)
        return {**block, "content": inner} if any(a is not b for a, b in zip(inner, content, strict=True)) else block
    return block


def _cut_blocks(blocks: Sequence[Any], over_chars: int) -> list[Any]:
    """Blocks of one output with their texts cut."""
    return [
        {**block, "text": cut(block["text"], over_chars)}
        if isinstance(block, Mapping) and isinstance(block.get("text"), str) and len(block["text"]) > over_chars
        else block
        for block in blocks
    ]


def cut(text: str, over_chars: int) -> str:
    """The beginning of a text, with a note of how many characters were cut."""
    kept = int(over_chars * KEPT_SHARE)
    return f"{text[:kept]}\n\n[... truncated {len(text) - kept} of {len(text)} characters due to context limit ...]"


_INSIDE = (("content",), ("toolResult", "content"), ("functionResponse", "parts"), ("function_response", "parts"))
"""Where results of tools keep blocks of their own."""
_DEEPEST = 5
"""Results within results are looked into so far; no provider takes that many."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attachment of a conversation."""

    message: int
    """Position of its message in the conversation, from 0."""
    number: int
    """Which of that message's attachments it is, from 0."""
    tokens: int
    """What its message saves without it, as estimated."""


def attachments_of(messages: Messages) -> list[Attachment]:
    """The attachments that can be taken out, oldest first."""
    return [
        Attachment(index, number, estimated_tokens({"content": [block]}))
        for index, message in enumerate(messages)
        if isinstance(message, Mapping) and not is_system(message)
        for number, block in enumerate(_found(blocks_of(message)))
    ]


def without_attachments(
    messages: Messages, share: float, need: float, *, newest: bool = False
) -> tuple[list[Message], set[int]]:
    """The conversation without its oldest attachments that weigh `need`, and the positions of messages that had them.

    A token as estimated weighs `share`. Those of the newest question and of the last message stay, unless `newest`
    asks for them too.
    """
    kept = frozenset[int]() if newest else _newest(messages)
    gone: dict[int, set[int]] = {}
    weight = 0.0
    for each in attachments_of(messages):
        if weight >= need:
            break
        if each.message not in kept:
            gone.setdefault(each.message, set()).add(each.number)
            weight += each.tokens * share
    changed = [_without(message, gone[index]) if index in gone else message for index, message in enumerate(messages)]
    return changed, set(gone)


def _newest(messages: Messages) -> frozenset[int]:
    openers = [turn.opener for turn in turns_of(messages) if turn.opener is not None]
    return frozenset({len(messages) - 1, *openers[-1:]})


def _without(message: Message, numbers: AbstractSet[int]) -> Message:
    count = iter(range(len(_found(blocks_of(message)))))

    def taken(block: Any, media: Media, beside: Sequence[Any]) -> Any:
        if next(count) not in numbers:
            return block
        said = text_block(f"[Removed due to context limit: {media}]", beside)
        # A mark of the prompt cache stands for all before it: it must not go with the attachment.
        return {**said, "cache_control": block["cache_control"]} if "cache_control" in block else said

    return with_content(message, _mapped(blocks_of(message), taken))


def _found(blocks: Sequence[Any]) -> list[Any]:
    found: list[Any] = []

    def seen(block: Any, _: Media, __: Sequence[Any]) -> Any:
        found.append(block)
        return block

    _mapped(blocks, seen)
    return found


def _mapped(blocks: Sequence[Any], change: Callable[[Any, Media, Sequence[Any]], Any]) -> list[Any]:
    """The blocks with `change` applied to each attachment, also to those in the results of tools."""
    return list(_each(blocks, change, 0))


def _each(blocks: Sequence[Any], change: Callable[[Any, Media, Sequence[Any]], Any], depth: int) -> Iterator[Any]:
    for block in blocks:
        media = media_of(block) if isinstance(block, Mapping) else None
        if media is not None:
            yield change(block, media, blocks)
        elif isinstance(block, Mapping) and depth < _DEEPEST:
            yield _inside(block, change, depth + 1)
        else:
            yield block


def _inside(block: Mapping[str, Any], change: Callable[[Any, Media, Sequence[Any]], Any], depth: int) -> Any:
    for path in _INSIDE:
        holder = block.get(path[0]) if len(path) > 1 else block
        inner = holder.get(path[-1]) if isinstance(holder, Mapping) else None
        if isinstance(inner, list) and isinstance(holder, Mapping):
            held = {**holder, path[-1]: list(_each(inner, change, depth))}
            return {**block, path[0]: held} if len(path) > 1 else held
    return block
