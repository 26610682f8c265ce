"""The explanations and costs of findings, and the events and messages that they name as evidence.

Invariant: however many findings there are, the store is asked once for their errors, once for other
events, and once for costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from analyzer.analysis.kinds.finding import SHARE, Finding
from analyzer.analysis.kinds.finding_fields import Wording, cost_of, with_cost
from analyzer.analysis.kinds.scope import SHARED_OF_ERRORS
from analyzer.analysis.kinds.sentences import sentence
from analyzer.analysis.nightly.incidents import gravest_first
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.analysis.periods import BASELINE_DAYS
from analyzer.analysis.tables import Window
from analyzer.classifier import Rules
from analyzer.classifier.fingerprint import template
from analyzer.frozen import frozen
from analyzer.readable import cut
from analyzer.store import Store

MAX_SAMPLES = 5
MAX_SAMPLE_CHARS = 1_000
"""So much of a message is quoted in a finding; the whole one is an event."""


Span = tuple[datetime, datetime]
"""From the first moment to the second one, which is no part of it; naive UTC."""


@frozen
class _Events:
    """The texts and counts that a finding shows of its events."""

    samples: tuple[str, ...] = ()
    common_text: str | None = None
    """The text of its most frequent message, without values if these differ; of hand-offs, how many
    were given up."""
    evidence: tuple[str, ...] = ()
    confidence: str | None = None
    wording: Wording | None = None
    counted: Mapping[str, Any] = field(default_factory=dict)
    """The fields of a finding that are counted of all its events."""


_ByPlace = dict[int, _Events]
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
    """Add explanations, advice, samples and evidence to findings; sort the gravest first.

    What was explained and cannot change stays. `within` bounds what is looked at, else it is the days of each. Drafts
    of rules are made beside `rules`. What has no event on the day that is `judged` does not go on.

    Raises:
        QueryError: the store cannot be asked.
        RulesError: the rules cannot be used.
    """
    asked = list(_to_explain(findings))
    shown = _shown_by(store, asked, timezone, ruleset, within)
    reworded = [
        place for place, finding in enumerate(asked) if finding.latest.rule is not None and finding.wording is None
    ]
    old = _old_texts(store, [asked[place] for place in reworded], timezone, ruleset)
    for place, text in zip(reworded, old, strict=True):
        wording = _wording(store, asked[place], text, shown[place].common_text, timezone, rules)
        shown[place] = replace(shown[place], wording=wording)
    places = iter(range(len(shown)))
    worded = [_explained(finding, shown, places, timezone).in_store(store) for finding in findings]
    return gravest_first(worded if judged is None else (_as_of(finding, judged) for finding in worded))


def _as_of(finding: Finding, judged: date) -> Finding:
    """Return the finding, `ongoing` if it or a part of it has evidence of the judged day, else `open`.

    Evidence are its own events. A kind without any, such as silence, is judged day by day, and a day on which its test
    finds it is evidence. A finding that no night has reported yet stays `new`.
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
    seen: Observations,
    costed_before: Iterable[Finding] = (),
    within: Span | None = None,
) -> tuple[Finding, ...]:
    """Add costs and the severities that follow to findings; sort the gravest first.

    A cost is that of the finding's last day. A finding with the same last day as in `costed_before`
    takes its cost over. `within` bounds what counts, else it is the last day of each.

    Raises:
        QueryError: the store cannot be asked.
    """
    before = {(finding.id, finding.last_on): finding.cost for finding in costed_before if finding.cost}
    priced = list(findings)
    costs = {
        place: before.get((finding.id, finding.last_on)) for place, finding in enumerate(priced) if finding.kind.priced
    }
    asked = []
    for place in (place for place, cost in costs.items() if cost is None):
        finding = priced[place]
        scope = {name: getattr(finding.scope, name) for name in ("template", *SHARED_OF_ERRORS)}
        reason, callers = finding.kind.evidence.reason(finding), _callers(finding, seen)
        since, until = within or (start_of(finding.last_on, seen.timezone), end_of(finding.last_on, seen.timezone))
        asked.append({**_when(place, finding, (since, until)), **scope, "reason": reason, "callers": callers})
    if asked:
        rows = store.query("detection-cost", asked=json.dumps(asked), ruleset=seen.ruleset)
        costs |= {place: cost_of(own) for (place,), own in rows.group_by("place", maintain_order=True)}
    for place, cost in costs.items():
        if cost is not None:
            finding = priced[place]
            priced[place] = replace(finding, cost=cost, severity=with_cost(finding.severity, finding.latest, cost))
    return gravest_first(priced)


def _callers(finding: Finding, seen: Observations) -> list[str] | None:
    """Return the callers of a finding that is about what callers share; None of any other.

    They had errors of it in its baseline or since.
    """
    for what in SHARED_OF_ERRORS:
        if (name := getattr(finding.scope, what)) is not None:
            days = pl.col("day").is_between(finding.last_on - timedelta(days=BASELINE_DAYS), finding.last_on)
            own = seen.volumes.filter(days & (pl.col(what) == name))
            return own["caller"].unique().sort().to_list()
    return None


def _when(place: int, finding: Finding, span: Span) -> dict[str, Any]:
    """Return a finding's place, caller and span, as queries take them."""
    since, until = (moment.isoformat() for moment in span)
    return {"place": place, "caller": finding.scope.caller, "since": since, "until": until}


