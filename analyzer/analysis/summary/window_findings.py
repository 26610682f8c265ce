"""The findings of a window: the incidents that had a day in it, as of its last day, with what they rest on.

Nothing is written down: a nightly check decides, a report looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.unjudged import unjudged
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.evidence import costed, of_the_day, told
from analyzer.analysis.nightly.handling import as_known
from analyzer.analysis.nightly.incidents import incidents, incidents_between
from analyzer.analysis.observations import Observations, observe
from analyzer.analysis.summary.cases import Case, cases
from analyzer.analysis.window import Window
from analyzer.classifier import Rules
from analyzer.store import Judging

_NO_LATER = date(9000, 1, 1)
"""Stands for an open end; no log is later."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The findings of a window."""

    first: date
    """The window's first day."""
    last: date | None
    """The last day with anything to judge; None without any history."""
    cases: tuple[Case, ...]
    """Open ones, then ended ones; the gravest first."""
    detections: tuple[Detection, ...]
    """What single days of the window showed, by day."""
    unjudged: tuple[tuple[date, str], ...]
    """Days and callers with many unknown errors and too little history before them."""
    not_replayed: int
    """Errors that could not be judged by today's rules and count as they were recorded."""


def judge_window(store: Judging, window: Window, rules: Rules = None) -> Judged:
    """The findings of a window, from its whole days and all days before it.

    Raises:
        RulesError: the rules cannot be used.
    """
    return judge_seen(store, window, observe_window(store, window, store.judge_history(rules)))


def observe_window(store: Judging, window: Window, ruleset: str) -> Observations:
    """All of history up to the window's last day, under the ruleset of this digest, which has judged it."""
    return observe(store, _last_day(window), window.timezone, ruleset)


def judge_seen(store: Judging, window: Window, seen: Observations) -> Judged:
    """The findings of a window by its `observe_window`."""
    counts = seen.counts
    if counts.is_empty():
        return Judged(_NO_LATER, None, (), (), (), 0)
    days = counts["day"].unique().sort().to_list()
    first, last = max(window.first_day or days[0], days[0]), days[-1]
    found = detections(seen)
    traffic = seen.traffic(one.caller for one in found)
    priced = costed(store, of_the_day(incidents_between(found, traffic, first, last), seen), seen)
    day_before = incidents(found, traffic, last - timedelta(days=1))
    known = as_known(store, _compared(store, seen, priced, day_before, last))
    findings = told(store, known, seen.timezone, seen.ruleset)
    return Judged(
        first=first,
        last=last,
        cases=cases(store, findings, seen, last),
        detections=tuple(one for one in found if one.day >= first),
        unjudged=tuple(each for each in unjudged(counts) if each[0] >= first),
        not_replayed=int(counts["not_replayed"].sum()),
    )


def _compared(
    store: Judging, seen: Observations, findings: Sequence[Finding], day_before: Iterable[Finding], last: date
) -> list[Finding]:
    """The findings, those of the last day with whether they are graver than as of the day before."""
    tonight = {one.id for one in findings if one.is_open and one.last_on == last}
    priced = costed(store, of_the_day([one for one in day_before if one.id in tonight], seen), seen)
    before = {one.id: one for one in priced}
    return [replace(one, worse=one.id in before and one.graver_than(before[one.id])) for one in findings]


def _last_day(window: Window) -> date:
    """The last day of the window that is over before its end."""
    if window.until is None:
        return _NO_LATER
    return window.until.replace(tzinfo=UTC).astimezone(ZoneInfo(window.timezone)).date() - timedelta(days=1)
