"""The ways to make a conversation smaller, each a function of messages to messages.

Invariant: the result is as valid for its provider as the input, or the strategy returns None.

Messages are removed by turns, so that a provider still takes the rest; attachments are removed oldest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any

from analyzer.frozen import frozen
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


@frozen
class MessageTurn:
    """The messages from one message of the user to the next: the question, the steps, the answer."""

    messages: frozenset[int]
    """Positions of its messages, instructions left out."""
    opener: int | None
    """Position of the user's message; None for the messages before the first one."""
    steps: tuple[frozenset[int], ...]
    """Parts that can be removed while the turn stays, oldest first:
    a call with its results, a word between two others.
    """


def turns_of(messages: Messages) -> list[MessageTurn]:
    """Return the turns, oldest first."""
    turns: list[list[range]] = []
    for atom in _atoms(messages):
        if not turns or _opens(messages, atom):
            turns.append([])
        turns[-1].append(atom)
    return [_turn(messages, atoms) for atoms in turns]


def task_of(messages: Messages) -> frozenset[int]:
    """Return the positions of the first message and of the first question, which state the task."""
    asked = next((turn.opener for turn in turns_of(messages) if turn.opener is not None), 0)
    return frozenset({0, asked}) if messages else frozenset()


def removable(messages: Messages, weights: list[float], need: float, keep: AbstractSet[int]) -> set[int]:
    """Return positions that can be removed, oldest first, until they weigh `need`, or fewer.

    A whole turn is removed if none of it is in `keep`. If that would be more than needed, or a part
    is in `keep`, its steps are removed one by one.
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
        # The message before a removed step must still be followed by a reply.
        if role_of(messages[atom[0]]) == "assistant" and role_of(messages[following[0]]) == "assistant":
            steps.append(frozenset(index for index in atom if not is_system(messages[index])))
    everything = (index for atom in atoms for index in atom if not is_system(messages[index]))
    return MessageTurn(frozenset(everything), opener, tuple(steps))


def _opens(messages: Messages, atom: range) -> bool:
    return len(atom) == 1 and role_of(messages[atom[0]]) == "user" and not answers_a_call(messages[atom[0]])


def _atoms(messages: Messages) -> list[range]:
    """Split the conversation into the smallest pieces that keep
    each tool call and its results together.
    """
    calls: dict[str, int] = {}
    # By first position: the earliest end of the piece that begins there.
    reaches = list(range(len(messages)))
    for index, message in enumerate(messages):
        answered = results_of(message)
        starts = [calls[call_id] for call_id in answered if call_id in calls]
        if not answered and index and answers_a_call(message):
            starts.append(index - 1)  # an output without an id belongs to the message before it
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
"""Messages at the end that pruning keeps."""
KEEP_RECENT = 10
"""Messages at the end that `remove_old_messages` keeps, beside the first one."""
KEPT_SHARE = 0.8
"""The share of the threshold to which a longer output is cut: 40,000 characters of 50,000."""


DENSEST = 8.0
"""The most that a message may weigh, as a multiple of its estimate:
two tokens a character. The rest is prompt and tools.
"""


@frozen
class Scale:
    """The weight of a conversation, in the provider's tokens."""

    total: int
    """The tokens that the error names, else the counted or estimated ones."""
    weights: list[float]
    """Weights by message. If the provider counted more than the messages can weigh,
    the rest is prompt and tools.
    """
    share: float
    """The weight of one estimated token."""
    counted_share: float
    """The weight of one token that the messages' metadata count, 0..1."""

    def weight(self, messages: Messages) -> float:
        """Return the weight of messages of this conversation, or of their shortened copies."""
        return sum(_weight(message, self.share, self.counted_share) for message in messages)


