"""The kinds of causes, and the search for them: other traffic, another classifier, other wording.

Invariant: a finding is asked for its causes once, on the night that opens it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl

from analyzer.analysis.detection import Detection, causes, flips
from analyzer.analysis.detection.causes import distinct
from analyzer.analysis.detection.detection import detections_in
from analyzer.analysis.detection.settings import BASELINE_DAYS
from analyzer.analysis.kinds.finding import KINDS, Finding, Identity, Kind, Scope, finding_id
from analyzer.analysis.observations import Observations, drawn
from analyzer.store import CallerDays

MIN_SESSIONS = 3
MAX_ASKED = 5
"""New findings of a night that are asked for their cause: the gravest."""
MAX_SESSIONS = 1_000
"""Sessions that take part; of more, so many are drawn by their names."""


def with_causes(seen: Observations, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings, those of them that are new with their causes among their parts."""
    asked = [one for one in findings if one.state == "new" and one.kind.asked][:MAX_ASKED]
    ids = [one.id for one in asked]
    seen = seen.holding(
        CallerDays(one.scope.caller, one.onset - timedelta(days=BASELINE_DAYS), seen.night) for one in asked
    )
    return tuple(replace(one, parts=(*one.parts, *_causes(seen, one))) if one.id in ids else one for one in findings)


def _causes(seen: Observations, head: Finding) -> list[Finding]:
    rows = _sampled(seen.around(head.onset, seen.night, head.scope.caller))
    found = [
        one
        for one in detections_in(causes(distinct(rows), day=seen.night, caller=head.scope.caller))
        if one.finding != "classifier_changed" or _is_recent(rows, one.scope)
    ]
    # A new unknown text is a finding of its own kind already.
    told = [one for one in found if not (one.finding == "wording_changed" and one.scope == "unknown")]
    if head.finding == "reasons" or any(one.finding == "wording_changed" for one in told):
        # Another mix of reasons is what such a finding says itself, and what another wording makes of a mix.
        told = [one for one in told if one.finding != "traffic_changed"]
    return [_part(one) for one in sorted(told, key=lambda one: list(KINDS).index(one.finding))]


def _is_recent(rows: pl.DataFrame, pair: str | None) -> bool:
    """Whether a pair of verdicts came with the change, and was not there as often before."""
    shares, sessions = [], 0
    for period in ("before", "after"):
        side = rows.filter(pl.col("period") == period)
        flip = next((one for one in flips(side) if f"{one.old_reason} → {one.reason}" == pair), None)
        shares.append(flip.groups / side.height if flip else 0.0)
        sessions = flip.sessions if flip else 0
    return sessions >= MIN_SESSIONS and shares[1] > 2 * shares[0]


def _sampled(rows: pl.DataFrame) -> pl.DataFrame:
    sessions = rows["session"].unique().to_list()
    if len(sessions) <= MAX_SESSIONS:
        return rows
    return rows.filter(pl.col("session").is_in(drawn(sessions, MAX_SESSIONS)))


def _part(one: Detection) -> Finding:
    return Finding(
        id=finding_id(Identity(one.finding, Scope.of(one)), one.day),
        state="new",
        severity="info",
        opened_on=one.day,
        last_on=one.day,
        latest=replace(one, onset=one.onset or one.day),
    )


def _judged_otherwise(one: Finding) -> str | None:
    """The second reason of `old → new`."""
    return (one.scope.reason or "").rpartition(" → ")[2]


CAUSES = {
    "classifier_changed": Kind(
        title="The classifier changed",
        metric="share of distinct errors that are judged otherwise than they were recorded, 0..1",
        advice="see what is judged otherwise",
        asks=("query", "ruleset-drift"),
        scope="reason",
        cause=True,
        explains=True,
        evidence=_judged_otherwise,
    ),
    "traffic_changed": Kind(title="The traffic changed", cause=True, explains=True),
}
