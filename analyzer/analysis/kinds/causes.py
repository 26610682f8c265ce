"""The kinds of causes, and the search for them: other traffic, another classifier, other wording.

The drifts of a fleet are the same causes, between two stretches of days.

Invariant: the causes of a finding are looked for once, on the night that opens it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.detection import causes, flips
from analyzer.analysis.detection.causes import distinct
from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS, Detection, detections_in
from analyzer.analysis.kinds.finding import KINDS, Evidence, Finding, Identity, Kind, Scope, finding_id
from analyzer.analysis.observations import Observations, drawn, end_of, start_of
from analyzer.analysis.tables import Table, Window, table
from analyzer.store import CallerDays, Store

MIN_SESSIONS = 3
MAX_ASKED = 5
"""New findings of a night whose causes are looked for: the gravest."""
MAX_SESSIONS = 1_000
"""Sessions that take part; of more, so many are drawn by their names."""


def with_causes(seen: Observations, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Add the causes of new findings to their parts."""
    asked = [finding for finding in findings if finding.state == "new" and finding.kind.asked][:MAX_ASKED]
    ids = [finding.id for finding in asked]
    seen = seen.holding(
        CallerDays(finding.scope.caller, finding.onset - timedelta(days=BASELINE_DAYS), seen.night) for finding in asked
    )
    return tuple(
        replace(finding, parts=(*finding.parts, *_causes(seen, finding))) if finding.id in ids else finding
        for finding in findings
    )


def _causes(seen: Observations, head: Finding) -> list[Finding]:
    # What came after its last day is no part of it.
    rows = _sampled(seen.around(head.onset, head.last_on, head.scope.caller))
    recent = [
        detection
        for detection in detections_in(causes(distinct(rows), day=head.last_on, caller=head.scope.caller))
        if detection.finding != "classifier_changed" or _is_recent(rows, detection.scope)
    ]
    # A new unknown text is a finding of its own kind already.
    kept = [
        detection
        for detection in recent
        if not (detection.finding == "wording_changed" and detection.scope == "unknown")
    ]
    if any(detection.finding == "wording_changed" for detection in kept):
        # A change of wording changes the mix as well.
        kept = [detection for detection in kept if detection.finding != "traffic_changed"]
    return [
        _part(replace(detection, onset=detection.onset or head.onset))
        for detection in sorted(kept, key=lambda detection: list(KINDS).index(detection.finding))
    ]


def _is_recent(rows: pl.DataFrame, pair: str | None) -> bool:
    """Return whether a pair of verdicts came with the change, and was not there as often before."""
    shares, sessions = [], 0
    for period in ("before", "after"):
        side = rows.filter(pl.col("period") == period)
        flip = next((row for row in flips(side) if f"{row.old_reason} → {row.reason}" == pair), None)
        shares.append(flip.groups / side.height if flip else 0.0)
        sessions = flip.sessions if flip else 0
    return sessions >= MIN_SESSIONS and shares[1] > 2 * shares[0]


def _sampled(rows: pl.DataFrame) -> pl.DataFrame:
    sessions = rows["session"].unique().to_list()
    if len(sessions) <= MAX_SESSIONS:
        return rows
    return rows.filter(pl.col("session").is_in(drawn(sessions, MAX_SESSIONS)))


def _part(detection: Detection) -> Finding:
    return Finding(
        id=finding_id(Identity(detection.finding, Scope.of(detection)), detection.day),
        state="new",
        severity="info",
        opened_on=detection.day,
        last_on=detection.day,
        latest=replace(detection, onset=detection.onset or detection.day),
    )


CAUSES = {
    "classifier_changed": Kind(
        title="The classifier changed",
        metric="share of distinct errors that are judged otherwise than they were recorded, 0..1",
        advice="see what is judged otherwise",
        asks=("query", "ruleset-drift"),
        scope="reason",
        cause=True,
        explains=True,
        evidence=Evidence(reason=lambda finding: (finding.scope.reason or "").rpartition(" → ")[2]),
    ),
    "traffic_changed": Kind(title="The traffic changed", cause=True, explains=True),
}


