"""The attachments of a conversation, taken out oldest first: in the place of each, a text says what it was.

Invariants: instructions keep theirs; what the newest question brought, or the last message shows, goes on demand alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    blocks_of,
    estimated_tokens,
    is_system,
    with_content,
)
from analyzer.recovery.context.media import Media, media_of, text_block
from analyzer.recovery.context.turns import turns_of

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
