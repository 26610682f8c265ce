"""The first texts of a process, without the automaton of all patterns: that takes 25 ms to make.

Most processes classify few errors. A pattern is compiled, and asked, only where a text has one of the words that no
text is without that it finds. Invariant: the answer is that of the automaton.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import re2

from analyzer.classifier.rules.matching import options
from analyzer.classifier.rules.ruleset import Pattern

BEYOND_ASCII = "\x80"
"""Stands among the words for any letter beyond ASCII: RE2 knows more pairs of those that differ in case alone."""
MOST = 16
"""Texts; for more of them the automaton is made."""


def first_texts(patterns: Sequence[Pattern], words: Sequence[Sequence[Sequence[str]]]) -> Callable[[bytes], list[int]]:
    """A matcher for UTF-8 texts: the numbers of the patterns that one matches, in their order.

    `words` are those of each part of each pattern, in lower case; none: every text is tried.
    """

    @cache
    def regex(text: str) -> Any:
        return re2.compile(text.encode(), options())

    parts = [list(zip(known, each.parts, strict=True)) for known, each in zip(words, patterns, strict=True)]

    def match(text: bytes) -> list[int]:
        # RE2 takes these two for an `s` and a `k`; in lower case only the second one is.
        folded = text.decode("utf-8", "replace").lower().replace("\u017f", "s")
        if not folded.isascii():
            folded += BEYOND_ASCII
        found: list[int] = []
        for number, alternatives in enumerate(parts):
            for known, part in alternatives:
                if known:
                    for word in known:
                        if word in folded:
                            break
                    else:
                        continue
                if regex(part).search(text) is not None:
                    found.append(number)
                    break
        return found

    return match
