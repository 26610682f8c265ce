"""Find changes of wording: a rule falls silent where callers get a new unknown text.

Each of the two happens by chance. So the text must be new, the rule must have matched until then
and match so seldom since then that chance hardly explains it, and the text must come about as often
as the rule is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    OTHER,
    SINCE_BASELINE,
    USUAL,
    around,
    bars,
    counts_axis,
    panels,
    sums_by_day,
)
from analyzer.analysis.kinds.detection import Detection, Settings, ordered
from analyzer.analysis.kinds.families.new_messages import LEAST_HISTORY, MESSAGES, novelty
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, note_of
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.statistics.rates import (
    CountedDay,
    rate_fall,
)
from analyzer.analysis.periods import (
    ACCEPT_DAYS,
    BASELINE_DAYS,
    TEMPLATE_DAYS,
    TEMPLATE_MEMORY_DAYS,
)
from analyzer.frozen import frozen
from analyzer.readable import counted as with_noun

SILENT = 0.2
"""Most sessions in which a rule that fell silent matches, as a part of the expected ones."""
_ALIVE = 0.5
"""Least part of its usual sessions in which it matched in the last days before; else it fell silent
earlier."""
_ALIVE_DAYS = 7
_MISSED = 4.0
"""Most sessions expected to match between the rule's last match and the text's first sight, so that
the rule did not fall silent earlier."""
_IN_PLACE = 3.0
"""Factor by which the sessions with the text may differ from the sessions that the rule misses,
either way."""
_SAME_CALLERS = 0.5
"""Least part of the text's sessions at callers where the rule matched."""
_LEAST_MATCHES = 6
"""Sessions of the baseline below which a rule is too rare for its silence to say anything."""

_Rule = tuple[str, str]
"""Its id and its reason."""


@frozen
class _Text:
    """An unknown text since its first sight."""

    template: str
    first: int
    """Proleptic ordinal."""
    sessions: dict[int, dict[str, int]]
    """By day and caller."""

    def callers(self, day: int) -> set[str]:
        """Return the callers that have shown it by the end of a day."""
        return {caller for at, own in self.sessions.items() if at <= day for caller in own}

    def count(self, day: int, callers: Collection[str]) -> int:
        """Count the sessions of some callers that have shown it by the end of a day."""
        shown = ((caller, number) for at, own in self.sessions.items() if at <= day for caller, number in own.items())
        return sum(number for caller, number in shown if caller in callers)


def reworded(
    templates: pl.DataFrame,
    rules: pl.DataFrame,
    work: pl.DataFrame,
    volumes: pl.DataFrame,
    settings: Settings | None = None,
) -> list[Detection]:
    """Return the findings `wording_changed`: one per text and day that shows it, up to four weeks.

    `templates`: columns `day`, `caller`, `template`, `sessions` of unknown texts. `rules`: columns
    `day`, `caller`, `rule`, `reason`, `sessions` in which the rule matched. `work`: columns `day`,
    `caller`, `exposure`. `volumes`: columns `day`, `caller`, `provider` (empty where unknown),
    `reason`. In the result `observed` and `expected` are the sessions in which the rule matched
    since the first sight of the text (`onset`), `sessions` the sessions that showed the text, and
    `scope` the reason of the `rule`. The caller is null if several callers show the text.
    """
    chosen = settings or Settings()
    texts = list(_new_texts(templates, work, chosen))
    callers = sorted(set().union(*(text.callers(max(text.sessions)) for text in texts)))
    history = _History(rules, work, volumes, pl.Series("caller", callers, pl.String))
    by_rule: dict[str, list[Detection]] = {}
    for text in texts:
        days = list(_replacements(text, history, chosen))
        if days:
            by_rule.setdefault(days[0].rule or "", []).extend(days)
    return ordered(detection for days in by_rule.values() for detection in _one_text_a_rule(days))


def _new_texts(templates: pl.DataFrame, work: pl.DataFrame, settings: Settings) -> Iterator[_Text]:
    """Yield the texts that enough sessions show, once for each time that they are new."""
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


