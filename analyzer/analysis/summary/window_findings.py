"""The findings of a window with what they rest on, and the rises of the unknown share in it, of a whole fleet or part.

Invariants: nothing is written down, a nightly check decides, a report looks. A part of a fleet is judged from the whole
of it. However many findings there are, the store is asked once each for their errors, hand-offs, texts, bursts,
sessions and lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, Any, Unpack
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.detection import Detection, frame
from analyzer.analysis.kinds.families.causes import Drift, caller_drifts
from analyzer.analysis.kinds.families.shares import unjudged
from analyzer.analysis.kinds.finding import SHARE, Basis, Finding, its_days, kind_of
from analyzer.analysis.kinds.scope import SHARED_OF_ERRORS
from analyzer.analysis.nightly.check import last_whole_day
from analyzer.analysis.nightly.decisions import as_known
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.evidence import costed, explained, of_the_day
from analyzer.analysis.nightly.incidents import incidents, incidents_between
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.nightly.notes import too_little_history
from analyzer.analysis.observations import Observations, end_of, observe, start_of
from analyzer.analysis.periods import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.tables import Table, Window, WindowWords, as_window, json_ready, table
from analyzer.classifier import Rules
from analyzer.frozen import frozen
from analyzer.readable import percent
from analyzer.store import CallerDays, Selection, Store
from analyzer.store.shown import Shown, ShownRows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


_NO_LATER = date(9000, 1, 1)
"""Stands for an open end; no log is later."""


@frozen
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
    """Return the findings of a window, from its whole days and all days before it.

    Raises:
        RulesError: the rules cannot be used.
    """
    return judge_seen(store, window, observe_window(store, window, store.judge_history(rules)))


def observe_window(store: Store, window: Window, ruleset: str) -> Observations:
    """Return history up to the window's last day, as the ruleset of this digest judged it."""
    return observe(store, _last_day(window), window.timezone, ruleset, judged_from=window.first_day)


def judge_seen(store: Store, window: Window, seen: Observations) -> Judged:
    """Return the findings of a window by its `observe_window`."""
    counts = seen.counts
    daily = seen.relays if counts.is_empty() else counts  # a hand-off may fail where nothing else does
    if daily.is_empty():
        return Judged(_NO_LATER, None, (), (), "", (), 0)
    days = daily["day"].unique().sort().to_list()
    first, last = max(window.first_day or days[0], days[0]), days[-1]
    daily_detections = detections(seen)
    traffic = seen.traffic(detection.caller for detection in daily_detections)
    priced = costed(store, of_the_day(incidents_between(daily_detections, traffic, first, last), seen), seen)
    day_before = incidents(daily_detections, traffic, last - timedelta(days=1))
    reported = as_known(store, _compared(store, seen, priced, day_before, last))
    findings = explained(store, reported, seen.timezone, seen.ruleset, judged=last)
    return Judged(
        first=first,
        last=last,
        cases=cases(store, findings, seen, last),
        detections=tuple(detection for detection in daily_detections if detection.day >= first),
        too_little=too_little_history(seen, last_whole_day(window)),
        unjudged=tuple((day, caller) for day, caller in unjudged(counts) if day >= first),
        not_replayed=int(counts["not_replayed"].sum()),
    )


def _compared(
    store: Store, seen: Observations, findings: Sequence[Finding], day_before: Iterable[Finding], last: date
) -> list[Finding]:
    """Mark the findings of the last day that are graver than as of the day before."""
    tonight = {finding.id for finding in findings if finding.is_open and finding.last_on == last}
    priced = costed(store, of_the_day([finding for finding in day_before if finding.id in tonight], seen), seen)
    before = {finding.id: finding for finding in priced}
    return [
        replace(finding, worse=finding.id in before and finding.graver_than(before[finding.id])) for finding in findings
    ]


def _last_day(window: Window) -> date:
    """Return the last day of the window that is over before its end."""
    if window.until is None:
        return _NO_LATER
    return window.until.replace(tzinfo=UTC).astimezone(ZoneInfo(window.timezone)).date() - timedelta(days=1)


_CALLERS = ("errors-by-caller", "relays-by-step", "retries-by-caller")
"""Queries whose callers are those of a part."""


def callers_of(store: Store, only: Selection) -> frozenset[str]:
    """Return the callers of a part of a store, whenever they were at work."""
    with store.selecting(replace(only, reason=None)):
        callers = {caller for name in _CALLERS for caller in store.query(name)["caller"]}
    return frozenset(callers | ({only.caller} if only.caller else set()))


