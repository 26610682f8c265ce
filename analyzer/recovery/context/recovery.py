"""Making a conversation fit that no longer does: strategy after strategy, until it fits.

Invariant: the conversation is replaced as a whole or stays untouched; the result is smaller and still valid.

The result says which messages were removed, which were cut, and how many tokens are left.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableSequence
from dataclasses import field
from typing import Any

from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen
from analyzer.recovery.context import strategies
from analyzer.recovery.context.conversation import Compression, Message, Messages, get, text_of
from analyzer.recovery.context.progress import TokenLimit, TruncateState
from analyzer.recovery.context.strategies import without_attachments
from analyzer.recovery.waiting import BLOCKING, ON_LOOP, Runner, finish


@frozen
class Fitted:
    """The result of making a conversation fit."""

    messages: list[Message]
    """The smaller conversation; the original one if it could not be made to fit."""
    change: Compression | None
    """The changes; None if it could not be made to fit."""
    skipped: tuple[str, ...] = ()
    """The strategies that were skipped, each with its reason."""
    truncated: TruncateState = field(default_factory=TruncateState)
    """The tool outputs that were cut, and how far."""
    pruned_tokens: int = 0
    """Tokens of the removed messages, less those of a summary that replaces them."""


class Work:
    """A conversation while it is made smaller, with the count of changes."""

    def __init__(self, messages: list[Message], total: int) -> None:
        self.present = messages
        self.total = total
        self.used: list[str] = []
        self.skipped: list[str] = []
        self._positions = list(range(len(messages)))
        """The original position of each message."""
        self._shortened: set[int] = set()
        """The original positions of messages that lost a part of them."""
        self._removed = 0
        self._pruned = 0
        self._sizes: dict[str, tuple[int, int]] = {}

    def apply(self, name: str, smaller: list[Message], changed: set[int], gone: set[int]) -> None:
        """Replace the conversation by a smaller one, if that saves tokens.

        `changed` are the positions of messages that lost a part of them, `gone` those of removed messages.
        """
        scale = strategies.weigh(self.present, self.total)
        saved = sum(scale.weights) - scale.weight(smaller) if changed or gone else 0.0
        if saved <= 0:
            reason = f"{name}: there is nothing that it could make smaller"
            if reason not in self.skipped:
                self.skipped.append(reason)
            return
        if name not in self.used:
            self.used.append(name)
        if name == "truncate_tool_outputs":
            for index in sorted(changed):
                message = self.present[index]
                own = get(message, "id")
                key = own if isinstance(own, str) and own else f"#{self._positions[index]}"
                self._sizes[key] = (len(text_of(message)), len(text_of(smaller[index])))
        self._shortened |= {self._positions[index] for index in changed}
        self._positions = [position for index, position in enumerate(self._positions) if index not in gone]
        self._removed += len(gone)
        left = max(1, round(self.total - saved))
        self._pruned += self.total - left if gone else 0
        self.present, self.total = smaller, left

    def fitted(self, pre_tokens: int) -> Fitted:
        """Return the result, with the count of changes."""
        change = Compression("+".join(self.used), pre_tokens, self.total, self._removed, len(self._shortened))
        sizes = self._sizes
        truncated = TruncateState(
            tuple(sizes), {key: size[0] for key, size in sizes.items()}, {key: size[1] for key, size in sizes.items()}
        )
        return Fitted(self.present, change, tuple(self.skipped), truncated, self._pruned)


STRATEGIES = ("truncate_tool_outputs", "drop_attachments", "prune", "summarize", "remove_old_messages")
COMPRESSED_SHARE = 0.5
"""The share of tokens that a retry after an overflow drops."""

Summarizer = Callable[[list[Message]], str | Awaitable[str]]
"""A function from messages that will be removed, oldest first, to a text that replaces them."""


@frozen
class ContextSettings:
    """The strategies of context recovery and their bounds."""

    enabled: bool = True
    strategies: tuple[str, ...] = STRATEGIES
    """The strategies in the order in which they are tried."""
    max_attempts: int = 3
    """Recoveries of one conversation; the count starts again after one that lasted."""
    lasting_seconds: float = 600.0
    """A recovery has lasted if no overflow followed for so long;
    sooner, if the model went on answering.
    """
    truncate_over_chars: int = 50_000
    """Tool outputs longer than this are cut to four fifths of it."""
    target_ratio: float = 0.8
    """The share of the context that may be filled afterwards."""

    def __post_init__(self) -> None:
        for name in self.strategies:
            if name not in STRATEGIES:
                raise AnalyzerError.unknown_value("strategy", name, STRATEGIES)
        counts = min(self.truncate_over_chars, self.max_attempts)
        if not 0 < self.target_ratio <= 1 or counts < 1 or not self.lasting_seconds > 0:
            raise AnalyzerError(
                f"no such context settings: {self}",
                "target_ratio from 0 to 1, truncate_over_chars and max_attempts from 1, lasting_seconds over 0.",
            )


class ContextRecovery:
    """A function object that makes conversations fit.

    It has no state: one object serves all conversations.
    """

    def __init__(self, settings: ContextSettings | None = None, *, summarizer: Summarizer | None = None) -> None:
        self.settings = settings or ContextSettings()
        self._summarizer = summarizer

    def fit(self, messages: Messages, limit: TokenLimit | None = None) -> Fitted:
        """Make a conversation fit `limit` tokens; without a limit, the target ratio of its present size.

        Raises:
            AnalyzerError: the summarizer is a coroutine function; use `fit_async`.
        """
        return finish(self.fit_by(BLOCKING, messages, limit))

    async def fit_async(self, messages: Messages, limit: TokenLimit | None = None) -> Fitted:
        """Run `fit` with a summarizer that may be a coroutine function; any other runs in a thread."""
        return await self.fit_by(ON_LOOP, messages, limit)

    def compress(self, messages: MutableSequence[Message], *_: Any, **__: Any) -> Compression | None:
        """Make a conversation smaller by about half of its tokens, in place, as `Retry` asks for.

        Attachments are removed first, oldest first, then the oldest turns without instructions. If no turn can be
        removed, long tool outputs are cut; if nothing else helps, attachments of the newest question are removed.
        Returns None if the conversation stays as it is.
        """
        before = strategies.weigh(messages, None).total
        need = before * COMPRESSED_SHARE
        removed, shorter = 0, set[int]()
        used: list[str] = []
        present, lost = without_attachments(messages, 1.0, need)
        if lost:
            shorter |= lost
            used.append("drop_attachments")
        scale = strategies.weigh(present, None)
        if before - scale.total < need:
            gone = strategies.oldest_turns(present, scale, need - (before - scale.total))
            present, removed = strategies.without(present, gone), len(gone)
            if gone:
                used.append("drop_oldest_turns")
            else:
                present, cut = strategies.truncated(present, self.settings.truncate_over_chars)
                shorter |= cut
                used += ["truncate_tool_outputs"] if cut else []
        if not used:
            present, shorter = without_attachments(messages, 1.0, need, newest=True)
            used.append("drop_attachments")
        after = strategies.weigh(present, None).total
        if after >= before:
            return None
        messages[:] = present
        return Compression("+".join(used), before, after, removed, len(shorter))

    async def _summary(self, runner: Runner, old: list[Message]) -> str | None:
        assert self._summarizer is not None  # asked only if there is a summarizer
        try:
            answer = await runner.result(await runner.call(self._summarizer, old))
        except Exception:  # noqa: BLE001 - a foreign summarizer, often a model call: the next strategy takes over
            return None
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise AnalyzerError("the summarizer is a coroutine function", "Use fit_async or handle_async.")
        return answer if isinstance(answer, str) else None

    async def fit_by(self, runner: Runner, messages: Messages, limit: TokenLimit | None = None) -> Fitted:
        """Fit a conversation as `fit` does; the runner calls the summarizer."""
        messages, limit = list(messages), limit or TokenLimit()
        settings = self.settings
        current = limit.current_tokens
        if current is None and limit.max_tokens is not None:
            # The conversation did not fit, whatever the estimate says.
            current = max(limit.max_tokens, strategies.weigh(messages, None).total)
        before = strategies.weigh(messages, current)
        # An overflow without a figure still says that the present size is too much.
        most = limit.max_tokens if limit.max_tokens is not None else before.total
        target = most * settings.target_ratio
        work = Work(messages, before.total)
        for name in settings.strategies:
            if work.used and work.total <= target:
                break
            present, changed, gone = work.present, set[int](), set[int]()
            scale = strategies.weigh(present, work.total)
            if name == "truncate_tool_outputs":
                smaller, changed = strategies.truncated(present, settings.truncate_over_chars)
            elif name == "drop_attachments":
                smaller, changed = without_attachments(present, scale.share, work.total - target)
            elif name == "remove_old_messages":
                gone = strategies.all_but_recent(present, scale)
                smaller = strategies.without(present, gone)
            else:
                gone = strategies.old_enough(present, scale, work.total - target)
                smaller = strategies.without(present, gone)
            if name == "summarize" and gone:
                if self._summarizer is None:
                    work.skipped.append("summarize: there is no summarizer")
                    continue
                summary = await self._summary(runner, [present[index] for index in sorted(gone)])
                summed = strategies.with_summary(present, gone, summary) if summary else None
                if summed is None:
                    work.skipped.append("summarize: the summarizer gave nothing that fits in")
                    continue
                smaller = summed
            work.apply(name, smaller, changed, gone)
        if (not work.used or work.total > most) and "drop_attachments" in settings.strategies:
            share = strategies.weigh(work.present, work.total).share
            smaller, changed = without_attachments(work.present, share, work.total - target, newest=True)
            work.apply("drop_attachments", smaller, changed, set())
        if not work.used or work.total > most or work.total >= before.total:
            return Fitted(messages, None, tuple(work.skipped))
        return work.fitted(before.total)
