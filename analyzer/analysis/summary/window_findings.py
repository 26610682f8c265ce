"""The findings of a window, and the rises of the unknown share in it, of a whole fleet or a part of it.

Invariants: nothing is written down, a nightly check decides, a report looks. A part of a fleet is judged from the whole
of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any, Unpack
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame
from analyzer.analysis.detection.shares import unjudged
from analyzer.analysis.kinds.finding import SHARE, Finding, kind_of
from analyzer.analysis.nightly.check import last_whole_day
from analyzer.analysis.nightly.decisions import as_known
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.evidence import costed, explained, of_the_day
from analyzer.analysis.nightly.incidents import incidents, incidents_between
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.nightly.notes import too_little_history
from analyzer.analysis.observations import Observations, observe
from analyzer.analysis.summary.cases import Case, cases
from analyzer.analysis.tables import Table, Window, WindowWords, as_window, json_ready, table
from analyzer.classifier import Rules
from analyzer.readable import percent
from analyzer.store import Selection, Store
from analyzer.store.shown import ShownRows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
    too_little: str
    """Why the last whole day cannot be judged, in one sentence; empty where it can be."""
    unjudged: tuple[tuple[date, str], ...]
    """Days and callers with many unknown errors and too little history before them."""
    not_replayed: int
    """Errors that could not be judged by today's rules and count as they were recorded."""


def judge_window(store: Store, window: Window, rules: Rules = None) -> Judged:
    """The findings of a window, from its whole days and all days before it.

    Raises:
        RulesError: the rules cannot be used.
    """
    return judge_seen(store, window, observe_window(store, window, store.judge_history(rules)))


def observe_window(store: Store, window: Window, ruleset: str) -> Observations:
    """History up to the window's last day, under the ruleset of this digest, which has judged it."""
    return observe(store, _last_day(window), window.timezone, ruleset, judged_from=window.first_day)


def judge_seen(store: Store, window: Window, seen: Observations) -> Judged:
    """The findings of a window by its `observe_window`."""
    counts = seen.counts
    daily = seen.relays if counts.is_empty() else counts  # a hand-off may fail where nothing else does
    if daily.is_empty():
        return Judged(_NO_LATER, None, (), (), "", (), 0)
    days = daily["day"].unique().sort().to_list()
    first, last = max(window.first_day or days[0], days[0]), days[-1]
    found = detections(seen)
    traffic = seen.traffic(one.caller for one in found)
    priced = costed(store, of_the_day(incidents_between(found, traffic, first, last), seen), seen)
    day_before = incidents(found, traffic, last - timedelta(days=1))
    known = as_known(store, _compared(store, seen, priced, day_before, last))
    findings = explained(store, known, seen.timezone, seen.ruleset)
    return Judged(
        first=first,
        last=last,
        cases=cases(store, findings, seen, last),
        detections=tuple(one for one in found if one.day >= first),
        too_little=too_little_history(seen, last_whole_day(window)),
        unjudged=tuple(each for each in unjudged(counts) if each[0] >= first),
        not_replayed=int(counts["not_replayed"].sum()),
    )


def _compared(
    store: Store, seen: Observations, findings: Sequence[Finding], day_before: Iterable[Finding], last: date
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


_CALLERS = ("errors-by-caller", "relays-by-step", "retries-by-caller")
"""Queries whose callers are those of a part."""


def callers_of(store: Store, only: Selection) -> frozenset[str]:
    """The callers that a part of a store has, whenever they were at work."""
    with store.selecting(replace(only, reason=None)):
        found = {caller for name in _CALLERS for caller in store.query(name)["caller"]}
    return frozenset(found | ({only.caller} if only.caller else set()))


def concerns(finding: Finding, only: Selection, callers: frozenset[str]) -> bool:
    """Whether a finding is about that part: one of its callers, or its model; and its reason, if one is asked for."""
    if only.reason and only.reason != _reason_of(finding):
        return False
    if finding.scope.caller is not None:
        return finding.scope.caller in callers
    return only.model is not None and finding.scope.model == only.model


def select_nights(store: Store, nights: Iterable[Night], only: Selection) -> list[Night]:
    """The nights with the findings that are about that part alone."""
    if not only:
        return list(nights)
    callers = callers_of(store, only)
    return [
        replace(night, findings=tuple(finding for finding in night.findings if concerns(finding, only, callers)))
        for night in nights
    ]


def select_judged(store: Store, judged: Judged, only: Selection) -> Judged:
    """What was judged of a window, as far as it is about that part."""
    if not only:
        return judged
    callers = callers_of(store, only)
    return replace(
        judged,
        cases=tuple(case for case in judged.cases if concerns(case.finding, only, callers)),
        detections=tuple(detection for detection in judged.detections if detection.caller in callers),
        unjudged=tuple(each for each in judged.unjudged if each[1] in callers),
    )


def _reason_of(finding: Finding) -> str | None:
    """The reason that a finding is about; None where it is about none."""
    return finding.scope.reason or ("unknown" if finding.kind.behind.unknown or finding.scope.template else None)


@dataclass(frozen=True, slots=True, repr=False)
class Spikes(ShownRows):
    """The days of a window on which a caller's unknown share was higher than its history allows."""

    found: tuple[Detection, ...]
    """Detections `spike` and `drift`, by caller, then day; docs/explanation/detection.md has the test."""
    unjudged: int
    """Caller-days with many unknown errors, and too little history before them to tell."""
    share: Table
    """Unknown share by day and caller."""
    window: Window

    @property
    def callers(self) -> tuple[str, ...]:
        """Callers with a rise, the one with the most unknown sessions first."""
        weight: dict[str, int] = {}
        for one in self.found:
            weight[one.caller or ""] = weight.get(one.caller or "", 0) + (one.sessions or 0)
        return tuple(sorted(weight, key=lambda caller: (-weight[caller], caller)))

    def to_polars(self) -> pl.DataFrame:
        """One row a detection."""
        return frame(self.found)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "spikes": json_ready(self.found),
            "unjudged": self.unjudged,
            "share": self.share.to_dict(),
            "window": self.window.to_dict(),
        }

    def plot(self) -> Figure:
        """Unknown share by day, rises marked."""
        from analyzer.analysis.charts import unknown_share_chart

        return unknown_share_chart(self)

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        sentences = [
            f"{one.caller}: {percent(one.observed or 0)} of its distinct errors up to {one.day} are unknown, "
            f"{percent(one.expected or 0)} expected ({one.note})"
            for one in self.found[:1]
        ]
        title = f"Spikes {sentences[0]!r}" if sentences else "Spikes, no rise of unknown errors"
        return title, {"found": f"{len(self.found):,}", "unjudged": f"{self.unjudged:,}"}


def spikes(
    store: Store,
    window: str | Window | None = None,
    *,
    rules: Rules = None,
    **words: Unpack[WindowWords],
) -> Spikes:
    """Rises of the unknown share in a window; the history that they are measured against may lie before it.

    Raises:
        AnalyzerError: a window that cannot be read, rules that cannot be used.
    """
    chosen = as_window(window, **words)
    return spikes_of(judge_window(store, chosen, rules), chosen, table(store, "unknown-share", chosen))


def spikes_of(judged: Judged, chosen: Window, share: Table) -> Spikes:
    """The rises among the detections of a window that was judged already, with the answer of `unknown-share`."""
    found = [detection for detection in judged.detections if kind_of(detection.finding).family == SHARE]
    found.sort(key=lambda detection: (detection.caller or "", detection.day))
    return Spikes(tuple(found), len(judged.unjudged), share, chosen)