def concerns(finding: Finding, only: Selection, callers: frozenset[str]) -> bool:
    """Return whether a finding is about a part of the store.

    It has its reason, if asked for, and its caller or what callers share.
    """
    unknown = "unknown" if finding.kind.behind.unknown or finding.scope.template else None
    if only.reason and only.reason != (finding.scope.reason or unknown):
        return False
    if finding.scope.caller is not None:
        return finding.scope.caller in callers
    return any(value == getattr(finding.scope, name, None) for name, value in only.given.items() if name != "reason")


def select_nights(store: Store, nights: Iterable[Night], only: Selection) -> list[Night]:
    """Return the nights with only the findings that are about a part."""
    if not only:
        return list(nights)
    callers = callers_of(store, only)
    return [
        replace(night, findings=tuple(finding for finding in night.findings if concerns(finding, only, callers)))
        for night in nights
    ]


def select_judged(store: Store, judged: Judged, only: Selection) -> Judged:
    """Return what was judged of a window, as far as it is about a part."""
    if not only:
        return judged
    callers = callers_of(store, only)
    return replace(
        judged,
        cases=tuple(case for case in judged.cases if concerns(case.finding, only, callers)),
        detections=tuple(detection for detection in judged.detections if detection.caller in callers),
        unjudged=tuple((day, caller) for day, caller in judged.unjudged if caller in callers),
    )


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
        """Return the callers with a rise, the one with the most unknown sessions first."""
        weight: dict[str, int] = {}
        for detection in self.found:
            weight[detection.caller or ""] = weight.get(detection.caller or "", 0) + (detection.sessions or 0)
        return tuple(sorted(weight, key=lambda caller: (-weight[caller], caller)))

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one row per detection."""
        return frame(self.found)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "spikes": json_ready(self.found),
            "unjudged": self.unjudged,
            "share": self.share.to_dict(),
            "window": json_ready(self.window),
        }

    def plot(self) -> Figure:
        """Draw the unknown share by day, with rises marked."""
        from analyzer.analysis.charts import unknown_share_chart

        return unknown_share_chart(self)

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        title = "Spikes, no rise of unknown errors"
        if self.found:
            first = self.found[0]
            sentence = (
                f"{first.caller}: {percent(first.observed or 0)} of its distinct errors up to {first.day} are unknown, "
                f"normally {percent(first.expected or 0)} ({first.note})"
            )
            title = f"Spikes {sentence!r}"
        return title, {"found": f"{len(self.found):,}", "unjudged": f"{self.unjudged:,}"}


def spikes(
    store: Store,
    window: str | Window | None = None,
    *,
    rules: Rules = None,
    **words: Unpack[WindowWords],
) -> Spikes:
    """Return the rises of the unknown share in a window.

    The history that they are measured against may lie before it.

    Raises:
        AnalyzerError: a window that cannot be read, rules that cannot be used.
    """
    chosen = as_window(window, **words)
    return spikes_of(judge_window(store, chosen, rules), chosen, table(store, "unknown-share", chosen))


def spikes_of(judged: Judged, chosen: Window, share: Table) -> Spikes:
    """Select the rises among the detections of a judged window, with the answer of `unknown-share`."""
    rises = [detection for detection in judged.detections if kind_of(detection.finding).family == SHARE]
    rises.sort(key=lambda detection: (detection.caller or "", detection.day))
    return Spikes(tuple(rises), len(judged.unjudged), share, chosen)


MAX_CASES = 30
"""Findings of which a report shows what they rest on: the gravest; others are listed only."""
MAX_EXCERPTS = 3
"""Lines of logs that a report quotes of a finding."""
MAX_TEMPLATES = 10
"""Messages shown of a finding."""
MAX_SESSIONS = 10
"""Sessions shown of a finding."""
MESSAGES: dict[str, type[pl.DataType]] = {"template": pl.String, "sessions": pl.Int64, "events": pl.Int64}
SESSIONS: dict[str, type[pl.DataType]] = {"session": pl.String, "day": pl.Date, "events": pl.Int64}
_Texts = dict[tuple[str | None, str | None], str | None]
"""Messages by caller and template."""


@dataclass(frozen=True, slots=True, repr=False)
class Case(Shown):
    """A finding with the numbers that it rests on."""

    finding: Finding
    numbers: pl.DataFrame
    """The rows of its chart; the columns are those of its `kind.chart`."""
    sessions: pl.DataFrame
    """The sessions that show it, those with the most errors first: `session`, `day`, `events`; ten at most."""
    templates: pl.DataFrame
    """The messages that it shows, those in the most sessions first: `message`, `sessions`, `events`; ten at most."""
    last: date
    """The last day that was looked at, on which its chart ends."""
    changes: tuple[Drift, ...]
    """The drifts between the days since its onset and the baseline before; of findings of unknown errors."""
    places: pl.DataFrame
    """Where these sessions were at work: the rows of `detection-sessions`."""
    reported: bool
    """Whether a night has written it down, so that something can be decided of it."""
    excerpts: pl.DataFrame
    """Some of its errors with the line of the log: the rows of `detection-excerpts`, three at most."""
    hours: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The rows of its chart by hour, of an incident of hours; empty for any other."""

    @property
    def is_open(self) -> bool:
        """Return whether it had not ended on the window's last day."""
        return self.finding.is_open

    @property
    def chart(self) -> Chart:
        """Return the chart of its numbers; causes have none."""
        form = self.finding.kind.chart
        assert form is not None, "causes have no numbers"
        chart = form.draw(self)
        note = f"{chart.title}{f'. {chart.note}' if chart.note else ''}"
        return replace(chart, title=self.finding.headline or self.finding.kind.title, note=note)

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        counts = {name: f"{getattr(self, name).height:,}" for name in ("numbers", "sessions", "templates")}
        return f"Case {self.finding.explanation!r}", {"state": self.finding.state, **counts}


