"""What people decide of findings, and what was delivered of a night: decisions in the journal.

Invariants: a store that is made again knows of them, and the tests never look at them. A delivery is written down once
it was made: who dies between the two makes it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import SEVERITIES, Handling
from analyzer.analysis.nightly.incidents import gravest_first
from analyzer.analysis.nightly.night import Night
from analyzer.command_lines import command_line
from analyzer.errors import AnalyzerError
from analyzer.events.times import format_time, now
from analyzer.store import Store

ACTS = ("acknowledged", "snoozed", "closed", "reopened")
MOST_SNOOZED = timedelta(days=366)
COUNTED_WEEKS, LEAST_WEEKS = 12, 4
"""Weeks before a night whose warnings are counted, and the least that say anything."""
_WEEK = timedelta(days=7)
_SHORTEST = 4
"""Characters of an id that a person has to type."""


def handlings(store: Store) -> dict[str, Handling]:
    """The latest decision on each finding that somebody handled, by the finding's id.

    Raises:
        QueryError: the store cannot be asked.
    """
    rows = store.query("detection-handled").iter_rows(named=True)
    return {
        row["finding_id"]: Handling(row["act"], row["handled_at"], row["snoozed_until"], row["note"], row["handled_by"])
        for row in rows
    }


def findings(store: Store, *, every: bool = False) -> list[Finding]:
    """The open findings, or `every` one there was, as the last night told them; open ones and grave ones first.

    Each has what was decided of it. What is a part of another finding is told with that one alone.

    Raises:
        QueryError: the store cannot be asked.
    """
    decisions = handlings(store)
    states = dict(store.view("findings").select("finding_id", "state").iter_rows())
    known = []
    for name, content in store.query("detection-latest").select("finding_id", "content").iter_rows():
        one = Finding.from_dict({**json.loads(content), "id": name, "parts": []})
        if every or (one.is_open and states.get(name) == "open"):
            known.append(replace(one.in_store(store), handling=decisions.get(name)))
    return list(gravest_first(known))


def as_known(store: Store, found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, the gravest first, with what nights knew of them and what people decided.

    Raises:
        QueryError: the store cannot be asked.
    """
    decisions, latest = handlings(store), store.query("detection-latest").select("finding_id", "content")
    before = dict(latest.iter_rows())
    known = []
    for one in found:
        own = replace(one, handling=decisions.get(one.id))
        # What another version of this program, or somebody's editor, wrote down may not be readable.
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            night = Finding.from_dict({**json.loads(before[one.id]), "id": one.id, "parts": []})
            worse = night.worse if night.last_on >= one.last_on else one.graver_than(night)
            own = replace(own.after(night), worse=worse)
        known.append(own)
    return gravest_first(known)


def handle(
    store: Store, finding: str, act: str, *, snoozed_for: timedelta | None = None, note: str = "", by: str = ""
) -> tuple[str, Handling]:
    """Write down a decision on the finding whose id begins so, and give its whole id and the decision.

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
    said = {"snoozed_until": format_time(until)} if until else {}
    store.decide([("finding.handled", {"finding_id": name, "act": act, "note": note, "by": by, **said})], at=moment)
    return name, decision


def identified(store: Store, finding: str) -> str:
    """The id of the one finding whose id begins so.

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
    """The ids of the open findings with these values of `finding` (its kind), `caller` and `provider`.

    Raises:
        AnalyzerError: there is none.
    """
    found = []
    for one in findings(store):
        own = {"finding": one.finding, "caller": one.scope.caller, "provider": one.scope.provider}
        if all(own[name] == value for name, value in about.items()):
            found.append(one.id)
    if not found:
        named = " and ".join(f"{'kind' if name == 'finding' else name} {value}" for name, value in about.items())
        raise AnalyzerError(f"no open finding of {named}", f"see: {command_line('findings', 'list', store=store.path)}")
    return found


def warnings_a_week(store: Store, day: date, timezone: str) -> float | None:
    """The findings of at least `warning` that opened a week, in the `COUNTED_WEEKS` before a day.

    None where fewer than `LEAST_WEEKS` of them were judged.

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
    """The night without the findings that people closed, whatever the tests still see of them.

    On the first night after that they are told once more, as over.
    """
    open_before = {finding.id for finding in before.findings if finding.is_open} if before is not None else set()
    told = []
    for finding in night.findings:
        decision = decisions.get(finding.id)
        if decision is None or decision.act != "closed" or not finding.is_open:
            told.append(finding)
        elif finding.id in open_before:
            told.append(replace(finding, state="resolved", resolved_on=night.day, resolution="closed"))
    return replace(night, findings=tuple(told))


def with_handling(night: Night, decisions: Mapping[str, Handling]) -> Night:
    """The night, each finding with what people decided of it."""
    return replace(
        night, findings=tuple(replace(finding, handling=decisions.get(finding.id)) for finding in night.findings)
    )


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A night, and what each target knows of it."""

    night: Night
    known: frozenset[tuple[str, str, str, str]]
    """Finding, state, severity and target of each delivery."""

    @classmethod
    def of(cls, store: Store, night: Night) -> Undelivered:
        """What a store knows of the deliveries of a night.

        Raises:
            QueryError: the store cannot be asked.
        """
        rows = store.query("detection-delivered", span=night.span, timezone=night.timezone)
        columns = rows.select("finding_id", "state", "severity", "target")
        return cls(night, frozenset(columns.iter_rows()))

    def to(self, target: str) -> Night:
        """The night without the findings that a target knows in this state, as grave as they are or graver."""
        return replace(
            self.night, findings=tuple(finding for finding in self.night.findings if not self._knows(target, finding))
        )

    def write_down(self, store: Store, made: Iterable[tuple[str, Finding]]) -> None:
        """Write down which targets were told of which findings.

        Raises:
            StoreError: the store or its journal cannot be written.
        """
        night = {"span": self.night.span, "timezone": self.night.timezone}
        told = [
            {"finding_id": one.id, "state": _state(one), "severity": one.severity, "target": target}
            for target, one in made
        ]
        if told:
            store.decide(("finding.delivered", {**payload, **night}) for payload in told)

    def _knows(self, target: str, finding: Finding) -> bool:
        as_grave = SEVERITIES[SEVERITIES.index(finding.severity) :]
        return any((finding.id, _state(finding), severity, target) in self.known for severity in as_grave)


def _state(finding: Finding) -> str:
    return "worse" if finding.worse else finding.state
