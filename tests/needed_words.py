"""The words that no text is without that a pattern finds: what `rules.json` says of each pattern.

A walk over Python's reading of the pattern, which RE2 reads alike as far as literal text goes; where it is in doubt, it
names no words, and the pattern is tried on every text.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from analyzer.classifier.rules.index import BEYOND_ASCII

_LEAST = 2
"""Letters of a word; a shorter one is nearly everywhere."""
_LONG = 5
"""Letters from which on a longer word says little more."""
_OF_RE2 = re.compile(r"\[:\^?[a-z]+:\]|\\[pPQCz]|\\x\{")
"""What RE2 reads in its own way."""
_REPEATED = (kinds.MAX_REPEAT, kinds.MIN_REPEAT)


def needed_words(pattern: str, *, over_bytes: bool = False) -> frozenset[str]:
    """Words in lower case, one of which stands in each text that the pattern finds; empty where none are known.

    Over bytes the two cases of a letter beyond ASCII are two letters.
    """
    if _OF_RE2.search(pattern):
        return frozenset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Without case or with it, the words are the same; Python takes such a flag at the beginning alone.
            read = _parser.parse(pattern.replace("(?i)", ""))
        except re.error:
            return frozenset()
    return _needed(read, over_bytes) or frozenset()


def _needed(items: Iterable[tuple[Any, Any]], over_bytes: bool) -> frozenset[str] | None:
    """The best words of a sequence; None where it may match without any."""
    found: list[frozenset[str] | None] = []
    run = ""
    for kind, value in items:
        if kind is kinds.LITERAL and (value < 128 or over_bytes or not _has_case(chr(value))):
            run += chr(value).lower() if value < 128 else chr(value)
            continue
        found.append(_word(run))
        run = ""
        if kind is kinds.LITERAL or _is_beyond_ascii(kind, value):
            found.append(frozenset({BEYOND_ASCII}))
        elif kind is kinds.SUBPATTERN:
            found.append(_needed(value[-1], over_bytes))
        elif kind is kinds.BRANCH:
            found.append(_any_of([_needed(each, over_bytes) for each in value[1]]))
        elif kind in _REPEATED and value[0] >= 1:
            found.append(_needed(value[2], over_bytes))
    found.append(_word(run))
    return max((words for words in found if words is not None), key=_worth, default=None)


def _is_beyond_ascii(kind: Any, value: Any) -> bool:
    """Tell whether this is a class of letters beyond ASCII, such as both forms of a Chinese character."""
    return kind is kinds.IN and all(inner is kinds.LITERAL and code > 127 for inner, code in value)


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()


def _word(run: str) -> frozenset[str] | None:
    return frozenset({run}) if len(run) >= _LEAST or not run.isascii() else None


def _any_of(alternatives: list[frozenset[str] | None]) -> frozenset[str] | None:
    together: frozenset[str] = frozenset()
    for words in alternatives:
        if words is None:
            return None
        together |= words
    return together


def _worth(words: frozenset[str]) -> tuple[int, int]:
    # A letter that few texts have says as much as a long word.
    return min(_LONG if not word.isascii() else len(word) for word in words), -len(words)