def _by_hour(finding: Finding, seen: Observations) -> pl.DataFrame:
    form = finding.kind.chart
    return pl.DataFrame() if form is None or form.by_hour is None else form.by_hour(finding, seen)


def cases(store: Store, findings: Sequence[Finding], seen: Observations, last: date) -> tuple[Case, ...]:
    """Build the cases of findings in their order; only the first 30 have what they rest on."""
    return (
        *_cases(store, findings[:MAX_CASES], seen, last),
        *(_without_evidence(finding, last) for finding in findings[MAX_CASES:]),
    )


def _cases(store: Store, findings: Sequence[Finding], seen: Observations, last: date) -> tuple[Case, ...]:
    if not findings:
        return ()
    spans = [finding.kind.behind.span(finding, last) for finding in findings]
    spanned = list(zip(findings, spans, strict=True))
    seen = seen.holding(
        (_days_to_read(finding, last) for finding in findings),
        (CallerDays(finding.scope.caller, *span) for finding, span in spanned if finding.kind.behind.hand_offs),
    )
    errors = [_errors_behind(finding, seen, last) for finding in findings]
    templates = [_templates_behind(rows).head(MAX_TEMPLATES) for rows in errors]
    changes = [
        caller_drifts(seen, finding.onset, end, finding.scope.caller)
        if finding.kind.behind.unknown and finding.scope.caller is not None
        else []
        for finding, (_, end) in spanned
    ]
    wanted = {template for rows in templates for template in rows["template"]}
    wanted |= {cause.template for causes in changes for cause in causes if cause.template is not None}
    texts = _texts(store, wanted, spans, seen)
    repeats = _repeats(
        store, [finding for finding in findings if finding.kind.chart and finding.kind.chart.by_second], seen
    )
    basis = Basis(seen, repeats, last)
    shown = [
        _sessions_behind(finding, seen, rows, last).head(MAX_SESSIONS)
        for finding, rows in zip(findings, errors, strict=True)
    ]
    places = store.query(
        "detection-sessions", sessions=json.dumps(sorted({s for rows in shown for s in rows["session"]}))
    )
    reported = set(store.view("findings")["finding_id"])
    quoted = {finding.id: finding.evidence[:MAX_EXCERPTS] for finding in findings}
    lines = store.query("detection-excerpts", event_ids=json.dumps(sorted({i for ids in quoted.values() for i in ids})))
    return tuple(
        Case(
            finding=finding,
            numbers=pl.DataFrame() if finding.kind.chart is None else finding.kind.chart.numbers(finding, basis),
            sessions=sessions,
            templates=_quoted(messages, finding.scope.caller, texts),
            last=last,
            changes=tuple(Drift.of(cause, texts.get((finding.scope.caller, cause.template))) for cause in causes),
            places=places.filter(pl.col("session").is_in(sessions["session"].to_list())),
            reported=finding.id in reported,
            excerpts=lines.filter(pl.col("event_id").is_in(quoted[finding.id])),
            hours=_by_hour(finding, seen),
        )
        for finding, sessions, messages, causes in zip(findings, shown, templates, changes, strict=True)
    )


