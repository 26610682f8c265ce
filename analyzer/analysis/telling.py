"""A finding gets its words: the figures of its latest day, a sentence, samples and evidence out of the store."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from analyzer.analysis.findings import Finding
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.analysis.sentences import advice, sentence
from analyzer.store import Store

SHARES = frozenset(("spike", "drift"))
"""Findings about the share of unknown errors."""


def told(store: Store, one: Finding, seen: Observations) -> Finding:
    """The finding and its parts with everything that a person reads of them."""
    one = _of_the_day(one, seen)
    rows = store.query(
        "detection-evidence",
        caller=one.scope.caller,
        template=one.scope.template,
        since=start_of(one.last_on, seen.timezone),
        until=end_of(one.last_on, seen.timezone),
        ruleset=seen.ruleset,
    )
    samples = tuple(text for text in rows["message"] if text)
    return replace(
        one,
        explanation=sentence(one, samples),
        advice=advice(one),
        samples=samples,
        evidence=tuple(event_id for group in rows["event_ids"] for event_id in (group or "").split()),
        parts=tuple(told(store, part, seen) for part in one.parts),
    )


def _of_the_day(one: Finding, seen: Observations) -> Finding:
    """A rise of a share with the figures of its latest day: its test may have added up several."""
    if one.finding not in SHARES:
        return one
    rows = seen.counts.filter((pl.col("day") == one.last_on) & (pl.col("caller") == one.scope.caller))
    row = next(rows.iter_rows(named=True))
    groups = row["unknown_groups_replayed"]
    figures = {"observed": groups / row["groups"], "groups": groups, "sessions": row["unknown_sessions_replayed"]}
    return replace(one, latest=replace(one.latest, **figures))
