"""`Finding`: one incident as a night reports it, whatever test detected it; and `Kind`: its words, query and chart.

Invariant: the same incident has the same id every night, from the night that opens it to the one that resolves it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import msgspec
import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding_fields import SEVERITIES, Cost, Handling, Wording, info
from analyzer.analysis.kinds.scope import SHARED, Identity, Scope
from analyzer.analysis.observations import Observations
from analyzer.analysis.periods import RECENT_DAYS
from analyzer.command_lines import PROGRAM, command_line, whole_path, window_words
from analyzer.errors import AnalyzerError
from analyzer.events.times import format_time, parse_time
from analyzer.store import MEMORY, Store
from analyzer.store.shown import Shown

STATES = ("new", "ongoing", "open", "resolved")
RESOLUTIONS = {
    "quiet": "no longer seen",
    "explained": "the rules of today explain it",
    "accepted": "it has lasted for four weeks and is the new normal",
    "rejudged": "what is known today no longer shows it",
    "closed": "somebody closed it",
    "silent": "nothing was heard of its caller for two weeks",
}
"""Why a finding is resolved, in words."""

SHARE = "share"
"""The family of rises of the unknown share."""
MESSAGE = "message"
"""The family of new messages, and of those that replaced what a rule matched."""
MESSAGE_ITSELF, SESSION_ITSELF = "MESSAGE", "SESSION"
"""In the command of a kind, the most frequent message of a finding, and its session."""
MOST_NAMED_CHARS = 200
"""A longer name is put into no command: nobody would paste it."""


_PARTS = ("caller", "provider", "model", "project")
"""What the command of a finding is limited to. Not the reason: that of a store may be the recorded one."""


def scope_of(detection: Detection) -> Scope:
    """Return what a detection is about."""
    name = kind_of(detection.finding).scope
    if detection.finding == "wording_changed" and detection.template is None:
        name = "rule"  # One that fell silent; a new text is reported with its reason.
    named = {} if name is None else {name: detection.scope}
    for name in ("rule", "reason"):
        if (value := getattr(detection, name)) is not None:
            named[name] = value
    return Scope(caller=detection.caller, template=detection.template, **named)


def identity_of(detection: Detection) -> Identity:
    """Return the incident that a detection belongs to, whenever it opened."""
    family, scope = family_of(detection.finding), scope_of(detection)
    if family == MESSAGE:
        # Without the rule that it replaces: that may be known only later.
        scope = Scope(caller=scope.caller, template=scope.template)
    if detection.reason is not None:
        scope = replace(scope, reason=None)  # what grows most may be another reason on another day
    return Identity(family, scope)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finding(Shown):
    """An incident as of one night."""

    id: str
    state: str
    """`new`, `ongoing` if the judged day has evidence of it, `open` if that has none, or `resolved`."""
    severity: str
    opened_on: date
    """The first day on which it was detected."""
    last_on: date
    """The last one so far; its figures are `latest`."""
    resolved_on: date | None = None
    resolution: str | None = None
    """Why it is resolved: one of `RESOLUTIONS`, `quiet` after days without it."""
    latest: Detection
    explanation: str = ""
    """One sentence in plain language."""
    advice: str = ""
    """What to do next, in words; empty where it is resolved."""
    evidence: tuple[str, ...] = ()
    """Ids of some of its events."""
    samples: tuple[str, ...] = ()
    """Some of its messages, redacted."""
    first_error_at: datetime | None = None
    """The first event that it counts, as its `Evidence` has them, naive UTC; None of silence, which counts none."""
    last_error_at: datetime | None = None
    errors: int | None = None
    """All of them, from the first to the last one."""
    error_sessions: int | None = None
    """Distinct sessions with any of them."""
    confidence: str | None = None
    """How sure the verdict on the first of these is: `weak`, `strong`; None where no rule knows it or nobody said."""
    parts: tuple[Finding, ...] = ()
    """Findings with the same cause, which this one speaks for."""
    cost: Cost | None = None
    """What its last day cost; None for kinds that are no errors in sessions."""
    worse: bool = False
    """Whether it is graver than on the night before, as `graver_than` says."""
    handling: Handling | None = None
    """What somebody decided of it; no part of what a night writes down."""
    wording: Wording | None = None
    """The texts of a change of wording that is reported by itself."""
    timezone: str = "UTC"
    """The zone of its days."""
    store: str = field(default="", compare=False)
    """The whole path of the store that it is of; empty for one that is thrown away. No part of what is written down."""

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        facts = {"finding": self.finding, "severity": self.severity, "state": self.state}
        return f"Finding {(self.explanation or self.scope.who)!r}", {**facts, "since": f"{self.opened_on}"}

    @property
    def finding(self) -> str:
        """Return the name of its kind."""
        return self.latest.finding

    @property
    def kind(self) -> Kind:
        """Return its kind."""
        return kind_of(self.finding)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of the command that shows more of it; none without such a command.

        The command asks for its own caller and days.
        """
        own = {MESSAGE_ITSELF: self.samples[0] if self.samples else None, SESSION_ITSELF: self.scope.session}
        asked = [own.get(word, word) for word in self.kind.asks if self.is_open]
        words = tuple(filter(None, asked))
        named = [who for name in (*_PARTS, "session") if (who := getattr(self.scope, name))]
        if len(words) < max(1, len(asked)) or max(map(len, named), default=0) > MOST_NAMED_CHARS:
            return ()
        if set(self.kind.asks) & own.keys() or self.kind.asks_all:
            return words
        about = [part for name in _PARTS if (who := getattr(self.scope, name)) for part in (f"--{name}", who)]
        first: date = min(self.onset, self.last_on - timedelta(days=self.kind.evidence.days - 1))
        until: date = self.last_on + timedelta(days=1)
        if self.kind.asks_errors and self.first_error_at and self.last_error_at:
            first = self.first_error_at.replace(microsecond=0)
            until = self.last_error_at.replace(microsecond=0) + timedelta(seconds=1)
        return (*words, *about, *window_words(first, until, self.timezone))

    @property
    def command(self) -> str:
        """Return the command that shows more of it, ready for a shell; empty without one."""
        return command_line(*self.words, store=self.store) if self.store and self.words else ""

    @property
    def command_in_chats(self) -> str:
        """Return the command for a chat, where a name might call somebody, be a link or end code."""
        return command_line(*self.words, store=self.store, chat=True) if self.command else ""

    @property
    def is_open(self) -> bool:
        """Return whether it is not over."""
        return self.state != "resolved"

    @property
    def goes_on(self) -> bool:
        """Return whether its night has evidence of it, or is the first to report it."""
        return self.state in {"new", "ongoing"}

    @property
    def scope(self) -> Scope:
        """Return what it is about."""
        return scope_of(self.latest)

    @property
    def identity(self) -> Identity:
        """Return what it has in common with the same finding of other nights, beside its id."""
        return identity_of(self.latest)

    @property
    def onset(self) -> date:
        """Return the day since which it probably was so."""
        return min(self.latest.onset or self.opened_on, self.opened_on)

    @property
    def last_seen(self) -> date:
        """Return the day of its last event, or of its last detection if its kind has no events."""
        return self.last_on if self.last_error_at is None else self._local(self.last_error_at).date()

    @property
    def is_quiet(self) -> bool:
        """Return whether its night has nothing new to say of it: documents give it one line."""
        return self.state == "open" and not self.worse

    @property
    def span(self) -> str:
        """Name the time from its first error to its last one, in its zone; empty if it has none."""
        if self.first_error_at is None or self.last_error_at is None:
            return ""
        (first, begin), (last, end) = (
            (f"{moment:%H:%M}", f"{moment.day} {moment:%B}")
            for moment in map(self._local, (self.first_error_at, self.last_error_at))
        )
        zone = "" if self.timezone == "UTC" else f" ({self.timezone})"
        if begin != end:
            return f"{first} on {begin} to {last} on {end}{zone}"
        return f"{first}{f'–{last}' if first != last else ''} on {begin}{zone}"

    @property
    def when(self) -> str:
        """Name its hours if it is short, else the days since when, or from when to when, it was seen."""
        onset, seen = self.onset, self.last_seen
        if self.span and (seen - onset).days <= 1:
            return self.span
        if self.goes_on:
            return f"since {onset}" if onset < self.last_on else f"{onset}"
        return f"{onset} to {seen}" if onset < seen else f"{onset}"

    @property
    def headline(self) -> str:
        """Return who, when, what and how bad: the first part of the first sentence of its explanation."""
        if self.statement == self.explanation:
            return self.explanation.partition(": ")[0].rstrip(".")
        lead = self.explanation.removesuffix(self.statement)
        return lead + re.split(r"[.;] ", self.statement, maxsplit=1)[0].rstrip(".")

    @property
    def statement(self) -> str:
        """Return its explanation without the name and the time that it begins with."""
        rest = self.explanation.removeprefix(self.scope.who)
        return self.explanation if rest == self.explanation else rest.partition(": ")[2] or self.explanation

    def _local(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(self.timezone))

    def in_store(self, store: Store) -> Finding:
        """Return it as a finding of this store, its parts too."""
        place = "" if store.path == MEMORY else whole_path(store.path)
        return replace(self, store=place, parts=tuple(part.in_store(store) for part in self.parts))

    def graver_than(self, before: Finding) -> bool:
        """Return whether it is open and of a higher severity than an earlier night reported.

        This is the only rule of what is worse. Its figure does not count: of some days that are
        alike each is the highest so far by chance.
        """
        return self.is_open and SEVERITIES.index(self.severity) > SEVERITIES.index(before.severity)

    def after(self, before: Finding) -> Finding:
        """Take over what an earlier night knew of it: its worst severity, and when its cost began."""
        cost = self.cost.after(before.cost) if self.cost and before.cost else self.cost
        severity = max(self.severity, before.severity, key=SEVERITIES.index)
        wording = before.wording if before.scope.rule == self.scope.rule else None
        return replace(self, severity=severity, cost=cost, wording=wording)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; days are ISO dates."""
        own = {name: getattr(self.latest, name) for name in _FIGURES}
        return {
            "id": self.id,
            "finding": self.finding,
            "scope": self.scope.to_dict(),
            "severity": self.severity,
            "state": self.state,
            "window": {"since": self.opened_on.isoformat(), "until": self.last_on.isoformat()},
            "onset": self.onset.isoformat(),
            "last_seen": self.last_seen.isoformat(),
            "resolved_on": self.resolved_on.isoformat() if self.resolved_on else None,
            "resolution": self.resolution,
            **own,
            "explanation": self.explanation,
            "advice": self.advice,
            "command": self.command or None,
            "timezone": self.timezone,
            "evidence": list(self.evidence),
            "samples": list(self.samples),
            **{name: format_time(at) if (at := getattr(self, name)) else None for name in _MOMENTS},
            "errors": self.errors,
            "error_sessions": self.error_sessions,
            "confidence": self.confidence,
            "parts": [part.to_dict() for part in self.parts],
            "cost": self.cost.to_dict() if self.cost else None,
            "worse": self.worse,
            "handling": self.handling.to_dict() if self.handling else None,
            "wording": self.wording.to_dict() if self.wording else None,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """Read back what `to_dict` made.

        Raises ValueError or LookupError for anything else.
        """
        scope, (since, until) = data["scope"], (data["window"][end] for end in ("since", "until"))
        own_name = kind_of(data["finding"]).scope
        names = (own_name, "step", "session", "rule", *SHARED, "reason")
        named = next((scope[name] for name in names if name and scope.get(name)), None)
        about = {"caller": scope.get("caller"), "template": scope.get("template"), "scope": named}
        if scope.get("reason") and scope.get("rule"):
            about["rule"] = scope["rule"]
        elif scope.get("reason") and own_name != "reason":
            about["reason"] = scope["reason"]
        latest = {**{name: data[name] for name in ("finding", "onset", *_FIGURES)}, **about, "day": until}
        parts = [cls.from_dict(part) for part in data["parts"]]
        cost = Cost.from_dict(data["cost"]) if data.get("cost") else None
        advice = data["advice"]
        if advice.startswith(f"{PROGRAM} "):  # Commands stood there once.
            advice = kind_of(data["finding"]).advice
        own = {
            **data,
            "advice": advice,
            "cost": None,
            "handling": None,
            "opened_on": since,
            "last_on": until,
            "latest": latest,
            **{name: parse_time(data.get(name)) for name in _MOMENTS},
        }
        return replace(msgspec.convert({**own, "parts": parts}, cls), cost=cost)


_MOMENTS = ("first_error_at", "last_error_at")
_FIGURES = (
    "observed",
    "expected",
    "low",
    "high",
    "statistic",
    "p_value",
    "q_value",
    "sessions",
    "groups",
    "note",
)


def at_least(severity: str, threshold: str) -> bool:
    """Return whether a severity reaches a threshold.

    Raises:
        AnalyzerError: no such severity.
    """
    for word in (severity, threshold):
        if word not in SEVERITIES:
            raise AnalyzerError.unknown_value("severity", word, SEVERITIES)
    return SEVERITIES.index(severity) >= SEVERITIES.index(threshold)


@dataclass(frozen=True, slots=True)
class Basis:
    """The data that the numbers of findings are taken from."""

    seen: Observations
    repeats: pl.DataFrame
    """The rows of `detection-repeats` for the sessions of all bursts."""
    last: date
    """The last day of all."""


class Charted(Protocol):
    """A finding with the rows of its chart."""

    @property
    def finding(self) -> Finding:
        """Return the finding."""

    @property
    def numbers(self) -> pl.DataFrame:
        """Return the rows, in the columns of its `ChartForm`."""

    @property
    def hours(self) -> pl.DataFrame:
        """Return the rows by hour of an incident of hours; empty for any other."""

    @property
    def last(self) -> date:
        """Return the last day of all, on which the chart ends."""


@dataclass(frozen=True, slots=True)
class ChartForm:
    """A form of chart: the rows that it draws, and the words of the table below it."""

    title: str
    """Of the table."""
    description: str
    columns: dict[str, str]
    """Column name → what it means, in the order of the table."""
    numbers: Callable[[Finding, Basis], pl.DataFrame]
    """Gives the rows; the store is not asked."""
    draw: Callable[[Charted], Chart]
    """Gives the chart of these rows."""
    by_second: bool = False
    """Whether the rows are made of `Basis.repeats`."""
    by_hour: Callable[[Finding, Observations], pl.DataFrame] | None = None
    """Gives the rows of an incident of hours; None for kinds that are always drawn by day."""


@dataclass(frozen=True, slots=True)
class ShownErrors:
    """The errors that speak for a finding in a report."""

    said: str
    """In words, after "Errors" or "Hand-offs"."""
    errors: Callable[[Finding, Observations], pl.Expr]
    """Selects them beside the caller and the days, in the columns of `detection-groups`."""
    span: Callable[[Finding, date], tuple[date, date]]
    """Their first and last day; the argument is the last day of all."""
    unknown: bool = False
    """Whether they are the unknown errors since the onset."""
    hand_offs: str = ""
    """The title of what it has instead of errors, `Hand-offs` or `Compactions`."""


def own_reason(finding: Finding) -> str | None:
    """Return the reason that a finding is about; None if it is about none."""
    return finding.scope.reason


def note_of(finding: Finding) -> str:
    """Return the note of the test that detected it, without the full stop."""
    return (finding.latest.note or "").rstrip(".")


def its_days(finding: Finding, _last: date) -> tuple[date, date]:
    """Return the days from its onset to the last one on which it was detected."""
    return finding.onset, finding.last_on


def its_week(finding: Finding, _last: date) -> tuple[date, date]:
    """Return the week up to the last day on which it was detected."""
    return finding.last_on - timedelta(days=RECENT_DAYS - 1), finding.last_on


def own_name(finding: Finding) -> str | None:
    """Return the name of what it singles out beside a caller; None where it singles out nothing."""
    names = (*SHARED, "step", "reason")
    return next((name for what in names if (name := getattr(finding.scope, what)) is not None), None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The events that a finding counts, as the parameters of their query.

    A sentence and all who show events read only these.
    """

    signs: Mapping[str, int] = field(default_factory=dict)
    """Of what is no error its signs, as `detection-signs` names them, with the days up to the last one from which each
    counts, 0 for all since the onset; empty for the errors of its scope since its onset."""
    reason: Callable[[Finding], str | None] = own_reason
    """The reason of the errors; None for any."""
    name: Callable[[Finding], str | None] = own_name
    """The name that signs have beside the caller's; None for any."""
    more: Callable[[Finding], Mapping[str, Any]] = lambda _finding: {}
    """What else `detection-signs` is asked of it."""
    hours: Callable[[Finding], tuple[datetime, datetime] | None] = lambda _finding: None
    """The hours that it is about, by the clocks of its zone; None for whole days."""

    @property
    def days(self) -> int:
        """Return the days up to its last one that it looks back on, beside those since its onset."""
        return max(1, *self.signs.values()) if self.signs else 1


