"""`WritableLakeStore`: a lake that is written to. What is judged and decided is in it before anything is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from analyzer.lake.location import Lake
from analyzer.lake.session import require, session
from analyzer.lake.store import LakeStore
from analyzer.lake.writing.deciding import record
from analyzer.lake.writing.judging import judge_all, keep_up
from analyzer.lake.writing.opening import ingest_held, make_where_none_is, opened, spark_failures
from analyzer.lake.writing.pruning import prune_held
from analyzer.store.db.connection import connect, store_errors
from analyzer.store.db.lock import MEMORY
from analyzer.store.decisions import decide_all

if TYPE_CHECKING:
    from analyzer.classifier import Rules
    from analyzer.importers.machine.places import LogPlace
    from analyzer.store.ingest.run import IngestResult
    from analyzer.store.upkeep.prune import Prune


class WritableLakeStore(LakeStore):
    """A lake that this process alone writes to for as long as it is open.

    Raises:
        StoreBusyError: another process writes to it.
        StoreError: as `LakeStore`.
    """

    def __init__(self, lake: Lake, *, create: bool = False) -> None:
        """With `create` an empty lake is made where there is none."""
        require(lake)
        if create:
            make_where_none_is(lake)
        self._held = ExitStack()
        self._ledger = self._held.enter_context(opened(lake))
        try:
            super().__init__(lake)
        except BaseException:
            self._held.close()
            raise

    @property
    def writable(self) -> bool:
        """It is."""
        return True

    def judge_history(self, rules: Rules = None) -> str:
        """Judge what the ruleset in force has not judged yet, in executors; its digest.

        In force is the active ruleset, else `rules` (a file, a ruleset, None: built in), which do not become active.

        Raises:
            RulesError: the rules cannot be used.
            StoreError: the lake does not take the verdicts.
        """
        with spark_failures(), store_errors():
            if self.active_ruleset is not None:
                keep_up(lambda: session(self._lake), self._ledger)
            else:
                judge_all(lambda: session(self._lake), self._ledger, rules)
        self._look_again()
        return super().judge_history(rules)

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """Record decisions of the analyzer as one batch: types and payloads, in their order, as of one moment (now).

        Raises:
            StoreError: the lake does not take them; then it has none of them.
        """
        with store_errors(), connect(MEMORY, read_only=False) as connection, self._ledger.batch():
            record(self._ledger, connection, lambda own, journal: decide_all(own, journal, decisions, at))
        self._look_again()

    def ingest(
        self, paths: Iterable[str | LogPlace], progress: Callable[[str, int, int], None] | None = None
    ) -> IngestResult:
        """Read what is new below the paths, in executors; `progress` is told each path, its place and their number.

        Raises:
            StoreError: Spark fails, or the lake refused a batch; earlier batches are kept.
        """
        try:
            return ingest_held(self._lake, self._ledger, paths, progress)
        finally:
            self._look_again()

    def prune(self, before: datetime) -> Prune:
        """Delete the events before a moment (naive UTC), with all that rests on them alone; decisions stay.

        Raises:
            StoreError: the lake cannot be read or written; then nothing of it is deleted.
        """
        try:
            return prune_held(self._lake, self._ledger, before)
        finally:
            self._look_again()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()
