"""What the last day brought and what it cost, in the same words for the page and the terminal.

Invariant: what is new, worse or over is told apart here alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.analysis import Case, Finding, Overview
from analyzer.analysis.summary.day_figures import LatestDay
from analyzer.phrases import counted
from analyzer.report.cells import NOTHING, count

_SHOWN = 6
"""Findings of one group of news; of more it is told that they are there."""
NEWS = ("New", "Worse", "Over", "Goes on", "Over before")
"""The kinds of news, in the order of interest."""


@dataclass(frozen=True, slots=True)
class News:
    """The findings of one kind of news."""

    title: str
    cases: tuple[Case, ...]
    """Those that are named."""
    more: int
    """Further ones."""


def day_title(latest: LatestDay) -> str:
    """Which day it is that the page begins with."""
    return f"{'Yesterday' if latest.yesterday else 'The last day with events'}, {latest.day:%A} {latest.day}"


def day_words(latest: LatestDay) -> str:
    """How much was looked at on the day, what that cost, and what was best and worst."""
    value = latest.value
    sessions, errors = int(value("sessions") or 0), int(value("errors") or 0)
    said = f"{counted(sessions, 'session')} looked at, "
    said += (
        f"{counted(errors, 'error')} in {count(int(value('error_sessions') or 0))} of them" if errors else "no error"
    )
    if failed := int(value("failed_sessions") or 0):
        said += f"; in {count(failed)} a retry gave up"
    if waited := value("waited_seconds"):
        said += f"; {_duration(float(waited))} waited for retries"
    if dropped := value("dropped_tokens"):
        said += f"; {count(int(dropped))} tokens dropped by compaction"
    said += "."
    if latest.worst:
        said += f" Most errors: {_name(latest.worst[0])} ({count(latest.worst[1])})."
    if latest.best:
        caller, recovered, ended = latest.best
        said += f" Best recovery: {_name(caller)} ({count(recovered)} of {counted(ended, 'retried call')})."
    return said


def news(overview: Overview) -> tuple[News, ...]:
    """What is new, what is worse, what is over, and what goes on, as of the latest day; groups without any left out."""
    groups: dict[str, list[Case]] = {name: [] for name in NEWS}
    for case in overview.cases:
        groups[news_of(case, overview.latest)].append(case)
    shown = dict.fromkeys(groups, _SHOWN) | {"Over before": 0}
    return tuple(
        News(name, tuple(cases[: shown[name]]), len(cases[shown[name] :])) for name, cases in groups.items() if cases
    )


def news_of(case: Case, latest: LatestDay | None) -> str:
    """The kind of news that a finding is on the latest day."""
    one = case.finding
    if not case.is_open:
        recent = latest is None or (one.resolved_on is not None and one.resolved_on >= latest.day)
        return "Over" if recent else "Over before"
    if one.state == "new" or (latest is not None and one.opened_on >= latest.day):
        return "New"
    return "Worse" if one.worse and (latest is None or one.last_on >= latest.day) else "Goes on"


def dates(one: Finding) -> str:
    """Since when it is open, or when it was over."""
    if one.is_open:
        return f"since {one.onset}"
    return f"from {one.onset} to {one.last_on}" if one.last_on > one.onset else f"on {one.onset}"


def cost_words(one: Finding) -> str:
    """What its last day cost; empty for what has no cost."""
    cost = one.cost
    if cost is None or not (cost.sessions_failed or cost.waited_seconds):
        return ""
    of = f" of {counted(cost.sessions_seen, 'session')}" if cost.sessions_seen is not None else ""
    failed = f"{count(cost.sessions_failed)}{of}" if of else counted(cost.sessions_failed, "session")
    said = f"{failed} failed on {one.last_on}"
    return said + (f", {_duration(cost.waited_seconds)} waited" if cost.waited_seconds else "")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def _name(caller: str) -> str:
    return caller if caller.strip() else NOTHING
