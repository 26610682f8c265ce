"""The ways to make a conversation smaller, each a function of messages to messages.

Invariant: what comes out is as valid for its provider as what went in, or the strategy answers None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    blocks_of,
    body_of,
    counted_tokens,
    is_tool_output,
    role_of,
    tokens_of,
    with_content,
)
from analyzer.recovery.context.media import text_block
from analyzer.recovery.context.turns import removable, task_of, turns_of

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
