"""`Case`: a finding with what it rests on. All findings of a report are looked up together.

Invariant: however many findings there are, the store is asked once each for their errors, hand-offs, texts, bursts,
sessions and lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.detection.volumes import SHARED
from analyzer.analysis.kinds.causes import Drift, caller_drifts
from analyzer.analysis.kinds.finding import Basis, Finding, its_days
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.store import CallerDays, Store
from analyzer.store.shown import Shown

MAX_CASES = 30
"""Findings of which a report shows what they rest on: the gravest; of more it tells that they are there."""
MAX_EXCERPTS = 3
"""Lines of logs that a report quotes of a finding."""
MAX_TEMPLATES = 10
"""Messages shown behind a finding."""
MAX_SESSIONS = 10
"""Sessions shown behind a finding."""
MESSAGES: dict[str, type[pl.DataType]] = {"template": pl.String, "sessions": pl.Int64, "events": pl.Int64}
SESSIONS: dict[str, type[pl.DataType]] = {"session": pl.String, "day": pl.Date, "events": pl.Int64}
_Texts = dict[tuple[str | None, str | None], str | None]
"""Messages by caller and template."""


@dataclass(frozen=True, slots=True, repr=False)
class Case(Shown):
    """A finding with the numbers behind it."""

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

    @property
    def is_open(self) -> bool:
        """Whether it had not ended on the window's last day."""
        return self.finding.is_open

    @property
    def chart(self) -> Chart:
        """The chart of its numbers; causes have none."""
        form = self.finding.kind.chart
        assert form is not None, "causes have no numbers"
        return form.draw(self)

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        counts = {name: f"{getattr(self, name).height:,}" for name in ("numbers", "sessions", "templates")}
        return f"Case {self.finding.explanation!r}", {"state": self.finding.state, **counts}


def cases(store: Store, findings: Sequence[Finding], seen: Observations, last: date) -> tuple[Case, ...]:
    """The cases of findings, in their order; what they rest on is looked up for the first 30."""
    return (
        *_cases(store, findings[:MAX_CASES], seen, last),
        *(_without_evidence(finding, last) for finding in findings[MAX_CASES:]),
    )


def _cases(store: Store, findings: Sequence[Finding], seen: Observations, last: date) -> tuple[Case, ...]:
    if not findings:
        return ()
    spans = [finding.kind.behind.span(finding, last) for finding in findings]
    told = list(zip(findings, spans, strict=True))
    seen = seen.holding(
        (_days_to_read(finding, last) for finding in findings),
        (CallerDays(finding.scope.caller, *span) for finding, span in told if finding.kind.behind.hand_offs),
    )
    errors = [_errors_behind(finding, seen, last) for finding in findings]
    templates = [_templates_behind(rows).head(MAX_TEMPLATES) for rows in errors]
    found = [
        caller_drifts(seen, finding.onset, end, finding.scope.caller)
        if finding.kind.behind.unknown and finding.scope.caller is not None
        else []
        for finding, (_, end) in told
    ]
    wanted = {template for rows in templates for template in rows["template"]}
    wanted |= {cause.template for causes in found for cause in causes if cause.template is not None}
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
    known = set(store.view("findings")["finding_id"])
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
            reported=finding.id in known,
            excerpts=lines.filter(pl.col("event_id").is_in(quoted[finding.id])),
        )
        for finding, sessions, messages, causes in zip(findings, shown, templates, found, strict=True)
    )


def _days_to_read(finding: Finding, last: date) -> CallerDays:
    """The days whose errors are looked at; of a finding of the fleet, which has many errors a day, its own alone."""
    first = _first_day(finding) if finding.scope.caller is not None else finding.kind.behind.span(finding, last)[0]
    return CallerDays(finding.scope.caller, first, last)


def _first_day(finding: Finding) -> date:
    """The first day that says anything of a finding: the first of its baseline."""
    return min(finding.onset, finding.last_on - timedelta(days=RECENT_DAYS - 1)) - timedelta(days=BASELINE_DAYS)


def _without_evidence(finding: Finding, last: date) -> Case:
    """The case of a finding beyond the first 30: its frames have no rows."""
    messages = pl.DataFrame(schema=MESSAGES).rename({"template": "message"})
    return Case(
        finding,
        numbers=pl.DataFrame(),
        sessions=pl.DataFrame(schema=SESSIONS),
        templates=messages,
        last=last,
        changes=(),
        places=pl.DataFrame(),
        reported=False,
        excerpts=pl.DataFrame(),
    )


def _texts(store: Store, templates: set[str], spans: Sequence[tuple[date, date]], seen: Observations) -> _Texts:
    """What each template's messages say over all the spans: their text where it is one, else without its values."""
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
    """The errors of the sessions of all bursts, counted by second."""
    if not bursts:
        return pl.DataFrame()
    return store.query(
        "detection-repeats",
        sessions=json.dumps(sorted({one.scope.session or "" for one in bursts})),
        since=start_of(min(one.onset for one in bursts), seen.timezone),
        until=end_of(max(one.last_on for one in bursts), seen.timezone),
    )


def _quoted(templates: pl.DataFrame, caller: str | None, texts: _Texts) -> pl.DataFrame:
    """The rows with the text of each message instead of its template."""
    messages = [texts.get((caller, template)) for template in templates["template"]]
    return templates.select(pl.Series("message", messages, pl.String), "sessions", "events")


def _errors_behind(finding: Finding, seen: Observations, last: date) -> pl.DataFrame:
    """The rows of `detection-groups` that a finding rests on."""
    behind = finding.kind.behind
    errors = seen.errors(finding.scope.caller, *behind.span(finding, last)).filter(behind.errors(finding, seen))
    for what in SHARED:
        if (name := getattr(finding.scope, what)) is not None:
            shown = seen.volumes.filter(pl.col(what) == name).select("day", "caller", "reason").unique()
            errors = errors.join(shown, on=["day", "caller", "reason"], how="semi")
    return errors


def _sessions_behind(finding: Finding, seen: Observations, errors: pl.DataFrame, last: date) -> pl.DataFrame:
    """The sessions behind a finding, a row each, those with the most events, then the latest first.

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
    """The messages of errors, a row each, the one that most sessions show first: `template`, `sessions`, `events`."""
    rows = errors.group_by("template").agg(pl.col("session").n_unique().alias("sessions"), pl.col("events").sum())
    ranked = rows.sort("sessions", "events", "template", descending=[True, True, False])
    return ranked.select(pl.col(n).cast(t) for n, t in MESSAGES.items())