@dataclass(frozen=True, slots=True)
class Drift:
    """A drift, with its evidence."""

    drift: str
    """`traffic`, `classifier` or `wording`."""
    about: str | None
    """A reason, a rule, or `old reason → reason`."""
    said: str
    """The evidence in words."""
    message: str | None
    """The new text, redacted; where it is about one."""
    sessions: int
    """Distinct sessions that show it."""
    p_value: float | None
    """None where nothing is left to chance."""

    @classmethod
    def of(cls, detection: Detection, message: str | None) -> Drift:
        """Build the drift of a detection of `causes`; `message` is the text of its template."""
        name = detection.finding.removesuffix("_changed")
        return cls(name, detection.scope, detection.note or "", message, detection.sessions or 0, detection.p_value)


@dataclass(frozen=True, slots=True)
class Drifts:
    """The changes under the errors of the fleet in a window."""

    days: pl.DataFrame
    """A row a day of the window: `day`, `errors` that count, and of these the share 0..1 that was recorded as unknown
    (`recorded_share`) and that is unknown to the rules in force (`unknown_share`)."""
    applied: Table
    """Rulesets that became the active one in the window."""
    ruleset: str | None
    """Digest of the ruleset in force."""
    split: date | None
    """The first of the recent days; None where there is nothing before it to compare them with."""
    found: tuple[Drift, ...]
    """The drifts between the recent days and the baseline before them."""


def drifts(store: Store, seen: Observations, first: date, last: date | None, window: Window) -> Drifts:
    """Return the drifts of the whole fleet in a window with these first and last days.

    Without a last day there is nothing to judge.

    Raises:
        QueryError: the store cannot be asked.
    """
    split = None if last is None else last - timedelta(days=RECENT_DAYS - 1)
    if split and not seen.counts["day"].is_between(_first(split), split, closed="left").any():
        split = None
    return Drifts(
        days=_days(seen.counts.filter(pl.col("day") >= first)),
        applied=table(store, "ruleset-applied", window),
        ruleset=seen.ruleset,
        split=split,
        found=_of_fleet(store, seen, split, last) if split and last else (),
    )


def caller_drifts(seen: Observations, split: date, until: date, caller: str | None) -> list[Detection]:
    """Return what tells a caller's days from `split` to `until` from the baseline before them.

    These are detections of `causes`.
    """
    return detections_in(causes(distinct(seen.around(split, until, caller)), day=until, caller=caller))


def _of_fleet(store: Store, seen: Observations, split: date, until: date) -> tuple[Drift, ...]:
    span = {"since": start_of(_first(split), seen.timezone), "until": end_of(until, seen.timezone)}
    rows = store.query("ruleset-groups", **span, split=start_of(split, seen.timezone), ruleset=seen.ruleset)
    detections = detections_in(causes(rows, day=until, caller=None))
    templates = sorted({detection.template for detection in detections if detection.template is not None})
    messages: dict[str | None, str | None] = {}
    if templates:
        texts = store.query("detection-messages", **span, templates=json.dumps(templates))
        for template, message, masked in texts.select("template", "message", "masked").iter_rows():
            messages[template] = message if messages.get(template, message) == message else masked
    return tuple(Drift.of(detection, messages.get(detection.template)) for detection in detections)


def _first(split: date) -> date:
    """Return the first day of a baseline."""
    return split - timedelta(days=BASELINE_DAYS)


def _days(counts: pl.DataFrame) -> pl.DataFrame:
    summed = counts.group_by("day").agg(pl.col("events", "unknown_events", "unknown_events_replayed").sum()).sort("day")
    return summed.select(
        "day",
        pl.col("events").alias("errors"),
        (pl.col("unknown_events") / pl.col("events")).alias("recorded_share"),
        (pl.col("unknown_events_replayed") / pl.col("events")).alias("unknown_share"),
    )
