"""A labelled, dated stream of errors against one ruleset, by half-year: rules age, and the newest rows show it.

Invariant: every labelled row counts once, in one half-year and under one of `KINDS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from analyzer.classifier.engine import classify
from analyzer.classifier.recovery_table import REASONS
from analyzer.classifier.rules.deciding import WEAK
from analyzer.classifier.rules.ruleset import Ruleset

KINDS = ("right", "acceptable", "unknown", "weak", "wrong")
"""How a verdict does: the expected reason, another that is no mistake, none at all, another one that says it is weak,
and another one said with confidence."""
_LABELS = ("id", "date", "expected", "reason", "acceptable", "input")


@dataclass(frozen=True, slots=True)
class Dated:
    """One labelled error and the day on which it was seen."""

    half: str
    """`2026-1` for January to June."""
    input: object
    expected: str
    acceptable: tuple[str, ...]
    """Reasons that are no mistake beside it."""


@dataclass(frozen=True, slots=True)
class HalfYear:
    """How the verdicts about one half-year do."""

    half: str
    """`2026-1` for January to June; `all` for the whole stream."""
    rows: int
    counts: Mapping[str, int]
    """By kind, one of `KINDS`."""

    @property
    def good_share(self) -> float:
        """The share of rows that are right or acceptable, 0..1."""
        return (self.counts["right"] + self.counts["acceptable"]) / self.rows


def dated(record: object) -> Dated | None:
    """The labelled, dated error in a JSON object; None where it is none.

    The label is `expected` or `reason`; the error is `input`, or else the object without its labels.
    """
    if not isinstance(record, Mapping):
        return None
    expected = record.get("expected", record.get("reason"))
    day = _day(record.get("date"))
    given: Any = record.get("input", {key: value for key, value in record.items() if key not in _LABELS})
    if day is None or expected not in REASONS or not given:
        return None
    acceptable = record.get("acceptable")
    accepted = tuple(each for each in acceptable if each in REASONS) if isinstance(acceptable, list) else ()
    return Dated(f"{day.year}-{1 if day.month < 7 else 2}", given, str(expected), accepted)


def score_stream(rows: Iterable[Dated], ruleset: Ruleset) -> tuple[HalfYear, ...]:
    """The half-years in order, and `all` behind them; nothing for no rows."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        kind = _kind(row, ruleset)
        for half in (row.half, "all"):
            counts.setdefault(half, dict.fromkeys(KINDS, 0))[kind] += 1
    return tuple(HalfYear(half, sum(counts[half].values()), counts[half]) for half in sorted(counts))


def _kind(row: Dated, ruleset: Ruleset) -> str:
    found = classify(row.input, rules=ruleset)
    if found.reason == row.expected:
        return "right"
    if found.reason in row.acceptable:
        return "acceptable"
    if found.reason == "unknown":
        return "unknown"
    return "weak" if found.confidence == WEAK else "wrong"


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
