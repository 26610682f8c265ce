"""Two rulesets against labelled errors: how well each does, and which errors changed sides.

Invariant: one pass over the labels gives all figures; an error counts once in each figure that it is labelled for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.classifier.reading.extract import extract
from analyzer.classifier.recovery_table import REASONS
from analyzer.classifier.rules.deciding import judge
from analyzer.classifier.rules.index import index_of
from analyzer.classifier.rules.ruleset import Ruleset


@dataclass(frozen=True, slots=True)
class Label:
    """One labelled error."""

    id: str
    input: object
    reason: str
    acceptable: tuple[str, ...]
    """Reasons that are no mistake; `reason` is one of them."""
    clear: bool
    """Whether only `reason` is right."""
    retryable: bool | None
    """None where either answer will do."""


@dataclass(frozen=True, slots=True)
class Share:
    """Hits out of a total."""

    hits: int
    total: int

    @property
    def share(self) -> float | None:
        """0..1; None for no cases."""
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Score:
    """How one ruleset does."""

    ruleset: str
    clear: Share
    """Clear cases with exactly their reason."""
    acceptable: Share
    """All cases with any acceptable reason."""
    retry: Share
    """Cases with a known retry decision that got it."""
    recall: Mapping[str, Share]
    """Clear cases by reason."""

    @property
    def macro_recall(self) -> float | None:
        """Mean of the recalls of the reasons that have cases."""
        shares = [each.share for each in self.recall.values() if each.share is not None]
        return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """An error that the two rulesets judge differently."""

    id: str
    input: object
    wanted: str
    before: str
    after: str
    before_rule: str
    after_rule: str


@dataclass(frozen=True, slots=True)
class Backtest:
    """Before and after, and what changed between them."""

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
    """The labelled error in a JSON object; None where it is none."""
    if not isinstance(record, Mapping) or "input" not in record or record.get("reason") not in REASONS:
        return None
    reason = str(record["reason"])
    acceptable = record.get("acceptable")
    accepted = tuple(each for each in acceptable if each in REASONS) if isinstance(acceptable, list) else ()
    clear, retryable = record.get("clear"), record.get("retryable")
    return Label(
        id=str(record.get("id", number)),
        input=record["input"],
        reason=reason,
        acceptable=accepted if reason in accepted else (reason, *accepted),
        clear=clear if isinstance(clear, bool) else len(accepted) <= 1,
        retryable=retryable if isinstance(retryable, bool) else None,
    )


def backtest(labels: Sequence[Label], before: Ruleset, after: Ruleset) -> Backtest:
    """Scores both rulesets and sorts the errors that they judge differently."""
    old, new = _answers(labels, before), _answers(labels, after)
    improved: list[ChangedCase] = []
    regressed: list[ChangedCase] = []
    moved: list[ChangedCase] = []
    for case, was, now in zip(labels, old, new, strict=True):
        if was[0] == now[0]:
            continue
        change = ChangedCase(case.id, case.input, case.reason, was[0], now[0], was[4], now[4])
        good, better = _worth(case, was[0]), _worth(case, now[0])
        (improved if better > good else regressed if better < good else moved).append(change)
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
