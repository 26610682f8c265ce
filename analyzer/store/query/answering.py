"""What every store is to who only asks it, whichever engine answers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from analyzer.store.query.selection import Selection

if TYPE_CHECKING:
    import polars as pl


class Answering(Protocol):
    """An open store that answers the catalogue's queries, as a file and a lake do."""

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """The rows of a query by its name."""

    def selecting(self, only: Selection) -> AbstractContextManager[None]:
        """Within the block `query` sees that part of the store alone."""
