"""The explanations of findings, what they cost, and the events and messages that they name as evidence.

Invariant: however many findings there are, the store is asked once for their errors, for what is none, and for costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS
from analyzer.analysis.detection.volumes import SHARED
from analyzer.analysis.kinds.finding import SHARE, Finding
from analyzer.analysis.kinds.finding_fields import Wording, cost_of, with_cost
from analyzer.analysis.kinds.sentences import sentence
from analyzer.analysis.nightly.incidents import gravest_first
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.analysis.tables import Window
from analyzer.classifier import Rules
from analyzer.classifier.fingerprint import template
from analyzer.store import Store

MAX_SAMPLES = 5
MAX_SAMPLE_CHARS = 1_000
"""So much of a message stands in a finding; the whole one is an event."""


Span = tuple[datetime, datetime]
"""From the first moment to the second one, which is no part of it; naive UTC."""


class Counted(Protocol):
    """What findings were counted from."""

    @property
    def timezone(self) -> str:
        """The zone of its days."""

    @property
    def ruleset(self) -> str | None:
        """Digest of the ruleset that judged."""

    @property
    def volumes(self) -> pl.DataFrame:
        """The rows of `detection-volume`."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a finding shows of its errors."""

    samples: tuple[str, ...] = ()
    said: str | None = None
    """What all of its most frequent message say: the text itself, or the one without values where these differ; of
    hand-offs how many were given up."""
    evidence: tuple[str, ...] = ()
    confidence: str | None = None
    wording: Wording | None = None
    counted: Mapping[str, Any] = field(default_factory=dict)
    """The fields of a finding that are counted of all its events."""


_Behind = dict[int, _Shown]
"""By the place of a finding among those that were asked for."""


def explained(
    store: Store,
    findings: Sequence[Finding],
    timezone: str,
    ruleset: str | None,
    within: Span | None = None,
    rules: Rules = None,
    judged: date | None = None,
) -> tuple[Finding, ...]:
    """The findings, the gravest first, with their explanations, advice, samples and evidence.

    What was explained and cannot change stays. `within` bounds what is looked at, else it is the days of each. Drafts
    of rules are made beside `rules`. What has no event on the day that is `judged` does not go on.

    Raises:
        QueryError: the store cannot be asked.
        RulesError: the rules cannot be used.
    """
    asked = list(_to_explain(findings))
    behind = _behind(store, asked, timezone, ruleset, within)
    reworded = [
        place for place, finding in enumerate(asked) if finding.latest.rule is not None and finding.wording is None
    ]
    old = _old_texts(store, [asked[place] for place in reworded], timezone, ruleset)
    for place, text in zip(reworded, old, strict=True):
        wording = _wording(store, asked[place], text, behind[place].said, timezone, rules)
        behind[place] = replace(behind[place], wording=wording)
    places = iter(range(len(behind)))
    when = "of these hours" if within else ""
    told = [_explained(finding, behind, places, timezone, when).in_store(store) for finding in findings]
    return gravest_first(told if judged is None else (_as_of(finding, judged) for finding in told))


def _as_of(finding: Finding, judged: date) -> Finding:
    """Return the finding, `ongoing` if it or a part of it has evidence of the judged day, else `open`.

    Evidence are its own events. A kind without any, such as silence, is judged day by day, and a day on which its test
    finds it is evidence. A finding that no night has told yet stays `new`.
    """
    parts = tuple(part if part.kind.cause else _as_of(part, judged) for part in finding.parts)
    finding = replace(finding, parts=parts)
    if finding.state not in {"ongoing", "open"}:
        return finding
    shown = finding.last_seen == judged or any(part.state == "ongoing" for part in parts)
    return replace(finding, state="ongoing" if shown else "open")


def costed(
    store: Store,
    findings: Iterable[Finding],
    seen: Counted,
    known: Iterable[Finding] = (),
    within: Span | None = None,
) -> tuple[Finding, ...]:
    """The findings, the gravest first, with what their last days cost and the severity that follows from it.

    Those with the same last day as one that is `known` cost what that one did. `within` bounds what counts, else it is
    the last day of each.

    Raises:
        QueryError: the store cannot be asked.
    """
    before = {(one.id, one.last_on): one.cost for one in known if one.cost}
    found = list(findings)
    costs = {place: before.get((one.id, one.last_on)) for place, one in enumerate(found) if one.kind.priced}
    asked = []
    for place in (place for place, cost in costs.items() if cost is None):
        one = found[place]
        scope = {name: getattr(one.scope, name) for name in ("template", *SHARED)}
        reason, callers = one.kind.evidence.reason(one), _callers(one, seen)
        since, until = within or (start_of(one.last_on, seen.timezone), end_of(one.last_on, seen.timezone))
        asked.append({**_when(place, one, (since, until)), **scope, "reason": reason, "callers": callers})
    if asked:
        rows = store.query("detection-cost", asked=json.dumps(asked), ruleset=seen.ruleset)
        costs |= {place: cost_of(own) for (place,), own in rows.group_by("place", maintain_order=True)}
    for place, cost in costs.items():
        if cost is not None:
            one = found[place]
            found[place] = replace(one, cost=cost, severity=with_cost(one.severity, one.latest, cost))
    return gravest_first(found)


