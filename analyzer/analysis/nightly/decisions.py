"""People's decisions on findings, and the deliveries of a night: both are events in the journal.

Invariants: a store that is made again knows of them, and the tests never look at them. A delivery
is written down after it was made, so a process that dies between the two makes it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import SEVERITIES, Handling
from analyzer.analysis.nightly.incidents import gravest_first
from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import command_line
from analyzer.errors import AnalyzerError
from analyzer.events.times import format_time, now
from analyzer.frozen import frozen
from analyzer.store import Store

ACTS = ("acknowledged", "snoozed", "closed", "reopened")
MOST_SNOOZED = timedelta(days=366)
COUNTED_WEEKS, LEAST_WEEKS = 12, 4
"""Weeks before a night whose warnings are counted, and the least that say anything."""
_WEEK = timedelta(days=7)
_SHORTEST = 4
"""Characters of an id that a person has to type."""


def handlings(store: Store) -> dict[str, Handling]:
    """Return the latest decision on each finding that somebody handled, by the finding's id.

    Raises:
        QueryError: the store cannot be asked.
    """
    rows = store.rows("detection-handled").named()
    return {
        row["finding_id"]: Handling(row["act"], row["handled_at"], row["snoozed_until"], row["note"], row["handled_by"])
        for row in rows
    }


def findings(store: Store, *, every: bool = False) -> list[Finding]:
    """Return the open findings, or `every` finding there was, as the last night reported them.

    Open and grave ones come first, each with the decision on it. A part of another finding is
    reported only with that one.

    Raises:
        QueryError: the store cannot be asked.
    """
    decisions = handlings(store)
    states = dict(store.view("findings").select("finding_id", "state").iter_rows())
    chosen = []
    for name, content in store.query("detection-latest").select("finding_id", "content").iter_rows():
        finding = Finding.from_dict({**json.loads(content), "id": name, "parts": []})
        if every or (finding.is_open and states.get(name) == "open"):
            chosen.append(replace(finding.in_store(store), handling=decisions.get(name)))
    return list(gravest_first(chosen))


def as_known(store: Store, current: Iterable[Finding]) -> tuple[Finding, ...]:
    """Add what nights knew of findings and what people decided; sort the gravest first.

    Raises:
        QueryError: the store cannot be asked.
    """
    decisions, latest = handlings(store), store.query("detection-latest").select("finding_id", "content")
    before = dict(latest.iter_rows())
    merged = []
    for finding in current:
        own = replace(finding, handling=decisions.get(finding.id))
        # What another version of this program, or somebody's editor, wrote down may not be readable.
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            night = Finding.from_dict({**json.loads(before[finding.id]), "id": finding.id, "parts": []})
            worse = night.worse if night.last_on >= finding.last_on else finding.graver_than(night)
            own = replace(own.after(night), worse=worse)
        merged.append(own)
    return gravest_first(merged)


def handle(
    store: Store, finding: str, act: str, *, snoozed_for: timedelta | None = None, note: str = "", by: str = ""
) -> tuple[str, Handling]:
    """Write down a decision on the finding whose id begins so; return the id and the decision.

    `by` is the name of who decides.

    Raises:
        AnalyzerError: no such finding or several, a resolved one, no such act, or no length of time to be silent for.
        StoreError: the store or its journal cannot be written.
    """
    if act not in ACTS:
        raise AnalyzerError.unknown_value("act", act, ACTS)
    if (act == "snoozed") != (snoozed_for is not None):
        raise AnalyzerError("a finding is snoozed for a while, such as 7d", "no other decision has a length of time")
    if snoozed_for is not None and not timedelta() < snoozed_for <= MOST_SNOOZED:
        raise AnalyzerError(
            "a finding is snoozed for some time, a year at most",
            f"{command_line('findings', 'close', 'ID')} ends it for good",
        )
    name = identified(store, finding)
    state = store.view("findings").filter(finding_id=name)["state"].item()
    if state != "open":
        raise AnalyzerError(f"finding {name} is resolved", f"see: {command_line('findings', 'list', store=store.path)}")
    moment = now()
    until = moment + snoozed_for if snoozed_for else None
    decision = Handling(act, moment, until, note, by)
    silence = {"snoozed_until": format_time(until)} if until else {}
    store.decide([("finding.handled", {"finding_id": name, "act": act, "note": note, "by": by, **silence})], at=moment)
    return name, decision


def identified(store: Store, finding: str) -> str:
    """Return the id of the only finding whose id begins so.

    Raises:
        AnalyzerError: none does, or several do.
    """
    if len(finding) < _SHORTEST:
        raise AnalyzerError(f"{finding!r} is too short for a finding", f"type {_SHORTEST} characters of its id or more")
    names = sorted(name for name in store.view("findings")["finding_id"] if name.startswith(finding.lower()))
    if len(names) == 1:
        return str(names[0])
    if not names:
        raise AnalyzerError(
            f"no finding {finding}", f"see: {command_line('findings', 'list', '--all', store=store.path)}"
        )
    raise AnalyzerError(f"{len(names):,} findings begin with {finding}", f"type more of it, such as {names[0]}")


def open_about(store: Store, about: Mapping[str, str]) -> list[str]:
    """Return the ids of the open findings with these values of `finding`, `caller`, `provider`.

    `finding` is the name of a kind.

    Raises:
        AnalyzerError: there is none.
    """
    ids = []
    for finding in findings(store):
        own = {"finding": finding.finding, "caller": finding.scope.caller, "provider": finding.scope.provider}
        if all(own[name] == value for name, value in about.items()):
            ids.append(finding.id)
    if not ids:
        named = " and ".join(f"{'kind' if name == 'finding' else name} {value}" for name, value in about.items())
        raise AnalyzerError(f"no open finding of {named}", f"see: {command_line('findings', 'list', store=store.path)}")
    return ids


def warnings_a_week(store: Store, day: date, timezone: str) -> float | None:
    """Count the findings of at least `warning` that opened a week, before a day.

    The `COUNTED_WEEKS` before the day are looked at; None if fewer than `LEAST_WEEKS` of them were
    judged.

    Raises:
        QueryError: the store cannot be asked.
    """
    judged: list[date] = store.query("detection-nights", before=day, timezone=timezone)["day"].to_list()
    first = max(min(judged, default=day), day - COUNTED_WEEKS * _WEEK)
    weeks = (day - first) / _WEEK
    if weeks < LEAST_WEEKS:
        return None
    opened: list[tuple[str, date]] = store.view("findings").select("severity", "opened_on").rows()
    return sum(severity != "info" and first <= on < day for severity, on in opened) / weeks


def without_closed(night: Night, before: Night | None, decisions: Mapping[str, Handling]) -> Night:
    """Drop the findings that people closed, whatever the tests still see of them.

    On the first night after that they are reported once more, as over.
    """
    open_before = {finding.id for finding in before.findings if finding.is_open} if before is not None else set()
    kept = []
    for finding in night.findings:
        decision = decisions.get(finding.id)
        if decision is None or decision.act != "closed" or not finding.is_open:
            kept.append(finding)
        elif finding.id in open_before:
            kept.append(replace(finding, state="resolved", resolved_on=night.day, resolution="closed"))
    return replace(night, findings=tuple(kept))


def with_handling(night: Night, decisions: Mapping[str, Handling]) -> Night:
    """Add people's decisions to the findings of a night."""
    return replace(
        night, findings=tuple(replace(finding, handling=decisions.get(finding.id)) for finding in night.findings)
    )