class _History:
    """The matches of rules and the exposure by caller, around a first sight."""

    def __init__(self, rules: pl.DataFrame, work: pl.DataFrame, volumes: pl.DataFrame, callers: pl.Series) -> None:
        named = pl.DataFrame({"caller": callers})
        self._rules, self._work = (
            frame.join(named, on="caller", how="semi").partition_by("caller", as_dict=True) for frame in (rules, work)
        )
        self._volumes = volumes

    def matches(self, callers: Iterable[str], first: int) -> dict[_Rule, dict[tuple[int, str], int]]:
        """Count the sessions that rules matched, by day and caller, around a first sight."""
        sessions_by_rule: dict[_Rule, dict[tuple[int, str], int]] = {}
        columns = ("day", "caller", "rule", "reason", "sessions")
        for rows in _weeks_around(self._rules, callers, first):
            for day, caller, rule, reason, number in rows.select(columns).iter_rows():
                sessions_by_rule.setdefault((rule, reason), {})[day.toordinal(), caller] = number
        return sessions_by_rule

    def exposures(self, callers: Iterable[str], first: int) -> list[tuple[int, str, float]]:
        """Return day, caller and exposure of some callers in the same weeks."""
        columns = ("day", "caller", "exposure")
        rows = (row for frame in _weeks_around(self._work, callers, first) for row in frame.select(columns).iter_rows())
        return [(day.toordinal(), caller, amount) for day, caller, amount in rows]

    def providers(self, callers: Iterable[str], reason: str, first: int, last: int) -> set[str]:
        """Return the providers of some callers' errors of a reason, from day `first` to `last`."""
        between = pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last))
        own = self._volumes.filter(between & pl.col("caller").is_in(list(callers)) & (pl.col("reason") == reason))
        return set(own["provider"]) - {""}


def _weeks_around(
    rows: dict[tuple[Any, ...], pl.DataFrame], callers: Iterable[str], first: int
) -> Iterator[pl.DataFrame]:
    begin, end = date.fromordinal(first - TEMPLATE_MEMORY_DAYS), date.fromordinal(first + ACCEPT_DAYS)
    own = (rows[caller,] for caller in callers if (caller,) in rows)
    return (frame.filter(pl.col("day").is_between(begin, end)) for frame in own)


def _replacements(text: _Text, history: _History, settings: Settings) -> Iterator[Detection]:
    """Yield a detection per day on which a text replaces the rule with the least likely silence."""
    all_callers = sorted(text.callers(max(text.sessions)))
    exposures = history.exposures(all_callers, text.first)
    matches: dict[_Rule, dict[tuple[int, str], int]] | None = None
    chosen: tuple[_Rule, str | None] | None = None
    for day in sorted(text.sessions):
        callers = text.callers(day)
        seen = text.count(day, callers)
        if seen < settings.min_sessions or (chosen is None and day - text.first >= TEMPLATE_DAYS):
            continue
        work: dict[int, float] = {}
        for ordinal, caller, amount in exposures:
            if caller in callers and ordinal <= day:
                work[ordinal] = work.get(ordinal, 0.0) + amount
        new = novelty(day, text.first, seen, work)
        if new is None or new.p_value > settings.template_alpha:
            continue
        if matches is None:
            matches = history.matches(all_callers, text.first)
        matched_before = {
            rule: own
            for rule, own in matches.items()
            if any(ordinal < text.first and caller in callers for ordinal, caller in own)
        }
        rules = sorted(matched_before) if chosen is None else [chosen[0]]
        silences = [
            silence
            for silence in (_silence_of(text, matches[rule], rule, callers, work, day) for rule in rules)
            if silence
        ]
        best = min(silences, key=lambda silence: (silence.p_value, silence.rule), default=None)
        # Every rule that matched there might have fallen silent.
        if best is None or best.p_value * len(matched_before) > settings.wording_alpha:
            continue
        if not _same_provider(history, text, callers, best.reason, day):
            continue
        if chosen is None:
            chosen = (best.rule, best.reason), next(iter(callers)) if len(callers) == 1 else None
        yield best.detection(day, chosen[1], text.template, seen, len(callers))


@frozen
class _Silence:
    """A rule that hardly matches any more."""

    rule: str
    reason: str
    onset: int
    matched: int
    expected: float
    p_value: float

    def detection(self, day: int, caller: str | None, template: str, sessions: int, callers: int) -> Detection:
        """Build the detection of a day on which the text replaces the rule."""
        at = "" if callers == 1 else f" of {callers} callers"
        rule = f"rule {self.rule} ({self.reason})"
        sessions_now = f"{with_noun(self.matched, 'session')} since {date.fromordinal(self.onset)}"
        came = f"{sessions:,} sessions{at} met a new text that no rule knows instead"
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
            note=f"{rule} matched in {sessions_now} (normally {self.expected:,.1f}); {came}",
        )


