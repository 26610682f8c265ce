"""The test of a change of wording: a rule falls silent where a new unknown text begins, at the same callers.

Either happens by chance. So the text must be new, the rule must have matched up to then and then have matched so seldom
as chance hardly explains, and the text must come about as often as what the rule no longer matches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any

import polars as pl

from analyzer.analysis.detection.detection import (
    ACCEPT_DAYS,
    BASELINE_DAYS,
    TEMPLATE_DAYS,
    TEMPLATE_MEMORY_DAYS,
    Detection,
    Settings,
    frame,
)
from analyzer.analysis.detection.new_messages import LEAST_HISTORY, novelty
from analyzer.analysis.detection.statistics.rates import CountedDay, rate_fall

SILENT = 0.2
"""Part of its expected sessions in which a rule that fell silent matches at most."""
_ALIVE = 0.5
"""Part of its usual sessions in which it matched in the last days before, at least: else it fell silent on its own."""
_ALIVE_DAYS = 7
_MISSED = 4.0
"""Sessions in which it should have matched between its last match and the first sight of the text, at most: so that
it did not fall silent earlier."""
_IN_PLACE = 3.0
"""How many times as often as the sessions that the rule misses a text may come, or as seldom."""
_SAME_CALLERS = 0.5
"""Part of the text's sessions that are of callers at which the rule matched, at least."""
_LEAST_MATCHES = 6
"""Sessions of the baseline below which a rule is too rare for its silence to say anything."""

_Rule = tuple[str, str]
"""Its id and its reason."""


@dataclass(frozen=True, slots=True)
class _Text:
    """An unknown text since its first sight."""

    template: str
    first: int
    """Proleptic ordinal."""
    sessions: dict[int, dict[str, int]]
    """By day and caller."""

    def callers(self, day: int) -> set[str]:
        """Those that have shown it by the end of a day."""
        return {caller for at, own in self.sessions.items() if at <= day for caller in own}

    def count(self, day: int, callers: Collection[str]) -> int:
        """The sessions of some callers that have shown it by then."""
        shown = ((caller, number) for at, own in self.sessions.items() if at <= day for caller, number in own.items())
        return sum(number for caller, number in shown if caller in callers)


def reworded(
    templates: pl.DataFrame,
    rules: pl.DataFrame,
    work: pl.DataFrame,
    volumes: pl.DataFrame,
    settings: Settings | None = None,
) -> pl.DataFrame:
    """Findings `wording_changed`: one a day and text, on days that show it, for four weeks at most.

    `templates`: columns `day`, `caller`, `template`, `sessions` of unknown texts. `rules`: columns `day`, `caller`,
    `rule`, `reason`, `sessions`: those in which a rule matched. `work`: columns `day`, `caller`, `exposure`. `volumes`:
    columns `day`, `caller`, `provider` (empty where unknown), `reason`. `observed` and `expected` are the sessions in
    which the rule matched since the first sight of the text (`onset`), `sessions` those that showed the text; `rule` is
    the rule, `scope` its reason. The caller is null where several show the text.
    """
    chosen = settings or Settings()
    texts = list(_new_texts(templates, work, chosen))
    callers = sorted({caller for text in texts for own in text.sessions.values() for caller in own})
    known = _Known(rules, work, volumes, pl.Series("caller", callers, pl.String))
    found: dict[str, list[Detection]] = {}
    for text in texts:
        days = list(_judged(text, known, chosen))
        if days:
            found.setdefault(days[0].rule or "", []).extend(days)
    return frame(one for days in found.values() for one in _one_text_a_rule(days))


def _new_texts(templates: pl.DataFrame, work: pl.DataFrame, settings: Settings) -> Iterator[_Text]:
    """The texts that enough sessions show soon after their first sight, each time that they are new."""
    beginning = work["day"].min()
    if templates.is_empty() or not isinstance(beginning, date):
        return
    often = templates.group_by("template").agg(pl.sum("sessions"), pl.col("day").max())
    begun = pl.col("day") >= date.fromordinal(beginning.toordinal() + LEAST_HISTORY)
    often = often.filter((pl.col("sessions") >= settings.min_sessions) & begun).select("template")
    rows = templates.join(often, on="template", how="semi").sort("template", "day", "caller")
    for (template,), own in rows.group_by("template", maintain_order=True):
        days: dict[int, dict[str, int]] = {}
        for day, caller, sessions in own.select("day", "caller", "sessions").iter_rows():
            days.setdefault(day.toordinal(), {})[caller] = sessions
        begins = [min(days), *(b for a, b in pairwise(days) if b - a > TEMPLATE_MEMORY_DAYS)]
        for first, end in zip(begins, [*begins[1:], date.max.toordinal()], strict=True):
            if first - beginning.toordinal() >= LEAST_HISTORY:
                last = min(end - 1, first + ACCEPT_DAYS)
                yield _Text(str(template), first, {day: own for day, own in days.items() if first <= day <= last})


