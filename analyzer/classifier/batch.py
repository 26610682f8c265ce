"""Classification of many stored facts, for replay.

Stored facts were normalised and redacted when they were stored, and are judged as they are. One process judges all of
them: two took more processor time for 60,000 facts, and no less of the clock's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import cast

import msgspec

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.deciding import judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.loading import Rules, ruleset_for
from analyzer.classifier.rules.ruleset import Ruleset

__all__ = ["Verdict", "classify_batch", "judge_json"]

Verdict = tuple[str, str | None, bool, str, str, str | None]
"""`(reason, detail, retryable, action, rule, confidence)`."""


def classify_batch(facts: Iterable[Facts] | Iterable[Mapping[str, object]], *, rules: Rules = None) -> list[Verdict]:
    """Judge facts, in order; a mapping is what `Facts.to_dict` gives."""
    index = index_of(ruleset_for(rules))
    return [_verdict(item if isinstance(item, Facts) else Facts.from_dict(item), index) for item in facts]


def judge_json(chunk: Sequence[str], ruleset: Ruleset) -> list[Verdict]:
    """Judge facts that are JSON texts, in order."""
    index = index_of(ruleset)
    decode = _decoder()
    return [_verdict(decode(text), index) for text in chunk]


def _verdict(facts: Facts, index: Index) -> Verdict:
    decision, _, _, confidence = judge(facts, index)
    return (*decision.answer, confidence)


_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeError)
"""The errors of the strict decoder for texts that are not well-formed facts."""


class _Stored(msgspec.Struct, gc=False):
    """The fields of `Facts` that a verdict depends on."""

    status: int | None = None
    code: str | None = None
    type: str | None = None
    subtype: str | None = None
    terminal_reason: str | None = None
    failure_reason: str | None = None
    is_error: bool | None = None
    message: str | None = None
    provider: str | None = None
    exception_class: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    cause: _Stored | None = None


@cache
def _decoder() -> Callable[[str], Facts]:
    """Return a function from JSON text to facts, or to an object with the same fields."""
    strict = msgspec.json.Decoder(_Stored).decode

    def decode(text: str) -> Facts:
        try:
            return cast("Facts", strict(text))
        except _ERRORS:
            return _decode(text)

    return decode


def _decode(text: str) -> Facts:
    """Decode a text that the strict decoder refuses; one that holds no facts becomes empty facts."""
    try:
        return Facts.from_dict(json.loads(text))
    except (ValueError, RecursionError, AttributeError):
        return Facts()
