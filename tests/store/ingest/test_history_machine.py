"""Whatever happens to logs and readers, in any order: what was acknowledged is stored once, and everything adds up."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from analyzer.errors import StoreError
from analyzer.events import Event, encode
from analyzer.store import Store, open_store
from tests import LONG_RUNS
from tests.store.faults import Faulty

LIVE = "events.jsonl"
START = datetime(2026, 11, 2, 8)


class History(RuleBasedStateMachine):
    """The model is the list of acknowledged events. What has been read may be destroyed, what has not may not."""

    @initialize()
    def begin(self) -> None:
        """An empty folder and an empty store."""
        self.folder = Path(tempfile.mkdtemp())
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.live = self.logs / LIVE
        self.acknowledged: list[str] = []
        self.read_all = True
        self.files = 0
        self.clock = START
        self.store: Store = open_store(self.folder / "s.duckdb", writable=True)

    def teardown(self) -> None:
        """Nothing is left behind."""
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def _line(self, size: int) -> bytes:
        number = len(self.acknowledged)
        self.acknowledged.append(f"e-{number}")
        payload = {"caller": "c", "facts": {"message": "m" * size}}
        return encode(Event("error.classified", self.clock, "s", payload, f"e-{number}", writer="h:1:a", seq=number))

    def _append(self, data: bytes) -> None:
        torn = self.live.exists() and self.live.stat().st_size and not self.live.read_bytes().endswith(b"\n")
        with self.live.open("ab") as handle:
            handle.write(b"\n" * bool(torn) + data)
        self.read_all = False

    def _other_name(self, suffix: str = "") -> Path:
        self.files += 1
        return self.logs / f"rotated-{self.files:03}.jsonl{suffix}"

    @rule(sizes=st.lists(st.sampled_from([0, 3, 900, 5_000]), min_size=1, max_size=4))
    def append(self, sizes: list[int]) -> None:
        """Some events are written and acknowledged."""
        for size in sizes:
            self._append(self._line(size))

    @rule(kept=st.integers(1, 60), junk=st.sampled_from([b"", b"\0\0\0\n", b"\n \n", b"{}\n"]))
    def tear(self, kept: int, junk: bytes) -> None:
        """A writer dies in the middle of a line that it has not acknowledged; or leaves something else."""
        line = self._line(0)
        self.acknowledged.pop()
        self._append(junk or line[:kept].rstrip(b"\n"))

    @rule()
    def step_the_clock(self) -> None:
        """Time goes backwards."""
        self.clock -= timedelta(hours=30)

    @precondition(lambda self: self.live.exists())
    @rule()
    def rename(self) -> None:
        """Rotation by name; a new file is begun later."""
        self.live.rename(self._other_name())

    @precondition(lambda self: self.live.exists() and self.read_all)
    @rule(size=st.sampled_from([0, 900, 5_000]))
    def copytruncate_and_regrow(self, size: int) -> None:
        """Rotation by copy: the name stays and its content is another."""
        shutil.copy(self.live, self._other_name())
        self.live.write_bytes(b"")
        self._append(self._line(size))

    def _old(self) -> list[Path]:
        return sorted(path for path in self.logs.iterdir() if path.name != LIVE and path.suffix != ".gz")

    @precondition(lambda self: self._old())
    @rule(data=st.data())
    def compress(self, data: st.DataObject) -> None:
        """A rotated file is packed."""
        path = data.draw(st.sampled_from(self._old()))
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()

    @precondition(lambda self: self._old())
    @rule(data=st.data(), hard=st.booleans())
    def double(self, data: st.DataObject, hard: bool) -> None:
        """A file gets a second name, or a copy."""
        path = data.draw(st.sampled_from(self._old()))
        if hard:
            self._other_name().hardlink_to(path)
        else:
            shutil.copy(path, self._other_name())

    @precondition(lambda self: self.read_all and self._old())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """What has been read may go, and its inode may come back."""
        data.draw(st.sampled_from(self._old())).unlink()

    @rule()
    def ingest(self) -> None:
        """A run without faults."""
        result = self.store.ingest([str(self.logs)])
        assert result.total.lines >= 0
        self.read_all = True

    @rule(at=st.integers(2, 30), fault=st.sampled_from(["error", "fatal", "after"]))
    def ingest_with_a_fault(self, at: int, fault: str) -> None:
        """The n-th statement fails, or the connection is gone behind it."""
        faulty: Any = Faulty(self.store._connection, at=at, fault=fault)
        self.store._connection = faulty
        try:
            self.store.ingest([str(self.logs)])
        except (StoreError, duckdb.Error):
            pass
        finally:
            connection = getattr(self.store._connection, "connection", self.store._connection)
            self.store._connection = connection
        if faulty.faults:
            # The process would end here.
            self.store.close()
            self.store = open_store(self.folder / "s.duckdb", writable=True)

    @invariant()
    def everything_adds_up(self) -> None:
        """Each id once, nothing that was never written, no line or byte unaccounted for."""
        if not hasattr(self, "store"):
            return
        execute = self.store._connection.execute
        rows = execute("select event_id from internal.event_v1").fetchall()
        stored = [row[0] for row in rows]
        assert len(stored) == len(set(stored))
        assert set(stored) <= set(self.acknowledged)
        if self.read_all:
            assert set(stored) == set(self.acknowledged)
        wrong = execute(
            "select * from internal.source_v1 where lines <> event_lines + duplicates + quarantined + blank + skipped"
            " or bytes <> event_bytes + duplicate_bytes + quarantined_bytes + blank_bytes + skipped_bytes"
            " or bytes <> read_bytes or lines <> read_lines"
        ).fetchall()
        assert wrong == []


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=8 * LONG_RUNS,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