class _Known:
    """What the rules matched and how much callers were at work, looked up by caller."""

    def __init__(self, rules: pl.DataFrame, work: pl.DataFrame, volumes: pl.DataFrame, callers: pl.Series) -> None:
        named = pl.DataFrame({"caller": callers})
        self._rules, self._work = (
            frame.join(named, on="caller", how="semi").partition_by("caller", as_dict=True) for frame in (rules, work)
        )
        self._volumes = volumes

    def matches(self, callers: Iterable[str], first: int) -> dict[_Rule, dict[tuple[int, str], int]]:
        """The sessions in which each rule matched, by day and caller, in the weeks around a first sight."""
        found: dict[_Rule, dict[tuple[int, str], int]] = {}
        columns = ("day", "caller", "rule", "reason", "sessions")
        for each in _around(self._rules, callers, first):
            for day, caller, rule, reason, number in each.select(columns).iter_rows():
                found.setdefault((rule, reason), {})[day.toordinal(), caller] = number
        return found

    def exposures(self, callers: Iterable[str], first: int) -> list[tuple[int, str, float]]:
        """How much some callers were at work, by day and caller, in the same weeks."""
        columns = ("day", "caller", "exposure")
        rows = (row for each in _around(self._work, callers, first) for row in each.select(columns).iter_rows())
        return [(day.toordinal(), caller, amount) for day, caller, amount in rows]

    def providers(self, callers: Iterable[str], reason: str, first: int, last: int) -> set[str]:
        """The providers of some callers' errors of a reason from one day to another."""
        between = pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last))
        own = self._volumes.filter(between & pl.col("caller").is_in(list(callers)) & (pl.col("reason") == reason))
        return set(own["provider"]) - {""}


def _around(rows: dict[tuple[Any, ...], pl.DataFrame], callers: Iterable[str], first: int) -> Iterator[pl.DataFrame]:
    begin, end = date.fromordinal(first - TEMPLATE_MEMORY_DAYS), date.fromordinal(first + ACCEPT_DAYS)
    own = (rows[caller,] for caller in callers if (caller,) in rows)
    return (each.filter(pl.col("day").is_between(begin, end)) for each in own)


def _judged(text: _Text, known: _Known, settings: Settings) -> Iterator[Detection]:
    """The days on which a text stands in the place of a rule: of the one that chance explains worst on the first."""
    every = sorted(text.callers(max(text.sessions)))
    exposures = known.exposures(every, text.first)
    matches: dict[_Rule, dict[tuple[int, str], int]] | None = None
    chosen: tuple[_Rule, str | None] | None = None
    for day in sorted(text.sessions):
        callers = text.callers(day)
        seen = text.count(day, callers)
        if seen < settings.min_sessions or (chosen is None and day - text.first >= TEMPLATE_DAYS):
            continue
        work: dict[int, float] = {}
        for at, caller, amount in exposures:
            if caller in callers and at <= day:
                work[at] = work.get(at, 0.0) + amount
        new = novelty(day, text.first, seen, work)
        if new is None or new.p_value > settings.template_alpha:
            continue
        if matches is None:
            matches = known.matches(every, text.first)
        there = {
            rule: own
            for rule, own in matches.items()
            if any(at < text.first and caller in callers for at, caller in own)
        }
        asked = sorted(there) if chosen is None else [chosen[0]]
        falls = [each for each in (_fall(text, matches[one], one, callers, work, day) for one in asked) if each]
        best = min(falls, key=lambda each: (each.p_value, each.rule), default=None)
        # Every rule that matched there might have fallen silent.
        if best is None or best.p_value * len(there) > settings.wording_alpha:
            continue
        if not _same_provider(known, text, callers, best.reason, day):
            continue
        if chosen is None:
            chosen = (best.rule, best.reason), next(iter(callers)) if len(callers) == 1 else None
        yield best.detection(day, chosen[1], text.template, seen, len(callers))


