"""Exactly once: through a failure of every statement, a kill at every statement, fatal errors and poisonous rows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from analyzer.errors import StoreError
from analyzer.store import Store, journal_of, open_store
from analyzer.store.ingest.batch import AccountingError
from analyzer.store.ingest.read import SourceRun
from tests import REPOSITORY, sampled
from tests.store.faults import Faulty
from tests.store.killing import Victims

Native = Callable[..., bytes]
TABLES = {
    "events": "select * exclude (ingested_at) from events order by event_id",
    "quarantine": "select * exclude (ingested_at) from quarantine order by all",
    "sources": "select * exclude (first_ingested_at, last_ingested_at, incident_at) from sources order by source_path",
    "facts": "select count(*) from internal.facts_v1",
}
GDD = '{"type":"error","timestamp":"2026-11-03T10:00:00Z","sessionId":"g","payload":{"code":"ECONNRESET"}}\n'


@pytest.fixture
def logs(tmp_path: Path, native: Native) -> Path:
    """Two native logs with a copy, a conflict and broken lines, and a foreign one."""
    folder = tmp_path / "logs"
    folder.mkdir()
    lines = [native(f"a-{n}", facts={"message": f"m {n % 3}"}, seq=n) for n in range(20)]
    (folder / "a.jsonl").write_bytes(b"".join(lines) + b"broken\n\n")
    (folder / "b.jsonl").write_bytes(lines[3] + native("a-4", text="another") + lines[5][:50] + native("b", seq=30))
    (folder / "gdd.jsonl").write_text(GDD, "utf-8")
    return folder


def contents(store: Store) -> dict[str, pl.DataFrame]:
    """Everything that ingest is answerable for."""
    connection: Any = store._connection
    connection = getattr(connection, "connection", connection)
    store._connection = connection
    return {name: store.sql(sql) if "internal" not in sql else count(connection, sql) for name, sql in TABLES.items()}


def count(connection: Any, sql: str) -> pl.DataFrame:
    """A result of one number."""
    return pl.DataFrame({"n": [connection.execute(sql).fetchall()[0][0]]})


def assert_same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    """Table by table."""
    for name, frame in expected.items():
        assert found[name].equals(frame), f"{name}: {found[name].rows()} instead of {frame.rows()}"


@pytest.fixture
def undisturbed(tmp_path: Path, logs: Path) -> dict[str, pl.DataFrame]:
    """What a run without faults leaves."""
    with open_store(tmp_path / "undisturbed.duckdb", writable=True) as store:
        store.ingest([str(logs)])
        return contents(store)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing was read into; tests copy it, as making one costs more than reading a short log."""
    path = tmp_path_factory.mktemp("empty") / "empty.duckdb"
    open_store(path, writable=True).close()
    return path


def statements(tmp_path: Path, logs: Path) -> int:
    """How many statements a run without faults executes."""
    with open_store(tmp_path / "counted.duckdb", writable=True) as store:
        faulty: Any = Faulty(store._connection, at=10**9)
        store._connection = faulty
        store.ingest([str(logs)])
        assert faulty.statements > 15
        return int(faulty.statements)


@pytest.mark.parametrize(("first", "fault"), list(enumerate(["error", "fatal", "after"])))
def test_a_statement_that_fails_once_is_gone_over(
    tmp_path: Path, logs: Path, empty: Path, undisturbed: dict[str, pl.DataFrame], first: int, fault: str
) -> None:
    """Whichever of them it is, from the first batch statement on: the store is that of an undisturbed run."""
    for at in sampled(range(2, statements(tmp_path, logs)), first, step=11):
        store = open_store(shutil.copyfile(empty, tmp_path / f"s{at}.duckdb"), writable=True)
        faulty: Any = Faulty(store._connection, at=at, fault=fault)
        store._connection = faulty
        try:
            store.ingest([str(logs)])
        except StoreError:
            # The command ends here, and is run again.
            store.close()
            store = open_store(tmp_path / f"s{at}.duckdb", writable=True)
            store.ingest([str(logs)])
        assert faulty.faults == 1
        assert_same(contents(store), undisturbed)
        store.close()
        journal = Path(journal_of(str(tmp_path / f"s{at}.duckdb")) or "")
        assert sum(len(path.read_bytes().splitlines()) for path in journal.iterdir()) == 1


def test_a_statement_that_fails_for_good_keeps_nothing_of_its_batch(
    tmp_path: Path, logs: Path, empty: Path, undisturbed: dict[str, pl.DataFrame]
) -> None:
    """The command says so, the store has all of a batch or nothing, and the next run completes it."""
    for at in sampled(range(2, statements(tmp_path, logs)), step=7):
        with open_store(shutil.copyfile(empty, tmp_path / f"s{at}.duckdb"), writable=True) as store:
            sound = store._connection
            faulty: Any = Faulty(sound, at=at, times=10**9)
            store._connection = faulty
            store._reopen = lambda: None  # type: ignore[method-assign]
            with pytest.raises((StoreError, duckdb.Error), match="disk on fire"):
                store.ingest([str(logs)])
            assert sound.execute("select count(*) from internal.event_v1").fetchall()[0][0] in {
                0,
                undisturbed["events"].height,
            }
            store._connection = sound
            store.ingest([str(logs)])
            assert_same(contents(store), undisturbed)


