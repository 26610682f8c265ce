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


ANYWHERE = Made()
"""Where nobody said."""