@frozen
class Undelivered:
    """A night, and what each target knows of it."""

    night: Night
    known: frozenset[tuple[str, str, str, str]]
    """Finding, state, severity and target of each delivery."""

    @classmethod
    def of(cls, store: Store, night: Night) -> Undelivered:
        """Read what targets know of a night.

        Raises:
            QueryError: the store cannot be asked.
        """
        rows = store.rows("detection-delivered", span=night.span, timezone=night.timezone).named()
        return cls(night, frozenset((row["finding_id"], row["state"], row["severity"], row["target"]) for row in rows))

    def to(self, target: str) -> Night:
        """Return the night without the findings that a target knows already.

        It knows a finding if it was sent it in this state, with this severity or a graver one.
        """
        unknown = []
        for finding in self.night.findings:
            as_grave = SEVERITIES[SEVERITIES.index(finding.severity) :]
            if not any((finding.id, _state(finding), severity, target) in self.known for severity in as_grave):
                unknown.append(finding)
        return replace(self.night, findings=tuple(unknown))

    def write_down(self, store: Store, deliveries: Iterable[tuple[str, Finding]]) -> None:
        """Write down which targets were sent which findings.

        Raises:
            StoreError: the store or its journal cannot be written.
        """
        night = {"span": self.night.span, "timezone": self.night.timezone}
        payloads = [
            {"finding_id": finding.id, "state": _state(finding), "severity": finding.severity, "target": target}
            for target, finding in deliveries
        ]
        if payloads:
            store.decide(("finding.delivered", {**payload, **night}) for payload in payloads)


def _state(finding: Finding) -> str:
    return "worse" if finding.worse else finding.state