class Lying(Faulty):
    """A connection whose COMMIT comes back without an error and has kept nothing, as that of DuckDB can."""

    def execute(self, sql: str, parameters: Any = None) -> Any:
        """Run a statement, or the opposite of a COMMIT."""
        return super().execute("rollback" if sql == "commit" else sql, parameters)


def test_a_commit_that_kept_nothing_is_not_believed(
    tmp_path: Path, logs: Path, empty: Path, undisturbed: dict[str, pl.DataFrame]
) -> None:
    """The command says so, and the next run reads all of it."""
    with open_store(shutil.copyfile(empty, tmp_path / "s.duckdb"), writable=True) as store:
        sound = store._connection
        lying: Any = Lying(sound, at=10**9)
        store._connection = lying
        with pytest.raises(StoreError, match="did not keep the batch"):
            store.ingest([str(logs)])
        store._connection = sound
        assert store.sql("select count(*) from events").item() == 0
        store.ingest([str(logs)])
        assert_same(contents(store), undisturbed)


def test_a_batch_whose_sum_is_not_right_is_not_committed(
    tmp_path: Path, logs: Path, undisturbed: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that forgets a blank line: no event, no reject and no checkpoint of the batch is kept."""
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        with monkeypatch.context() as patched, pytest.raises(AccountingError, match="do not add up"):
            patched.setattr(SourceRun, "_count_blank", lambda *_: None)
            store.ingest([str(logs)])
        assert all(store.sql(f"from {view}").is_empty() for view in ("events", "quarantine", "sources"))
        store.ingest([str(logs)])
        assert_same(contents(store), undisturbed)


def test_a_run_killed_at_any_statement_is_completed_by_the_next(
    tmp_path: Path, logs: Path, undisturbed: dict[str, pl.DataFrame], victims: Victims
) -> None:
    """kill -9 before one moment after another, those that make the store included; nothing is missing or double."""
    path = tmp_path / "s.duckdb"

    def check(at: int) -> None:
        with open_store(path, writable=True) as store:
            store.ingest([str(logs)])
            assert_same(contents(store), undisturbed)
        for left in tmp_path.glob("s.*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    work = f"arm()\nwith open_store({str(path)!r}, writable=True) as store:\n    store.ingest([{str(logs)!r}])"
    assert victims.killed_at_each_moment(work, check) > 10


@pytest.mark.parametrize("fault", ["error", "fatal"])
def test_a_row_that_the_database_fails_on_costs_only_its_line(tmp_path: Path, native: Native, fault: str) -> None:
    """It is found by halving, stands in quarantine as poison, and all others are stored."""
    lines = [native(f"id-{n}", text="deadly" if n in {7, 41} else "fine") for n in range(60)]
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        sound = store._connection

        def again() -> Any:
            # A fatal error ends the connection, not the fault.
            store._connection.close()
            fresh = reopen()
            return Faulty(fresh, at=1, fault=fault, times=10**9, marker="deadly")

        faulty: Any = Faulty(sound, at=1, fault=fault, times=10**9, marker="deadly")
        reopen: Any = store._reopen()
        store._connection = faulty
        store._reopen = lambda: again  # type: ignore[method-assign]
        result = store.ingest([str(tmp_path / "log.jsonl")])
        assert (result.total.events, result.total.quarantined) == (58, 2)
        assert result.total.quarantined_bytes == len(lines[7]) + len(lines[41])
        assert store.sql("select line, byte_offset, why from quarantine order by line").rows() == [
            (8, sum(map(len, lines[:7])), "poison"),
            (42, sum(map(len, lines[:41])), "poison"),
        ]


def test_a_full_disk_is_told_and_the_next_run_goes_on(
    tmp_path: Path, logs: Path, undisturbed: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row is blamed for it."""
    path = tmp_path / "s.duckdb"
    with open_store(path, writable=True) as store:
        from analyzer.store.ingest.write import Writer

        def full(self: Any, batch: Any) -> None:
            raise duckdb.IOException("IO Error: Could not write all bytes to file: No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(Writer, "_insert_events", full)
            with pytest.raises(StoreError, match="No space left") as caught:
                store.ingest([str(logs)])
        assert "free space" in caught.value.hint
        store.ingest([str(logs)])
        assert_same(contents(store), undisturbed)


LIMITED = """
import resource, sys
from analyzer.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
main()
"""


@pytest.mark.parametrize("size", [300_000, 1_500_000])
def test_a_disk_that_is_really_full_is_told_and_the_next_run_completes(
    tmp_path: Path, native: Native, size: int
) -> None:
    """The kernel refuses to let any file grow further: exit 3, all of a batch or nothing, then each event once."""
    lines = [native(f"e-{n:05}", facts={"message": f"{n * 2654435761 % 2**64:x}" * 9}, seq=n) for n in range(15_000)]
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    log.write_bytes(b"".join(lines))
    arguments = ["ingest", str(log), "--store", str(path)]
    command = [sys.executable, "-c", LIMITED, str(size), *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "free space" in done.stderr
    command = [sys.executable, "-c", "from analyzer.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open_store(path) as store:
        assert store.sql("select count(*), count(distinct event_id) from events").rows() == [(15_000, 15_000)]
        assert store.sql("select lines, event_lines, bytes, pending_bytes from sources").rows() == [
            (15_000, 15_000, log.stat().st_size, 0)
        ]
