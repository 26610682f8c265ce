"""Many stored facts at a time, for replay: normalised and redacted when they were stored, they are judged as they are.

Invariant: an answer equals what `classify_facts` says of the same facts, and whatever is stored has an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import cast

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.deciding import judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.loading import Rules, ruleset_for
from analyzer.classifier.rules.ruleset import Ruleset

__all__ = ["Verdict", "classify_batch", "judge_json"]

Verdict = tuple[str, str | None, bool, str, str, str | None]
"""`(reason, detail, retryable, action, rule, confidence)`."""


def classify_batch(facts: Iterable[Facts] | Iterable[Mapping[str, object]], *, rules: Rules = None) -> list[Verdict]:
    """The verdict of each, in order; a mapping is what `Facts.to_dict` gives."""
    index = index_of(ruleset_for(rules))
    read = (each if isinstance(each, Facts) else Facts.from_dict(each) for each in facts)
    return [_verdict(each, index) for each in read]


def judge_json(chunk: Sequence[str], ruleset: Ruleset) -> list[Verdict]:
    """Judge facts that are given as JSON texts, in order."""
    index = index_of(ruleset)
    decode = _decoder()
    return [_verdict(decode(text), index) for text in chunk]


def _verdict(facts: Facts, index: Index) -> Verdict:
    decision, _, _, confidence = judge(facts, index)
    return (*decision.answer, confidence)


@cache
def _decoder() -> Callable[[str], Facts]:
    """A function from JSON text to facts, or to an object with the same fields."""
    try:
        from analyzer.classifier.reading.stored_facts import ERRORS, decoder  # 30 ms that only replay should pay
    except ImportError:
        return _decode
    fast = decoder()

    def decode(text: str) -> Facts:
        try:
            return cast("Facts", fast(text))
        except ERRORS:
            return _decode(text)

    return decode


def _decode(text: str) -> Facts:
    """Decode a text that the strict decoder refuses; what are no facts becomes empty facts."""
    try:
        return Facts.from_dict(json.loads(text))
    except (ValueError, RecursionError, AttributeError):
        return Facts()
