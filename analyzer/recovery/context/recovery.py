"""A conversation that no longer fits is made to fit: strategy after strategy, until it does.

Invariant: the conversation is exchanged as a whole or stays untouched; what comes out is smaller and still valid.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, MutableSequence
from dataclasses import dataclass
from typing import Any

from analyzer.errors import AnalyzerError
from analyzer.recovery.context import strategies
from analyzer.recovery.context.account import Fitted, Work
from analyzer.recovery.context.attachments import without_attachments
from analyzer.recovery.context.conversation import Compression, Message, Messages
from analyzer.recovery.context.token_limit import TokenLimit

STRATEGIES = ("truncate_tool_outputs", "drop_attachments", "prune", "summarize", "remove_old_messages")
COMPRESSED_SHARE = 0.5
"""How much a retry after an overflow drops."""

Summarizer = Callable[[list[Message]], str | Awaitable[str]]
"""Messages that will be removed, oldest first → a text that stands for them."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What context recovery may do, and how far."""

    enabled: bool = True
    strategies: tuple[str, ...] = STRATEGIES
    """In the order in which they are tried."""
    max_attempts: int = 3
    """Recoveries of one conversation, counted anew after one that lasted."""
    lasting_seconds: float = 600.0
    """A recovery has lasted when no overflow followed for so long; sooner, when the model went on answering."""
    truncate_over_chars: int = 50_000
    """Tool outputs longer than this are cut to four fifths of it."""
    target_ratio: float = 0.8
    """How full the context may be afterwards."""

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
    """Makes conversations fit. It has no state: one object serves all conversations."""

    def __init__(self, settings: ContextSettings | None = None, *, summarizer: Summarizer | None = None) -> None:
        self.settings = settings or ContextSettings()
        self._summarizer = summarizer

    def fit(self, messages: Messages, limit: TokenLimit | None = None) -> Fitted:
        """A conversation that fits `limit`; without one, to the target ratio of what it is now.

        Raises:
            AnalyzerError: the summarizer is a coroutine function; use `fit_async`.
        """
        work = self._fit(list(messages), limit or TokenLimit())
        summary: str | None = None
        try:
            while True:
                summary = self._summary(work.send(summary))
        except StopIteration as done:
            fitted: Fitted = done.value
            return fitted

    async def fit_async(self, messages: Messages, limit: TokenLimit | None = None) -> Fitted:
        """`fit` with a summarizer that may be a coroutine function; another one runs in a thread."""
        import asyncio  # only loaded where somebody runs it anyway

        work = self._fit(list(messages), limit or TokenLimit())
        summary: str | None = None
        try:
            while True:
                old = work.send(summary)
                summary = None
                answer = await asyncio.to_thread(self._ask, old)
                if inspect.isawaitable(answer):
                    try:
                        answer = await answer
                    except Exception:  # noqa: BLE001 - a foreign summarizer
                        answer = None
                summary = answer if isinstance(answer, str) else None
        except StopIteration as done:
            fitted: Fitted = done.value
            return fitted

    def compress(self, messages: MutableSequence[Message], *_: Any, **__: Any) -> Compression | None:
        """Makes a conversation smaller by about half of its tokens, in place: what `Retry` asks for.

        Attachments go first, oldest first, then the oldest turns that do not instruct. Where no turn can go, long tool
        outputs are cut; where nothing else helps, attachments of the newest question go. None where it stays as it is.
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

    def _summary(self, old: list[Message]) -> str | None:
        answer = self._ask(old)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise AnalyzerError("the summarizer is a coroutine function", "Use fit_async or handle_async.")
        return answer if isinstance(answer, str) else None

    def _ask(self, old: list[Message]) -> Any:
        assert self._summarizer is not None  # asked only where there is one
        try:
            return self._summarizer(old)
        except Exception:  # noqa: BLE001 - a foreign summarizer, often a model call: the next strategy takes over
            return None

    def _fit(self, messages: list[Message], limit: TokenLimit) -> Generator[list[Message], str | None, Fitted]:
        """Yields messages to summarize, takes their summary or None, and returns the outcome."""
        settings = self.settings
        current = limit.current_tokens
        if current is None and limit.max_tokens is not None:
            # It did not fit, whatever the estimate says.
            current = max(limit.max_tokens, strategies.weigh(messages, None).total)
        before = strategies.weigh(messages, current)
        # An overflow without a figure still says that what there is, is too much.
        most = limit.max_tokens if limit.max_tokens is not None else before.total
        target = most * settings.target_ratio
        work = Work(list(messages), before.total)
        for name in settings.strategies:
            if work.used and work.total <= target:
                break
            scale = strategies.weigh(work.present, work.total)
            if name == "truncate_tool_outputs":
                work.cut(*strategies.truncated(work.present, settings.truncate_over_chars), name)
            elif name == "drop_attachments":
                work.shorten(*without_attachments(work.present, scale.share, work.total - target), name)
            elif name == "remove_old_messages":
                work.remove(strategies.all_but_recent(work.present, scale), name)
            else:
                gone = strategies.old_enough(work.present, scale, work.total - target)
                if name == "summarize" and gone:
                    if self._summarizer is None:
                        work.skipped.append("summarize: there is no summarizer")
                        continue
                    summary = yield [work.present[index] for index in sorted(gone)]
                    summed = strategies.with_summary(work.present, gone, summary) if summary else None
                    if summed is None:
                        work.skipped.append("summarize: the summarizer gave nothing that fits in")
                        continue
                    work.remove(gone, name, summed)
                else:
                    work.remove(gone, name)
        if (not work.used or work.total > most) and "drop_attachments" in settings.strategies:
            scale = strategies.weigh(work.present, work.total)
            found = without_attachments(work.present, scale.share, work.total - target, newest=True)
            work.shorten(*found, "drop_attachments")
        if not work.used or work.total > most or work.total >= before.total:
            return Fitted(messages, None, tuple(work.skipped))
        return work.fitted(before.total)