def _callers(finding: Finding, seen: Counted) -> list[str] | None:
    """The callers of a finding of what callers share: those with errors of it in its baseline or since."""
    for what in SHARED:
        if (name := getattr(finding.scope, what)) is not None:
            days = pl.col("day").is_between(finding.last_on - timedelta(days=BASELINE_DAYS), finding.last_on)
            own = seen.volumes.filter(days & (pl.col(what) == name))
            return own["caller"].unique().sort().to_list()
    return None


def _when(place: int, finding: Finding, span: Span) -> dict[str, Any]:
    """What to ask of a finding: its caller, and the span."""
    since, until = (moment.isoformat() for moment in span)
    return {"place": place, "caller": finding.scope.caller, "since": since, "until": until}


def _span(finding: Finding, timezone: str, days: int = 0) -> Span:
    """What its tests looked at: so many days up to its last one, or since its onset, or the hours that showed it; those
    of its parts, too.
    """
    evidence, latest, zone = finding.kind.evidence, finding.latest, ZoneInfo(timezone)
    if not evidence.signs and finding.first_error_at is not None and finding.last_error_at is not None:
        return finding.first_error_at, finding.last_error_at + timedelta(milliseconds=1)
    first = finding.last_on - timedelta(days=days - 1) if days else finding.onset
    begin, end = (
        at.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None) if at else None
        for at in evidence.hours(finding) or (latest.begins_at, latest.ends_at)
    )
    last = max([finding.last_on, *(part.last_on for part in finding.parts if not part.kind.cause)])
    if last > finding.last_on:
        end = None
    return begin or start_of(first, timezone), end or end_of(last, timezone)


def _signs(place: int, finding: Finding, timezone: str, within: Span | None) -> Iterator[dict[str, Any]]:
    """What to ask of a finding that is about no errors: each of its signs, and of silence what came before."""
    evidence = finding.kind.evidence
    for sign, days in evidence.signs.items():
        since, until = within or _span(finding, timezone, days)
        if sign == "before":
            since, until = since - timedelta(days=BASELINE_DAYS), since
        named = {"sign": sign, "name": evidence.name(finding), **evidence.more(finding)}
        yield {**_when(place, finding, (since, until)), **named}


_EVERY = 1_000_000
"""Messages and events that are asked for where all of them are."""


def events_of(store: Store, finding: Finding, ruleset: str | None) -> list[str]:
    """The ids of all events that a finding counts, under the ruleset of the night that told it last.

    Raises:
        QueryError: the store cannot be asked.
    """
    return list(_behind(store, [finding], finding.timezone, ruleset, None, most=_EVERY)[0].evidence)


def _explained(finding: Finding, behind: _Behind, places: Iterator[int], timezone: str, when: str) -> Finding:
    if _keeps_its_words(finding):
        return finding
    shown = behind[next(places)]
    finding = replace(finding, wording=finding.wording or shown.wording, timezone=timezone, **shown.counted)
    return replace(
        finding,
        explanation=sentence(finding, shown.said, timezone, when),
        advice=finding.kind.advice if finding.is_open else "",
        samples=shown.samples,
        evidence=shown.evidence,
        confidence=shown.confidence,
        parts=tuple(_explained(part, behind, places, timezone, when) for part in finding.parts),
    )


def _keeps_its_words(finding: Finding) -> bool:
    return bool(finding.explanation) and (finding.resolution in {"explained", "rejudged"} or finding.kind.explains)


