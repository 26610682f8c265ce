"""`Night`: the result of one nightly check, and its events in the journal.

There is an event for each finding, then a small one for the night.

Invariant: a night is written down as a whole or not at all. Its own event comes last and says how many findings belong
to it; while one of them is missing, the night counts as not judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.kinds.finding import STATES, Finding, at_least
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.observations import end_of
from analyzer.events.model import derived_id
from analyzer.events.times import format_time, now, parse_time
from analyzer.readable import counted
from analyzer.store import Store
from analyzer.store.db.frames import PlainRows
from analyzer.store.shown import ShownRows

SCHEMA = "analyzer.check/1"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Night(ShownRows):
    """One day, judged from itself and the days before it."""

    day: date
    timezone: str
    judged_at: datetime
    """Naive UTC. Events that came later had no part in it."""
    ruleset: str | None
    """Digest of the ruleset under which history was judged; None where only recorded reasons were at hand."""
    since: date | None
    """The first day of history that took part, the baseline's earliest."""
    caller_days: int
    """Days of callers that were judged, the baseline included."""
    callers: int
    """Callers with anything to judge on this day."""
    findings: tuple[Finding, ...] = ()
    """Open ones, and those that ended this night; the gravest first."""
    warnings_a_week: float | None = None
    """Warnings that opened a week in the twelve weeks before; None where fewer than four were checked."""
    unjudged: str = ""
    """Why a day without findings cannot be judged, in one sentence; empty where it can be."""
    notes: tuple[str, ...] = ()
    """What limits the judgement, one sentence each."""
    opening: tuple[str, ...] = ()
    """What the day was like whatever was found, one sentence each: what failed most, and whose errors they were."""
    recorded: bool = False
    """Whether this is what an earlier check found and wrote down."""
    late_events: int = 0
    """Of a recorded night: events of that day or before that came after it was judged."""
    ruleset_in_force: str | None = None
    """Digest of the ruleset that judges today; another one than `ruleset` where the rules changed since."""
    hours: tuple[datetime, datetime] | None = None
    """Of single hours that were judged instead of a day, the first moment and the end, naive UTC."""

    def worst(self) -> str | None:
        """Return the highest severity among findings that are new or go on; None without any."""
        severities = [finding.severity for finding in self.findings if finding.goes_on]
        return max(severities, key=SEVERITIES.index, default=None)

    def fails(self, threshold: str, moment: datetime | None = None) -> bool:
        """Return whether a finding that is new or goes on reaches a severity.

        Findings that somebody acknowledged or snoozed do not count. `moment` (naive UTC; None: now)
        is when these are looked at.

        Raises:
            AnalyzerError: no such severity.
        """
        return any(finding.goes_on and at_least(finding.severity, threshold) for finding in self.heard(moment))

    def news(self, moment: datetime | None = None) -> tuple[Finding, ...]:
        """Return the findings that are new, worse than on the night before, or over.

        Those that are to be silent are left out.
        """
        return tuple(
            finding for finding in self.heard(moment) if finding.state not in {"ongoing", "open"} or finding.worse
        )

    def heard(self, moment: datetime | None = None) -> Iterable[Finding]:
        """Return the findings that nobody has acknowledged or snoozed by a moment.

        The moment is naive UTC; None is now.
        """
        at = moment or now()
        return (finding for finding in self.findings if finding.handling is None or not finding.handling.silences(at))

    def of(self, state: str) -> tuple[Finding, ...]:
        """Return the findings in one state."""
        return tuple(finding for finding in self.findings if finding.state == state)

    @property
    def judged_at_seconds(self) -> float:
        """Return the Unix time of the judgement."""
        return self.judged_at.replace(tzinfo=UTC).timestamp()

    @property
    def day_seconds(self) -> float:
        """Return the Unix time at which the day begins in UTC."""
        return datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC).timestamp()

    @property
    def headline(self) -> str:
        """Return the verdict in one line."""
        parts = [f"{len(findings)} {state}" for state in STATES if (findings := self.of(state))]
        if not parts and self.unjudged:
            return f"Not judged: too little history to tell. {self.unjudged}"
        if not parts:
            return f"No findings for {self.span}."
        kinds = "finding" if len(self.findings) == 1 else "findings"
        return f"{', '.join(parts)} {kinds} for {self.span}."

    @property
    def span(self) -> str:
        """Name what was judged: the day, or its hours."""
        if self.hours is None:
            return f"{self.day}"
        since, until = (moment.replace(tzinfo=UTC).astimezone(ZoneInfo(self.timezone)) for moment in self.hours)
        return f"{since:%Y-%m-%d %H:%M} to {until:%H:%M} {self.timezone}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the notes, and of a recorded night what has changed since, one sentence each."""
        sentences = list(self.notes)
        if self.late_events:
            events = counted(self.late_events, "event")
            sentences.append(f"{events} of that day or before came after it was judged; --again judges it with them")
        if self.recorded and self.ruleset_in_force != self.ruleset:
            judged = f"judged on {self.judged_at:%Y-%m-%d %H:%M} UTC; the rules have changed since"
            sentences.append(f"{judged} ({self.ruleset_in_force} are in force); --again judges it with them")
        return tuple(sentences)

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one row per finding and its main figures as columns."""
        days = ("opened_on", "last_on")
        rows = [
            {**finding.to_dict(), **finding.scope.to_dict(), **{name: getattr(finding, name) for name in days}}
            for finding in self.findings
        ]
        columns = {
            **dict.fromkeys(("id", "finding", "severity", "state"), pl.String),
            **dict.fromkeys(("observed", "expected", "p_value", "q_value"), pl.Float64),
            "sessions": pl.Int64,
            **dict.fromkeys(("caller", "reason", "template"), pl.String),
            **dict.fromkeys(("opened_on", "last_on"), pl.Date),
            "explanation": pl.String,
        }
        return pl.DataFrame([{name: row[name] for name in columns} for row in rows], schema=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        since, until = map(format_time, self.hours) if self.hours else [self.day.isoformat()] * 2
        return {
            "schema": SCHEMA,
            "window": {"since": since, "until": until, "timezone": self.timezone},
            "baseline": {"since": self.since.isoformat() if self.since else None, "caller_days": self.caller_days},
            "judged_at": format_time(self.judged_at),
            "recorded": self.recorded,
            "late_events": self.late_events,
            "ruleset": self.ruleset,
            "ruleset_in_force": self.ruleset_in_force,
            "callers": self.callers,
            "warnings_a_week": self.warnings_a_week,
            "unjudged": self.unjudged,
            "notes": list(self.notes),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Night:
        """Read back what `to_dict` made."""
        judged = parse_time(data["judged_at"])
        if judged is None:
            raise ValueError("a night without the moment of its judgement")
        since = data["baseline"]["since"]
        return cls(
            day=date.fromisoformat(data["window"]["since"]),
            timezone=data["window"]["timezone"],
            judged_at=judged,
            ruleset=data["ruleset"],
            since=date.fromisoformat(since) if since else None,
            caller_days=data["baseline"]["caller_days"],
            callers=data["callers"],
            findings=tuple(Finding.from_dict(finding) for finding in data["findings"]),
            warnings_a_week=data.get("warnings_a_week"),
            unjudged=data.get("unjudged", ""),
            notes=tuple(data["notes"]),
        )

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        facts = {
            "worst": self.worst() or "nothing goes on",
            "callers": f"{self.callers:,}",
            "ruleset": f"{self.ruleset}",
        }
        return f"Night {self.headline!r}", facts


def split_parts(findings: Iterable[Finding], before: Iterable[Finding]) -> Iterator[Finding]:
    """Yield tonight's findings, without the parts that the night before reported by themselves.

    Each of these parts follows as a finding of its own.
    """
    reported_alone = {finding.identity for finding in before if finding.is_open}
    for finding in findings:
        yield replace(finding, parts=tuple(part for part in finding.parts if part.identity not in reported_alone))
        yield from (part for part in finding.parts if part.identity in reported_alone)


def carried_on(
    findings: Iterable[Finding], before: Iterable[Finding], day: date, gone: str = "explained"
) -> tuple[Finding, ...]:
    """Return tonight's findings, with the ids, first days and causes of the nights before.

    `before` are those that the last night left open. One of them that is no longer seen at all, on
    any day, ends; `gone` is the resolution that says why. A finding that an earlier night reported
    is not new, even if late events moved its first day.
    """
    open_ones = {finding.identity: finding for finding in before if finding.is_open}
    parts_before = {part.identity: part for finding in open_ones.values() for part in finding.parts if part.is_open}
    carried = []
    for finding in findings:
        former = open_ones.pop(finding.identity, None) or parts_before.get(finding.identity)
        if former is None:
            # Nights may have been left out: what no night has reported yet is new, and what none reported cannot end.
            if finding.is_open:
                carried.append(replace(finding, state="new"))
            continue
        state = "ongoing" if finding.state == "new" else finding.state
        reworded = any(part.finding == "wording_changed" for part in finding.parts)
        why = tuple(
            part for part in former.parts if part.kind.explains and not (reworded and part.finding == "wording_changed")
        )
        worse = finding.graver_than(former)
        parts = (*finding.parts, *why)
        own = replace(finding, id=former.id, opened_on=former.opened_on, state=state, parts=parts, worse=worse)
        carried.append(own.after(former))
    ended = (replace(finding, state="resolved", resolved_on=day, resolution=gone) for finding in open_ones.values())
    return (*carried, *ended)


_SCHEMA = "analyzer.night/1"
"""What the event of a night holds."""


def write_down(store: Store, night: Night) -> None:
    """Write a night into the journal and the store.

    Openings and endings of findings come first, then all that it reports, then the night.

    Raises:
        StoreError: the store or its journal cannot be written.
    """
    name = derived_id("night", night.day, night.timezone, format_time(night.judged_at))
    reported = list(_reported(night.findings))
    whole = {key: value for key, value in night.to_dict().items() if key != "findings"}
    counts = {"findings_count": len(night.findings), "reported_count": len(reported)}
    decisions = [
        *_openings_and_endings(store, night),
        *(("finding.reported", payload) for payload in reported),
        ("night.judged", {**whole, "schema": _SCHEMA, **counts}),
    ]
    store.decide(((kind, {**payload, "night": name}) for kind, payload in decisions), at=night.judged_at)


def recorded(store: Store, day: date, timezone: str) -> Night | None:
    """Return the night as an earlier check wrote it down; None without one.

    It has the number of events that came since.
    """
    night = _newest(store, store.rows("detection-nights", day=day, timezone=timezone))
    if night is None:
        return None
    late = store.rows("detection-late", until=end_of(day, timezone), judged_at=night.judged_at)
    return replace(night, recorded=True, late_events=sum(row["events"] for row in late.named()))


def night_before(store: Store, day: date, timezone: str) -> Night | None:
    """Return the last night before this day that was written down."""
    return _newest(store, store.rows("detection-nights", before=day, timezone=timezone))


def _newest(store: Store, nights: PlainRows) -> Night | None:
    """Return the last night that can be read.

    Another version of this program, or somebody's editor, may have written some.
    """
    for row in reversed(list(nights.named())):
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            result = json.loads(row["result"])
            if "findings" not in result:  # Nights had all their findings in one event once.
                reported = store.rows("detection-reported", night=row["night"], judged_at=row["judged_at"])
                result["findings"] = _nested(reported)
            night = Night.from_dict(result)
            return replace(night, findings=tuple(finding.in_store(store) for finding in night.findings))
    return None


def _openings_and_endings(store: Store, night: Night) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the decisions on findings that open or end on a night."""
    frame = store.view("findings").select("finding_id", "state", "resolution", "resolved_on")
    state: Callable[[str], str | None] = dict(frame.select("finding_id", "state").iter_rows()).get
    # What this very night took back when it was judged before, and shows now that still more has come.
    taken_back = set(frame.filter(resolution="rejudged", resolved_on=night.day)["finding_id"])
    for finding in night.findings:
        if finding.is_open and (state(finding.id) is None or finding.id in taken_back):
            yield "finding.opened", _payload(finding)
        elif not finding.is_open and state(finding.id) == "open":
            yield "finding.resolved", _payload(finding)
    former = recorded(store, night.day, night.timezone)
    still = {finding.id for finding in night.findings}
    for finding in former.of("new") if former else ():
        if finding.id not in still and state(finding.id) == "open":
            gone = replace(finding, state="resolved", resolved_on=night.day, resolution="rejudged")
            yield "finding.resolved", _payload(gone)


def _reported(findings: Sequence[Finding], part_of: int | None = None, first: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the payloads of findings in their order, each with its place, followed by its parts."""
    place = first
    for finding in findings:
        head = place
        yield {**_payload(finding), "place": head, "part_of": part_of}
        place += 1
        for part in _reported(finding.parts, head, place):
            yield part
            place += 1


def _nested(reported: PlainRows) -> list[dict[str, Any]]:
    """Return findings with their parts, as `Finding.from_dict` reads them.

    This is the reverse of `_reported`.
    """
    by_place: dict[int, dict[str, Any]] = {}
    heads: list[dict[str, Any]] = []
    for row in reported.named():
        payload = json.loads(row["content"])
        by_place[row["place"]] = finding = {**payload, "id": payload["finding_id"], "parts": []}
        (heads if row["part_of"] is None else by_place[row["part_of"]]["parts"]).append(finding)
    return heads


def _payload(finding: Finding) -> dict[str, Any]:
    fields = finding.to_dict()
    # What people decide of it is written down by itself.
    own = {name: value for name, value in fields.items() if name not in {"id", "parts", "handling", "command"}}
    return {"finding_id": fields["id"], **own}