def weigh(messages: Messages, current_tokens: int | None) -> Scale:
    """Weigh each message by the provider's own count.

    Dense text has more tokens than the estimate, and light text fewer: estimates are scaled to the part of the count
    that is left for them. Counts of single messages stay, unless their sum is more than the whole.
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
    """Cut tool outputs longer than `over_chars` to `KEPT_SHARE` of it.

    Also return the positions of the cut messages.
    """
    shortened = [_truncated(message, over_chars) for message in messages]
    pairs = enumerate(zip(shortened, messages, strict=True))
    return shortened, {index for index, (new, old) in pairs if new is not old}


def old_enough(messages: Messages, scale: Scale, need: float) -> set[int]:
    """Return what pruning removes: the oldest turns and steps, until they weigh `need`.

    The task and the last messages stay.
    """
    last = range(max(0, len(messages) - KEEP_LAST), len(messages))
    return removable(messages, scale.weights, need, task_of(messages).union(last))


def all_but_recent(messages: Messages, scale: Scale) -> set[int]:
    """Return everything between the task and the last messages, as far as calls and turns allow."""
    last = range(max(0, len(messages) - KEEP_RECENT), len(messages))
    return removable(messages, scale.weights, float("inf"), task_of(messages).union(last))


def oldest_turns(messages: Messages, scale: Scale, need: float) -> set[int]:
    """Return the oldest turns, until they weigh `need`; the last message stays."""
    return removable(messages, scale.weights, need, frozenset({len(messages) - 1}))


def without(messages: Messages, gone: set[int]) -> list[Message]:
    """Return the messages without the removed ones."""
    return [message for index, message in enumerate(messages) if index not in gone]


def with_summary(messages: Messages, gone: set[int], summary: str) -> list[Message] | None:
    """Return the messages without the removed ones, with their summary at the beginning of the next question.

    If no question follows, the summary is put before the words of the question that led to them. None if that message
    cannot be written to: no other position is valid for every provider.
    """
    text = f"[Summary of the earlier conversation]\n{summary.strip()}\n[End of the summary]"
    openers = [turn.opener for turn in turns_of(messages) if turn.opener is not None and turn.opener not in gone]
    position = next((opener for opener in openers if opener > min(gone)), max(openers, default=None))
    if position is None:
        return None
    opener = messages[position]
    body = body_of(opener)
    if not isinstance(opener, Mapping) or not isinstance(body, (str, list)):
        return None
    joined: Any = f"{text}\n\n{body}" if isinstance(body, str) else [text_block(text, body), *body]
    return without([*messages[:position], with_content(opener, joined), *messages[position + 1 :]], gone)


def _truncated(message: Message, over_chars: int) -> Message:
    """Cut the outputs in a message; a message with nothing to cut is returned as it is."""
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
    """Cut the content of a `tool_result` block."""
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
    """Cut the texts in the blocks of one output."""
    return [
        {**block, "text": cut(block["text"], over_chars)}
        if isinstance(block, Mapping) and isinstance(block.get("text"), str) and len(block["text"]) > over_chars
        else block
        for block in blocks
    ]


def cut(text: str, over_chars: int) -> str:
    """Return the beginning of a text, with a note of how many characters were cut."""
    kept = int(over_chars * KEPT_SHARE)
    return f"{text[:kept]}\n\n[... truncated {len(text) - kept} of {len(text)} characters due to context limit ...]"


_INSIDE = (("content",), ("toolResult", "content"), ("functionResponse", "parts"), ("function_response", "parts"))
"""The paths to the blocks in results of tools."""
_DEEPEST = 5
"""The deepest level of results within results that is read; no provider takes that many."""


@frozen
class Attachment:
    """One attachment of a conversation."""

    message: int
    """Position of its message in the conversation, from 0."""
    number: int
    """Its number among the attachments of that message, from 0."""
    tokens: int
    """The estimated tokens that its message saves without it."""


def attachments_of(messages: Messages) -> list[Attachment]:
    """Return the attachments that can be removed, oldest first."""
    return [
        Attachment(index, number, estimated_tokens({"content": [block]}))
        for index, message in enumerate(messages)
        if isinstance(message, Mapping) and not is_system(message)
        for number, block in enumerate(_attached_blocks(blocks_of(message)))
    ]


def without_attachments(
    messages: Messages, share: float, need: float, *, newest: bool = False
) -> tuple[list[Message], set[int]]:
    """Remove the oldest attachments that weigh `need`; also return the positions of the messages that had them.

    An estimated token weighs `share`. Attachments of the newest question and of the last message stay, unless `newest`
    is set.
    """
    kept = frozenset[int]() if newest else _newest(messages)
    gone: dict[int, set[int]] = {}
    weight = 0.0
    for attachment in attachments_of(messages):
        if weight >= need:
            break
        if attachment.message not in kept:
            gone.setdefault(attachment.message, set()).add(attachment.number)
            weight += attachment.tokens * share
    changed = [_without(message, gone[index]) if index in gone else message for index, message in enumerate(messages)]
    return changed, set(gone)


def _newest(messages: Messages) -> frozenset[int]:
    openers = [turn.opener for turn in turns_of(messages) if turn.opener is not None]
    return frozenset({len(messages) - 1, *openers[-1:]})


def _without(message: Message, numbers: AbstractSet[int]) -> Message:
    count = iter(range(len(_attached_blocks(blocks_of(message)))))

    def replaced(block: Any, media: Media, beside: Sequence[Any]) -> Any:
        if next(count) not in numbers:
            return block
        note = text_block(f"[Removed due to context limit: {media}]", beside)
        # A mark of the prompt cache covers everything before it: it must not go with the attachment.
        return {**note, "cache_control": block["cache_control"]} if "cache_control" in block else note

    return with_content(message, _mapped(blocks_of(message), replaced))


def _attached_blocks(blocks: Sequence[Any]) -> list[Any]:
    attached: list[Any] = []

    def collect(block: Any, _: Media, __: Sequence[Any]) -> Any:
        attached.append(block)
        return block

    _mapped(blocks, collect)
    return attached


def _mapped(blocks: Sequence[Any], change: Callable[[Any, Media, Sequence[Any]], Any]) -> list[Any]:
    """Return the blocks with `change` applied to each attachment,
    also to those in the results of tools.
    """
    return list(_changed_blocks(blocks, change, 0))


def _changed_blocks(
    blocks: Sequence[Any], change: Callable[[Any, Media, Sequence[Any]], Any], depth: int
) -> Iterator[Any]:
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
            changed = {**holder, path[-1]: list(_changed_blocks(inner, change, depth))}
            return {**block, path[0]: changed} if len(path) > 1 else changed
    return block
