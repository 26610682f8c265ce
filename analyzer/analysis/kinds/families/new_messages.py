"""Find messages new to a caller or the fleet: unknown ones, and those decided by weak evidence.

The first sight starts the clock, so the session that began it is not counted as evidence. What two
callers share by chance is gone the next day: a message that is new to a fleet must come back on a
second day. A message that a rule knows only by weak evidence is not new if it was there before,
under any verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    SINCE_BASELINE,
    around,
    counted_beside_expected,
    counts_chart,
)
from analyzer.analysis.kinds.detection import Detection, Settings, frame
from analyzer.analysis.kinds.families.shared import (
    DRAFT_RULES,
    UNKNOWN_ERRORS,
    UNKNOWN_SHOWN,
    WITH_MESSAGE,
    WRITE_A_RULE,
)
from analyzer.analysis.kinds.finding import (
    MESSAGE,
    MESSAGE_ITSELF,
    Basis,
    Charted,
    ChartForm,
    Evidence,
    Finding,
    Kind,
    note_of,
    since,
)
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.sentences import in_sessions
from analyzer.analysis.kinds.statistics.tails import (
    false_discovery,
    negative_binomial_tail,
    negative_binomial_upper,
)
from analyzer.analysis.periods import (
    ACCEPT_DAYS,
    QUIET_DAYS,
    TEMPLATE_DAYS,
    TEMPLATE_MEMORY_DAYS,
)

LEAST_HISTORY = 14
"""Days at work that a caller or fleet must have before the first sight of a template, so that it is
new."""
LEAST_CALLERS, LEAST_DAYS = 2, 2
"""Callers with a text, and days with it, that a finding of the fleet needs."""


@dataclass(frozen=True, slots=True)
class Novelty:
    """The surprise that sessions show a text which none showed before."""

    day: int
    """Proleptic ordinal, like `first`."""
    first: int
    sessions: int
    """Sessions with the text since its first sight."""
    since: float
    """Sessions since then that may have shown it."""
    expected: float
    high: float
    p_value: float

    def detection(self, finding: str, caller: str | None, template: str, note: str) -> Detection:
        """Build the detection with these figures."""
        return Detection(
            day=date.fromordinal(self.day),
            caller=caller,
            finding=finding,
            onset=date.fromordinal(self.first),
            observed=float(self.sessions),
            expected=self.expected,
            low=0.0,
            high=self.high,
            p_value=self.p_value,
            statistic=self.sessions / self.expected,
            sessions=self.sessions,
            template=template,
            note=note,
        )


def novelty(day: int, first: int, sessions: int, exposure: Mapping[int, float]) -> Novelty | None:
    """Test a text that `sessions` showed from the day `first` to `day`, and none showed before.

    `exposure` has the sessions of each day (proleptic ordinal); the result is None if too few days
    lie before.
    """
    before = [exposure[at] for at in range(first - TEMPLATE_MEMORY_DAYS, first) if at in exposure]
    if len(before) < LEAST_HISTORY:
        return None
    sessions_before, since = sum(before), sum(exposure.get(at, 0) for at in range(first, day + 1))
    # Jeffreys' prior Gamma(1/2) and no sight before give a negative binomial for those since.
    success = sessions_before / (sessions_before + since)
    p_value = negative_binomial_tail(sessions - 1, 0.5, success)
    high = float(negative_binomial_upper(0.5, success))
    return Novelty(day, first, sessions, since, 0.5 * since / sessions_before, high, p_value)


def goes_on(last: int, day: int, at_work: Collection[int]) -> bool:
    """Return whether a message last shown on day `last` goes on: few quiet days came since.

    After enough of them its finding is over; else a rare message would be a new finding each time
    it comes.
    """
    return sum(at in at_work for at in range(last + 1, day)) < QUIET_DAYS


@dataclass(slots=True)
class NewTemplates:
    """The unknown templates of one caller by day."""

    caller: str
    _sessions: dict[int, int] = field(default_factory=dict)
    """Sessions of the caller by proleptic ordinal."""
    _first: dict[str, int] = field(default_factory=dict)
    """First sight of the current appearance."""
    _last: dict[str, int] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)
    """Sessions with the template since its first sight."""
    _reported: dict[str, int] = field(default_factory=dict)
    """The last day on which a reported template was shown without a quiet stretch before it."""

    def look(self, day: int, sessions: int, shown: dict[str, int], settings: Settings) -> Iterator[Detection]:
        """Add a day (`shown`: sessions by template); yield a detection per template that is new or goes on."""
        self._sessions[day] = sessions
        for template in sorted(shown):
            last = self._last.get(template)
            if last is None or last < day - TEMPLATE_MEMORY_DAYS:
                # A forgotten template is new again.
                self._first[template], self._seen[template] = day, 0
                self._reported.pop(template, None)
            self._last[template] = day
            self._seen[template] += shown[template]
            detection = self._judge(day, template, settings)
            if detection is not None:
                yield detection

    def report(self, template: str, day: int) -> None:
        """Mark a template as reported on a day."""
        self._reported[template] = day

    def _judge(self, day: int, template: str, settings: Settings) -> Detection | None:
        first, seen, reported = self._first[template], self._seen[template], self._reported.get(template)
        if reported is not None:
            if not goes_on(reported, day, self._sessions):
                return None
            self._reported[template] = day
        if day - first >= TEMPLATE_DAYS + (0 if reported is None else ACCEPT_DAYS) or seen < settings.min_sessions:
            return None
        surprise = novelty(day, first, seen, self._sessions)
        if surprise is None or (reported is None and surprise.p_value > settings.template_alpha):
            return None
        note = f"first seen {date.fromordinal(first)}, in {seen} of {surprise.since:.0f} sessions since"
        detection = surprise.detection("template", self.caller, template, note)
        return detection if reported is None else replace(detection, state="ongoing")


def new_templates(templates: pl.DataFrame, counts: pl.DataFrame, settings: Settings) -> Iterator[Detection]:
    """Yield the findings `template`: unknown messages that are new to a caller, on days that show them.

    Of several new messages of a night the clearest is reported. A message that goes on is reported
    for four weeks at most.

    `templates`: columns `day`, `caller`, `template`, `sessions`. `counts`: a row for each `day` of
    a `caller` with its `sessions`, sorted by both.
    """
    often = templates.group_by("caller", "template").agg(pl.sum("sessions"))
    often = often.filter(pl.col("sessions") >= settings.min_sessions).select("caller").unique()
    shown: dict[tuple[date, str], dict[str, int]] = {}
    for day, caller, template, sessions in templates.join(often, on="caller", how="semi").iter_rows():
        texts = shown.setdefault((day, caller), {})
        texts[template] = texts.get(template, 0) + sessions
    judged: dict[date, int] = dict(counts.group_by("day").len().iter_rows())
    callers: dict[str, NewTemplates] = {}
    at_work = counts.select("day", "caller", "sessions").join(often, on="caller", how="semi", maintain_order="left")
    for (day,), rows in at_work.group_by("day", maintain_order=True):
        clearest: list[Detection] = []
        for caller, sessions in rows.select("caller", "sessions").iter_rows():
            own = callers.setdefault(caller, NewTemplates(caller))
            judgements = list(own.look(day.toordinal(), sessions, shown.get((day, caller), {}), settings))
            yield from (detection for detection in judgements if detection.state != "new")
            candidates = [detection for detection in judgements if detection.state == "new"]
            if candidates:
                first, *rest = sorted(
                    candidates, key=lambda detection: (detection.p_value or 0.0, detection.template or "")
                )
                others = f"; with it: {', '.join(str(detection.template) for detection in rest)}" if rest else ""
                clearest.append(replace(first, note=f"{first.note}{others}"))
        p_values = [detection.p_value or 0.0 for detection in clearest]
        for detection, q_value in zip(
            clearest, false_discovery([*p_values, *[1.0] * (judged[day] - len(clearest))]), strict=False
        ):
            if q_value <= settings.false_discovery_rate:
                callers[str(detection.caller)].report(str(detection.template), day.toordinal())
                yield replace(detection, q_value=q_value)


@dataclass(slots=True)
class _Appearance:
    """A text of the fleet since its first sight, or since it came back after it was forgotten."""

    first: int
    last: int
    sessions: int = 0
    callers: set[str] = field(default_factory=set)
    days: int = 0
    reported: bool = False
    over: bool = False
    """True if it was quiet after it was reported: only after it is forgotten is it reported
    again."""


def shared_templates(templates: pl.DataFrame, work: pl.DataFrame, settings: Settings | None = None) -> pl.DataFrame:
    """Return the findings `shared_template`: unknown messages new to the fleet, by day.

    A message that goes on is reported until it is quiet, for at most four weeks.

    `templates`: columns `day`, `caller`, `template`, `sessions`. `work`: columns `day`, `caller`,
    `exposure`, the sessions that may have shown a text. `observed` and `expected` are sessions
    since the first sight (`onset`).
    """
    chosen = settings or Settings()
    exposure = {
        day.toordinal(): float(amount)
        for day, amount in work.group_by("day").agg(pl.col("exposure").sum()).sort("day").iter_rows()
    }
    appearances: dict[str, _Appearance] = {}
    detections: list[Detection] = []
    days = templates.group_by("day", "template").agg(pl.col("sessions").sum(), pl.col("caller").drop_nulls().unique())
    for day, template, sessions, callers in days.sort("day", "template").iter_rows():
        ordinal = day.toordinal()
        seen = appearances.get(template)
        if seen is None or seen.last < ordinal - TEMPLATE_MEMORY_DAYS:
            seen = appearances[template] = _Appearance(ordinal, ordinal)
        last, seen.last = seen.last, ordinal
        seen.days += 1
        seen.sessions += sessions
        seen.callers.update(callers)
        seen.over |= seen.reported and not goes_on(last, ordinal, exposure)
        detections += _judged(ordinal, template, seen, exposure, chosen)
    return frame(detections)


def _judged(
    day: int, template: str, seen: _Appearance, exposure: dict[int, float], settings: Settings
) -> Iterator[Detection]:
    age = day - seen.first
    if seen.over or age >= TEMPLATE_DAYS + (ACCEPT_DAYS if seen.reported else 0):
        return
    if seen.sessions < settings.min_sessions or len(seen.callers) < LEAST_CALLERS or seen.days < LEAST_DAYS:
        return
    surprise = novelty(day, seen.first, seen.sessions, exposure)
    if surprise is None or (not seen.reported and surprise.p_value > settings.template_alpha):
        return
    callers = len(seen.callers)
    note = f"first seen {date.fromordinal(seen.first)}, in {seen.sessions} sessions of {callers} callers since"
    detection = surprise.detection("shared_template", None, template, note)
    yield replace(detection, state="ongoing" if seen.reported else "new")
    seen.reported = True


_WEAK_FINDING = "weak_template"


@dataclass(slots=True)
class _Text:
    """A message of a caller, or of the fleet (without a caller), since its first sight."""

    caller: str | None
    template: str
    first: int
    """Proleptic ordinal."""
    reason: str = ""
    """The reason of most sessions on its first day."""
    sessions: int = 0
    """Sessions that weak evidence decided."""
    days: int = 0
    callers: set[str] = field(default_factory=set)
    reported: int = 0
    """The last day on which it was reported; 0 if never."""
    over: bool = False

    def show(self, reason: str, sessions: int, callers: list[str]) -> None:
        """Add a day that shows it."""
        self.reason = self.reason or reason
        self.sessions += sessions
        self.days += 1
        self.callers.update(callers)

    def judged(self, day: int, exposure: Mapping[int, float], settings: Settings) -> Detection | None:
        """Return the detection of a day that shows it, if it is surely new or goes on."""
        if self.reported:
            self.over |= not goes_on(self.reported, day, exposure)
        elif not self._is_frequent(day, settings):
            return None
        surprise = None if self.over else novelty(day, self.first, self.sessions, exposure)
        if surprise is None or (not self.reported and surprise.p_value > settings.template_alpha):
            return None
        of = f" of {len(self.callers)} callers" if self.caller is None else ""
        note = f"first seen {date.fromordinal(self.first)}, in {self.sessions} sessions{of} since"
        detection = surprise.detection(_WEAK_FINDING, self.caller, self.template, note)
        return replace(detection, scope=self.reason, state="ongoing" if self.reported else "new")

    def _is_frequent(self, day: int, settings: Settings) -> bool:
        shared = self.caller is not None or (len(self.callers) >= LEAST_CALLERS and self.days >= LEAST_DAYS)
        return shared and day - self.first < TEMPLATE_DAYS and self.sessions >= settings.min_sessions


def weak_templates(
    known_messages: pl.DataFrame,
    unknown: pl.DataFrame,
    counts: pl.DataFrame,
    work: pl.DataFrame,
    settings: Settings | None = None,
) -> pl.DataFrame:
    """Return the findings `weak_template`: new messages of a caller or of the fleet, by day.

    `known_messages`: columns `day`, `caller`, `template`, `reason`, `sessions` and `weak_sessions`,
    the sessions of these that weak evidence decided. `unknown`: columns `day`, `caller`,
    `template`. `counts`: columns `day`, `caller`, `sessions` with an error. `work`: columns `day`,
    `caller`, `exposure`. `scope` is the reason. Of several new messages of a caller on a night one
    is reported. A message that goes on is reported for at most four weeks.
    """
    chosen = settings or Settings()
    if known_messages.is_empty() or counts.is_empty():
        return frame(())
    seen = _enough(known_messages, unknown, chosen.min_sessions)
    beginning = counts["day"].min()
    own = _sightings(seen, beginning, by_caller=True)
    exposures = {caller: rows for (caller,), rows in counts.group_by("caller")}
    asked = own["caller"].unique()
    by_caller = {caller: _exposure(exposures[caller], "sessions") for caller in asked if caller in exposures}
    at_work = dict(counts.group_by("day").len().iter_rows())
    fleet = list(_reported(_sightings(seen, beginning, by_caller=False), {"": _exposure(work, "exposure")}, {}, chosen))
    since: dict[str | None, date] = {}
    for detection in fleet:
        since.setdefault(detection.template, detection.day)
    # A finding of the fleet is not repeated for its callers, unless theirs began earlier.
    callers: list[Detection] = []
    begun: set[tuple[str | None, str | None]] = set()
    for detection in _reported(own, by_caller, at_work, chosen):
        text = detection.caller, detection.template
        if detection.day < since.get(detection.template, date.max) or text in begun:
            begun.add(text)
            callers.append(detection)
    return frame([*fleet, *callers])


def _enough(known_messages: pl.DataFrame, unknown: pl.DataFrame, least: int) -> pl.DataFrame:
    """Return all days of messages that weak evidence decided in at least `least` sessions."""
    often = known_messages.group_by("template").agg(pl.sum("weak_sessions")).filter(pl.col("weak_sessions") >= least)
    columns = ("day", "caller", "template", "reason", "weak_sessions")
    unknown_rows = unknown.select(
        "day", "caller", "template", reason=pl.lit("unknown"), weak_sessions=pl.lit(0, pl.Int64)
    )
    return pl.concat([known_messages.select(columns), unknown_rows]).join(
        often.select("template"), on="template", how="semi"
    )


def _sightings(rows: pl.DataFrame, beginning: Any, *, by_caller: bool) -> pl.DataFrame:
    """Return the days of messages since their first sight, if enough history lies before it.

    Columns: `caller` (empty for the fleet), `template`, `first`, `day`, `reason`, `weak_sessions`,
    `callers`.
    """
    unit = pl.col("caller") if by_caller else pl.lit("").alias("caller")
    days = (
        rows.sort("weak_sessions", "reason", descending=[True, False])
        .group_by("day", "template", unit, maintain_order=True)
        .agg(
            pl.col("reason").first(),
            pl.col("caller").filter(pl.col("weak_sessions") > 0).unique().sort().alias("callers"),
            pl.sum("weak_sessions"),
        )
        .sort("caller", "template", "day")
    )
    gap = (pl.col("day") - pl.col("day").shift().over("caller", "template")).dt.total_days()
    first = pl.when(gap.is_null() | (gap > TEMPLATE_MEMORY_DAYS)).then(pl.col("day"))
    dated = days.with_columns(first.forward_fill().over("caller", "template").alias("first"))
    age = (pl.col("day") - pl.col("first")).dt.total_days()
    old = (pl.col("first") - beginning).dt.total_days() >= LEAST_HISTORY
    return dated.filter(old & (age < TEMPLATE_DAYS + ACCEPT_DAYS) & (pl.col("weak_sessions") > 0)).sort(
        "day", "caller", "template"
    )


def _reported(
    rows: pl.DataFrame, exposures: Mapping[str, Mapping[int, float]], at_work: Mapping[date, int], settings: Settings
) -> Iterator[Detection]:
    """Yield the detections by day, corrected for all callers `at_work` (empty for the fleet)."""
    texts: dict[tuple[str, str, date], _Text] = {}
    for (day,), of_day in rows.group_by("day", maintain_order=True):
        at = day.toordinal()
        news: dict[str, list[tuple[_Text, Detection]]] = {}
        for caller, template, first, reason, sessions, callers in of_day.select(
            "caller", "template", "first", "reason", "weak_sessions", "callers"
        ).iter_rows():
            sighting = _Text(caller or None, template, first.toordinal())
            text = texts.setdefault((caller, template, first), sighting)
            text.show(reason, sessions, callers)
            detection = text.judged(at, exposures.get(caller, {}), settings)
            if detection is None:
                continue
            if text.reported:
                text.reported = at
                yield detection
            else:
                news.setdefault(caller, []).append((text, detection))
        clearest = [min(own, key=lambda pair: (pair[1].p_value or 0.0, pair[0].template)) for own in news.values()]
        q_values = false_discovery(
            [*(detection.p_value or 0.0 for _, detection in clearest), *[1.0] * (at_work.get(day, 0) - len(clearest))]
        )
        for (text, detection), others, q_value in zip(clearest, news.values(), q_values, strict=False):
            if q_value > settings.false_discovery_rate:
                continue
            for other, _ in others:
                other.reported, other.over = at, other is not text
            more = f", and {len(others) - 1} more with it" if len(others) > 1 else ""
            yield replace(detection, q_value=q_value, note=f"{detection.note}{more}")


def _exposure(rows: pl.DataFrame, column: str) -> dict[int, float]:
    daily = rows.group_by("day").agg(pl.col(column).sum())
    return {day.toordinal(): float(amount) for day, amount in daily.sort("day").iter_rows()}


def severity_of_message(day: Detection) -> str:
    """Return the severity of a new message: a warning in five sessions."""
    return "warning" if (day.sessions or 0) >= 5 else "info"


def new_message(finding: Finding) -> str:
    """Say that the caller has a message that it did not have before."""
    return f"an unknown message that it did not have before, in {in_sessions(finding)}, {since(finding)}"


def shared_message(finding: Finding) -> str:
    """Say that a message is new to the whole fleet."""
    text = note_of(finding)
    return f"an unknown message that nobody had before: {text}"


def weak_message(finding: Finding) -> str:
    """Say that the reason of a new message rests on weak evidence."""
    text = f"judged {finding.scope.reason} by weak evidence alone, a bare status or weak words"
    if finding.scope.caller is None:
        return f"a message that nobody had before, {text}: {note_of(finding)}"
    return f"a message that it did not have before, {text}, in {in_sessions(finding)}, {since(finding)}"


def sighting_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `SIGHTINGS`, a day each; without a caller those of all."""
    shown = basis.seen.known_templates if finding.finding == "weak_template" else basis.seen.templates
    shown, days = shown.filter(pl.col("template") == finding.scope.template), basis.seen.counts
    if finding.scope.caller is not None:
        shown, days = (rows.filter(pl.col("caller") == finding.scope.caller) for rows in (shown, days))
    own = shown.group_by("day").agg(
        pl.col("sessions").sum().alias("message_sessions"), pl.col("events").sum().alias("message_events")
    )
    return (
        days.filter(around(finding, basis.last))
        .group_by("day")
        .agg(pl.col("sessions").sum())
        .join(own, on="day", how="left")
        .select("day", pl.col("message_sessions", "message_events").fill_null(0), "sessions")
        .sort("day")
    )


