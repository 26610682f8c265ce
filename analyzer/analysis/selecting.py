"""Findings of a part of a fleet: judged from the whole of it, and then chosen by what they are about.

Invariant: what a night writes down is never that of a part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.summary.window_findings import Judged
from analyzer.store import Judging, Selection

_CALLERS = ("errors-by-caller", "relays-by-step", "retries-by-caller")
"""Queries whose callers are those of a part."""


def callers_of(store: Judging, only: Selection) -> frozenset[str]:
    """The callers that a part of a store has, whenever they were at work."""
    with store.selecting(replace(only, reason=None)):
        found = {caller for name in _CALLERS for caller in store.query(name)["caller"]}
    return frozenset(found | ({only.caller} if only.caller else set()))


def concerns(one: Finding, only: Selection, callers: frozenset[str]) -> bool:
    """Whether a finding is about that part: one of its callers, or its model; and its reason, if one is asked for."""
    if only.reason and only.reason != _reason_of(one):
        return False
    if one.scope.caller is not None:
        return one.scope.caller in callers
    return only.model is not None and one.scope.model == only.model


def select_nights(store: Judging, nights: Iterable[Night], only: Selection) -> list[Night]:
    """The nights with the findings that are about that part alone."""
    if not only:
        return list(nights)
    callers = callers_of(store, only)
    return [
        replace(night, findings=tuple(one for one in night.findings if concerns(one, only, callers)))
        for night in nights
    ]


def select_judged(store: Judging, judged: Judged, only: Selection) -> Judged:
    """What was judged of a window, as far as it is about that part."""
    if not only:
        return judged
    callers = callers_of(store, only)
    return replace(
        judged,
        cases=tuple(case for case in judged.cases if concerns(case.finding, only, callers)),
        detections=tuple(one for one in judged.detections if one.caller in callers),
        unjudged=tuple(each for each in judged.unjudged if each[1] in callers),
    )


def _reason_of(one: Finding) -> str | None:
    """The reason that a finding is about; None where it is about none."""
    return one.scope.reason or ("unknown" if one.kind.behind.unknown or one.scope.template else None)
