"""A finding in one plain sentence: what happened, how much, where and since when, and what it cost."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

from analyzer.analysis.kinds.finding import Finding
from analyzer.plurals import counted

_LEAST_WAIT = 60.0
"""Seconds of waiting that are worth a word."""


def sentence(found: Finding, message: str | None = None, timezone: str = "UTC", when: str = "") -> str:
    """What happened, what it cost before all else. `message` is what the errors of its most frequent message all say,
    or of hand-offs how many were given up.

    `when` names what was looked at, if it is not its last day.
    """
    every = found.cost is not None and found.cost.every_session
    said = f"{_every_session(found, timezone) if every else found.scope.who}: {found.kind.sentence(found)}"
    said += _lost(found, timezone, when or f"of {found.last_on}")
    if found.wording:
        old = f"; what it matched: “{_short(found.wording.old)}”" if found.wording.old else ""
        new = f"; the new text: “{_short(found.wording.new)}”" if found.wording.new else ""
        said += old + new
    elif message and found.kind.behind.hand_offs:
        said += f"; {message}"
    elif message and found.kind.quotes:
        said += f"; most often “{_short(message)}”"
    return f"{said}."


def _every_session(found: Finding, timezone: str) -> str:
    """That nothing works any more."""
    named = found.scope.provider or found.scope.model
    whose = f"the callers of {named}" if named else found.scope.who
    reason = found.cost.reason if found.cost else None
    errors = "errors that no rule knows" if reason == "unknown" else reason
    moment = _moment(found, timezone)
    if found.is_open:
        return f"every session of {whose} has failed with {errors} since {moment}"
    return f"every session of {whose} failed with {errors} from {moment} on"


def _lost(found: Finding, timezone: str, when: str) -> str:
    """Sessions that failed, and time spent waiting."""
    cost = found.cost
    if cost is None:
        return ""
    said = ""
    if cost.sessions_failed and cost.sessions_seen is not None:
        said = f"; {cost.sessions_failed:,} of {cost.sessions_seen:,} sessions {when} failed"
        if cost.failed_since is not None and not cost.every_session:
            said += f", more of them from {_moment(found, timezone)} on"
    if cost.waited_seconds >= _LEAST_WAIT:
        hours = cost.waited_seconds / 3_600
        waited = f"{hours:,.1f} h" if hours >= 1 else f"{cost.waited_seconds / 60:.0f} min"
        said += f"{',' if said else ';'} {waited} were spent waiting for retries"
    return said


def _moment(found: Finding, timezone: str) -> str:
    """When it began to cost: the time of the last day, of an earlier one with its date."""
    if found.cost is None or found.cost.failed_since is None:
        return f"{found.onset}"
    local = found.cost.failed_since.replace(tzinfo=UTC).astimezone(ZoneInfo(timezone))
    zone = "UTC" if timezone == "UTC" else f"({timezone})"
    return f"{local:%H:%M} {zone}" if local.date() == found.last_on else f"{local:%Y-%m-%d %H:%M} {zone}"


def as_percent(value: float | None) -> str:
    """A share in whole percent, or a dash."""
    return "–" if value is None else f"{100 * value:.0f}%"


def expected(found: Finding) -> str:
    """The share that was expected on its latest day, with its interval."""
    latest = found.latest
    if latest.expected is None:
        return "without a history to compare with"
    if latest.low is None or latest.high is None:
        return f"{as_percent(latest.expected)} expected"
    return f"{as_percent(latest.expected)} expected ({as_percent(latest.low)} to {as_percent(latest.high)})"


def sessions(found: Finding) -> str:
    """The number of sessions of its latest day."""
    return counted(found.latest.sessions or 0, "session")


def as_number(value: float | None) -> str:
    """A number with one decimal at most, or a dash."""
    return "–" if value is None else f"{value:,.1f}".rstrip("0").rstrip(".")


def _short(text: str, limit: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
