"""What stands behind a finding: some of its events and messages, and the words that come of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl

from analyzer.analysis.findings import CAUSES, Finding
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.analysis.sentences import advice, sentence
from analyzer.store import Store

SHARES = frozenset(("spike", "drift"))
"""Findings about the share of unknown errors."""
_UNKNOWN = SHARES | {"template"}
_OF_A_WEEK = frozenset(("recovery_fell", "retry_in_vain", "retry_would_pay"))


def told(store: Store, one: Finding, timezone: str, ruleset: str | None) -> Finding:
    """The finding with its explanation, advice, samples and evidence; what was told and cannot change stays.

    Raises:
        QueryError: the store cannot be asked.
    """
    if one.explanation and (one.resolution in {"explained", "rejudged"} or one.finding in CAUSES):
        return one
    since = one.last_on - timedelta(days=6) if one.finding in _OF_A_WEEK else one.last_on
    span = {"since": start_of(since, timezone), "until": end_of(one.last_on, timezone), "caller": one.scope.caller}
    if one.finding == "relays":
        samples: tuple[str, ...] = ()
        ids = tuple(store.query("detection-hand-offs", **span, step=one.scope.step)["event_id"])
    else:
        rows = store.query("detection-evidence", **span, **_narrowed(one), ruleset=ruleset)
        samples = tuple(text for text in rows["message"] if text)
        ids = tuple(event_id for group in rows["event_ids"] for event_id in (group or "").split())
    return replace(
        one,
        explanation=sentence(one, samples),
        advice=advice(one),
        samples=samples,
        evidence=ids,
        parts=tuple(told(store, part, timezone, ruleset) for part in one.parts),
    )


def of_the_day(one: Finding, seen: Observations) -> Finding:
    """A rise of a share with the figures of its latest day: its test may have added up several."""
    if one.finding not in SHARES:
        return one
    rows = seen.counts.filter((pl.col("day") == one.last_on) & (pl.col("caller") == one.scope.caller))
    row = next(rows.iter_rows(named=True))
    groups = row["unknown_groups_replayed"]
    figures = {"observed": groups / row["groups"], "groups": groups, "sessions": row["unknown_sessions_replayed"]}
    return replace(one, latest=replace(one.latest, **figures))


def _narrowed(one: Finding) -> dict[str, object]:
    """The parameters of `detection-evidence` that single out its errors."""
    reason = "unknown" if one.finding in _UNKNOWN else one.scope.reason
    if one.finding == "classifier_changed":
        reason = (reason or "").rpartition(" → ")[2]
    if one.finding == "wording_changed" and one.scope.rule:
        reason = "unknown"  # What came in place of the texts that the rule took.
    return {"template": one.scope.template, "session": one.scope.session, "reason": reason}
