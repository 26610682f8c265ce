"""Keeps count while a conversation is made smaller: which messages went, which were cut, how many tokens are left.

Invariant: a step counts only where it saves tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.recovery.context import strategies
from analyzer.recovery.context.conversation import Compression, Message, text_of
from analyzer.recovery.context.media import get
from analyzer.recovery.context.state import TruncateState


@dataclass(frozen=True, slots=True)
class Fitted:
    """The result of making a conversation fit."""

    messages: list[Message]
    """The smaller conversation; the one that was given, where it could not be made to fit."""
    change: Compression | None
    """What was done; null where it could not be made to fit."""
    skipped: tuple[str, ...] = ()
    """The strategies that were skipped, each with why."""
    truncated: TruncateState = field(default_factory=TruncateState)
    """Which tool outputs were cut, and how far."""
    pruned_tokens: int = 0
    """Tokens of the messages that are gone, less those of a summary in their place."""


class Work:
    """A conversation while it is made smaller, with the count of what was done to it."""

    def __init__(self, messages: list[Message], total: int) -> None:
        self.present = messages
        self.total = total
        self.used: list[str] = []
        self.skipped: list[str] = []
        self._places = list(range(len(messages)))
        """Where each message stood at first."""
        self._shortened: set[int] = set()
        """Where messages stood that lost a part of them."""
        self._removed = 0
        self._pruned = 0
        self._sizes: dict[str, tuple[int, int]] = {}

    def cut(self, smaller: list[Message], changed: set[int], name: str) -> None:
        """Replace messages by copies with shorter texts, if that saves tokens."""
        before = self.present
        if not self.shorten(smaller, changed, name):
            return
        for index in sorted(changed):
            own = get(before[index], "id")
            key = own if isinstance(own, str) and own else f"#{self._places[index]}"
            self._sizes[key] = (len(text_of(before[index])), len(text_of(smaller[index])))

    def shorten(self, smaller: list[Message], changed: set[int], name: str) -> bool:
        """Replace messages by copies without some of their parts, if that saves tokens; returns whether it does."""
        if not changed or not self._saves(smaller, name):
            self._skip(name)
            return False
        self._shortened |= {self._places[index] for index in changed}
        return True

    def remove(self, gone: set[int], name: str, smaller: list[Message] | None = None) -> None:
        """Remove messages, if that saves tokens.

        `smaller` is the conversation afterwards, where more than that changes.
        """
        before = self.total
        if not gone or not self._saves(strategies.without(self.present, gone) if smaller is None else smaller, name):
            self._skip(name)
            return
        self._places = [place for index, place in enumerate(self._places) if index not in gone]
        self._removed += len(gone)
        self._pruned += before - self.total

    def fitted(self, pre_tokens: int) -> Fitted:
        """The result, with the count of what was done."""
        change = Compression("+".join(self.used), pre_tokens, self.total, self._removed, len(self._shortened))
        sizes = self._sizes
        truncated = TruncateState(
            tuple(sizes), {key: size[0] for key, size in sizes.items()}, {key: size[1] for key, size in sizes.items()}
        )
        return Fitted(self.present, change, tuple(self.skipped), truncated, self._pruned)

    def _saves(self, smaller: list[Message], name: str) -> bool:
        scale = strategies.weigh(self.present, self.total)
        saved = sum(scale.weights) - scale.weight(smaller)
        if saved <= 0:
            return False
        self.present, self.total = smaller, max(1, round(self.total - saved))
        if name not in self.used:
            self.used.append(name)
        return True

    def _skip(self, name: str) -> None:
        said = f"{name}: there is nothing that it could make smaller"
        if said not in self.skipped:
            self.skipped.append(said)