def _span(finding: Finding, timezone: str, days: int = 0) -> Span:
    """Return the span that the tests of a finding looked at.

    It is so many days up to the last one, or since the onset, or the hours that showed it; those of
    its parts, too.
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
    """Yield what to ask of a finding that is about no errors: its signs.

    For silence it asks also for what came before.
    """
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
    """Return the ids of all events that a finding counts.

    Verdicts are those of the ruleset of the night that reported it last.

    Raises:
        QueryError: the store cannot be asked.
    """
    return list(_shown_by(store, [finding], finding.timezone, ruleset, None, most=_EVERY)[0].evidence)


def _explained(finding: Finding, events: _ByPlace, places: Iterator[int], timezone: str) -> Finding:
    if _keeps_its_words(finding):
        return finding
    own = events[next(places)]
    finding = replace(finding, wording=finding.wording or own.wording, timezone=timezone, **own.counted)
    return replace(
        finding,
        explanation=sentence(finding, own.common_text, timezone),
        advice=finding.kind.advice if finding.is_open else "",
        samples=own.samples,
        evidence=own.evidence,
        confidence=own.confidence,
        parts=tuple(_explained(part, events, places, timezone) for part in finding.parts),
    )


def _keeps_its_words(finding: Finding) -> bool:
    return bool(finding.explanation) and (finding.resolution in {"explained", "rejudged"} or finding.kind.explains)


def _to_explain(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings and parts that have to be explained, each before its parts."""
    for finding in findings:
        if not _keeps_its_words(finding):
            yield finding
            yield from _to_explain(finding.parts)


def _shown_by(
    store: Store,
    findings: Sequence[Finding],
    timezone: str,
    ruleset: str | None,
    within: Span | None,
    most: int | None = None,
) -> _ByPlace:
    """Collect the events of findings by place, `most` of each at most, else some.

    Nothing else asks for these.
    """
    errors: list[dict[str, Any]] = []
    signs: list[dict[str, Any]] = []
    for place, finding in enumerate(findings):
        signs += _signs(place, finding, timezone, within)
        if not finding.kind.evidence.signs:
            asked = _when(place, finding, within or _span(finding, timezone))
            scope = {name: getattr(finding.scope, name) for name in ("template", "session", *SHARED_OF_ERRORS)}
            errors.append({**asked, **scope, "reason": finding.kind.evidence.reason(finding)})
    samples: list[list[str]] = [[] for _ in findings]
    evidence: list[list[str]] = [[] for _ in findings]
    texts: dict[int, str] = {}
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
                texts.setdefault(place, _common(message, varies))
            evidence[place] += (ids or "").split()
    if signs:
        words = {} if most is None else {"limit": most}
        rows = store.query("detection-signs", asked=json.dumps(signs), timezone=timezone, ruleset=ruleset, **words)
        counted |= _counted(rows)
        columns = ("place", "event_id", "message", "confidence", "halted")
        for place, event_id, message, confidence, halts in rows.select(columns).iter_rows():
            evidence[place].append(event_id)
            sure.setdefault(place, confidence)
            texts[place] = f"{halts:,} of them failed" if halts else ""
            if message and len(samples[place]) < MAX_SAMPLES and shortened(message) not in samples[place]:
                samples[place].append(shortened(message))
    return {
        place: _Events(
            tuple(samples[place]),
            texts.get(place),
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
    """Return what is counted of all events of each finding, by its place."""
    named = rows.unique("place").select("place", *_COUNTED).rename(_COUNTED)
    return {row.pop("place"): row for row in named.iter_rows(named=True)}


def _old_texts(store: Store, findings: Sequence[Finding], timezone: str, ruleset: str | None) -> list[str | None]:
    """Return what the rule of each change of wording matched in the weeks before it.

    It is the text that most sessions had.
    """
    if not findings:
        return []
    asked = [
        {
            "place": place,
            "caller": finding.scope.caller,
            "rule": finding.scope.rule,
            "since": start_of(finding.onset - timedelta(days=BASELINE_DAYS), timezone).isoformat(),
            "until": start_of(finding.onset, timezone).isoformat(),
        }
        for place, finding in enumerate(findings)
    ]
    rows = store.query("detection-evidence", asked=json.dumps(asked), ruleset=ruleset, limit=1)
    texts = {place: _common(*text) for place, *text in rows.select("place", "message", "varies").iter_rows() if text[0]}
    return [texts.get(place) for place in range(len(findings))]


def _wording(store: Store, finding: Finding, old: str | None, new: str | None, timezone: str, rules: Rules) -> Wording:
    """Build the texts of a change of wording, with the draft of a rule."""
    from analyzer.analysis.rules.unknowns import drafted

    rule, reason = finding.scope.rule or "", finding.scope.reason or ""
    window = Window(start_of(finding.onset, timezone), end_of(finding.last_on, timezone), timezone)
    draft = drafted(store, window, finding.scope.template or "", rules, reason)
    if draft is not None:
        why = f"rule {rule} ({reason}) fell silent as it came, at the same callers"
        draft = replace(draft, evidence=(why, *draft.evidence))
    return Wording(rule, reason, old, new, None if draft is None else draft.to_dict())


def of_the_day(findings: Iterable[Finding], seen: Observations) -> Iterator[Finding]:
    """Yield the findings; rises of a share get the figures of only their latest day.

    Their tests may have added up several days.
    """
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
    """Return the text that all errors of a message share.

    `varies`: others of them have other values.
    """
    return shortened(template(message) if varies else message)


def shortened(text: str) -> str:
    """Cut a message to what a finding quotes."""
    return cut(text, MAX_SAMPLE_CHARS)
