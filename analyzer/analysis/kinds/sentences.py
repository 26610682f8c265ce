"""A finding in one plain sentence that says what, how much, where and since when: a function for each form of it."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from analyzer.phrases import counted

if TYPE_CHECKING:
    from analyzer.analysis.nightly.findings import Finding

_LEAST_WAIT = 60.0
"""Seconds of waiting that are worth a word."""


def sentence(found: Finding, message: str | None = None, timezone: str = "UTC", when: str = "") -> str:
    """What happened, what it cost before all else. `message` is what the errors of its most frequent message all say.

    `when` names what was looked at, if it is not its last day.
    """
    every = found.cost is not None and found.cost.every_session
    said = f"{_every_session(found, timezone) if every else found.scope.who}: {found.kind.sentence(found)}"
    said += _lost(found, timezone, when or f"of {found.last_on}")
    if found.wording:
        old = f"; what it matched: “{_short(found.wording.old)}”" if found.wording.old else ""
        new = f"; the new text: “{_short(found.wording.new)}”" if found.wording.new else ""
        said += old + new
    elif message and found.kind.quotes:
        said += f"; most often “{_short(message)}”"
    return f"{said}."


def rise(found: Finding) -> str:
    """A rise of the unknown share, with the figures of its latest day."""
    latest = found.latest
    said = f"{_share(latest.observed)} of its distinct errors on {latest.day} are unknown, {_band(found)}"
    return f"{said}, in {_sessions(found)}" + (f", since {found.onset}" if found.onset < found.last_on else "")


def new_message(found: Finding) -> str:
    """A message that the caller did not have before."""
    return f"an unknown message that it did not have before, in {_sessions(found)}, {_since(found)}"


def shared_message(found: Finding) -> str:
    """A message that is new to the whole fleet."""
    said = (found.latest.note or "").rstrip(".")
    return f"an unknown message that nobody had before: {said}"


def weak_message(found: Finding) -> str:
    """A new message whose reason rests on weak evidence."""
    said = f"judged {found.scope.reason} by weak evidence alone, a bare status or weak words"
    if found.scope.caller is None:
        return f"a message that nobody had before, {said}: {(found.latest.note or '').rstrip('.')}"
    return f"a message that it did not have before, {said}, in {_sessions(found)}, {_since(found)}"


def reworded(found: Finding) -> str:
    """A new text in the place of what a rule matched."""
    said = (found.latest.note or "").rstrip(".")
    return said if found.wording else f"{said}, {_since(found)}"


def more_errors(found: Finding) -> str:
    """More errors than the days before let one expect."""
    return f"{(found.latest.note or '').rstrip('.')}, up to {found.last_on}"


def mix(found: Finding) -> str:
    """A change of the mix of reasons."""
    return f"under one and the same rules {found.latest.note}, in the week up to {found.last_on}"


def hand_offs(found: Finding) -> str:
    """More hand-offs than were expected."""
    latest = found.latest
    step = f" in step {found.scope.step}" if found.scope.step else ""
    said = f"{_number(latest.observed)} hand-offs{step} on {latest.day}, {_number(latest.expected)} expected"
    return f"{said} (at most {_number(latest.high)}), in {_sessions(found)}"


def recovery_fell(found: Finding) -> str:
    """Fewer retry chains recover than did."""
    latest = found.latest
    said = f"{_share(latest.observed)} of {latest.groups or 0:,} retry chains for {found.scope.reason} recovered"
    return f"{said} in the week up to {latest.day}, {_band(found)}"


def retry_in_vain(found: Finding) -> str:
    """Retries that hardly ever recover."""
    latest = found.latest
    said = f"retries for {found.scope.reason} recover {_share(latest.observed)} of {latest.groups or 0:,} chains"
    return f"{said} (surely less than {_share(latest.high)})"


def retry_would_pay(found: Finding) -> str:
    """Errors that were given up although retries of their reason recover."""
    latest = found.latest
    said = f"{latest.groups or 0:,} errors {found.scope.reason} were not retried in the week up to {latest.day}"
    return f"{said}, though {_share(latest.observed)} of those that are recover (surely more than {_share(latest.low)})"


def noted(found: Finding) -> str:
    """What the test that found it noted."""
    return f"{(found.latest.note or '').rstrip('.')}, {_since(found)}"


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


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"


def _band(found: Finding) -> str:
    latest = found.latest
    if latest.expected is None:
        return "without a history to compare with"
    if latest.low is None or latest.high is None:
        return f"{_share(latest.expected)} expected"
    return f"{_share(latest.expected)} expected ({_share(latest.low)} to {_share(latest.high)})"


def _sessions(found: Finding) -> str:
    return counted(found.latest.sessions or 0, "session")


def _since(found: Finding) -> str:
    return f"since {found.onset}" if found.onset < found.last_on else f"on {found.onset}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}".rstrip("0").rstrip(".")


def _short(text: str, limit: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
