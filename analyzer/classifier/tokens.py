"""Token counts out of overflow texts: how many were asked for, how many fit.

Invariant: `current` is what the request held and `max` what the model takes, in whichever order the text names them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import re2

from analyzer.classifier.facts import MESSAGE_CHARS
from analyzer.forking import kept_until_fork

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
    check: Any
    """All patterns in one pass: the sum, the pairs, the maximum, the current."""
    regexes: tuple[Any, ...]


_FIRST_PAIR = 1
_MOST = _FIRST_PAIR + len(_PAIRS)
_HELD_ALONE = _MOST + 1


@kept_until_fork
def _compiled() -> _Compiled:
    patterns = [f"(?i){pattern}" for pattern in (_SUM, *(pattern for pattern, _ in _PAIRS), _MAX, _CURRENT)]
    options = re2.Options()
    # A ceiling for the automaton, not an allocation; a set that ran out of it would find nothing.
    options.max_mem = 64 << 20
    check = re2.Set.SearchSet(options)
    for pattern in patterns:
        check.Add(pattern)
    check.Compile()
    return _Compiled(check, tuple(re2.compile(pattern.encode()) for pattern in patterns))


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
    hits = compiled.check.Match(text)
    if not hits:
        return None, None
    first = min(hits)
    if first < _MOST:
        match = compiled.regexes[first].search(text)
        left, right = _number(match[1]), _number(match[2])
        if first < _FIRST_PAIR:
            return (None if left is None or right is None else left + right), _number(match[3])
        return (left, right) if _PAIRS[first - _FIRST_PAIR][1] else (right, left)
    return (
        _number(compiled.regexes[_HELD_ALONE].search(text).group(1)) if _HELD_ALONE in hits else None,
        _number(compiled.regexes[_MOST].search(text).group(1)) if _MOST in hits else None,
    )


def _number(digits: bytes) -> int | None:
    if digits.isdigit():
        return int(digits)
    text = digits.decode("ascii", "replace").lower().replace(",", "").replace("_", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
    try:
        return int(float(text.rstrip("km")) * factor)
    except ValueError:
        return None