NOTHING = ShownErrors("", lambda _finding, _seen: pl.lit(False), its_days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of finding.

    The defaults hold for a kind that another version of this program wrote down.
    """

    title: str
    """What a headline says."""
    metric: str | None = None
    """What `observed` and `expected` are; None where the finding has no such figures."""
    percent: bool = False
    """Whether documents show these two figures in percent."""
    severity: Callable[[Detection], str] = info
    """Gives the severity of a day."""
    sentence: Callable[[Finding], str] = note_of
    """Says what happened, without the caller's name and the full stop."""
    quotes: bool = False
    """Whether the sentence ends with the most frequent message."""
    advice: str = ""
    """What to do next, in words."""
    asks: tuple[str, ...] = ()
    """The words of the command that shows more; MESSAGE and SESSION are its own."""
    asks_all: bool = False
    """Whether this command asks for all of history."""
    asks_errors: bool = False
    """Whether it asks only for the time from the first error to the last, and not for whole days."""
    family: str | None = None
    """Detections of one family are one incident, whichever test made them; None: only its own."""
    scope: str | None = None
    """The field of `Scope` that a detection's `scope` is; None where it has none."""
    cause: bool = False
    """Whether it is never reported by itself: it says why another finding opened."""
    explains: bool = False
    """Whether it may be the cause of another finding, from the night on that opens that one."""
    by_day: bool = False
    """Whether each of its days is judged by itself: the first one without it ends it."""
    asked: bool = False
    """Whether a new one is asked for its causes."""
    part_of_rise: bool = False
    """Whether a rise of the same caller's share speaks for it."""
    part_of_wave: bool = False
    """Whether a rise of the same caller's errors, or an outage of the fleet, speaks for it: both bring texts."""
    priced: bool = False
    """Whether sessions fail by it: then it has a cost, which its severity follows."""
    evidence: Evidence = Evidence()
    """The events that it counts, quotes and names."""
    behind: ShownErrors = NOTHING
    """The errors that a report shows behind it."""
    chart: ChartForm | None = None
    """Its chart in a report and the numbers of it; None for causes."""


KINDS: dict[str, Kind] = {}
"""The kinds by name, as the modules of this folder define them; causes in the order in which they are reported."""


def kind_of(name: str) -> Kind:
    """Return a kind; of one that another version of this program wrote down only its name."""
    return KINDS.get(name) or Kind(title=name)


def family_of(name: str) -> str:
    """Return what tells incidents apart, beside their scope: the kind's family, else its name."""
    return kind_of(name).family or name