@dataclass(frozen=True, slots=True)
class _Fall:
    """A rule that matches hardly any more."""

    rule: str
    reason: str
    onset: int
    matched: int
    expected: float
    p_value: float
    before: int
    """Sessions in which it matched in the baseline."""

    def detection(self, day: int, caller: str | None, template: str, sessions: int, callers: int) -> Detection:
        """What a finding says of it."""
        at = "" if callers == 1 else f" of {callers} callers"
        was = f"rule {self.rule} ({self.reason}), which matched in {self.before:,} sessions of the six weeks before"
        now = f"matched in {self.matched:,} since {date.fromordinal(self.onset)}, {self.expected:,.1f} expected"
        came = f"a new text that no rule knows came in {sessions:,} sessions{at} instead"
        return Detection(
            day=date.fromordinal(day),
            caller=caller,
            finding="wording_changed",
            onset=date.fromordinal(self.onset),
            observed=float(self.matched),
            expected=self.expected,
            low=0.0,
            p_value=self.p_value,
            q_value=self.p_value,
            statistic=self.matched / self.expected,
            sessions=sessions,
            template=template,
            scope=self.reason,
            rule=self.rule,
            note=f"{was}, {now}; {came}",
        )


def _fall(
    text: _Text,
    matches: dict[tuple[int, str], int],
    named: _Rule,
    callers: Collection[str],
    work: dict[int, float],
    day: int,
) -> _Fall | None:
    """The silence of a rule since the first sight of a text, or since the day after it, which may be one of both."""
    number = dict.fromkeys(work, 0)
    where = set()
    for (at, caller), sessions in matches.items():
        if caller in callers and at in number:
            number[at] += sessions
            if at < text.first:
                where.add(caller)
    days = [CountedDay(at, number[at], amount) for at, amount in sorted(work.items())]
    history = [each for each in days if each.day < text.first]
    base = [each for each in history if each.day >= text.first - BASELINE_DAYS]
    before = sum(each.number for each in base)
    if before < _LEAST_MATCHES or text.count(day, where) < _SAME_CALLERS * text.count(day, callers):
        return None
    recent = [each for each in base if each.day >= text.first - _ALIVE_DAYS]
    usual = before * sum(each.exposure for each in recent) / sum(each.exposure for each in base)
    if not recent or sum(each.number for each in recent) < _ALIVE * usual:
        return None
    last = max(each.day for each in base if each.number)
    if before * sum(each.exposure for each in base if each.day > last) > _MISSED * sum(each.exposure for each in base):
        return None
    tails: list[tuple[float, float, int]] = []
    for begin in (text.first, text.first + 1):
        span = [each for each in days if begin <= each.day <= day]
        # The first day may have both texts: what is counted from the next one on is a second look.
        found = rate_fall(history, span, gap=day - text.first + 1) if span else None
        if found is not None:
            tails.append((min(1.0, 2 * found[0]), found[1], sum(each.number for each in span)))
    if not tails:
        return None
    p_value, expected, matched = min(tails)
    missing = expected - matched
    shown = text.count(day, callers)
    if matched > SILENT * expected or not missing / _IN_PLACE <= shown <= missing * _IN_PLACE + 1:
        return None
    return _Fall(*named, text.first, matched, expected, p_value, before)


def _same_provider(known: _Known, text: _Text, callers: Collection[str], reason: str, day: int) -> bool:
    """Whether the errors that the text is among come from a provider of those that it replaces, where that is known."""
    old = known.providers(callers, reason, text.first - BASELINE_DAYS, text.first - 1)
    new = known.providers(callers, "unknown", text.first, day)
    return not old or not new or bool(old & new)


def _one_text_a_rule(days: list[Detection]) -> Iterator[Detection]:
    """Of several texts in the place of one rule at once the one that was found first, and of these most sessions."""
    by_text: dict[tuple[str | None, str | None, date | None], list[Detection]] = {}
    for one in days:
        by_text.setdefault((one.caller, one.template, one.onset), []).append(one)
    reported: list[list[Detection]] = []
    first_found = [(own[0].day, -(own[0].sessions or 0), own[0].template or "", own) for own in by_text.values()]
    for *_, own in sorted(first_found, key=lambda each: each[:3]):
        if any((own[0].day - other[0].day).days <= ACCEPT_DAYS for other in reported):
            continue
        reported.append(own)
    return (replace(one, state="new" if one is own[0] else "ongoing") for own in reported for one in own)
