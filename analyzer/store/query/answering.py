"""What every store is to who only asks it, whichever engine answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from analyzer.store.query.selection import Selection

if TYPE_CHECKING:
    import polars as pl

    from analyzer.classifier import Rules
    from analyzer.store.sums.daily import DailySums


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

    def pinned(self, since: datetime | None = None, until: datetime | None = None) -> AbstractContextManager[None]:
        """For many questions about one window (naive UTC)."""

    def judge_history(self, rules: Rules = None) -> str:
        """Judge what the ruleset in force has not judged yet, where the store is open for writing; its digest."""

    def daily_sums(self, night: date, timezone: str = "UTC", ruleset: str | None = None) -> DailySums:
        """What detection counts of each day of a zone up to `night`, as the ruleset of this digest judges history."""

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """Record decisions of the analyzer, all or none: types and payloads, in their order, as of one moment (now)."""
