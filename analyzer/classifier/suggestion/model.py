"""A naive Bayes model over features: each one speaks for or against each reason, by as much as labelled texts let it.

Invariant: the model is data that was made before (`weights.json`); the same facts give the same answer everywhere.

Features are pieces of an error's words, pairs of words, parts of names, and the status.
"""

from __future__ import annotations

import json
import math
import os
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.text_evidence import succeeded

TEXT_CHARS = 500
"""What follows is seldom about the error."""
SHORTEST, LONGEST = 3, 5
"""Characters of a piece of a word, with the space before and after it."""

_ADDRESS = re.compile(r"https?://\S+")
_ID = re.compile(r"[0-9a-f]{8,}")
_DIGITS = re.compile(r"\d+")
_NO_WORD = re.compile(r"[^\w#]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_JOINT = re.compile(r"[_\-. ]+")


class Seen(NamedTuple):
    """All that features are made of: errors that differ in numbers alone are the same."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    status: int | None

    @classmethod
    def of(cls, facts: Facts) -> Seen:
        """Return what is seen of an error."""
        return cls(tuple(_words(facts)), tuple(_parts_of_names(facts)), facts.status)

    def features(self) -> frozenset[str]:
        """Return the features; empty where the error says nothing."""
        found: set[str] = set()
        found.update(f"b:{one} {next_one}" for one, next_one in pairwise(self.words))
        for word in (*(word for word in self.words if len(word) > 1), *self.names):
            found.add(f"w:{word}")
            found.update(_pieces(f" {word} "))
        if self.status is not None:
            found.update((f"s:{self.status}", f"s:{self.status // 100}xx"))
        return frozenset(found)


def features(facts: Facts) -> frozenset[str]:
    """Return the features of an error; empty where it says nothing."""
    return Seen.of(facts).features()


def _words(facts: Facts) -> list[str]:
    text = " ".join(filter(None, (facts.message, facts.stderr, facts.stdout))).lower()
    text = _DIGITS.sub("0", _ID.sub("#", _ADDRESS.sub(" url ", text)))
    return [word for word in _NO_WORD.split(text[:TEXT_CHARS]) if word]


def _parts_of_names(facts: Facts) -> Iterator[str]:
    for name in filter(None, (facts.code, facts.type, facts.exception_class)):
        yield from filter(None, _JOINT.split(_HUMP.sub(" ", name).lower()))


def _pieces(word: str) -> Iterator[str]:
    for size in range(SHORTEST, LONGEST + 1):
        for start in range(len(word) - size + 1):
            yield word[start : start + size]


WEIGHTS = os.path.join(os.path.dirname(__file__), "weights.json")
NONE = "unknown"
"""The answer that proposes nothing."""
LEAST_PROBABILITY = 0.6
"""Below it, nothing is proposed: junk seldom comes above it."""
UNIT = 40
"""Steps of a weight in one nat: weights are kept as whole numbers of -127..127."""
LENGTH_POWER = 0.8
"""Pieces of one text say the same many times over: their sum is divided by their number to this power."""
_SAID = 3
"""Words that are shown for a suggestion."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A reason for an error that no rule knows."""

    reason: str
    probability: float
    """Share of such suggestions that are right, 0..1, as measured on labelled texts whose rule was withheld."""
    words: tuple[str, ...]
    """Those that speak most for it, the heaviest first."""

    @property
    def because(self) -> str:
        """What speaks for it, for people: the words between quotation marks."""
        return ", ".join(map(repr, self.words)) or "parts of its words"

    def to_dict(self) -> dict[str, object]:
        """Return the fields by name, ready for JSON."""
        return {"reason": self.reason, "probability": round(self.probability, 3), "words": list(self.words)}


@dataclass(frozen=True, slots=True)
class Model:
    """Weights of features for reasons, and the curve from a lead to a probability."""

    reasons: tuple[str, ...]
    weights: Mapping[str, bytes]
    """One byte a reason: 128 is none, and 40 more are one nat."""
    slope: float
    intercept: float

    def suggest(self, facts: Facts) -> Suggestion | None:
        """Return the likeliest reason; None where none is likely enough, or where it is likely no failure of an API."""
        return None if succeeded(facts) else self.suggest_seen(Seen.of(facts))

    def suggest_seen(self, seen: Seen) -> Suggestion | None:
        """Return the same for what is seen of an error that is a failure."""
        own = seen.features()
        reason, ahead = self.leading(own)
        likely = probability(ahead, self.slope, self.intercept)
        if reason == NONE or likely < LEAST_PROBABILITY:
            return None
        return Suggestion(reason, likely, self._words(own, reason))

    def leading(self, own: frozenset[str]) -> tuple[str, float]:
        """Return the reason with the highest score, and its lead over the next one in nats a feature to the power."""
        known = [self.weights[each] for each in own if each in self.weights]
        return lead([sum(column) - 128 * len(known) for column in zip(*known, strict=True)], self.reasons, len(own))

    def _words(self, own: frozenset[str], reason: str) -> tuple[str, ...]:
        place = self.reasons.index(reason)
        heavy = sorted(
            (-weight[place], each)
            for each in own
            if each[:2] in ("w:", "b:") and (weight := self.weights.get(each)) and weight[place] > 128
        )
        return tuple(each[2:] for _, each in heavy[:_SAID])

    def dumped(self) -> str:
        """Return the model as the text of `weights.json`."""
        rows = (
            f'{json.dumps(each, ensure_ascii=False)}: "{b2a_base64(self.weights[each], newline=False).decode()}"'
            for each in sorted(self.weights)
        )
        head = json.dumps(
            {"reasons": self.reasons, "slope": round(self.slope, 4), "intercept": round(self.intercept, 4)}
        )
        return head[:-1] + ', "weights": {\n' + ",\n".join(rows) + "\n}}\n"

    @classmethod
    def loaded(cls, text: str) -> Model:
        """Return the model of such a text."""
        kept = json.loads(text)
        weights = {each: a2b_base64(weight) for each, weight in kept["weights"].items()}
        return cls(tuple(kept["reasons"]), weights, kept["slope"], kept["intercept"])


def lead(scores: list[int], reasons: tuple[str, ...], size: int) -> tuple[str, float]:
    """Return the reason of the highest score, and its lead over the second for a text of so many features."""
    if not scores:
        return NONE, 0.0
    ranked = sorted(zip(scores, reasons, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return ranked[0][1], (ranked[0][0] - ranked[1][0]) / UNIT / size**LENGTH_POWER


def probability(ahead: float, slope: float, intercept: float) -> float:
    """Return the probability, 0..1, that a reason with this lead is right: Platt's logistic curve."""
    return 1 / (1 + math.exp(-(intercept + slope * ahead)))


def suggest(facts: Facts) -> Suggestion | None:
    """Return what the built-in model proposes for facts that no rule knows; None where it is not sure enough."""
    return None if succeeded(facts) else _suggested(Seen.of(facts))


def leaning(facts: Facts) -> str:
    """Return the reason that the words of facts lean to, however little; `unknown` where they lean to none."""
    return _built_in().leading(features(facts))[0]


@lru_cache(maxsize=4096)
def _suggested(seen: Seen) -> Suggestion | None:
    """Thousands of facts of one error differ in numbers that the model does not see."""
    return _built_in().suggest_seen(seen)


@cache
def _built_in() -> Model:
    with open(WEIGHTS, encoding="utf-8") as handle:
        return Model.loaded(handle.read())
