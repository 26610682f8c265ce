"""What the page says first: what the last day brought, what it cost, and the key figures with their trends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.analysis import Case, Finding, Overview
from analyzer.analysis.summary.latest_day import LatestDay
from analyzer.phrases import counted
from analyzer.report.cells import NOTHING, count, percent
from analyzer.report.overview_words import ended_chains, sessions_words
from analyzer.report.page.sparkline import sparkline
from analyzer.report.svg.element import Svg

_SHOWN = 6
"""Findings of one group of news; of more it is told that they are there."""
_WORSE = {
    "unknown_share": 1,
    "message_sessions": 1,
    "errors": 1,
    "hand_offs": 1,
    "recovered_share": -1,
}
"""The figure of a finding's chart by which a day is worse than those before, and in which direction."""


@dataclass(frozen=True, slots=True)
class News:
    """The findings of one kind of news."""

    title: str
    cases: tuple[Case, ...]
    """Those that are named."""
    more: int
    """Further ones."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure of the window."""

    anchor: str
    """The section that it leads to."""
    name: str
    figure: str
    more: str
    """What it is a part of."""
    trend: str
    """The compared days against the same days of the week before; empty without any to compare."""
    line: Svg
    """The fortnight; empty where there is nothing to draw."""


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
    groups: dict[str, list[Case]] = {"New": [], "Worse": [], "Over": [], "Goes on": [], "Over before": []}
    for case in overview.cases:
        groups[_group(case, overview.latest)].append(case)
    shown = dict.fromkeys(groups, _SHOWN) | {"Over before": 0}
    return tuple(
        News(name, tuple(cases[: shown[name]]), len(cases[shown[name] :])) for name, cases in groups.items() if cases
    )


def _group(case: Case, latest: LatestDay | None) -> str:
    one = case.finding
    if not case.is_open:
        recent = latest is None or (one.resolved_on is not None and one.resolved_on >= latest.day)
        return "Over" if recent else "Over before"
    if one.state == "new" or (latest is not None and one.opened_on >= latest.day):
        return "New"
    return "Worse" if one.worse or (latest is not None and one.last_on >= latest.day and _peaks(case)) else "Goes on"


def _peaks(case: Case) -> bool:
    """Whether the finding's last day is worse than any before it since it opened."""
    one, frame = case.finding, case.numbers
    name = next((name for name in _WORSE if name in frame.columns), None)
    if name is None or "day" not in frame.columns:
        return False
    days = {day: value for day, value in frame.select("day", name).iter_rows() if value is not None}
    before = [_WORSE[name] * value for day, value in days.items() if one.opened_on <= day < one.last_on]
    return bool(before) and one.last_on in days and _WORSE[name] * days[one.last_on] > max(before)


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


def tiles(overview: Overview) -> list[Tile]:
    """The key figures of the window."""
    totals, known, latest = overview.totals, overview.completeness, overview.latest
    recovered, ended = ended_chains(overview)
    still = sum(case.is_open for case in overview.cases)
    return [
        Tile(
            "findings" if overview.cases else "unknown",
            "Open findings",
            count(still),
            f"{count(len(overview.cases) - still)} over by now",
            "",
            Svg(""),
        ),
        Tile(
            "errors",
            "Errors",
            count(totals.errors),
            f"{counted(totals.callers, 'caller')}, {sessions_words(overview)}",
            _count_trend(latest, "errors"),
            _line(latest, "errors", "Errors a day"),
        ),
        Tile(
            "unknown",
            "Unknown share",
            percent(totals.unknown_share),
            f"{count(totals.unknown_errors)} of {count(totals.counted_errors)} that count",
            _share_trend(latest, "unknown_errors", "counted_errors"),
            _share_line(latest, "unknown_errors", "counted_errors", "Unknown share a day"),
        ),
        Tile(
            "retries",
            "Retries recovered",
            percent(recovered / ended if ended else None),
            f"{count(recovered)} of {counted(ended, 'retried call')} that ended",
            _share_trend(latest, "recovered_chains", "ended_chains"),
            _share_line(latest, "recovered_chains", "ended_chains", "Share of retries that recovered a day"),
        ),
        Tile(
            "relays",
            "Handed off or compacted",
            count(totals.relays),
            f"usage limit reached {counted(totals.exhaustions, 'time')}",
            _count_trend(latest, "relays"),
            _line(latest, "relays", "Hand-offs and compactions a day"),
        ),
        Tile(
            "completeness",
            "Lines read",
            count(known.lines - known.quarantined),
            f"of {count(known.lines)}; {count(known.quarantined)} unreadable",
            "",
            Svg(""),
        ),
    ]


def _count_trend(latest: LatestDay | None, name: str) -> str:
    if latest is None:
        return ""
    now, before = latest.weeks(name)
    if before is None:
        return ""
    return _against(latest, count(round(now)), count(round(before)), now - before)


def _share_trend(latest: LatestDay | None, part: str, whole: str) -> str:
    if latest is None:
        return ""
    (now, before), (all_now, all_before) = latest.weeks(part), latest.weeks(whole)
    if not all_now or not all_before or before is None:
        return ""
    here, there = now / all_now, before / all_before
    return _against(latest, percent(here), percent(there), here - there)


def _against(latest: LatestDay, now: str, before: str, change: float) -> str:
    days = "Last day" if latest.compared == 1 else f"Last {latest.compared} days"
    course = "as the week before" if now == before else f"{'up' if change > 0 else 'down'} from {before}"
    # Part of a week is no week.
    had = f" on {counted(latest.days_before, 'day')}" if latest.days_before < latest.compared else ""
    return f"{days}: {now}, {course}{had}"


def _line(latest: LatestDay | None, name: str, said: str) -> Svg:
    return _drawn(latest.course(name), said) if latest else Svg("")


def _share_line(latest: LatestDay | None, part: str, whole: str, said: str) -> Svg:
    if latest is None:
        return Svg("")
    pairs = zip(latest.course(part), latest.course(whole), strict=True)
    return _drawn([a / b if b and a is not None else None for a, b in pairs], said, percent)


def _drawn(values: list[float | None], said: str, shown: Callable[[float], str] | None = None) -> Svg:
    # One day is no course.
    if sum(value is not None for value in values) < 2:
        return Svg("")
    return sparkline(values, f"{said}, of the last 14 days", shown)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def _name(caller: str) -> str:
    return caller if caller.strip() else NOTHING
