"""The protocols of a store: what answers queries, what reports and checks need, and what takes in logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from analyzer.store.query.selection import Selection

if TYPE_CHECKING:
    import polars as pl

    from analyzer.classifier import Rules
    from analyzer.importers.places import LogPlace
    from analyzer.store.ingest.run import IngestResult
    from analyzer.store.sums.daily import DailySums
    from analyzer.store.upkeep.prune import Prune


class Answering(Protocol):
    """An open store that answers the catalogue's queries, as a file and a lake do."""

    def query(self, name: str, **params: object) -> pl.DataFrame:
        """The rows of a query by its name."""

    def selecting(self, only: Selection) -> AbstractContextManager[None]:
        """Within the block `query` sees that part of the store alone."""


class Judging(Answering, Protocol):
    """An open store that reports and checks are made of, as a file and a lake are."""

    path: str
    """Its name, as commands take it."""

    @property
    def writable(self) -> bool:
        """Whether it is open for writing."""

    @property
    def size_bytes(self) -> int | None:
        """What its file takes; None where it is no single file."""

    def view(self, name: str) -> pl.DataFrame:
        """All rows of a view, in no order."""

    def excerpts(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The beginnings of lines of logs (path, 1-based number), redacted, where the file still is what was read."""

    def pinned(self, since: datetime | None = None, until: datetime | None = None) -> AbstractContextManager[None]:
        """For many questions about one window (naive UTC)."""

    def judge_history(self, rules: Rules = None) -> str:
        """Judge what the ruleset in force has not judged yet, where the store is open for writing; its digest."""

    def daily_sums(self, night: date, timezone: str = "UTC", ruleset: str | None = None) -> DailySums:
        """What detection counts of each day of a zone up to `night`, as the ruleset of this digest judges history."""

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """Record decisions of the analyzer, all or none: types and payloads, in their order, as of one moment (now)."""


class Filling(Judging, Protocol):
    """An open store that takes in logs and lets go of old events, as a file and a lake do."""

    def ingest(
        self, paths: Iterable[str | LogPlace], progress: Callable[[str, int, int], None] | None = None
    ) -> IngestResult:
        """Read what is new below the paths; `progress` is told each path, its place and how many there are."""

    def prune(self, before: datetime) -> Prune:
        """Delete the events before a moment (naive UTC), with all that rests on them alone; decisions stay."""
