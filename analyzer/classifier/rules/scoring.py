"""Scores of rules on labelled errors: two rulesets side by side,
and one ruleset by half-year of a dated stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from analyzer.classifier.engine import classify
from analyzer.classifier.reading.extract import extract
from analyzer.classifier.recovery_table import REASONS
from analyzer.classifier.rules.deciding import WEAK, judge
from analyzer.classifier.rules.index import index_of
from analyzer.classifier.rules.ruleset import Ruleset
from analyzer.frozen import frozen


@frozen
class Label:
    """One labelled error."""

    id: str
    input: object
    reason: str
    acceptable: tuple[str, ...]
    """Reasons that are no mistake; `reason` is one of them."""
    clear: bool
    """True if only `reason` is right."""
    retryable: bool | None
    """None if either answer will do."""


@frozen
class Share:
    """Hits out of a total."""

    hits: int
    total: int

    @property
    def share(self) -> float | None:
        """Return the share of hits, 0..1; None without cases."""
        return self.hits / self.total if self.total else None


@frozen
class Score:
    """The results of one ruleset."""

    ruleset: str
    clear: Share
    """Clear cases that got exactly their reason."""
    acceptable: Share
    """All cases that got an acceptable reason."""
    retry: Share
    """Cases with a labelled retry decision that got it."""
    recall: Mapping[str, Share]
    """Clear cases that got their reason, by reason."""

    @property
    def macro_recall(self) -> float | None:
        """Return the mean recall of the reasons that have cases; None without cases."""
        shares = [recall.share for recall in self.recall.values() if recall.share is not None]
        return sum(shares) / len(shares) if shares else None


@frozen
class ChangedCase:
    """An error that the two rulesets judge differently."""

    id: str
    input: object
    wanted: str
    before: str
    after: str
    before_rule: str
    after_rule: str


@frozen
class Backtest:
    """The scores of two rulesets, and the errors that they judge differently."""

    cases: int
    before: Score
    after: Score
    improved: tuple[ChangedCase, ...]
    """Wrong before, acceptable after."""
    regressed: tuple[ChangedCase, ...]
    """Acceptable before, wrong after."""
    moved: tuple[ChangedCase, ...]
    """Another reason, as right or as wrong as before."""


def label(record: object, number: int) -> Label | None:
    """Return the labelled error in a JSON object; None if it has no label."""
    if not isinstance(record, Mapping) or "input" not in record or record.get("reason") not in REASONS:
        return None
    reason = str(record["reason"])
    accepted = _accepted(record)
    clear, retryable = record.get("clear"), record.get("retryable")
    return Label(
        id=str(record.get("id", number)),
        input=record["input"],
        reason=reason,
        acceptable=accepted if reason in accepted else (reason, *accepted),
        clear=clear if isinstance(clear, bool) else len(accepted) <= 1,
        retryable=retryable if isinstance(retryable, bool) else None,
    )


def _accepted(record: Mapping[str, Any]) -> tuple[str, ...]:
    reasons = record.get("acceptable")
    return tuple(reason for reason in reasons if reason in REASONS) if isinstance(reasons, list) else ()


def backtest(labels: Sequence[Label], before: Ruleset, after: Ruleset) -> Backtest:
    """Score two rulesets, and sort the errors that they judge differently."""
    old, new = _answers(labels, before), _answers(labels, after)
    improved: list[ChangedCase] = []
    regressed: list[ChangedCase] = []
    moved: list[ChangedCase] = []
    for case, was, now in zip(labels, old, new, strict=True):
        if was[0] == now[0]:
            continue
        change = ChangedCase(case.id, case.input, case.reason, was[0], now[0], was[4], now[4])
        good, better = _worth(case, was[0]), _worth(case, now[0])
        if better > good:
            improved.append(change)
        elif better < good:
            regressed.append(change)
        else:
            moved.append(change)
    return Backtest(
        len(labels),
        _score(labels, old, before),
        _score(labels, new, after),
        tuple(improved),
        tuple(regressed),
        tuple(moved),
    )


def _answers(labels: Iterable[Label], ruleset: Ruleset) -> list[Any]:
    index = index_of(ruleset)
    return [judge(extract(case.input), index)[0].answer for case in labels]


def _worth(case: Label, reason: str) -> bool:
    return reason == case.reason if case.clear else reason in case.acceptable


def _score(labels: Sequence[Label], answers: Sequence[Any], ruleset: Ruleset) -> Score:
    pairs = list(zip(labels, answers, strict=True))
    clear = [(case, answer) for case, answer in pairs if case.clear]
    return Score(
        ruleset=ruleset.digest,
        clear=_share(answer[0] == case.reason for case, answer in clear),
        acceptable=_share(answer[0] in case.acceptable for case, answer in pairs),
        retry=_share(answer[2] == case.retryable for case, answer in pairs if case.retryable is not None),
        recall={
            reason: _share(answer[0] == reason for case, answer in clear if case.reason == reason) for reason in REASONS
        },
    )


def _share(hits: Iterable[bool]) -> Share:
    every = list(hits)
    return Share(sum(every), len(every))


KINDS = ("right", "acceptable", "unknown", "weak", "wrong")
"""The kinds of verdicts: the expected reason, another that is no mistake, no reason, another reason by weak evidence,
and another reason by strong evidence."""
_LABELS = ("id", "date", "expected", "reason", "acceptable", "input")


@frozen
class Dated:
    """One labelled error and the day on which it was seen."""

    half: str
    """`2026-1` for January to June."""
    input: object
    expected: str
    acceptable: tuple[str, ...]
    """Other reasons that are no mistake."""


@frozen
class HalfYear:
    """The verdicts about one half-year."""

    half: str
    """`2026-1` for January to June; `all` for the whole stream."""
    rows: int
    counts: Mapping[str, int]
    """Rows by kind, one of `KINDS`."""

    @property
    def good_share(self) -> float:
        """Return the share of rows that are right or acceptable, 0..1."""
        return (self.counts["right"] + self.counts["acceptable"]) / self.rows


def dated(record: object) -> Dated | None:
    """Return the labelled, dated error in a JSON object; None if it has no label or date.

    The label is `expected` or `reason`; the error is `input`, or else the object without its labels.
    """
    if not isinstance(record, Mapping):
        return None
    expected = record.get("expected", record.get("reason"))
    day = _day(record.get("date"))
    error: Any = record.get("input", {key: value for key, value in record.items() if key not in _LABELS})
    if day is None or expected not in REASONS or not error:
        return None
    return Dated(f"{day.year}-{1 if day.month < 7 else 2}", error, str(expected), _accepted(record))


def score_stream(rows: Iterable[Dated], ruleset: Ruleset) -> tuple[HalfYear, ...]:
    """Return the half-years in order, then `all`; empty without rows."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        kind = _kind(row, ruleset)
        for half in (row.half, "all"):
            counts.setdefault(half, dict.fromkeys(KINDS, 0))[kind] += 1
    return tuple(HalfYear(half, sum(counts[half].values()), counts[half]) for half in sorted(counts))


def _kind(row: Dated, ruleset: Ruleset) -> str:
    verdict = classify(row.input, rules=ruleset)
    if verdict.reason == row.expected:
        return "right"
    if verdict.reason in row.acceptable:
        return "acceptable"
    if verdict.reason == "unknown":
        return "unknown"
    return "weak" if verdict.confidence == WEAK else "wrong"


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None
