"""Patterns as redaction uses them: RE2 over bytes, in linear time and bounded memory; Python's own for single values.

Nothing is compiled before it is used: most programs that load this meet no secret.

A child of a fork compiles its own patterns: those of its parent may be in use by a thread that it does not have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

import re2

_Made = TypeVar("_Made")


def kept_until_fork(make: Callable[..., _Made], most: int | None = None) -> Callable[..., _Made]:
    """Like `functools.lru_cache`, for what holds compiled patterns: a forked child makes it anew when it needs it.

    `most` is how many results are kept; None for all.
    """
    kept = lru_cache(maxsize=most)(make)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=kept.cache_clear)
    return kept


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=re2.purge)


def options() -> Any:
    """Return the options of every pattern of redaction."""
    settings = re2.Options()
    # Bytes, not characters: a smaller automaton, and no letter outside of ASCII that folds to one inside.
    settings.encoding = re2.Options.Encoding.LATIN1
    # A ceiling for each automaton, which then begins anew: hostile texts must not cost the host more memory.
    settings.max_mem = 32 << 20
    return settings


def set_of(patterns: Iterable[str]) -> Callable[[bytes], list[int]]:
    """Return one search for all patterns, which gives the numbers of those that match."""
    search = re2.Set.SearchSet(options())
    for pattern in patterns:
        search.Add(pattern)
    search.Compile()
    return cast("Callable[[bytes], list[int]]", search._set.Match)  # without a call that looks for texts


@kept_until_fork
def regex(pattern: str) -> Any:
    """Return a compiled pattern."""
    return re2.compile(pattern.encode(), options())


Spans = Sequence[tuple[int, int]]
"""Where a match and each of its groups begin and end; -1 for a group that took no part."""


def spans_in(compiled: Any, data: bytes) -> Spans | None:
    """Return the first match of a compiled pattern in bytes, for a third of what its `search` costs."""
    # What the package gives for a match costs more than the match does.
    spans = cast("Spans", compiled._regexp.Match(_ANYWHERE, data, 0, len(data)))
    return None if spans[0][0] < 0 else spans


def all_spans_in(compiled: Any, data: bytes) -> Iterator[Spans]:
    """Yield the matches of a compiled pattern that matches no empty text, from left to right."""
    find, at, end = compiled._regexp.Match, 0, len(data)
    while (spans := find(_ANYWHERE, data, at, end))[0][0] >= 0:
        yield spans
        at = spans[0][1]


class FirstMatch:
    """The first match of a compiled pattern, with the methods that one of `re` has, made quicker than the package's."""

    __slots__ = ("_spans", "string")

    def __init__(self, data: bytes, spans: Spans) -> None:
        self.string = data
        self._spans = spans

    def __getitem__(self, group: int) -> bytes | None:
        start, end = self._spans[group]
        return None if start < 0 else self.string[start:end]

    def start(self, group: int = 0) -> int:
        """Return where a group begins."""
        return self._spans[group][0]

    def end(self, group: int = 0) -> int:
        """Return where a group ends."""
        return self._spans[group][1]


def matches(pattern: str, data: bytes) -> Iterator[Spans]:
    """Yield the matches of a pattern that matches no empty text, from left to right."""
    return all_spans_in(regex(pattern), data)


_ANYWHERE = re2._Anchor.UNANCHORED


class LazyPattern:
    """A pattern of Python's `re` with its methods, compiled when one of them is first called."""

    __slots__ = ("findall", "finditer", "fullmatch", "match", "pattern", "search", "split", "sub")

    def __init__(self, pattern: str | bytes) -> None:
        self.pattern = pattern

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern)
        # They take the places of these slots: from now on they are found without this method.
        for method in ("findall", "finditer", "fullmatch", "match", "search", "split", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
