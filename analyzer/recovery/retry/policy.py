"""What one caller does about each reason: the recovery table, with what a caller may set.

Invariant: the recovery table of the classifier decides which reasons are tried again; a policy only bounds and hushes.

With it stand how long to wait before the next try, how careful to be with weak evidence, and what retries may spend
in all.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from analyzer.classifier.recovery_table import REASONS, RECOVERY
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.classifier import Classification


@dataclass(frozen=True, slots=True)
class Backoff:
    """`min(cap, base · factorⁿ) · (1 ± jitter)` seconds before the retry after attempt n, counted from 0.

    The jitter stands outside of the cap, so that those who reached the cap together do not come back together.
    """

    base_seconds: float = 0.1
    factor: float = 2.0
    cap_seconds: float = 30.0
    jitter: float = 0.2
    """Half the width of the band, as a share: 0.2 is ±20 %."""

    def __post_init__(self) -> None:
        sound = self.base_seconds >= 0 and self.factor >= 1 and self.cap_seconds >= 0 and 0 <= self.jitter <= 1
        if not sound:
            raise AnalyzerError(
                f"no such backoff: {self}", "base_seconds and cap_seconds from 0, factor from 1, jitter from 0 to 1."
            )

    def delay_seconds(self, attempt: int, rng: random.Random | None = None) -> float:
        """Seconds to wait after failed attempt `attempt`, 0-based."""
        try:
            delay = self.base_seconds * self.factor ** max(0, attempt)
        except OverflowError:
            delay = self.cap_seconds
        draw = (rng or random).uniform(-self.jitter, self.jitter)
        return min(self.cap_seconds, delay) * (1 + draw)


_CALLS_WITH_HELP = {"tool_not_found": 2}
"""Calls in all, where the table allows one but the caller can mend the cause in between."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a retry loop. The defaults are the recovery table."""

    backoff: Backoff = field(default_factory=Backoff)
    max_attempts: Mapping[str, int] = field(default_factory=dict)
    """Calls in all by reason, the first included, where they are to differ from the table's."""
    max_wait_seconds: float = 3600.0
    """A limit that holds longer than this is told to a person instead of being waited for."""
    wait_when_blocked: bool = False
    """Before the first call, when the guard already says no: wait until it says yes, instead of refusing at once."""
    silent: bool = False
    """Classify and log, but neither try again nor raise: for calls that nobody would miss."""

    def __post_init__(self) -> None:
        for reason, calls in self.max_attempts.items():
            if reason not in RECOVERY:
                raise AnalyzerError.unknown_value("reason", reason, REASONS)
            if calls < 1:
                raise AnalyzerError(f"{reason} cannot have {calls} attempts", "The first call counts: give 1 or more.")
            if calls > 1 and not RECOVERY[reason].retryable and reason not in _CALLS_WITH_HELP:
                raise AnalyzerError(
                    f"{reason} is not tried again", "A retry fails the same way; see the recovery table."
                )

    def attempts_for(self, reason: str, *, helped: bool = False, most: int | None = None) -> int:
        """Failures with this reason that end a chain.

        `helped` says that the caller mends the cause in between; `most` bounds what the table allows, though not what
        the caller set.
        """
        standard = max(_CALLS_WITH_HELP.get(reason, 1) if helped else 1, RECOVERY[reason].max_attempts)
        return self.max_attempts.get(reason, standard if most is None else min(standard, most))


PROFILES: Mapping[str, Policy] = MappingProxyType(
    {
        "pre_spawn": Policy(),
        "probe": Policy(wait_when_blocked=True),
        "fetch": Policy(wait_when_blocked=True),
        "silent": Policy(silent=True),
        "transport": Policy(),
    }
)
"""Policies of typical callers. `pre_spawn`: a gate before an agent is started; refuses at once while a limit holds.
`probe`: a live call that asks whether a connection works; `fetch`: a feed; both wait for a limit. `silent`: an update
check. `transport`: tool calls; give it `reprobe`, so that a missing tool is looked for again and called once more."""


DEFAULT_LIMIT = 50


class IterationBudgetExhaustedError(AnalyzerError):
    """No iteration is left for another retry."""

    def __init__(self, limit: int, consumed: int, refunded: int) -> None:
        super().__init__(
            f"the iteration budget of {limit} is used up: {consumed} consumed, {refunded} refunded",
            "The retries have become a cycle; look at what fails before you give them more.",
        )
        self.limit = limit
        self.consumed = consumed
        self.refunded = refunded

    def __reduce__(self) -> tuple[type[IterationBudgetExhaustedError], tuple[int, int, int]]:
        """Copies and pickles are made of the figures, not of the message."""
        return type(self), (self.limit, self.consumed, self.refunded)


class IterationBudget:
    """Iterations that the retries of one task share. Safe between threads; belongs to one process."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 0:
            raise AnalyzerError(f"no such iteration budget: {limit}", "Give a number from 0.")
        self.limit = limit
        self._consumed = 0
        self._refunded = 0
        self._lock = threading.Lock()

    @property
    def consumed(self) -> int:
        """Iterations taken so far."""
        return self._consumed

    @property
    def refunded(self) -> int:
        """Iterations given back so far."""
        return self._refunded

    @property
    def remaining(self) -> int:
        """Iterations that can still be taken."""
        return self.limit - self._consumed + self._refunded

    def consume(self, count: int = 1) -> int:
        """Take iterations before the work that they pay for; returns how many remain.

        Raises:
            IterationBudgetExhaustedError: fewer than `count` remain; nothing is taken.
        """
        with self._lock:
            if count > self.remaining:
                raise IterationBudgetExhaustedError(self.limit, self._consumed, self._refunded)
            self._consumed += count
            return self.remaining

    def refund(self, count: int = 1) -> int:
        """Gives iterations back, because a cache answered; the number that remains. No more than were taken."""
        with self._lock:
            self._refunded += min(count, self._consumed - self._refunded)
            return self.remaining


CAREFUL_CALLS = 2
"""Calls in all on weak words, or against them: the one after the wait shows whether they were right."""
_LATER = 3
"""Steps of the backoff that a careful first wait leaves out: with a factor of two it is eight times as long."""


class Care(NamedTuple):
    """What a verdict's evidence leaves of the recovery table."""

    most_calls: int | None = None
    """Calls in all; None: as many as the table says."""
    skipped_steps: int = 0
    """Steps by which the backoff begins later."""
    against: str | None = None
    """The rule of strong evidence that says not to try again, where one does."""


def care_of(verdict: Classification) -> Care:
    """The care that a verdict asks for.

    Weak words leave two calls, with a longer wait between them, and so does a bare status whose body speaks of
    something that is not tried again. Where the body names that by a rule's own words, code or type, nothing is tried:
    unless there is something to wait for or to compress, which the next call then shows.
    """
    if verdict.confidence != "weak" or not verdict.retryable:
        return Care()
    against, worded = verdict.objections
    if against is not None and verdict.reason == "network_transient":
        return Care(1, 0, against)
    if against is not None or worded or verdict.evidence == "text":
        return Care(CAREFUL_CALLS, _LATER, against)
    return Care()
