"""`Made`: where a page was made and which store is behind it, so that its title and its commands name them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Made:
    """The circumstances of a page."""

    host: str = ""
    """The machine; empty where nobody said."""
    store: str = ""
    """The store's file; empty for a throw-away one, which nothing can be asked of later."""

    def command(self, words: str) -> str:
        """The command that asks this store."""
        return f"analyzer {words} --store {shlex.quote(self.store)}" if self.store else f"analyzer {words}"


def asked_of(advice: str, made: Made) -> str:
    """An advice; where it is a command and nothing else, it asks the store."""
    program, _, words = advice.partition(" ")
    return made.command(words) if program == "analyzer" and ";" not in words else advice


ANYWHERE = Made()
"""Where nobody said."""
