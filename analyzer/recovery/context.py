"""A conversation that no longer fits is made to fit: strategy after strategy, until it does.

Invariant: the conversation is exchanged as a whole or stays untouched; what comes out is smaller and still valid.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, MutableSequence
from dataclasses import dataclass
from typing import Any

from analyzer.classifier import Classification, classify
from analyzer.errors import AnalyzerError
from analyzer.recovery import context_strategies as strategies
from analyzer.recovery.conversation import Compression, Message, Messages

STRATEGIES = ("truncate_tool_outputs", "prune", "summarize", "remove_old_messages")
COMPRESSED_SHARE = 0.5
"""How much a retry after an overflow drops."""

Summarizer = Callable[[list[Message]], str | Awaitable[str]]
"""Messages that will be removed, oldest first → a text that stands for them."""


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """What an error says about a conversation that does not fit."""

    current_tokens: int | None = None
    max_tokens: int | None = None
    provider: str | None = None
    model: str | None = None


def parse_token_limit_error(error: object) -> TokenLimit | None:
    """The limit that an error speaks of; None for any other error. Takes whatever `classify` takes."""
    verdict = error if isinstance(error, Classification) else classify(error)
    if verdict.reason != "context_overflow":
        return None
    return TokenLimit(verdict.current_tokens, verdict.max_tokens, verdict.provider, verdict.model)


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What context recovery may do, and how far."""

    enabled: bool = True
    strategies: tuple[str, ...] = STRATEGIES
    """In the order in which they are tried."""
    max_attempts: int = 3
    """Recoveries of one conversation."""
    truncate_over_chars: int = 50_000
    """Tool outputs longer than this are cut to four fifths of it."""
    target_ratio: float = 0.8
    """How full the context may be afterwards."""

    def __post_init__(self) -> None:
        for name in self.strategies:
            if name not in STRATEGIES:
                raise AnalyzerError.unknown_value("strategy", name, STRATEGIES)
        if not 0 < self.target_ratio <= 1 or self.truncate_over_chars < 1 or self.max_attempts < 1:
            raise AnalyzerError(
                f"no such context settings: {self}",
                "target_ratio from 0 to 1, truncate_over_chars and max_attempts from 1.",
            )


@dataclass(frozen=True, slots=True)
class Fitted:
    """What came of making a conversation fit."""

    messages: list[Message]
    """The smaller conversation; the one that was given, where it could not be made to fit."""
    change: Compression | None
    """What was done; null where it could not be made to fit."""
    skipped: tuple[str, ...] = ()
    """Why strategies were passed over."""


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
        """Drops the oldest turns that do not instruct, about half of the tokens, in place: what `Retry` asks for.

        Where no turn can go, long tool outputs are cut; None where neither makes the conversation smaller.
        """
        scale = strategies.weigh(messages, None)
        gone = strategies.half(messages, scale, COMPRESSED_SHARE)
        shorter, cut = strategies.without(messages, gone), 0
        if not gone:
            shorter, cut = strategies.truncated(messages, self.settings.truncate_over_chars)
        after = strategies.weigh(shorter, None).total
        if after >= scale.total:
            return None
        messages[:] = shorter
        done = "truncate_tool_outputs" if cut else "drop_oldest_turns"
        return Compression(done, scale.total, after, len(gone), cut)

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
        present, total = messages, before.total
        removed = cut = 0
        used: list[str] = []
        skipped: list[str] = []
        for name in settings.strategies:
            if used and total <= target:
                break
            scale = strategies.weigh(present, total)
            smaller, gone, cut_now = present, set[int](), 0
            if name == "truncate_tool_outputs":
                smaller, cut_now = strategies.truncated(present, settings.truncate_over_chars)
            elif name == "remove_old_messages":
                gone = strategies.all_but_recent(present, scale)
                smaller = strategies.without(present, gone)
            else:
                gone = strategies.old_enough(present, scale, total - target)
                smaller = strategies.without(present, gone)
                if name == "summarize" and gone:
                    if self._summarizer is None:
                        skipped.append("summarize: there is no summarizer")
                        continue
                    summary = yield [present[index] for index in sorted(gone)]
                    summed = strategies.with_summary(present, gone, summary) if summary else None
                    if summed is None:
                        skipped.append("summarize: the summarizer gave nothing that fits in")
                        continue
                    smaller = summed
            saved = sum(scale.weights) - strategies.weigh(smaller, None).total * scale.share
            if not (gone or cut_now) or saved <= 0:
                skipped.append(f"{name}: there is nothing that it could make smaller")
                continue
            present, total = smaller, max(1, round(total - saved))
            removed, cut = removed + len(gone), cut + cut_now
            used.append(name)
        if not used or total > most or total >= before.total:
            return Fitted(messages, None, tuple(skipped))
        change = Compression("+".join(used), before.total, total, removed, cut)
        return Fitted(present, change, tuple(skipped))
