"""Logs that are unusual and right: very many, very empty, out of order, moved about, growing while compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from analyzer.errors import InputError
from analyzer.store import Store, open_store
from analyzer.store.ingest.read import SourceRun
from tests import sampled

Native = Callable[..., bytes]
GDD = b'{"type":"error","sessionId":"%d","timestamp":"2026-11-03T10:00:00Z","payload":{"message":"Overloaded"}}\n'


def ids(store: Store) -> list[str]:
    """Of all events."""
    return sorted(store.sql("select event_id from events")["event_id"])


def test_very_many_small_files_are_read_once(memory: Store, native: Native, tmp_path: Path) -> None:
    """One event each, and the second run has nothing to do."""
    for number in range(1_000):
        (tmp_path / f"{number}.jsonl").write_bytes(native(f"e-{number:04}"))
    assert memory.ingest([str(tmp_path)]).total.events == 1_000
    assert memory.ingest([str(tmp_path)]).unchanged == 1_000
    assert len(ids(memory)) == 1_000


@pytest.mark.parametrize("small", [0, 2, 4, 100])
def test_rows_are_the_same_however_many_share_a_frame(
    native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    """Places, sources and origins of small and large blocks; one that could not be read to its end leaves nothing."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "1.jsonl").write_bytes(b"broken\n" + native("a", seq=0) + b"\n" + native("b", seq=1))
    (logs / "2.jsonl").write_bytes(GDD % 1 + b"\n" + GDD % 2)
    (logs / "3.jsonl").write_bytes(native("lost"))
    (logs / "4.jsonl").write_bytes(native("c").rstrip(b"\n"))
    (logs / "5.jsonl").write_bytes(GDD % 3 + GDD % 1)
    (logs / "6.jsonl").write_bytes(native("d") + native("a", seq=0) + native("e") + native("f"))
    run = SourceRun.run

    def fail(source: SourceRun) -> Iterator[None]:
        yield from run(source)
        if source._source.path.endswith("3.jsonl"):
            raise InputError("the disk says no")

    monkeypatch.setattr(SourceRun, "run", fail)
    query = "select * exclude (ingested_at) from events order by all"

    def read(at_most: int, path: Path) -> tuple[list[object], list[object], list[object]]:
        monkeypatch.setattr("analyzer.store.ingest.batch._MAX_ROWS", at_most)
        with open_store(path, writable=True) as store:
            total = store.ingest([str(logs)]).total.to_dict()
        (part,) = path.with_suffix(".journal").glob("*.jsonl")
        journal = [json.loads(line)["origin"] for line in part.read_text("utf-8").splitlines()]
        with open_store(path) as store:
            return store.sql(query).rows(), journal, sorted(total.items())

    events, journal, total = read(256, tmp_path / "usual.duckdb")
    assert (len(events), len(journal)) == (9, 3)
    assert read(small, tmp_path / "other.duckdb") == (events, journal, total)


def test_very_many_blank_lines_are_counted_and_cost_no_row(memory: Store, native: Native, tmp_path: Path) -> None:
    """Half a million of them between two events, whose line numbers are right."""
    (tmp_path / "log").write_bytes(native("a") + b"\n" * 500_000 + native("b"))
    tally = memory.ingest([str(tmp_path / "log")]).total
    assert (tally.lines, tally.blank, tally.quarantined) == (500_002, 500_000, 0)
    assert memory.sql("select source_line from events order by 1").rows() == [(1,), (500_002,)]


def test_events_may_come_late_out_of_order_and_from_the_future(memory: Store, native: Native, tmp_path: Path) -> None:
    """They are stored as they say, whatever has been read before them; reading goes on by place and not by time."""
    log = tmp_path / "log"
    log.write_bytes(
        native("now") + native("future", at="2199-01-01T00:00:00") + native("earlier", at="2020-01-01T00:00:00")
    )
    memory.ingest([str(log)])
    with log.open("ab") as handle:
        handle.write(native("late", at="2019-01-01T00:00:00"))
    assert memory.ingest([str(log)]).total.events == 1
    rows = memory.sql("select event_id from events order by occurred_at").rows()
    assert [row[0] for row in rows] == ["late", "earlier", "now", "future"]


@pytest.mark.parametrize("size", sampled([1, 2, 3, 7], 1, step=2))
def test_a_line_that_comes_in_pieces_is_an_event_once_it_is_whole(
    memory: Store, native: Native, tmp_path: Path, size: int
) -> None:
    """Pieces of any size, cut inside of characters too, each of them read; never early, never twice."""
    log, line = tmp_path / "log", native("b", text="é中🙂" * 3)
    log.write_bytes(native("a"))
    memory.ingest([str(log)])
    begin = line.index("é".encode())
    end = begin + 30
    with log.open("ab") as handle:
        handle.write(line[:begin])
    for piece in [*(line[start : min(start + size, end)] for start in range(begin, end, size)), line[end:]]:
        memory.ingest([str(log)])
        assert ids(memory) == ["a"]
        with log.open("ab") as handle:
            handle.write(piece)
    memory.ingest([str(log)])
    assert ids(memory) == ["a", "b"]
    assert memory.sql("select lines, event_lines, quarantined from sources").rows() == [(2, 2, 0)]


def test_a_log_that_is_moved_away_and_back_goes_on_where_it_was(native: Native, tmp_path: Path) -> None:
    """It grows while nobody looks."""
    log, elsewhere = tmp_path / "logs" / "log", tmp_path / "elsewhere"
    log.parent.mkdir()
    log.write_bytes(native("a"))
    with open_store(":memory:") as store:
        store.ingest([str(log.parent)])
        log.rename(elsewhere)
        store.ingest([str(log.parent)])
        elsewhere.write_bytes(elsewhere.read_bytes() + native("b"))
        elsewhere.rename(log)
        result = store.ingest([str(log.parent)])
        assert (result.total.lines, result.total.events, result.total.duplicates) == (1, 1, 0)
        assert store.sql("select lines, generation, incident from sources").rows() == [(2, 0, None)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_an_archive_that_grows_by_members_is_continued(
    memory: Store, native: Native, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """Under a name that says nothing about it."""
    log = tmp_path / "log.txt"
    log.write_bytes(pack(native("a")))
    memory.ingest([str(log)])
    log.write_bytes(log.read_bytes() + pack(native("b")))
    result = memory.ingest([str(log)])
    assert (result.total.lines, result.total.events) == (1, 1)
    assert ids(memory) == ["a", "b"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_garbage_behind_an_archive_is_told_and_costs_none_of_its_events(
    memory: Store, native: Native, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """What stands before it was whole."""
    (tmp_path / "log").write_bytes(pack(native("a") + native("b")) + b"garbage")
    result = memory.ingest([str(tmp_path / "log")])
    assert ids(memory) == ["a", "b"]
    assert [progress.status for progress in result.sources] == ["damaged"]
    assert result.problems
