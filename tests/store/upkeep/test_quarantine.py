"""Quarantine tried again: once, exactly, and with figures that still add up."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.events import model
from analyzer.events.appending import system
from analyzer.store import Store, open_store, rebuild
from tests.store.killing import Victims
from tests.store.upkeep.test_rebuild import assert_same, dump, feed

Native = Callable[..., bytes]


def damaged(line: bytes) -> bytes:
    """The line with its first byte wrong: once mended, every byte stands where it stood."""
    return b"(" + line[1:]


@pytest.fixture
def around(native: Native) -> Callable[[bytes], bytes]:
    """Lines before and after, so many that a file is told by them whatever is mended in between."""
    edge = {end: b"".join(native(f"{end}{number}") for number in range(9)) for end in ("first", "last")}
    return lambda middle: edge["first"] + middle + edge["last"]


def assert_adds_up(store: Store) -> None:
    """A line is one of five things, and quarantine holds the lines that the sources say."""
    assert store.sql(
        "from sources where lines <> event_lines + duplicates + quarantined + blank + skipped"
        " or bytes <> event_bytes + duplicate_bytes + quarantined_bytes + blank_bytes + skipped_bytes"
        " or least(event_lines, duplicates, quarantined, blank, skipped, events) < 0"
    ).is_empty()
    assert store.sql(
        "select s.source_path from sources as s left join quarantine as q on s.source_path = q.source_path"
        " group by s.source_path, s.quarantined having count(q.line) <> s.quarantined"
    ).is_empty()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_lines_that_can_be_read_now_become_events_once(
    tmp_path: Path, native: Native, around: Callable[[bytes], bytes], pack: Callable[[bytes], bytes]
) -> None:
    """New ones, known ones, and ones that still cannot be read; plain or compressed."""
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    lines = [native("a"), native("b"), native("b"), native("c")]
    bad = [damaged(lines[0]), lines[1], b"broken\n", damaged(lines[2]), damaged(lines[3])]
    log.write_bytes(pack(around(b"".join(bad))))
    feed(path, log)
    log.write_bytes(pack(around(b"".join([*lines[:2], b"broken\n", *lines[2:]]))))
    with open_store(path, writable=True) as store:
        assert store.sql("select count(*) from quarantine").item() == 4
        result = store.retry_quarantine()
        assert (result.tried, result.mended, result.events, result.remaining, result.gone) == (4, 3, 2, 1, [])
        query = "select event_id, source_line from events where length(event_id) = 1 order by 1"
        assert store.sql(query).rows() == [("a", 10), ("b", 11), ("c", 14)]
        assert store.sql("select line from quarantine").rows() == [(12,)]
        assert store.sql("select event_lines, duplicates, quarantined from sources").rows() == [(21, 1, 1)]
        assert store.sql("select duplicate_bytes, quarantined_bytes from sources").rows() == [(len(lines[1]), 7)]
        assert_adds_up(store)
        again = store.retry_quarantine()
        assert (again.tried, again.mended, again.events, again.remaining) == (1, 0, 0, 1)
        assert store.ingest([str(log)]).total.events == 0
    before = dump(path)
    rebuild(str(path))
    assert_same(dump(path), before)


def test_a_line_that_an_upcaster_failed_on_is_brought_up_to_date_by_a_better_one(
    tmp_path: Path, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is what it was; the program has learned to read it."""
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    log.write_bytes(native("a") + native("b", m=1))
    for module in ("model", "rows"):
        monkeypatch.setattr(f"analyzer.events.{module}.SCHEMA_VERSION", 2)
    monkeypatch.setattr(model, "UPCASTERS", {1: lambda _, payload: {"n": payload["m"]}})
    feed(path, log)
    with open_store(path, writable=True) as store:
        assert store.sql("select line, why from quarantine").rows() == [(1, "upcast_failed")]
        monkeypatch.setattr(model, "UPCASTERS", {1: lambda _, payload: {"n": payload.get("m", 0)}})
        result = store.retry_quarantine()
        assert (result.tried, result.mended, result.events, result.remaining) == (1, 1, 1, 0)
        assert store.sql("select event_id, payload from events order by 1").rows() == [
            ("a", '{"n":0}'),
            ("b", '{"n":1}'),
        ]


def test_events_of_foreign_logs_reach_the_journal_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is made of the journal alone has them, word for word, and says where they happened. One write takes
    them there.
    """
    written: list[bytes] = []
    monkeypatch.setattr(system, "write", lambda place, data: written.append(data) or os.write(place, data))
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    foreign = (
        '{"type":"error.classified","timestamp":"2026-11-02T08:00:00Z","sessionId":"s%d","payload":{"caller":"x"},'
        '"_meta":{"host":"far"}}\n'
    )
    lines = [(foreign % number).encode() for number in range(40)]
    log.write_bytes(b"".join(lines[:20]) + b"".join(map(damaged, lines[20:23])) + b"".join(lines[23:]))
    feed(path, log)
    log.write_bytes(b"".join(lines))
    written.clear()
    with open_store(path, writable=True) as store:
        assert store.retry_quarantine().events == 3
        assert [data.count(b"\n") for data in written] == [3]
        assert_adds_up(store)
        assert store.sql("select distinct host from events").rows() == [("far",)]
    before = dump(path, ("ingested_at",))["events"]
    log.unlink()
    path.unlink()
    (tmp_path / "own.jsonl").write_bytes(b"")
    rebuild(str(path), [str(tmp_path / "own.jsonl")])
    assert len(before) == 40
    assert dump(path, ("ingested_at",))["events"] == before


def test_a_file_that_is_gone_or_rewritten_keeps_its_rejects(
    tmp_path: Path, native: Native, around: Callable[[bytes], bytes]
) -> None:
    """Nothing is read out of another content under the same name."""
    for name in ("gone", "other"):
        (tmp_path / f"{name}.jsonl").write_bytes(around(damaged(native(name))))
    feed(tmp_path / "s.duckdb", tmp_path / "gone.jsonl", tmp_path / "other.jsonl")
    (tmp_path / "gone.jsonl").unlink()
    (tmp_path / "other.jsonl").write_bytes(native("third") * 30)
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        result = store.retry_quarantine()
        assert (result.tried, result.mended, result.remaining) == (0, 0, 2)
        assert sorted(map(os.path.basename, result.gone)) == ["gone.jsonl", "other.jsonl"]
        assert_adds_up(store)


def test_a_retry_killed_at_any_statement_mends_all_or_nothing(
    tmp_path: Path, native: Native, around: Callable[[bytes], bytes], victims: Victims
) -> None:
    """Never an event without its line, never a line twice."""
    log, path = tmp_path / "log.jsonl", tmp_path / "s.duckdb"
    log.write_bytes(around(native("b") + damaged(native("a")) + b"broken\n"))
    feed(path, log)
    log.write_bytes(around(native("b") + native("a") + b"broken\n"))
    seen = set()

    def check(at: int) -> None:
        with open_store(path) as store:
            assert_adds_up(store)
            seen.add(store.sql("select (select count(*) from events), (select count(*) from quarantine)").rows()[0])

    work = f"with open_store({str(path)!r}, writable=True) as store:\n    arm(); store.retry_quarantine()"
    assert victims.killed_at_each_moment(work, check, every=16) > 3
    assert seen == {(19, 2), (20, 1)}
