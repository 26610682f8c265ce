"""A plan's usage limit, told from everything else that can end a run.

Invariant: a run with exit code 0 is never exhausted, and prose never is: only the limit's own line counts, where a run
ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.classifier import Classification
    from analyzer.events import EventLog

UNKNOWN_RESET_SECONDS = 3_600.0
"""How long an agent stays away whose limit does not say when it resets."""
MAX_ABSENCE_DAYS = 35
"""No plan counts over a longer time than a month: a later reset is a misprint, and treated as none."""


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """An agent that ran into its usage limit."""

    agent: str
    reason_text: str
    """For people: what it ran into, and when that resets."""
    exhausted_at: datetime
    """Aware, UTC."""
    reset_at: datetime | None
    """Aware, UTC; None where the limit does not say."""
    exit_code: int | None

    @property
    def back_at(self) -> datetime:
        """When the agent may be asked again, aware, UTC."""
        return self.reset_at or self.exhausted_at + timedelta(seconds=UNKNOWN_RESET_SECONDS)


def exhaustion(agent: str, verdict: Classification, exit_code: int, at: datetime) -> Exhaustion | None:
    """What a run says about the agent's usage limit; `at` (aware) is the moment of its end.

    The classifier knows the limit's lines and when they count; the exit code has the last word.
    """
    if exit_code == 0 or verdict.detail != "usage_limit" or not verdict.retryable:
        return None
    reset_at = verdict.reset_at
    if reset_at is None and verdict.retry_after_seconds is not None:
        reset_at = at + timedelta(seconds=verdict.retry_after_seconds)
    when = f"resets {reset_at:%Y-%m-%d %H:%M} UTC" if reset_at else "does not say when it resets"
    if reset_at is not None and reset_at > at + timedelta(days=MAX_ABSENCE_DAYS):
        when, reset_at = f"{when}, which is too far away to be believed", None
    said = _line(verdict)
    text = f"usage limit reached, {when}{f': {said}' if said else ''}"
    return Exhaustion(agent, text, at, reset_at, exit_code)


def log_exhausted(log: EventLog, gone: Exhaustion, *, session: str | None = None) -> None:
    """Log `agent.exhausted`."""
    from analyzer.events.times import format_time

    log.agent_exhausted(
        agent=gone.agent,
        reason_text=gone.reason_text,
        reset_at=format_time(gone.reset_at) if gone.reset_at else None,
        exit_code=gone.exit_code,
        session=session,
    )


def _line(verdict: Classification) -> str:
    """The line that says so: of the record's text, else the last words of the output."""
    from analyzer.classifier.reading.ending import last_line

    facts = verdict.facts
    lines = [*(facts.message or "").splitlines(), *(last_line(text) for text in (facts.stderr, facts.stdout) if text)]
    return next((line.strip()[:200] for line in lines if "limit" in line.lower()), "")