def _days_to_read(finding: Finding, last: date) -> CallerDays:
    """Return the days whose errors are looked at.

    They begin with the baseline. A finding of the fleet has many errors a day, so only its own days
    are read.
    """
    first, _ = finding.kind.behind.span(finding, last)
    if finding.scope.caller is not None:
        week = finding.last_on - timedelta(days=RECENT_DAYS - 1)
        first = min(finding.onset, week) - timedelta(days=BASELINE_DAYS)
    return CallerDays(finding.scope.caller, first, last)


def _without_evidence(finding: Finding, last: date) -> Case:
    """Build the case of a finding beyond the first 30: its frames have no rows."""
    nothing, sessions = pl.DataFrame(), pl.DataFrame(schema=SESSIONS)
    messages = pl.DataFrame(schema=MESSAGES).rename({"template": "message"})
    return Case(finding, nothing, sessions, messages, last, (), nothing, reported=False, excerpts=nothing)


def _texts(store: Store, templates: set[str], spans: Sequence[tuple[date, date]], seen: Observations) -> _Texts:
    """Return what each template's messages say over all the spans.

    It is their text if all have the same, else the text without its values.
    """
    if not templates:
        return {}
    rows = store.query(
        "detection-messages",
        templates=json.dumps(sorted(templates)),
        since=start_of(min(first for first, _ in spans), seen.timezone),
        until=end_of(max(end for _, end in spans), seen.timezone),
    )
    texts: _Texts = {}
    for caller, template, message, masked in rows.iter_rows():
        texts[caller, template] = message
        texts[None, template] = message if texts.get((None, template), message) == message else masked  # Of everybody.
    return texts


def _repeats(store: Store, bursts: Sequence[Finding], seen: Observations) -> pl.DataFrame:
    """Count the errors of the sessions of all bursts by second."""
    if not bursts:
        return pl.DataFrame()
    return store.query(
        "detection-repeats",
        sessions=json.dumps(sorted({burst.scope.session or "" for burst in bursts})),
        since=start_of(min(burst.onset for burst in bursts), seen.timezone),
        until=end_of(max(burst.last_on for burst in bursts), seen.timezone),
    )


def _quoted(templates: pl.DataFrame, caller: str | None, texts: _Texts) -> pl.DataFrame:
    """Replace each row's template by the text of its message."""
    messages = [texts.get((caller, template)) for template in templates["template"]]
    return templates.select(pl.Series("message", messages, pl.String), "sessions", "events")


def _errors_behind(finding: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """Return the rows of `detection-groups` that a finding rests on."""
    behind = finding.kind.behind
    errors = seen.errors(finding.scope.caller, *behind.span(finding, last)).filter(behind.errors(finding, seen))
    for what in SHARED_OF_ERRORS:
        if (name := getattr(finding.scope, what)) is not None:
            shown = seen.volumes.filter(pl.col(what) == name).select("day", pl.col("caller", "reason").cast(pl.String))
            errors = errors.join(shown.unique(), on=["day", "caller", "reason"], how="semi")
    return errors


def _sessions_behind(finding: Finding, seen: Observations, errors: pl.DataFrame, last: date) -> pl.DataFrame:
    """Return the sessions of a finding, a row each: most events first, then the latest.

    `session`, the first `day` on which it shows the finding, `events` (errors, or hand-offs).
    """
    if finding.kind.behind.hand_offs:
        relays = seen.rows.hand_offs([CallerDays(finding.scope.caller, *its_days(finding, last))])
        errors = relays.filter(pl.col("step") == (finding.scope.step or "")).rename({"relays": "events"})
    rows = errors.group_by("session").agg(pl.col("day").min(), pl.col("events").sum())
    return rows.sort("events", "day", "session", descending=[True, True, False]).select(
        pl.col(n).cast(t) for n, t in SESSIONS.items()
    )


def _templates_behind(errors: pl.DataFrame) -> pl.DataFrame:
    """Return the messages of errors, a row each, the one of most sessions first.

    Columns are `template`, `sessions` and `events`.
    """
    rows = errors.group_by("template").agg(pl.col("session").n_unique().alias("sessions"), pl.col("events").sum())
    ranked = rows.sort("sessions", "events", "template", descending=[True, True, False])
    return ranked.select(pl.col(n).cast(t) for n, t in MESSAGES.items())
