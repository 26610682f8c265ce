"""Compiled patterns and forks: a child makes its own.

RE2 builds its automata while it matches, under locks of its own. A fork amid such a match leaves the child with a lock
that nobody will ever open; so nothing compiled is carried over.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

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
