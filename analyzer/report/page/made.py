"""`Made`: where a page was made and which store is behind it, so that its title and its commands name them."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.command_lines import HERE, Asking


@dataclass(frozen=True, slots=True)
class Made:
    """The circumstances of a page."""

    host: str = ""
    """The machine; empty where nobody said."""
    store: str = ""
    """The store's file; empty for a throw-away one, which nothing can be asked of later."""
    asking: Asking = HERE
    """How the store is asked from wherever the page is read."""


ANYWHERE = Made()
"""Where nobody said."""
