"""The test for new messages: unknown ones that a caller did not have before and now shows in several sessions.

The first sight is the start of the clock, so the one session that began it is not counted as evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.settings import TEMPLATE_DAYS, TEMPLATE_MEMORY_DAYS, Settings
from analyzer.analysis.detection.statistics.tails import negative_binomial_tail, negative_binomial_upper

_LEAST_DAYS = 14
"""A template is new only to a caller whose days before its first sight are so many at least."""


@dataclass(slots=True)
class NewTemplates:
    """The unknown templates of one caller, day by day."""

    caller: str
    _sessions: dict[int, int] = field(default_factory=dict)
    """Sessions of the caller by proleptic ordinal."""
    _first: dict[str, int] = field(default_factory=dict)
    """First sight of the current appearance."""
    _last: dict[str, int] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)
    """Sessions since the first sight."""
    _known: set[str] = field(default_factory=set)
    """Reported, or too old to be reported."""

    def look(self, day: int, sessions: int, shown: dict[str, int], settings: Settings) -> Iterator[Detection]:
        """Adds a day (`shown`: sessions by template) and yields a detection of each template that is surely new."""
        self._sessions[day] = sessions
        for template in sorted(shown):
            last = self._last.get(template)
            if last is None or last < day - TEMPLATE_MEMORY_DAYS:
                # Forgotten is as good as never seen.
                self._first[template], self._seen[template] = day, 0
                self._known.discard(template)
            self._last[template] = day
            self._seen[template] += shown[template]
            found = self._judge(day, template, settings)
            if found is not None:
                yield found

    def report(self, template: str) -> None:
        """Marks a template as reported, so that it is not found again."""
        self._known.add(template)

    def _judge(self, day: int, template: str, settings: Settings) -> Detection | None:
        first, seen = self._first[template], self._seen[template]
        if template in self._known or day - first >= TEMPLATE_DAYS or seen < settings.min_sessions:
            return None
        before = [self._sessions[each] for each in range(first - TEMPLATE_MEMORY_DAYS, first) if each in self._sessions]
        if len(before) < _LEAST_DAYS:
            return None
        exposure = sum(before)
        since = sum(self._sessions.get(each, 0) for each in range(first, day + 1))
        # Jeffreys' prior Gamma(1/2) and no sight in `exposure` sessions leave a negative binomial for those since.
        p_value = negative_binomial_tail(seen - 1, 0.5, exposure / (exposure + since))
        if p_value > settings.template_alpha:
            return None
        expected = 0.5 * since / exposure
        return Detection(
            day=date.fromordinal(day),
            caller=self.caller,
            finding="template",
            onset=date.fromordinal(first),
            observed=float(seen),
            expected=expected,
            low=0.0,
            high=float(negative_binomial_upper(0.5, exposure / (exposure + since))),
            p_value=p_value,
            statistic=seen / expected,
            sessions=seen,
            template=template,
            note=f"first seen {date.fromordinal(first)}, in {seen} of {since} sessions since",
        )
