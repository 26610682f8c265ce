"""How the model is made: counts of features by reason, and a curve that is fitted where the model has not looked.

The weight of a feature for a reason is its log-odds, after Rennie et al., Tackling the Poor Assumptions of Naive Bayes
Text Classifiers (ICML 2003): how much oftener texts of the reason have it than all other texts. A lead becomes a
probability by Platt's logistic curve, fitted to texts that were scored without all texts of the rule that decides them:
as an error will look that no rule knows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.suggestion.model import NONE, UNIT, Model, features, lead, probability

SMOOTHING = 0.3
"""Texts that each feature is taken to be in, in every reason, beyond those that have it."""
HEAVIEST = 3.0
"""Nats: the most that one feature says."""
LEAST_TEXTS = 2
"""A feature of one text says nothing about the next one."""
_STEPS = 25


class Labelled(NamedTuple):
    """A text whose reason is known."""

    facts: Facts
    reason: str
    group: str
    """Texts of one group are withheld together: the rule that decides them."""
    example: bool = False
    """Whether it stands in the rule itself."""


class Scored(NamedTuple):
    """What a model said of a text that it had not seen."""

    labelled: Labelled
    reason: str
    lead: float


class FeatureCounts:
    """How many texts of each reason have each feature."""

    def __init__(self, texts: Iterable[Labelled]) -> None:
        self.texts = [(each, features(each.facts)) for each in texts]
        self.reasons = tuple(sorted({each.reason for each, _ in self.texts}))
        self._place = {reason: place for place, reason in enumerate(self.reasons)}
        self._all = self._counted(self.texts)

    def scored(self, group: str, asked: Iterable[Labelled]) -> list[Scored]:
        """Score texts with a model that has seen no text of the group."""
        less = self._counted([pair for pair in self.texts if pair[0].group == group])
        found = []
        for each in asked:
            own = features(each.facts)
            rows = [row for name in own if (row := self._weights(name, less)) is not None]
            reason, ahead = lead([sum(column) for column in zip(*rows, strict=True)], self.reasons, len(own))
            found.append(Scored(each, reason, ahead))
        return found

    def weights(self) -> dict[str, bytes]:
        """The weights of all features that enough texts have."""
        nothing = self._counted([])
        found = {}
        for name in self._all[0]:
            row = self._weights(name, nothing)
            if row is not None:
                found[name] = bytes(128 + weight for weight in row)
        return found

    def _counted(self, texts: Sequence[tuple[Labelled, frozenset[str]]]) -> tuple[dict[str, list[int]], list[int]]:
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(self.reasons))
        for each, own in texts:
            for name in own:
                counts[name][self._place[each.reason]] += 1
        sizes = Counter(each.reason for each, _ in texts)
        return dict(counts), [sizes[reason] for reason in self.reasons]

    def _weights(self, name: str, less: tuple[dict[str, list[int]], list[int]]) -> list[int] | None:
        having = self._all[0].get(name)
        if having is None:
            return None
        if name in less[0]:
            having = [count - without for count, without in zip(having, less[0][name], strict=True)]
        total = sum(having)
        if total < LEAST_TEXTS:
            return None
        sizes = [size - without for size, without in zip(self._all[1], less[1], strict=True)]
        texts = sum(sizes)
        return [
            _steps(_log_share(count, size) - _log_share(total - count, texts - size))
            for count, size in zip(having, sizes, strict=True)
        ]


def trained(texts: Sequence[Labelled]) -> Model:
    """Return the model of labelled texts."""
    counts = FeatureCounts(texts)
    slope, intercept = fitted(scored_apart(counts))
    return Model(counts.reasons, counts.weights(), slope, intercept)


def scored_apart(counts: FeatureCounts) -> list[Scored]:
    """Every text, scored by a model that has seen none of its group."""
    groups: defaultdict[str, list[Labelled]] = defaultdict(list)
    for each, _ in counts.texts:
        groups[each.group].append(each)
    return [found for group in sorted(groups) for found in counts.scored(group, groups[group])]


def fitted(found: Iterable[Scored]) -> tuple[float, float]:
    """Return slope and intercept of the logistic curve from a lead to the share that is right (by Newton's method)."""
    pairs = [(each.lead, each.reason == each.labelled.reason) for each in found if each.reason != NONE]
    slope = intercept = 0.0
    for _ in range(_STEPS):
        gradient = [0.0, 0.0]
        curvature = [1e-6, 0.0, 1e-6]
        for ahead, right in pairs:
            share = probability(ahead, slope, intercept)
            missing, spread = right - share, share * (1 - share)
            gradient = [gradient[0] + missing, gradient[1] + missing * ahead]
            curvature = [curvature[0] + spread, curvature[1] + spread * ahead, curvature[2] + spread * ahead * ahead]
        determinant = curvature[0] * curvature[2] - curvature[1] ** 2
        intercept += (curvature[2] * gradient[0] - curvature[1] * gradient[1]) / determinant
        slope += (curvature[0] * gradient[1] - curvature[1] * gradient[0]) / determinant
    return slope, intercept


def _log_share(having: int, texts: int) -> float:
    return math.log((having + SMOOTHING) / (texts + 2 * SMOOTHING))


def _steps(weight: float) -> int:
    return round(UNIT * max(-HEAVIEST, min(HEAVIEST, weight)))