def sighting_chart(case: Charted) -> Chart:
    """Draw the sessions by day that show the message, and all sessions of its caller."""
    return counts_chart(
        case,
        "Sessions by day that show the new message, and all sessions of its caller",
        ("message_sessions", "sessions that show the message", "sessions"),
        ("sessions", "all sessions with an error", "all sessions"),
        note=counted_beside_expected(case.finding.latest, "sessions", ".2g"),
        marked="first sight",
    )


SIGHTINGS = ChartForm(
    "Days of the message",
    SINCE_BASELINE,
    {
        **DAY,
        "message_sessions": "distinct sessions that show the message",
        "message_events": "errors with the message",
        "sessions": "distinct sessions with an error",
    },
    sighting_rows,
    sighting_chart,
)
SHARED_SIGHTINGS = replace(
    SIGHTINGS,
    columns={
        **SIGHTINGS.columns,
        "message_sessions": "distinct sessions that show the message, at any caller",
    },
)
WEAK_SIGHTINGS = replace(
    SIGHTINGS,
    columns={
        **SIGHTINGS.columns,
        "message_sessions": "distinct sessions that show the message, of the caller or at any",
    },
)


_MESSAGE = Kind(
    title="A new unknown message",
    metric="sessions that show the message",
    severity=severity_of_message,
    sentence=new_message,
    quotes=True,
    advice=WRITE_A_RULE,
    asks=DRAFT_RULES,
    family=MESSAGE,
    part_of_rise=True,
    priced=True,
    evidence=UNKNOWN_ERRORS,
    behind=UNKNOWN_SHOWN,
    chart=SIGHTINGS,
)
MESSAGES = {
    "template": _MESSAGE,
    "shared_template": replace(
        _MESSAGE,
        title="A new unknown message at several callers",
        severity=warning,
        sentence=shared_message,
        part_of_rise=False,
        chart=SHARED_SIGHTINGS,
    ),
    "weak_template": replace(
        _MESSAGE,
        title="A new message that a rule knows by weak evidence",
        sentence=weak_message,
        advice="write a rule for it where the reason is wrong",
        asks=("rules", "explain", "--", MESSAGE_ITSELF),
        family=None,
        scope="reason",
        part_of_wave=True,
        evidence=Evidence(),
        behind=WITH_MESSAGE,
        chart=WEAK_SIGHTINGS,
    ),
}
