"""A finding in plain sentences: what happened, how much, where and since when, and what it cost."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import Cost
from analyzer.analysis.kinds.scope import SHARED, who_of
from analyzer.readable import counted, cut, percent

MAX_CALLERS = 3
"""Callers that a sentence names."""
LEAST_USD = 0.005
"""A smaller cost is shown as nothing."""
_LEAST_WAIT = 60.0
"""Seconds of waiting that are worth a word."""


def sentence(finding: Finding, message: str | None = None, timezone: str = "UTC") -> str:
    """Say who had it and when, what happened, and what it cost.

    `message` is what the errors of its most frequent message all say, or of hand-offs how many
    failed.
    """
    every = finding.cost is not None and finding.cost.every_session
    lead = _every_session(finding, timezone) if every else f"{finding.scope.who}, {finding.when}"
    texts = [f"{lead}: {finding.kind.sentence(finding)}", *_lost(finding, timezone)]
    if finding.wording:
        old, new = finding.wording.old, finding.wording.new
        texts += [f"What it matched: “{_short(old)}”"] if old else []
        texts += [f"The new text: “{_short(new)}”"] if new else []
    elif message and finding.kind.behind.hand_offs:
        texts.append(message)
    elif message and finding.kind.quotes:
        texts.append(f"Most often “{_short(message)}”")
    return "".join(f"{text}. " for text in texts).rstrip()


def _every_session(finding: Finding, timezone: str) -> str:
    """Say that nothing works any more."""
    named = next(filter(None, (getattr(finding.scope, name) for name in SHARED)), None)
    whose = f"the callers of {named}" if named else finding.scope.who
    reason = finding.cost.reason if finding.cost else None
    errors = "errors that no rule knows" if reason == "unknown" else reason
    moment = _moment(finding, timezone)
    if finding.goes_on:
        return f"every session of {whose} has failed with {errors} since {moment}"
    return f"every session of {whose} failed with {errors} from {moment} on"


def _lost(finding: Finding, timezone: str) -> list[str]:
    """Say how many sessions failed, and how much time was spent waiting."""
    cost = finding.cost
    texts: list[str] = []
    if cost is not None and cost.sessions_failed and cost.sessions_seen is not None:
        text = f"{cost.sessions_failed:,} of {cost.sessions_seen:,} sessions{on_its_day(finding)} failed"
        text += _where(finding, cost)
        if cost.failed_since and not cost.every_session and cost.failed_since != finding.first_error_at:
            text += f", most of them after {_moment(finding, timezone)}"
        texts.append(text)
    if cost is not None and (cost.failed_usd or 0) >= LEAST_USD:
        texts.append(f"These sessions cost ${cost.failed_usd:,.2f}")
    if cost is not None and cost.waited_seconds >= _LEAST_WAIT:
        hours = cost.waited_seconds / 3_600
        waited = f"{hours:,.1f} h" if hours >= 1 else f"{cost.waited_seconds / 60:.0f} min"
        texts.append(f"Retries waited {waited}")
    return texts


def _where(finding: Finding, cost: Cost) -> str:
    """Name the callers of failed sessions, if the finding is about several."""
    if finding.scope.caller is not None or not cost.callers:
        return ""
    more = len(cost.callers) - MAX_CALLERS
    names = ", ".join(who_of(caller) for caller in cost.callers[:MAX_CALLERS])
    return f" in {names}" + (f" and {counted(more, 'more caller')}" if more > 0 else "")


def _moment(finding: Finding, timezone: str) -> str:
    """Name the time at which it began to cost; of an earlier day than the last with its date."""
    if finding.cost is None or finding.cost.failed_since is None:
        return f"{finding.onset}"
    local = finding.cost.failed_since.replace(tzinfo=UTC).astimezone(ZoneInfo(timezone))
    zone = "UTC" if timezone == "UTC" else f"({timezone})"
    return f"{local:%H:%M} {zone}" if local.date() == finding.last_on else f"{local:%Y-%m-%d %H:%M} {zone}"


def expected_share(finding: Finding) -> str:
    """Say the share that was expected on its latest day, with its interval."""
    latest = finding.latest
    if latest.expected is None:
        return "without a history to compare with"
    if latest.low is None or latest.high is None:
        return f"normally {percent(latest.expected)}"
    if not latest.low:
        return f"normally {percent(latest.expected)}, at most {percent(latest.high)}"
    return f"normally {percent(latest.expected)}, between {percent(latest.low)} and {percent(latest.high)}"


def on_its_day(finding: Finding) -> str:
    """Name the day of its figures; empty if it has no other day."""
    return "" if finding.onset == finding.last_on else f" on {finding.last_on}"


def in_sessions(finding: Finding) -> str:
    """Say the number of sessions of its latest day."""
    return counted(finding.latest.sessions or 0, "session")


def as_number(value: float | None) -> str:
    """Format a number with one decimal at most, or a dash."""
    return "–" if value is None else f"{value:,.1f}".rstrip("0").rstrip(".")


def _short(text: str) -> str:
    return cut(" ".join(text.split()), 120)
