"""All patterns of a ruleset over a text in one pass.

Invariant: which of the two automata is asked makes no difference to the answer, only to the time it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import re2

Match = Callable[[bytes], list[int] | None]
"""The numbers of the patterns that a UTF-8 text matches, in no order."""


def ascii_matcher(patterns: Sequence[str]) -> Match:
    """A matcher for ASCII texts, without case. One byte is one character to it.

    The automaton is made while it matches, and what it meets for the first time costs it a new state: without the byte
    sequences of UTF-8 it makes half as many, and more of them fit into the caches of the processor.
    """
    found = options()
    found.encoding = re2.Options.Encoding.LATIN1
    # No ASCII text holds the character that stands in for others, wherever it stands in the pattern.
    plain = ["".join(char if char.isascii() else r"\xff" for char in pattern) for pattern in patterns]
    try:
        return _matcher(plain, found)
    except re2.error:
        # A character by its number, for one, which one byte cannot hold.
        return utf8_matcher(patterns)


def utf8_matcher(patterns: Sequence[str]) -> Match:
    """A matcher for any text, without case; made when the first text comes."""

    @cache
    def made() -> Match:
        return _matcher(patterns, options())

    return lambda text: made()(text)


def _matcher(patterns: Sequence[str], given: Any) -> Match:
    together = re2.Set.SearchSet(given)
    for pattern in patterns:
        together.Add(pattern.encode())
    together.Compile()
    match: Match = together.Match
    return match


def options() -> Any:
    """Options for every pattern of a rule."""
    found = re2.Options()
    found.case_sensitive = False
    # A ceiling for the automaton that is built while matching, not an allocation.
    found.max_mem = 256 << 20
    found.log_errors = False
    return found