def _to_explain(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings and their parts that have to be explained, each before its parts."""
    for finding in findings:
        if not _keeps_its_words(finding):
            yield finding
            yield from _to_explain(finding.parts)


def _behind(
    store: Store,
    findings: Sequence[Finding],
    timezone: str,
    ruleset: str | None,
    within: Span | None,
    most: int | None = None,
) -> _Behind:
    """What findings show of their events, `most` of them at most, else some: the one place that asks for these."""
    errors: list[dict[str, Any]] = []
    signs: list[dict[str, Any]] = []
    for place, one in enumerate(findings):
        signs += _signs(place, one, timezone, within)
        if not one.kind.evidence.signs:
            asked = _when(place, one, within or _span(one, timezone))
            scope = {name: getattr(one.scope, name) for name in ("template", "session", *SHARED)}
            errors.append({**asked, **scope, "reason": one.kind.evidence.reason(one)})
    samples: list[list[str]] = [[] for _ in findings]
    evidence: list[list[str]] = [[] for _ in findings]
    said: dict[int, str] = {}
    sure: dict[int, str | None] = {}
    counted: dict[int, Mapping[str, Any]] = {}
    if errors:
        words = {} if most is None else {"limit": most, "ids": most}
        rows = store.query("detection-evidence", asked=json.dumps(errors), ruleset=ruleset, **words)
        counted |= _counted(rows)
        columns = ("place", "message", "varies", "confidence", "event_ids")
        for place, message, varies, confidence, ids in rows.select(columns).iter_rows():
            sure.setdefault(place, confidence)
            if message:
                samples[place].append(shortened(message))
                said.setdefault(place, _common(message, varies))
            evidence[place] += (ids or "").split()
    if signs:
        words = {} if most is None else {"limit": most}
        rows = store.query("detection-signs", asked=json.dumps(signs), timezone=timezone, ruleset=ruleset, **words)
        counted |= _counted(rows)
        columns = ("place", "event_id", "message", "confidence", "halted")
        for place, event_id, message, confidence, halts in rows.select(columns).iter_rows():
            evidence[place].append(event_id)
            sure.setdefault(place, confidence)
            said[place] = f"{halts:,} of them given up" if halts else ""
            if message and len(samples[place]) < MAX_SAMPLES and shortened(message) not in samples[place]:
                samples[place].append(shortened(message))
    return {
        place: _Shown(
            tuple(samples[place]),
            said.get(place),
            tuple(evidence[place]),
            sure.get(place),
            counted=counted.get(place, _NOTHING),
        )
        for place in range(len(findings))
    }


_COUNTED = {
    "first_at": "first_error_at",
    "last_at": "last_error_at",
    "all_events": "errors",
    "all_sessions": "error_sessions",
}
"""Columns of what findings rest on, and the fields of a finding that they are."""
_NOTHING: Mapping[str, Any] = dict.fromkeys(_COUNTED.values())


def _counted(rows: pl.DataFrame) -> dict[int, Mapping[str, Any]]:
    """What is counted of all events of each finding, by its place."""
    named = rows.unique("place").select("place", *_COUNTED).rename(_COUNTED)
    return {row.pop("place"): row for row in named.iter_rows(named=True)}


def _old_texts(store: Store, findings: Sequence[Finding], timezone: str, ruleset: str | None) -> list[str | None]:
    """What the rule of each change of wording matched in most sessions of the weeks before it."""
    if not findings:
        return []
    asked = [
        {
            "place": place,
            "caller": one.scope.caller,
            "rule": one.scope.rule,
            "since": start_of(one.onset - timedelta(days=BASELINE_DAYS), timezone).isoformat(),
            "until": start_of(one.onset, timezone).isoformat(),
        }
        for place, one in enumerate(findings)
    ]
    rows = store.query("detection-evidence", asked=json.dumps(asked), ruleset=ruleset, limit=1)
    texts = {place: _common(*text) for place, *text in rows.select("place", "message", "varies").iter_rows() if text[0]}
    return [texts.get(place) for place in range(len(findings))]


def _wording(store: Store, finding: Finding, old: str | None, new: str | None, timezone: str, rules: Rules) -> Wording:
    """The texts of a change of wording, with the draft of a rule."""
    from analyzer.analysis.rules.unknowns import drafted

    rule, reason = finding.scope.rule or "", finding.scope.reason or ""
    window = Window(start_of(finding.onset, timezone), end_of(finding.last_on, timezone), timezone)
    draft = drafted(store, window, finding.scope.template or "", rules, reason)
    if draft is not None:
        why = f"rule {rule} ({reason}) fell silent as it came, at the same callers"
        draft = replace(draft, evidence=(why, *draft.evidence))
    return Wording(rule, reason, old, new, None if draft is None else draft.to_dict())


def of_the_day(findings: Iterable[Finding], seen: Observations) -> Iterator[Finding]:
    """The findings; rises of a share carry the figures of their latest day alone, as tests may add up several days."""
    findings = list(findings)
    asked = {(finding.last_on, finding.scope.caller) for finding in findings if finding.kind.family == SHARE}
    days = pl.DataFrame(list(asked), schema={"day": pl.Date, "caller": pl.String}, orient="row")
    rows = seen.counts.join(days, on=["day", "caller"], how="semi")
    figures = {(row["day"], row["caller"]): _figures(row) for row in rows.iter_rows(named=True)}
    for finding in findings:
        own = figures[finding.last_on, finding.scope.caller or ""] if finding.kind.family == SHARE else {}
        yield replace(finding, latest=replace(finding.latest, **own)) if own else finding


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    groups = row["unknown_groups_replayed"]
    return {"observed": groups / row["groups"], "groups": groups, "sessions": row["unknown_sessions_replayed"]}


def _common(message: str, varies: bool) -> str:
    """What all errors of a message say, of which this is one; `varies`: others of them have other values."""
    return shortened(template(message) if varies else message)


def shortened(text: str) -> str:
    """A message as a finding quotes it."""
    return text if len(text) <= MAX_SAMPLE_CHARS else f"{text[: MAX_SAMPLE_CHARS - 1]}…"
