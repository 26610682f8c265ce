"""`LakeStore`: a lake as who asks it sees it. Queries in, polars frames out, as of a store in a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Self

from analyzer.errors import StoreError
from analyzer.lake.answers import Answers
from analyzer.lake.files import check_version, lake_errors, opened, settings
from analyzer.lake.location import PREFIX, Lake
from analyzer.lake.session import own_views, require, session
from analyzer.store.query.catalogue import find
from analyzer.store.query.selection import Selection

if TYPE_CHECKING:
    import polars as pl

    from analyzer.classifier import Rules
    from analyzer.store.ingest.identity import SourceCheckpoint
    from analyzer.store.query.adhoc import Answer
    from analyzer.store.sums.daily import DailySums


class LakeStore:
    """A lake that is read. It shows the lake as it was when it was opened.

    Raises:
        StoreError: something is missing that Spark needs, or there is no lake, or it is damaged.
    """

    def __init__(self, lake: Lake) -> None:
        require(lake)
        check_version(lake)
        self.path = f"{PREFIX}{lake.path}"
        self._lake = lake
        self._look_again()

    def _look_again(self) -> None:
        """Show the lake as it is now."""
        self._answers = Answers(own_views(session(self._lake)), self._lake)

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

    def judge_history(self, rules: Rules = None) -> str:
        """The digest of the ruleset in force: the active one, else `rules` (a file, a ruleset, None: built in).

        Raises:
            RulesError: the rules cannot be used.
            StoreError: the lake cannot be read.
        """
        from analyzer.classifier import ruleset_for

        return self.active_ruleset or ruleset_for(rules).digest

    @property
    def active_ruleset(self) -> str | None:
        """The digest of the ruleset that was applied last; None where none was."""
        return settings(self._lake).get("active_ruleset")

    def pinned(self, since: datetime | None = None, until: datetime | None = None) -> AbstractContextManager[None]:
        """For many questions about one window (naive UTC): within the block its errors, retries and relays are worked
        out once.

        Raises:
            StoreError: a file of the lake cannot be read.
        """
        return self._answers.pinned(since, until)

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """A lake that is open for reading records nothing.

        Raises:
            StoreError: always.
        """
        raise StoreError(f"{self.path} is open for reading", "open it for writing")

    @property
    def writable(self) -> bool:
        """Whether it is open for writing."""
        return False

    @property
    def size_bytes(self) -> int | None:
        """A lake is no single file."""
        return None

    def selecting(self, only: Selection) -> AbstractContextManager[None]:
        """Within the block `query` sees that part of the lake alone: its errors, chains, sessions and so on."""
        return self._answers.selecting(only)

    def run_sql(self, statement: str, limit: int | None = None, seconds: float = 86_400.0) -> Answer:
        """The rows of one reading statement over the views, in DuckDB's dialect, at most `limit` of them.

        Raises:
            QueryError: it is more than one statement, does not only read, or asks for what a lake cannot answer.
            LimitError: it takes longer.
        """
        from analyzer.lake.adhoc import run

        remote = self._lake.master.startswith("sc://")
        return run(self._answers, session(self._lake), statement, limit, seconds, remote=remote)

    def view(self, name: str) -> pl.DataFrame:
        """All rows of a view, in no order."""
        return self._answers.view(name)

    def excerpts(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The beginnings of lines of logs (path, 1-based number), redacted, where this machine sees the file and it
        still is what was read.

        Raises:
            StoreError: the lake cannot be read.
        """
        from analyzer.store.query.excerpts import excerpts

        return excerpts(self._checkpoints, places)

    def _checkpoints(self, paths: Collection[str]) -> list[SourceCheckpoint]:
        """How far the sources were read that stood under some paths."""
        from pyarrow.dataset import field

        from analyzer.store.ingest.run import CHECKPOINT, checkpoint_of

        with lake_errors(self._lake):
            dataset = opened(self._lake, "source_v1").to_pyarrow_dataset()
            found = dataset.to_table(columns=list(CHECKPOINT), filter=field("path").isin(list(paths)))
        return [checkpoint_of([row[name] for name in CHECKPOINT]) for row in found.to_pylist()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held: Spark ends with the process."""
