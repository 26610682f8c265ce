"""`LakeStore`: a lake as who asks it sees it. Queries in, polars frames out, as of a store in a file."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import date
from typing import TYPE_CHECKING, Self

from analyzer.lake.answers import Answers
from analyzer.lake.files import check_version
from analyzer.lake.location import Lake
from analyzer.lake.session import own_views, require, session
from analyzer.store.query.catalogue import find
from analyzer.store.query.selection import Selection

if TYPE_CHECKING:
    import polars as pl

    from analyzer.store.sums.daily import DailySums


class LakeStore:
    """A lake that is read. It shows the lake as it was when it was opened.

    Raises:
        StoreError: something is missing that Spark needs, or there is no lake, or it is damaged.
    """

    def __init__(self, lake: Lake) -> None:
        require(lake)
        check_version(lake)
        self._answers = Answers(own_views(session(lake)), lake)

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """A catalogue query by name; `since` and `until` take datetimes or texts such as `7d`.

        Raises:
            QueryError: unknown name or parameter, or a bad value.
            StoreError: a file of the lake cannot be read.
        """
        query = find(name)
        return self._answers.query(query.header, query.values(params))

    def daily_sums(self, night: date, timezone: str = "UTC", ruleset: str | None = None) -> DailySums:
        """What detection counts of each day of a zone up to `night`, as the ruleset of this digest judges history.

        Raises:
            QueryError: the lake cannot be asked.
            StoreError: a file of the lake cannot be read.
        """
        from analyzer.lake.summing import SparkEngine
        from analyzer.store.sums.daily import summed

        return summed(SparkEngine(self._answers), night, timezone, ruleset)

    def selecting(self, only: Selection) -> AbstractContextManager[None]:
        """Within the block `query` sees that part of the lake alone: its errors, chains, sessions and so on."""
        return self._answers.selecting(only)

    def view(self, name: str) -> pl.DataFrame:
        """All rows of a view, in no order."""
        return self._answers.view(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held: Spark ends with the process."""
