"""Quarantine tried again: once, exactly, and with figures that still add up."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.events import codec
from analyzer.events.codec import Reject
from analyzer.store import Store, open_store, rebuild
from tests.store.test_rebuild import assert_same, dump, feed

Native = Callable[..., bytes]


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A codec that refuses lines with the word `newfangled`, as one of an older version might; call it to mend that."""
    real = codec.decode_object

    def refuse(line: bytes) -> object:
        return Reject("not_json", "cannot be read yet") if b"newfangled" in line else real(line)

    for module in ("analyzer.events.codec", "analyzer.importers.lines", "analyzer.store.ingest"):
        monkeypatch.setattr(f"{module}.decode_object", refuse)
    return monkeypatch.undo


def newfangled(native: Native, event_id: str) -> bytes:
    """A line that an older version refuses."""
    return native(event_id, caller="x", reason="unknown", word="newfangled")


def assert_adds_up(store: Store) -> None:
    """A line is one of five things, and quarantine holds the lines that the sources say."""
    assert store.sql(
        "from sources where lines <> event_lines + duplicates + quarantined + blank + skipped"
        " or least(event_lines, duplicates, quarantined, blank, skipped, events) < 0"
    ).is_empty()
    assert store.sql(
        "select s.source_path from sources as s left join quarantine as q on s.source_path = q.source_path"
        " group by s.source_path, s.quarantined having count(q.line) <> s.quarantined"
    ).is_empty()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_lines_that_can_be_read_now_become_events_once(
    tmp_path: Path, native: Native, refusing: Callable[[], None], pack: Callable[[bytes], bytes]
) -> None:
    """New ones, known ones, and ones that still cannot be read; plain or compressed."""
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    lines = [newfangled(native, "a"), native("b"), b"broken\n", newfangled(native, "b"), newfangled(native, "c")]
    log.write_bytes(pack(b"".join(lines)))
    feed(path, log)
    with open_store(path, writable=True) as store:
        assert store.sql("select count(*) from quarantine").item() == 4
        refusing()
        result = store.retry_quarantine()
        assert (result.tried, result.mended, result.events, result.remaining, result.gone) == (4, 3, 2, 1, [])
        assert store.sql("select event_id, source_line from events order by 1").rows() == [("a", 1), ("b", 2), ("c", 5)]
        assert store.sql("select line, why from quarantine").rows() == [(3, "not_json")]
        assert store.sql("select event_lines, duplicates, quarantined from sources").rows() == [(3, 1, 1)]
        assert_adds_up(store)
        again = store.retry_quarantine()
        assert (again.tried, again.mended, again.events, again.remaining) == (1, 0, 0, 1)
        assert store.ingest([str(log)]).unchanged == 1
    before = dump(path)
    rebuild(str(path))
    assert_same(dump(path), before)


def test_events_of_foreign_logs_reach_the_journal_too(tmp_path: Path, refusing: Callable[[], None]) -> None:
    """A rebuild without the foreign log gives them back."""
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    good = '{"type":"error.classified","timestamp":"2026-11-02T08:00:00Z","sessionId":"s","payload":{"caller":"x"}}\n'
    log.write_text(good + good.replace('"x"', '"newfangled"'), "utf-8")
    feed(path, log)
    refusing()
    with open_store(path, writable=True) as store:
        assert store.retry_quarantine().events == 1
        assert_adds_up(store)
    before = dump(path)["events"]
    log.unlink()
    path.unlink()
    feed(tmp_path / "other.duckdb", *[tmp_path / "s.journal"])
    assert len(before) == 2
    with open_store(tmp_path / "other.duckdb") as store:
        assert {row[0] for row in store.sql("select event_id from events").rows()} == {row[0] for row in before}


def test_a_file_that_is_gone_or_rewritten_keeps_its_rejects(
    tmp_path: Path, native: Native, refusing: Callable[[], None]
) -> None:
    """Nothing is read out of another content under the same name."""
    for name in ("gone", "other"):
        (tmp_path / f"{name}.jsonl").write_bytes(newfangled(native, name) + native(f"{name}2"))
    feed(tmp_path / "s.duckdb", tmp_path / "gone.jsonl", tmp_path / "other.jsonl")
    refusing()
    (tmp_path / "gone.jsonl").unlink()
    (tmp_path / "other.jsonl").write_bytes(newfangled(native, "third") * 3)
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        result = store.retry_quarantine()
        assert (result.tried, result.mended, result.remaining) == (0, 0, 2)
        assert sorted(map(os.path.basename, result.gone)) == ["gone.jsonl", "other.jsonl"]
        assert_adds_up(store)


KILLED = """
import os, signal, sys
import analyzer.store.database as database
from analyzer.store import open_store

left = int(sys.argv[2])

class Counting:
    def __init__(self, real):
        self._real = real
    def execute(self, *arguments):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._real.execute(*arguments)
    def __getattr__(self, name):
        return getattr(self._real, name)

connect = database.duckdb.connect
database.duckdb.connect = lambda *a, **k: Counting(connect(*a, **k))
with open_store(sys.argv[1], writable=True) as store:
    exec(sys.argv[3])
print("done")
"""


def killed_at_each_statement(path: Path, work: str, check: Callable[[], None]) -> int:
    """Run `work` on a copy of the store, killed before its n-th statement for n = 1, 2, ...; how many there were."""
    for step in range(1, 500):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(step), work], capture_output=True, text=True, check=False
        )
        check()
        if "done" in done.stdout:
            return step
        assert done.returncode == -9, done.stderr
    raise AssertionError("it never ends")


@pytest.mark.slow
def test_a_retry_killed_at_any_statement_mends_all_or_nothing(
    tmp_path: Path, native: Native, refusing: Callable[[], None]
) -> None:
    """Never an event without its line, never a line twice."""
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    log.write_bytes(native("b") + newfangled(native, "a") + b"broken\n")
    feed(path, log)
    refusing()
    seen = set()

    def check() -> None:
        with open_store(path) as store:
            assert_adds_up(store)
            seen.add(store.sql("select (select count(*) from events), (select count(*) from quarantine)").rows()[0])

    assert killed_at_each_statement(path, "store.retry_quarantine()", check) > 10
    assert seen == {(1, 2), (2, 1)}
