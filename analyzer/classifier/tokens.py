"""Token counts out of overflow texts: how many were asked for, how many fit.

Invariant: `current` is what the request held and `max` what the model takes, in whichever order the text names them.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import re2

from analyzer.classifier.facts import MESSAGE_CHARS

_N = r"\(?(\d[\d,_]{0,14}(?:\.\d+)?[km]?)\b\)?"
_WHAT = r"\b(?:request|input|inputs|prompt|messages?|token count|tokens)\b"
_OVER = r"\b(?:exceed\w*|longer than|larger than|greater than|more than|over)\b"
_LIMIT = r"\b(?:context length|context window|context size|context|maximum|max|limit|limited to|n_ctx)\b"
_HELD = r"\b(?:requested|resulted in|has|have|had|contains?|used|sent|got|given|is)\b(?: about| approximately)?"

# Group 1 and 2, and whether the first is what the request held. The order matters: what names both sides comes first.
_PAIRS = (
    (rf"{_N} (?:\w+ )?tokens?\s*>\s*{_N}", True),
    (rf"\bexceed\w*\b[^\d\n]{{0,40}}{_N}\s*>\s*{_N}", True),
    (rf"\bn_keep {_N}\s*>=?\s*n_ctx {_N}", True),
    (rf"\bn_prompt_tokens\W{{1,4}}{_N}\W*n_ctx\W{{1,4}}{_N}", True),
    (rf"\bn_ctx\W{{1,4}}{_N}\W*n_prompt_tokens\W{{1,4}}{_N}", False),
    (rf"{_WHAT}[^\d\n]{{0,30}}{_N}(?: tokens\)?)?[^\d\n]{{0,40}}{_OVER}[^\d\n]{{0,80}}{_N}", True),
    (rf"{_LIMIT}[^\d\n]{{0,30}}{_N}(?: tokens)?\b[^\n]{{0,80}}?{_HELD}[^\d\n]{{0,20}}{_N}(?: (?:\w+ )?tokens)?", False),
    (rf"\brequested:? {_N} tokens[^\d\n]{{0,60}}{_LIMIT}[^\d\n]{{0,30}}{_N}", True),
)
_SUM = rf"exceed context limit:? {_N} \+ {_N} > {_N}"
_MAX = rf"(?:{_LIMIT}|\bmax(?:imum)? (?:\w+ )?tokens\b)[^\d\n]{{0,30}}{_N}"
_CURRENT = rf"\b(?:requested|resulted in|prompt has|input has|current_tokens)\b\W{{1,3}}{_N}"


class _Compiled(NamedTuple):
    total: Any
    pairs: tuple[tuple[Any, bool], ...]
    most: Any
    current: Any


@cache
def _compiled() -> _Compiled:
    pairs = tuple((_regex(pattern), current_first) for pattern, current_first in _PAIRS)
    return _Compiled(_regex(_SUM), pairs, _regex(_MAX), _regex(_CURRENT))


def _regex(pattern: str) -> Any:
    return re2.compile(f"(?i){pattern}".encode())


def token_counts(*texts: str | None) -> tuple[int | None, int | None]:
    """`(current, max)` of the first text that names any; None for what it leaves open.

    For `input length and max_tokens exceed context limit: a + b > c` the request held a + b.
    """
    for text in texts:
        if text:
            found = _read(text[:MESSAGE_CHARS].encode("utf-8", "replace"))
            if found != (None, None):
                return found
    return None, None


def _read(text: bytes) -> tuple[int | None, int | None]:
    compiled = _compiled()
    total = compiled.total.search(text)
    if total is not None:
        first, second = _number(total.group(1)), _number(total.group(2))
        return (None if first is None or second is None else first + second), _number(total.group(3))
    for pattern, current_first in compiled.pairs:
        match = pattern.search(text)
        if match is not None:
            first, second = _number(match.group(1)), _number(match.group(2))
            return (first, second) if current_first else (second, first)
    most, current = compiled.most.search(text), compiled.current.search(text)
    return (
        _number(current.group(1)) if current is not None else None,
        _number(most.group(1)) if most is not None else None,
    )


def _number(digits: bytes) -> int | None:
    text = digits.decode("ascii", "replace").lower().replace(",", "").replace("_", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
    try:
        return int(float(text.rstrip("km")) * factor)
    except ValueError:
        return None
