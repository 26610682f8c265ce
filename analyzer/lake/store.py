"""`LakeStore`: a store whose rows are in a lake, on a connection that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzer.classifier import Rules, ruleset_for
from analyzer.command_lines import LAKE
from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake import upkeep
from analyzer.lake.batch import make_where_none_is, settings
from analyzer.lake.connection import connected, snapshot
from analyzer.lake.former import brought_up_to_date
from analyzer.lake.location import Lake
from analyzer.lake.log import Lease
from analyzer.lake.push import FACTS, SOURCES, VERDICTS, ingest_into, machine, own_sources, retry_quarantine
from analyzer.store import Store, kept_since, survey
from analyzer.store.ingest.discover import Paths, named

if TYPE_CHECKING:
    from analyzer.importers.places import LogPlace
    from analyzer.store import IngestResult, Prune, QuarantineRetry, Reclassification, Survey


class LakeStore(Store):
    """Shows the lake as it was when it was opened, or when this store last wrote to it.

    Raises:
        StoreError: there is no lake, or it is damaged.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._snapshot = snapshot(lake)
        super().__init__(connected(self._snapshot), f"{LAKE}{lake.path}")

    @property
    def _lease(self) -> Lease:
        """Return the lease of this writer.

        Raises:
            StoreError: this store is open for reading.
        """
        raise StoreError(f"{self.path} is open for reading", "open it for writing")

    def ingest(self, paths: Paths, progress: Callable[[str, int, int], None] | None = None) -> IngestResult:
        """See `Store`."""
        token = self._lease.token
        try:
            if self._lake.master is None:
                return ingest_into(self._lake, named(paths), progress, token=token)
            from analyzer.lake.spark import ingest_by_executors

            return ingest_by_executors(self._lake, named(paths), progress)
        finally:
            self._look_again()

    def survey(self, places: Iterable[LogPlace]) -> Survey:
        """See `Store`; the sources of this machine are known."""
        own = own_sources(self._snapshot.rows[SOURCES], machine()).select(["path", "size", "mtime_ns"]).to_pylist()
        return survey(places, {row["path"]: (row["size"], row["mtime_ns"]) for row in own})

    def retry_quarantine(self) -> QuarantineRetry:
        """See `Store`; the logs of this machine are read."""
        result = retry_quarantine(self._lake, self._lease.token)
        self._look_again()
        return result

    def prune(self, before: datetime | str, *, files: bool = False, dry_run: bool = False) -> Prune:
        """See `Store`; logs of many machines are not deleted.

        Raises:
            AnalyzerError: `files` is asked for.
        """
        if files:
            raise AnalyzerError(
                "--files is for a store in a file", "leave it out: the logs of a lake stay where they are"
            )
        before = kept_since(before) if isinstance(before, str) else before
        result = upkeep.prune(self._lake, before, None if dry_run else self._lease)
        self._look_again()
        return result

    def reclassify(
        self, rules: Rules = None, *, apply: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Reclassification:
        """See `Store`."""
        if not apply:
            return super().reclassify(rules, progress=progress)
        from analyzer.store.verdicts.reclassify import compare

        ruleset, token = ruleset_for(rules), self._lease.token
        # Most of the work, which changes nothing that anybody sees yet.
        count = upkeep.judge(self._lake, token, ruleset, progress)
        before, late = upkeep.apply(self._lake, rules, ruleset, token)
        self._look_again()
        target = f"internal.{VERDICTS}"
        return compare(self._connection, ruleset.digest, target, count + late, active=before, applied=True)

    def judge_history(self, rules: Rules = None) -> str:
        """See `Store`."""
        at = self._snapshot.at
        active = settings(self._lake, at).get("active_ruleset")
        if active is not None and not self.writable:
            return active
        ruleset = ruleset_for(rules) if active is None else upkeep.ruleset_at_hand(self._lake, at)
        digest = active or ruleset_for(ruleset).digest
        judged = f"(select facts_id from internal.{VERDICTS} where ruleset = $1)"
        lacking = f"select 1 from internal.{FACTS} anti join {judged} using (facts_id) limit 1"
        if self.writable and ruleset is not None and self._connection.execute(lacking, [digest]).fetchall():
            upkeep.judge(self._lake, self._lease.token, ruleset)
            self._look_again()
        return digest

    def decide(self, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None = None) -> None:
        """See `Store`."""
        token = self._lease.token
        # They rest on the events that are shown, of which a decision is one more.
        upkeep.keep_sums(self._snapshot, self._connection, token)
        upkeep.record(self._lake, token, decisions, at)
        self._look_again()

    def _look_again(self) -> None:
        """Show the lake as it is now."""
        self._snapshot = snapshot(self._lake)
        self._connection.close()
        self._connection = connected(self._snapshot)


class WritableLakeStore(LakeStore):
    """Holds the lease for as long as it is open: nobody else decides or changes anything, and others go on adding logs.

    Raises:
        StoreBusyError: another process holds it.
    """

    def __init__(self, lake: Lake, *, create: bool = False) -> None:
        """With `create` an empty lake is made where there is none."""
        if create:
            make_where_none_is(lake)
        brought_up_to_date(lake)
        self._held = ExitStack()
        self._own = self._held.enter_context(Lease(lake).held())
        try:
            super().__init__(lake)
        except BaseException:
            self._held.close()
            raise

    @property
    def _lease(self) -> Lease:
        return self._own

    @property
    def writable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Keep the sums, and release the lake."""
        try:
            upkeep.keep_sums(self._snapshot, self._connection, self._own.token)
        finally:
            super().close()
            self._held.close()
