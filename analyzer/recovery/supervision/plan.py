"""What a supervised run is given, and what it gives."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.classifier import Rules
    from analyzer.events import EventLog
    from analyzer.recovery.limits.guard import RateGuard
    from analyzer.recovery.limits.pool import AgentPool
    from analyzer.recovery.supervision.instance import Streams
    from analyzer.recovery.waiting import Clock


MAX_SECONDS = 366 * 86_400.0
"""Nothing is waited for longer; the system's own timers end somewhere behind that."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a run may take and how often its command is started.

    Raises:
        AnalyzerError: a number of seconds below 0, or of more than a year.
    """

    retries: int = 0
    """Tries after the first one, within what the recovery table allows."""
    timeout_seconds: float | None = None
    """Seconds that each start may take; None for no limit."""
    grace_seconds: float = 3.0
    """Seconds from SIGTERM to SIGKILL."""
    max_wait_seconds: float = 60.0
    """The longest wait for a limit to reset; where one takes longer, there is none."""

    def __post_init__(self) -> None:
        times = {"timeout": self.timeout_seconds, "grace": self.grace_seconds, "max_wait": self.max_wait_seconds}
        for name, seconds in times.items():
            if seconds is not None and not 0 <= seconds <= MAX_SECONDS:
                raise AnalyzerError(f"no {name} of {seconds:g} s", f"name 0 to {MAX_SECONDS:.0f} seconds, a year")


@dataclass(frozen=True, slots=True)
class Run:
    """How a supervised run ended."""

    exit_code: int
    """The command's; 124 where it was timed out, 125 where a relay was halted, 127 where it could not be started, 75
    where a limit that was known already kept it from being started."""
    outcome: str
    """`succeeded`, `recovered`, `exhausted`, `surfaced`, `escalated`, `aborted`, `halted` or `short_circuited`."""
    error: AnalyzerError | None
    """A `StepError` where the command failed."""
    attempts: int
    relay_count: int
    waited_seconds: float
    session: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, and with what; see `supervise`."""

    command: Sequence[str]
    agent: str
    provider: str
    """The name that the guard keeps the limits under."""
    limits: Limits
    streams: Streams
    clock: Clock
    say: Callable[[str], None]
    log: EventLog | str | os.PathLike[str] | None
    pool: AgentPool | None
    guard: RateGuard | None
    cancel: threading.Event | None
    rules: Rules
