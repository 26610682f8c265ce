"""Find messages new to a caller or the fleet: unknown ones, and those decided by weak evidence.

The first sight starts the clock, so the session that began it is not counted as evidence. What two
callers share by chance is gone the next day: a message that is new to a fleet must come back on a
second day. A message that a rule knows only by weak evidence is not new if it was there before,
under any verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    sums_by_day,
)
from analyzer.analysis.kinds.detection import Detection, Settings, above, ordered
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
)
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.sentences import in_sessions
from analyzer.analysis.kinds.shared import (
    DRAFT_RULES,
    UNKNOWN_ERRORS,
    UNKNOWN_SHOWN,
    WITH_MESSAGE,
    WRITE_A_RULE,
)
from analyzer.analysis.kinds.statistics.rates import RateTail
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
from analyzer.frozen import frozen

LEAST_HISTORY = 14
"""Days at work that a caller or fleet must have before the first sight of a template, so that it is
new."""
LEAST_CALLERS, LEAST_DAYS = 2, 2
"""Callers with a text, and days with it, that a finding of the fleet needs."""


@frozen
class Novelty:
    """The surprise that sessions show a text which none showed before."""

    day: int
    """Proleptic ordinal, like `first`."""
    first: int
    sessions: int
    """Sessions with the text since its first sight."""
    since: float
    """Sessions since then that may have shown it."""
    tail: RateTail

    @property
    def p_value(self) -> float:
        """Return the probability of so many sessions if the text were not new."""
        return self.tail.p_value

    def detection(self, finding: str, caller: str | None, template: str, note: str) -> Detection:
        """Build the detection with these figures."""
        return above(
            self.sessions,
            self.tail,
            day=date.fromordinal(self.day),
            caller=caller,
            finding=finding,
            onset=date.fromordinal(self.first),
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
    return Novelty(day, first, sessions, since, RateTail(p_value, 0.5 * since / sessions_before, high))


@dataclass(slots=True)
class _Text:
    """A message of a caller, or of the fleet (without a caller), since its first sight."""

    finding: str
    caller: str | None
    template: str
    first: int
    """Proleptic ordinal."""
    reason: str | None
    """The reason of most sessions on its first day."""
    sessions: int = 0
    days: int = 0
    callers: set[str] = field(default_factory=set)
    reported: int = 0
    """The last day on which it was reported; 0 if never."""
    over: bool = False
    """Whether it was quiet after it was reported: only after it is forgotten is it reported again."""

    def judged(self, day: int, exposure: Mapping[int, float], settings: Settings) -> Detection | None:
        """Return the detection of a day that shows it, if it is surely new or goes on."""
        is_shared = len(self.callers) >= LEAST_CALLERS and self.days >= LEAST_DAYS
        if self.sessions < settings.min_sessions or (self.caller is None and not is_shared):
            return None
        if self.reported:
            # Else a rare message would be a new finding each time it comes.
            self.over |= sum(at in exposure for at in range(self.reported + 1, day)) >= QUIET_DAYS
        if self.over or day - self.first >= TEMPLATE_DAYS + (ACCEPT_DAYS if self.reported else 0):
            return None
        surprise = novelty(day, self.first, self.sessions, exposure)
        if surprise is None or (not self.reported and surprise.p_value > settings.template_alpha):
            return None
        of = f" of {surprise.since:.0f}" if self.finding == "template" else ""
        at = f" of {len(self.callers)} callers" if self.caller is None else ""
        note = f"{self.sessions}{of} sessions{at} met it since {date.fromordinal(self.first)}"
        detection = surprise.detection(self.finding, self.caller, self.template, note)
        return replace(detection, scope=self.reason, state="ongoing" if self.reported else "new")


_Night = tuple[date, list[tuple[_Text, Detection]]]


def new_templates(templates: pl.DataFrame, counts: pl.DataFrame, settings: Settings) -> Iterator[Detection]:
    """Yield the findings `template`: unknown messages that are new to a caller, on days that show them.

    Of several new messages of a night the clearest is reported. A message that goes on is reported
    for four weeks at most.

    `templates`: columns `day`, `caller`, `template`, `sessions`. `counts`: a row for each `day` of
    a `caller` with its `sessions`.
    """
    often = templates.group_by("caller", "template").agg(pl.sum("sessions"))
    often = often.filter(pl.col("sessions") >= settings.min_sessions).select("caller").unique()
    shown = templates.join(often, on="caller", how="semi").join(counts, on=["day", "caller"], how="semi")
    nights = _nights("template", shown, _by_caller(counts, often), settings)
    return _clearest(nights, counts, settings)


def shared_templates(templates: pl.DataFrame, work: pl.DataFrame, settings: Settings | None = None) -> list[Detection]:
    """Return the findings `shared_template`: unknown messages new to the fleet, by day.

    A message that goes on is reported until it is quiet, for at most four weeks.

    `templates`: columns `day`, `caller`, `template`, `sessions`. `work`: columns `day`, `caller`,
    `exposure`, the sessions that may have shown a text. `observed` and `expected` are sessions
    since the first sight (`onset`).
    """
    detections = []
    for day, judged in _nights("shared_template", templates, _of_fleet(work), settings or Settings()):
        for text, detection in judged:
            text.reported = day.toordinal()
            detections.append(detection)
    return ordered(detections)


def weak_templates(
    known_messages: pl.DataFrame,
    unknown: pl.DataFrame,
    counts: pl.DataFrame,
    work: pl.DataFrame,
    settings: Settings | None = None,
) -> list[Detection]:
    """Return the findings `weak_template`: new messages of a caller or of the fleet, by day.

    `known_messages`: columns `day`, `caller`, `template`, `reason`, `sessions` and `weak_sessions`,
    the sessions of these that weak evidence decided. `unknown`: columns `day`, `caller`,
    `template`. `counts`: columns `day`, `caller`, `sessions` with an error. `work`: columns `day`,
    `caller`, `exposure`. `scope` is the reason. Of several new messages of a caller on a night one
    is reported. A message that goes on is reported for at most four weeks.
    """
    chosen = settings or Settings()
    if known_messages.is_empty() or counts.is_empty():
        return []
    often = known_messages.group_by("template").agg(pl.sum("weak_sessions"))
    often = often.filter(pl.col("weak_sessions") >= chosen.min_sessions)
    columns = ("day", "caller", "template", "reason", "sessions")
    weak = known_messages.with_columns(sessions="weak_sessions").select(columns)
    # Under another verdict a message was there, but no session of it counts.
    other = unknown.with_columns(reason=pl.lit("unknown"), sessions=pl.lit(0, weak.schema["sessions"]))
    rows = pl.concat([weak, other.select(columns)]).join(often, on="template", how="semi")
    fleet = list(_clearest(_nights(_WEAK, rows, _of_fleet(work), chosen, counts["day"].min()), None, chosen))
    since: dict[str | None, date] = {}
    for detection in fleet:
        since.setdefault(detection.template, detection.day)
    # A finding of the fleet is not repeated for its callers, unless theirs began earlier.
    callers: list[Detection] = []
    begun: set[tuple[str | None, str | None]] = set()
    for detection in _clearest(_nights(_WEAK, rows, _by_caller(counts, rows), chosen), counts, chosen):
        text = detection.caller, detection.template
        if detection.day < since.get(detection.template, date.max) or text in begun:
            begun.add(text)
            callers.append(detection)
    return ordered([*fleet, *callers])


_WEAK = "weak_template"
_Exposures = Mapping[str | None, Mapping[int, float]]
"""By caller, None for the fleet, the sessions of each day (proleptic ordinal)."""


def _by_caller(counts: pl.DataFrame, asked: pl.DataFrame) -> _Exposures:
    exposures: dict[str | None, dict[int, float]] = {}
    rows = counts.join(asked, on="caller", how="semi").group_by("caller", "day").agg(pl.sum("sessions"))
    for caller, day, sessions in rows.sort("day").iter_rows():
        exposures.setdefault(caller, {})[day.toordinal()] = float(sessions)
    return exposures


def _of_fleet(work: pl.DataFrame) -> _Exposures:
    daily = work.group_by("day").agg(pl.sum("exposure")).sort("day")
    return {None: {day.toordinal(): float(amount) for day, amount in daily.iter_rows()}}


def _nights(
    finding: str, rows: pl.DataFrame, exposures: _Exposures, settings: Settings, beginning: Any = None
) -> Iterator[_Night]:
    """Yield each day with the messages that are surely new or go on, by caller or of the fleet.

    `rows`: columns `day`, `caller`, `template`, `sessions`, and `reason` if the finding is about it.
    Without sessions a row shows only that the message was there. A message counts if its first sight
    is `LEAST_HISTORY` days after the `beginning`.
    """
    unit = pl.lit(None, pl.String).alias("caller") if None in exposures else pl.col("caller")
    reason = pl.col("reason") if "reason" in rows.columns else pl.lit(None, pl.String).alias("reason")
    days = (
        rows.with_columns(reason)
        .sort("sessions", "reason", descending=[True, False])
        .group_by("day", "template", unit, maintain_order=True)
        .agg(
            pl.col("reason").first(),
            pl.col("caller").filter(pl.col("sessions") > 0).drop_nulls().unique().alias("callers"),
            pl.sum("sessions"),
        )
        .sort("caller", "template", "day")
    )
    gap = (pl.col("day") - pl.col("day").shift().over("caller", "template")).dt.total_days()
    first = pl.when(gap.is_null() | (gap > TEMPLATE_MEMORY_DAYS)).then(pl.col("day"))
    dated = days.with_columns(first=first.forward_fill().over("caller", "template")).filter(pl.col("sessions") > 0)
    if beginning is not None:
        dated = dated.filter((pl.col("first") - beginning).dt.total_days() >= LEAST_HISTORY)
    columns = ("caller", "template", "first", "reason", "sessions", "callers")
    texts: dict[tuple[str | None, str, date], _Text] = {}
    for (day,), of_day in dated.sort("day", "caller", "template").group_by("day", maintain_order=True):
        judged = []
        for caller, template, first_on, why, sessions, callers in of_day.select(columns).iter_rows():
            text = texts.setdefault(
                (caller, template, first_on), _Text(finding, caller, template, first_on.toordinal(), why)
            )
            text.sessions += sessions
            text.days += 1
            text.callers.update(callers)
            detection = text.judged(day.toordinal(), exposures.get(caller, {}), settings)
            if detection is not None:
                judged.append((text, detection))
        yield day, judged


def _clearest(nights: Iterable[_Night], counts: pl.DataFrame | None, settings: Settings) -> Iterator[Detection]:
    """Yield the messages that go on, and the clearest new one of each caller.

    They are corrected for all callers with a row of `counts` on the day; without, it is of the fleet.
    """
    at_work: dict[date, int] = {} if counts is None else dict(counts.group_by("day").len().iter_rows())
    for day, judged in nights:
        news: dict[str | None, list[tuple[_Text, Detection]]] = {}
        for text, detection in judged:
            if text.reported:
                text.reported = day.toordinal()
                yield detection
            else:
                news.setdefault(text.caller, []).append((text, detection))
        of_callers = [sorted(own, key=lambda pair: (pair[1].p_value or 0.0, pair[0].template)) for own in news.values()]
        p_values = [own[0][1].p_value or 0.0 for own in of_callers]
        q_values = false_discovery([*p_values, *[1.0] * (at_work.get(day, 0) - len(p_values))])
        for ((text, detection), *others), q_value in zip(of_callers, q_values, strict=False):
            if q_value > settings.false_discovery_rate:
                continue
            text.reported = day.toordinal()
            more = ""
            if others and text.finding == _WEAK:
                more = f"; {len(others)} more came with it"
                for other, _ in others:
                    other.over = True
            elif others:
                more = f"; with it came: {', '.join(other.template for other, _ in others)}"
            yield replace(detection, q_value=q_value, note=f"{detection.note}{more}")


def severity_of_message(day: Detection) -> str:
    """Return the severity of a new message: a warning in five sessions."""
    return "warning" if (day.sessions or 0) >= 5 else "info"


def new_message(finding: Finding) -> str:
    """Say that the caller has a message that it did not have before."""
    return f"{in_sessions(finding)} met a new unknown message"


def shared_message(finding: Finding) -> str:
    """Say that a message is new to the whole fleet."""
    return f"a new unknown message; {note_of(finding)}"


def weak_message(finding: Finding) -> str:
    """Say that the reason of a new message rests on weak evidence."""
    text = f"a new message, classified only tentatively as {finding.scope.reason}"
    if finding.scope.caller is None:
        return f"{text}; {note_of(finding)}"
    return f"{in_sessions(finding)} met {text}"


def sighting_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `SIGHTINGS`, a day each; without a caller those of all."""
    shown = basis.seen.known_templates if finding.finding == "weak_template" else basis.seen.templates
    shown, days = shown.filter(pl.col("template") == finding.scope.template), basis.seen.counts
    if finding.scope.caller is not None:
        shown, days = (rows.filter(pl.col("caller") == finding.scope.caller) for rows in (shown, days))
    return sums_by_day(
        [days.filter(around(finding, basis.last))],
        message_sessions=(shown, "sessions"),
        message_events=(shown, "events"),
        sessions=(days, "sessions"),
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
        title="A new message, classified only tentatively",
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
