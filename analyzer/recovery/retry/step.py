"""What has to happen before the next try, and how long a refusal asks to wait: for calls and for commands alike.

Invariant: what a provider refuses for is on the guard's record before anybody waits for it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from analyzer.recovery.limits.guard import DEFAULT_BLOCK_SECONDS, RateGuard, RateLimitedError
from analyzer.recovery.limits.state_file import StateError

if TYPE_CHECKING:
    from analyzer.classifier import Classification
    from analyzer.recovery.waiting import Clock


@dataclass(frozen=True, slots=True)
class Step:
    """What has to happen before the next try, in this order."""

    help: str | None = None
    """`compress` or `reprobe`: what the caller does about the cause."""
    block_seconds: float | None = None
    """Wait until the guard says that the provider is ready, about so long; null where no limit is in the way."""
    delay_seconds: float = 0.0
    """Seconds to wait after that."""

    @property
    def seconds(self) -> float:
        """The whole wait in seconds, as far as it is known."""
        return (self.block_seconds or 0.0) + self.delay_seconds


def asked_seconds(verdict: Classification, now: datetime) -> float | None:
    """How long the error itself asks to wait; `now` is aware."""
    if verdict.retry_after_seconds is not None:
        return verdict.retry_after_seconds
    if verdict.reset_at is not None:
        return max(0.0, (verdict.reset_at - now).total_seconds())
    return None


def wait(
    step: Step,
    guard: RateGuard,
    provider: str,
    max_wait_seconds: float,
    clock: Clock,
    cancel: threading.Event | None,
) -> RateLimitedError | None:
    """Waits as a step says; the guard's refusal where the limit has grown longer meanwhile than `max_wait_seconds`.

    Raises:
        WaitCancelledError: `cancel` was set.
    """
    if step.block_seconds is not None:
        try:
            guard.block_until_ready(provider, max_wait_seconds=max_wait_seconds, cancel=cancel)
        except RateLimitedError as refused:
            return refused
        except StateError:
            pass  # a guard that breaks holds nobody back
    clock.sleep(step.delay_seconds, cancel)
    return None


async def wait_async(
    step: Step,
    guard: RateGuard,
    provider: str,
    max_wait_seconds: float,
    clock: Clock,
    cancel: threading.Event | None,
) -> RateLimitedError | None:
    """`wait` for coroutines."""
    if step.block_seconds is not None:
        try:
            await guard.block_until_ready_async(provider, max_wait_seconds=max_wait_seconds, cancel=cancel)
        except RateLimitedError as refused:
            return refused
        except StateError:
            pass
    await clock.sleep_async(step.delay_seconds, cancel)
    return None


def limit_step(
    guard: RateGuard,
    provider: str,
    verdict: Classification,
    headers: object,
    asked_seconds: float | None,
    jitter_seconds: float,
) -> Step:
    """Records a refusal for a limit; the step is to wait until the provider is ready, then the jitter.

    Weak words hold back who heard them, and nobody else: they may speak of something that did not happen here.
    """
    alone = jitter_seconds + (DEFAULT_BLOCK_SECONDS if asked_seconds is None else asked_seconds)
    certain = verdict.confidence != "weak" or verdict.evidence != "text"
    try:
        state = guard.record(provider, headers, limited=certain, wait_seconds=asked_seconds if certain else None)
    except StateError:
        return Step(delay_seconds=alone)  # nobody else will know, but this one waits all the same
    if state.ready:
        return Step(delay_seconds=alone)
    return Step(block_seconds=state.wait_seconds, delay_seconds=jitter_seconds)