def _silence_of(
    text: _Text,
    matches: dict[tuple[int, str], int],
    named: _Rule,
    callers: Collection[str],
    work: dict[int, float],
    day: int,
) -> _Silence | None:
    """Test the silence of a rule since a text's first sight or the next day; None without any."""
    number = dict.fromkeys(work, 0)
    where = set()
    for (at, caller), sessions in matches.items():
        if caller in callers and at in number:
            number[at] += sessions
            if at < text.first:
                where.add(caller)
    days = [CountedDay(at, number[at], amount) for at, amount in sorted(work.items())]
    history = [counted for counted in days if counted.day < text.first]
    base = [counted for counted in history if counted.day >= text.first - BASELINE_DAYS]
    before = sum(counted.number for counted in base)
    if before < _LEAST_MATCHES or text.count(day, where) < _SAME_CALLERS * text.count(day, callers):
        return None
    recent = [counted for counted in base if counted.day >= text.first - _ALIVE_DAYS]
    usual = before * sum(counted.exposure for counted in recent) / sum(counted.exposure for counted in base)
    if not recent or sum(counted.number for counted in recent) < _ALIVE * usual:
        return None
    last = max(counted.day for counted in base if counted.number)
    if before * sum(counted.exposure for counted in base if counted.day > last) > _MISSED * sum(
        counted.exposure for counted in base
    ):
        return None
    tails: list[tuple[float, float, int]] = []
    for begin in (text.first, text.first + 1):
        span = [counted for counted in days if begin <= counted.day <= day]
        # The first day may have both texts, so a second test begins on the next day.
        tail = rate_fall(history, span, gap=day - text.first + 1) if span else None
        if tail is not None:
            tails.append((min(1.0, 2 * tail[0]), tail[1], sum(counted.number for counted in span)))
    if not tails:
        return None
    p_value, expected, matched = min(tails)
    missing = expected - matched
    shown = text.count(day, callers)
    if matched > SILENT * expected or not missing / _IN_PLACE <= shown <= missing * _IN_PLACE + 1:
        return None
    return _Silence(*named, text.first, matched, expected, p_value)


def _same_provider(history: _History, text: _Text, callers: Collection[str], reason: str, day: int) -> bool:
    """Return whether old and new errors share a provider; True if either is unrecorded."""
    old = history.providers(callers, reason, text.first - BASELINE_DAYS, text.first - 1)
    new = history.providers(callers, "unknown", text.first, day)
    return not old or not new or bool(old & new)


def _one_text_a_rule(days: list[Detection]) -> Iterator[Detection]:
    """Yield the findings of one text per rule and time: the first one, or that of most sessions."""
    by_text: dict[tuple[str | None, str | None, date | None], list[Detection]] = {}
    for detection in days:
        by_text.setdefault((detection.caller, detection.template, detection.onset), []).append(detection)
    reported: list[list[Detection]] = []
    first_found = [(own[0].day, -(own[0].sessions or 0), own[0].template or "", own) for own in by_text.values()]
    for *_, own in sorted(first_found, key=lambda entry: entry[:3]):
        if any((own[0].day - other[0].day).days <= ACCEPT_DAYS for other in reported):
            continue
        reported.append(own)
    return (
        replace(detection, state="new" if detection is own[0] else "ongoing") for own in reported for detection in own
    )


def wording_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of the chart, a day each."""
    seen, scope = basis.seen, finding.scope
    shown = seen.templates.filter((pl.col("template") == scope.template) & (pl.col("day") >= finding.onset))
    if scope.caller is not None:
        shown = shown.filter(pl.col("caller") == scope.caller)
    own = pl.col("caller").is_in(shown["caller"].unique().to_list()) & around(finding, basis.last)
    matched = seen.rules.filter(own & (pl.col("rule") == scope.rule))
    shown, work = shown.filter(own), seen.work.filter(own)
    return sums_by_day(
        [matched, shown, work],
        rule_sessions=(matched, "sessions"),
        message_sessions=(shown, "sessions"),
        sessions=(work, "sessions"),
    )


def wording_chart(case: Charted) -> Chart:
    """Draw by day the sessions in which the rule matched, those with the new text, and all."""
    rows, latest = case.numbers, case.finding.latest
    marks = (
        bars(rows, "rule_sessions", "sessions in which the rule matched", OTHER),
        bars(rows, "message_sessions", "sessions that show the new text", MARKED),
        bars(rows, "sessions", "sessions in the logs", USUAL, lower=True),
    )
    title = "Sessions by day in which the rule matched, and those that show the new text"
    highest = max((rows["rule_sessions"] + rows["message_sessions"]).to_list(), default=0)
    note = "" if latest.expected is None else f"The rule would have matched in {latest.expected:,.1f} since the onset."
    return panels(case, title, marks, counts_axis("sessions", highest), "sessions", note=note)


_CHART = ChartForm(
    "Days of the old and the new text",
    f"{SINCE_BASELINE} Of the callers that show the new text.",
    {
        **DAY,
        "rule_sessions": "distinct sessions in which the rule matched",
        "message_sessions": "distinct sessions that show the new text",
        "sessions": "distinct sessions that the logs show, with errors or without",
    },
    wording_rows,
    wording_chart,
)


REWORDINGS = {
    "wording_changed": replace(
        MESSAGES["template"],
        title="The provider's wording changed",
        metric="sessions in which the rule matched since the new text came",
        severity=warning,
        sentence=note_of,
        scope="reason",
        explains=True,
        # Where a rule fell silent, what came in place of the texts that it took is unknown.
        evidence=Evidence(reason=lambda finding: "unknown" if finding.scope.rule else finding.scope.reason),
        chart=_CHART,
    ),
}
