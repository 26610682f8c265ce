"""The known text that is nearest to an unknown one, by the words that they share; rare words weigh more.

Invariant: pure and order-independent; equal likeness is decided by the text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MIN_LIKENESS = 0.25
"""Below it, two texts share what all texts share."""
MIN_LIKENESS_FOR_REASON = 0.45
"""As near as this must the nearest one be to speak for a reason."""
MIN_SHARE_FOR_REASON = 0.6
"""So much of the likeness of the near ones must be with one reason."""
_NO_WORDS = str.maketrans(dict.fromkeys("0123456789<>*,;:.=()[]{}\"'`|/\\@#!?-+~&%$^…·", " "))


@dataclass(frozen=True, slots=True)
class KnownTemplate:
    """A template whose reason is known."""

    text: str
    sample: str
    """A text that has it."""
    reason: str
    rule: str
    errors: int
    """How many errors of the store say it; 0 for an example of a rule."""


@dataclass(frozen=True, slots=True)
class Near:
    """A known text beside an unknown one."""

    known: KnownTemplate
    likeness: float
    """Cosine of the words' weights, 0..1."""
    missing: tuple[str, ...]
    """Its heaviest words that the unknown text does not say."""


class Neighbours:
    """An index of known texts, which gives those nearest to another text."""

    def __init__(self, known: Iterable[KnownTemplate]) -> None:
        self._known = sorted(known, key=lambda each: (each.text, each.reason, each.rule, each.sample))
        self._words = [words(each.text) for each in self._known]
        count = Counter(word for each in self._words for word in each)
        # Inverse document frequency, smoothed so that a word of every text still weighs a little.
        self._weight = {word: math.log((1 + len(self._known)) / number) + 0.1 for word, number in count.items()}
        self._unseen = math.log(1 + len(self._known)) + 0.1
        self._norms = [self._norm(each) for each in self._words]
        self._where: defaultdict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(self._words):
            for word in each:
                self._where[word].append(number)

    def near(self, text: str, limit: int) -> list[Near]:
        """The nearest ones, the nearest first."""
        own = words(text)
        shared: defaultdict[int, float] = defaultdict(float)
        for word in own:
            for number in self._where.get(word, ()):
                shared[number] += self._weight[word] ** 2
        norm = self._norm(own)
        ranked = sorted(
            ((weight / (norm * self._norms[number]), number) for number, weight in shared.items()),
            key=lambda pair: (-pair[0], pair[1]),
        )
        return [
            Near(self._known[number], likeness, self._missing(number, own))
            for likeness, number in ranked[:limit]
            if likeness >= MIN_LIKENESS
        ]

    def _missing(self, number: int, own: frozenset[str]) -> tuple[str, ...]:
        absent = sorted(self._words[number] - own, key=lambda word: (-self._weight[word], word))
        return tuple(absent[:4])

    def _norm(self, of_words: Iterable[str]) -> float:
        return math.sqrt(sum(self._weight.get(word, self._unseen) ** 2 for word in of_words)) or 1.0


def words(text: str) -> frozenset[str]:
    """The words of two letters and more, without case; slots, numbers and marks are none."""
    return frozenset(word for word in text.lower().translate(_NO_WORDS).split() if len(word) > 1)


def proposed(near: Sequence[Near]) -> tuple[str, float] | None:
    """The reason that the near ones speak for, and its share of their likeness; None where they are too far or torn."""
    votes: defaultdict[str, float] = defaultdict(float)
    for each in near:
        votes[each.known.reason] += each.likeness
    if not votes or near[0].likeness < MIN_LIKENESS_FOR_REASON:
        return None
    reason, weight = max(votes.items(), key=lambda pair: (pair[1], pair[0]))
    share = weight / sum(votes.values())
    return (reason, share) if share >= MIN_SHARE_FOR_REASON else None
