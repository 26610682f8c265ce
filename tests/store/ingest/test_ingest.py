"""Ingest: every line accounted for, nothing twice, one bad source stops no other."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import random
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzer.events import EventLog
from analyzer.events.appending import system
from analyzer.importers import formats
from analyzer.store import IngestResult, Store, Tally, journal_of, open_store, rebuild
from analyzer.store.ingest import read
from analyzer.store.ingest import run as ingest_run
from tests import LONG_RUNS
from tests.events.disk import Disk

Native = Callable[..., bytes]


def ids(store: Store) -> set[str]:
    """The ids of all events in the store."""
    return set(store.sql("select event_id from events order by 1")["event_id"])


def assert_accounted(result: IngestResult) -> None:
    """A line is exactly one of five things, in total and a source."""
    for tally in [result.total, *[progress.tally for progress in result.sources]]:
        assert tally.lines == tally.event_lines + tally.duplicates + tally.quarantined + tally.blank + tally.skipped
        assert min(tally.to_dict().values()) >= 0
        parts = (
            tally.event_bytes,
            tally.duplicate_bytes,
            tally.quarantined_bytes,
            tally.blank_bytes,
            tally.skipped_bytes,
        )
        assert tally.bytes == sum(parts)


def test_reading_twice_changes_nothing(memory: Store, native: Native, tmp_path: Path) -> None:
    """A second run reads no byte and adds no event."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b"))
    first, second = memory.ingest([str(path)]), memory.ingest([str(path)])
    assert (first.total.events, first.total.lines) == (2, 2)
    assert second.total == Tally()
    assert second.unchanged == 1
    assert memory.sql("select lines, events from sources").rows() == [(2, 2)]


def test_a_grown_file_is_continued(memory: Store, native: Native, tmp_path: Path) -> None:
    """Only the new lines are read, and their numbers go on."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b"))
    memory.ingest([str(path)])
    with path.open("ab") as handle:
        handle.write(native("c") + b"broken\n")
    result = memory.ingest([str(path)])
    assert (result.total.lines, result.total.events, result.total.quarantined) == (2, 1, 1)
    assert memory.sql("select line from quarantine").rows() == [(4,)]
    assert memory.sql("select max(source_line) from events").rows() == [(3,)]


def test_an_unfinished_last_line_waits_for_its_writer(memory: Store, native: Native, tmp_path: Path) -> None:
    """While someone has the log open, a torn tail is no event and no reject; its rest makes it one event."""
    path = tmp_path / "log.jsonl"
    whole = native("b")
    path.write_bytes(native("a") + whole[:40])
    with path.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        first = memory.ingest([str(path)])
        assert (first.total.lines, first.total.quarantined, first.sources[0].pending_bytes) == (1, 0, 40)
        handle.write(whole[40:])
    second = memory.ingest([str(path)])
    assert (second.total.events, second.total.quarantined) == (1, 0)
    assert ids(memory) == {"a", "b"}


def test_the_torn_last_line_of_a_dead_writer_is_in_quarantine(memory: Store, native: Native, tmp_path: Path) -> None:
    """No one has the log open, so it never ends; a whole line that only lacks its newline is an event."""
    torn, whole = tmp_path / "torn.jsonl", tmp_path / "whole.jsonl"
    torn.write_bytes(native("a") + native("b")[:40])
    whole.write_bytes(native("c") + native("d")[:-1])
    result = memory.ingest([str(torn), str(whole)])
    assert ids(memory) == {"a", "c", "d"}
    assert memory.sql("select line, byte_offset, byte_length, why from quarantine").rows() == [
        (2, len(native("a")), 40, "torn_tail")
    ]
    assert [progress.pending_bytes for progress in result.sources] == [0, 0]
    assert memory.ingest([str(torn), str(whole)]).unchanged == 2


def test_a_torn_tail_waits_where_locks_do_not_work(
    memory: Store, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell there whether its writer lives: it is never called torn, and is read once it is whole."""
    monkeypatch.setattr(system, "take_alone", lambda _: False)
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b")[:40])
    for _ in range(2):
        memory.ingest([str(path)])
        assert memory.sql("select lines, quarantined, pending_bytes from sources").rows() == [(1, 0, 40)]
    with path.open("ab") as handle:
        handle.write(native("b")[40:])
    memory.ingest([str(path)])
    assert ids(memory) == {"a", "b"}


@pytest.mark.parametrize(("written", "duplicates", "torn"), [(-1, 1, 0), (40, 0, 1)], ids=["no newline", "torn"])
def test_what_a_short_write_leaves_counts_once(
    memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int, duplicates: int, torn: int
) -> None:
    """Its record stands behind it again: what lacks its newline alone is the same event, what is torn is none."""
    with monkeypatch.context() as patch:
        Disk(2, short=written, only="write").put_in(patch)
        with EventLog(tmp_path) as log:
            given = [log.append("a.b", {"n": number}) for number in range(3)]
    total = memory.ingest([str(tmp_path)]).total
    assert (total.lines, total.events, total.duplicates, total.quarantined) == (4, 3, duplicates, torn)
    assert ids(memory) == set(given)
    assert memory.sql("select why from quarantine").rows() == [("torn",)] * torn


@pytest.mark.parametrize("rest", ["completed", "left"], ids=["completed after all", "left as it is by the next writer"])
def test_a_torn_tail_leaves_quarantine_when_the_log_goes_on(
    memory: Store, native: Native, tmp_path: Path, rest: str
) -> None:
    """The copy of a log in the making, or a new writer: the store is that of a log that was read once, at its end."""
    path = tmp_path / "log.jsonl"
    line = native("b")
    path.write_bytes(native("a") + line[:40])
    memory.ingest([str(path)])
    with path.open("ab") as handle:
        handle.write((line[40:] if rest == "completed" else b"\n") + native("c"))
    memory.ingest([str(path)])
    with open_store(":memory:") as once:
        once.ingest([str(path)])
        for sql in (
            "select event_id, source_line from events order by 1",
            "select line, byte_offset, byte_length, why from quarantine order by 1",
            "select lines, event_lines, quarantined, bytes, event_bytes, quarantined_bytes, generation from sources",
        ):
            assert memory.sql(sql).rows() == once.sql(sql).rows()
    assert ids(memory) == ({"a", "b", "c"} if rest == "completed" else {"a", "c"})


def test_a_whole_last_line_without_newline_is_taken_once(memory: Store, native: Native, tmp_path: Path) -> None:
    """A complete object needs no newline; the newline that comes later is no blank line."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b")[:-1])
    assert memory.ingest([str(path)]).total.events == 2
    with path.open("ab") as handle:
        handle.write(b"\n" + native("c"))
    result = memory.ingest([str(path)])
    assert (result.total.lines, result.total.blank, result.total.events) == (1, 0, 1)
    assert memory.sql("select max(source_line) from events").rows() == [(3,)]


@pytest.mark.parametrize("order", [("new", "old"), ("old", "new")], ids=["new name first", "old name first"])
def test_a_rotated_file_is_not_counted_twice(
    memory: Store, native: Native, tmp_path: Path, order: tuple[str, str]
) -> None:
    """Renamed under another name and replaced: the old content goes on where it was, the new is read from its start."""
    log, rotated = tmp_path / "log", tmp_path / ("log.1" if order[0] == "new" else "a-log.1")
    log.write_bytes(native("a") + native("b"))
    memory.ingest([str(tmp_path)])
    with log.open("ab") as handle:
        handle.write(native("c"))
    log.rename(rotated)
    log.write_bytes(native("d"))
    result = memory.ingest([str(tmp_path)])
    assert ids(memory) == {"a", "b", "c", "d"}
    assert (result.total.lines, result.total.duplicates) == (2, 0)


def test_a_rename_chain_is_followed(memory: Store, native: Native, tmp_path: Path) -> None:
    """log.1 → log.2, log → log.1, a new log: each content is known again under its new name."""
    (tmp_path / "log.1").write_bytes(native("a"))
    (tmp_path / "log").write_bytes(native("b"))
    memory.ingest([str(tmp_path)])
    (tmp_path / "log.1").rename(tmp_path / "log.2")
    (tmp_path / "log").rename(tmp_path / "log.1")
    (tmp_path / "log").write_bytes(native("c"))
    result = memory.ingest([str(tmp_path)])
    assert ids(memory) == {"a", "b", "c"}
    assert result.total.lines == 1
    paths = memory.sql("select source_path from sources order by source_path")["source_path"].to_list()
    assert [Path(path).name for path in paths] == ["log", "log.1", "log.2"]


def test_a_copy_gives_duplicates_and_no_second_event(memory: Store, native: Native, tmp_path: Path) -> None:
    """Two files with the same content count once; every line of the second is a duplicate."""
    (tmp_path / "a.jsonl").write_bytes(native("a") + native("b"))
    shutil.copy(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    result = memory.ingest([str(tmp_path)])
    assert (result.total.events, result.total.duplicates) == (2, 2)
    assert_accounted(result)


def test_a_rewritten_file_is_read_from_its_start(memory: Store, native: Native, tmp_path: Path) -> None:
    """Truncated and grown again beyond the old size: nothing of the new content is lost."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b"))
    memory.ingest([str(path)])
    path.write_bytes(native("c") + native("d") + native("e"))
    memory.ingest([str(path)])
    assert ids(memory) == {"a", "b", "c", "d", "e"}
    assert memory.sql("select generation from sources order by 1").rows() == [(0,), (1,)]


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compressed_logs_are_read_and_known_again(memory: Store, native: Native, tmp_path: Path, codec: str) -> None:
    """A plain log that is compressed between two runs is the same source."""
    pack = gzip.compress if codec == "gzip" else zstandard.ZstdCompressor().compress
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b"))
    memory.ingest([str(path)])
    packed = tmp_path / "log.jsonl.packed"
    packed.write_bytes(pack(path.read_bytes() + native("c")))
    path.unlink()
    result = memory.ingest([str(packed)])
    assert (result.total.lines, result.total.events) == (1, 1)
    assert ids(memory) == {"a", "b", "c"}
    assert memory.ingest([str(packed)]).unchanged == 1


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_several_members_are_one_stream(memory: Store, native: Native, tmp_path: Path, codec: str) -> None:
    """Concatenated gzip members or zstd frames are read to the last."""
    pack = gzip.compress if codec == "gzip" else zstandard.ZstdCompressor().compress
    (tmp_path / "log").write_bytes(pack(native("a")) + pack(native("b")))
    assert memory.ingest([str(tmp_path / "log")]).total.events == 2


@pytest.mark.parametrize("flipped", [False, True], ids=["cut", "flipped"])
@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_damaged_archive_is_told_and_its_good_lines_are_kept(
    memory: Store, native: Native, tmp_path: Path, codec: str, flipped: bool
) -> None:
    """Compressed data is checked to its end, and what stands before the damage is read."""
    rng = random.Random(7)
    body = b"".join(native(f"id-{number}", text=rng.randbytes(40).hex()) for number in range(4_000))
    packed = gzip.compress(body) if codec == "gzip" else zstandard.ZstdCompressor(write_checksum=True).compress(body)
    place = len(packed) * 3 // 4
    behind = bytes([packed[place] ^ 0x10]) + packed[place + 1 :] if flipped else b""
    (tmp_path / "log").write_bytes(packed[:place] + behind)
    result = memory.ingest([str(tmp_path / "log")])
    assert 1_000 < result.total.events < 4_000
    assert result.sources[0].status == "damaged"
    assert flipped or "truncated" in result.problems[0].message


def test_every_bad_line_is_in_quarantine_with_its_place(memory: Store, native: Native, tmp_path: Path) -> None:
    """File, line, byte offset, length, why, and the text without its secrets."""
    secret = "ghp_" + "a1B2" * 9
    good, bad = native("a"), f'{{"token": "{secret}"'.encode()
    path = tmp_path / "log.jsonl"
    path.write_bytes(good + b"\n" + bad + b"\n[1]\n" + b"\0\0\n" + good + b"  \r\n")
    result = memory.ingest([str(path)])
    tally = result.total
    assert (tally.lines, tally.event_lines, tally.duplicates, tally.quarantined, tally.blank) == (7, 1, 1, 3, 2)
    assert_accounted(result)
    rows = memory.sql("select line, byte_offset, byte_length, why, text from quarantine order by line").rows()
    assert [(row[0], row[3]) for row in rows] == [(3, "torn"), (4, "not_an_object"), (5, "nul_bytes")]
    assert rows[0][1:3] == (len(good) + 1, len(bad))
    assert secret not in rows[0][4]
    assert "[REDACTED:" in rows[0][4]


def test_an_event_behind_a_torn_one_is_salvaged(memory: Store, native: Native, tmp_path: Path) -> None:
    """Its checksum proves it whole; the torn part is in quarantine, and the line counts as lost in part."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a") + native("b")[:50] + native("c"))
    result = memory.ingest([str(path)])
    assert ids(memory) == {"a", "c"}
    assert (result.total.event_lines, result.total.quarantined) == (1, 1)
    assert_accounted(result)


def test_an_overlong_line_is_cut_out_in_passing(
    memory: Store, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its neighbours are kept, and quarantine says how long it was."""
    monkeypatch.setattr("analyzer.store.ingest.inputs.CHUNK", 10_000)
    monkeypatch.setattr(read.Blocks.__init__, "__kwdefaults__", {"max_line": 50_000})
    path = tmp_path / "log.jsonl"
    long = b'{"x":"' + b"y" * 123_456 + b'"}\n'
    path.write_bytes(native("a") + long + native("b"))
    result = memory.ingest([str(path)])
    assert ids(memory) == {"a", "b"}
    assert memory.sql("select line, byte_offset, byte_length, why from quarantine").rows() == [
        (2, len(native("a")), len(long), "line_too_long")
    ]
    assert result.total.bytes == path.stat().st_size
    assert memory.sql("select source_line from events order by 1").rows() == [(1,), (3,)]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without an event."""
    path = tmp_path_factory.mktemp("empty") / "s.duckdb"
    open_store(path, writable=True).close()
    return path


@settings(max_examples=12 * LONG_RUNS, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_lines_and_bytes_add_up_however_a_file_grows(
    native: Native, empty: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever the content and wherever it is cut: read in pieces or at once, the same events, lines and bytes."""
    pieces = [
        native("a"),
        native("b"),
        native("a"),
        b"\n",
        b" \r\n",
        b"{\n",
        b"[]\n",
        b"\xff\n",
        b"\0\n",
        native("c")[:30] + b"\n",
    ]
    body = b"".join(data.draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=12)))
    body = native("first") + body
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=4)))
    path = tmp_path_factory.mktemp("grow") / "log"
    # Copies of an empty store open ten times as fast as a new one is made.
    for name in ("grown", "whole"):
        shutil.copy(empty, path.with_name(f"{name}.duckdb"))
    with (
        open_store(path.with_name("grown.duckdb"), writable=True) as grown,
        open_store(path.with_name("whole.duckdb"), writable=True) as whole,
    ):
        for cut in [*cuts, len(body)]:
            path.write_bytes(body[:cut])
            assert_accounted(grown.ingest([str(path)]))
        assert_accounted(whole.ingest([str(path)]))
        query = "select event_id, source_line from events order by all"
        assert grown.sql(query).rows() == whole.sql(query).rows()
        sums = "select sum(lines), sum(quarantined), sum(blank), sum(bytes), max(generation) from sources"
        assert grown.sql(sums).rows() == whole.sql(sums).rows()
        assert whole.sql("select sum(bytes) from sources").rows()[0][0] == len(body)


def test_foreign_events_reach_the_journal_once(tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    """Derived events are kept beside the store, 0600, with their origin; a second import adds none."""
    line = {"type": "error", "timestamp": "2026-11-03T10:00:00Z", "sessionId": "g", "payload": {"code": "ECONNRESET"}}
    log = jsonl("gdd.jsonl", line)
    store_path = str(tmp_path / "fleet.duckdb")
    for _ in range(2):
        with open_store(store_path, writable=True) as store:
            store.ingest([str(log)])
        log.write_bytes(log.read_bytes())
    folder = Path(journal_of(store_path) or "")
    assert folder == tmp_path / "fleet.journal"
    (journal,) = folder.iterdir()
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    (written,) = [json.loads(text) for text in journal.read_text("utf-8").splitlines()]
    assert written["origin"] == {"format": "gdd", "path": str(log), "line": 1}
    assert written["payload"]["facts"] == {"code": "ECONNRESET"}


def test_neither_store_nor_journal_has_the_secrets_of_a_foreign_log(tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    """A record with a password is an event without it, in both."""
    line = {"type": "error", "timestamp": "2026-11-03T10:00:00Z", "sessionId": "g"}
    log = jsonl("gdd.jsonl", *[{**line, "payload": {"message": f"token=hunter2x {n}"}} for n in range(5)])
    with open_store(str(tmp_path / "a.duckdb"), writable=True) as store:
        store.ingest([str(log)])
        rows = store.sql("select * from errors").rows()
    (journal,) = (tmp_path / "a.journal").iterdir()
    assert len(rows) == len(journal.read_text().splitlines()) == 5
    assert "hunter2x" not in str(rows) + journal.read_text()


def test_a_journal_gives_the_same_errors_as_the_log_it_came_from(tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    """The foreign log may vanish: its events, places included, come back from the journal, and by a rebuild alone."""
    line = {"type": "error", "timestamp": "2026-11-03T10:00:00Z", "sessionId": "g", "payload": {"code": "ECONNRESET"}}
    log = jsonl("gdd.jsonl", line, {**line, "payload": {"message": "Too many requests"}})
    query = "select * from errors order by event_id"
    with open_store(str(tmp_path / "a.duckdb"), writable=True) as store:
        store.ingest([str(log)])
        from_log = store.sql(query)
    (tmp_path / "a.duckdb").unlink()
    log.unlink()
    rebuild(str(tmp_path / "a.duckdb"), [str(tmp_path / "a.journal")])
    with open_store(str(tmp_path / "a.duckdb")) as store:
        assert store.sql(query).equals(from_log)
    assert from_log.height == 2


def test_a_native_log_needs_no_journal(tmp_path: Path, native: Native) -> None:
    """Its own files are the truth."""
    (tmp_path / "log.jsonl").write_bytes(native("a"))
    with open_store(str(tmp_path / "s.duckdb"), writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])
    assert not (tmp_path / "s.journal").exists()


def test_what_cannot_be_read_is_reported_and_the_rest_is_read(memory: Store, native: Native, tmp_path: Path) -> None:
    """Missing, empty, looping, piped, linked and binary inputs: one problem each, and the good log gets in."""
    (tmp_path / "good.jsonl").write_bytes(native("a"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "up").symlink_to(tmp_path / "tree", target_is_directory=True)
    names = ["missing", "empty", "pipe", "loop", "tree", "*.nothing", "binary.bin", "good.jsonl"]
    result = memory.ingest([str(tmp_path / name) for name in names])
    said = {Path(problem.path).name: problem.message for problem in result.problems}
    assert set(said) == {"missing", "empty", "pipe", "loop", "tree", "*.nothing"}
    assert said["pipe"] == "not a regular file"
    assert ids(memory) == {"a"}
    assert result.unsupported() == {"binary": 1}


def test_an_unreadable_file_is_reported(memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permission denied is one problem with a hint."""

    def refuse(path: object, *_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", path)

    path = tmp_path / "log"
    path.write_bytes(b"{}")
    monkeypatch.setattr("analyzer.store.ingest.inputs.os.open", refuse)
    (problem,) = memory.ingest([str(path)]).problems
    assert problem.message == "cannot be read: Permission denied"
    assert "mode" in problem.hint


def test_an_unreadable_folder_is_one_problem(memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be listed is not also called empty, and the hint says what to do."""

    def refuse(path: object) -> object:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.scandir", refuse)
    (problem,) = memory.ingest([str(tmp_path)]).problems
    assert problem.message == "cannot be read: Permission denied"
    assert "mode" in problem.hint


def test_a_format_not_read_yet_is_named_and_read_once_it_is_known(
    memory: Store, monkeypatch: pytest.MonkeyPatch, jsonl: Callable[..., Path]
) -> None:
    """Its lines are skipped, not bad, and nothing of it is marked as read for good."""
    path = jsonl("stream.jsonl", {"type": "init", "session_id": "s", "model": "m"})
    unread = tuple(
        replace(kind, made_by="" if kind.name == "gemini_stream" else kind.made_by) for kind in formats.FORMATS
    )
    with monkeypatch.context() as earlier:
        earlier.setattr(formats, "FORMATS", unread)
        earlier.setattr(ingest_run, "BY_NAME", {kind.name: kind for kind in unread})
        first, second = memory.ingest([str(path)]), memory.ingest([str(path)])
    assert first.unsupported() == second.unsupported() == {"gemini_stream": 1}
    assert (first.total.skipped, first.total.quarantined, second.total.lines) == (1, 0, 0)
    assert memory.ingest([str(path)]).unsupported() == {}
    assert memory.sql("select session_id from sessions").rows() == [("s",)]


def test_hidden_folders_of_tools_are_walked_and_version_control_is_not(
    memory: Store, native: Native, tmp_path: Path
) -> None:
    """Agents keep their logs in folders with a dot."""
    for folder in (".design/telemetry", ".git/logs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "events.jsonl").write_bytes(native(folder))
    memory.ingest([str(tmp_path)])
    assert ids(memory) == {".design/telemetry"}


def test_the_store_beside_the_logs_is_not_read_as_a_log(native: Native, tmp_path: Path) -> None:
    """The store, its lock and its journal may lie in the folder that is read."""
    (tmp_path / "log.jsonl").write_bytes(native("a"))
    with open_store(str(tmp_path / "s.duckdb"), writable=True) as store:
        result = store.ingest([str(tmp_path)])
    assert [Path(progress.checkpoint.path).name for progress in result.sources] == ["log.jsonl"]


def test_big_inputs_are_saved_in_several_batches(
    memory: Store, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory stays bounded; the figures are those of one batch."""
    monkeypatch.setattr("analyzer.store.ingest.batch.MAX_EVENTS", 10)
    monkeypatch.setattr("analyzer.store.ingest.inputs.CHUNK", 2_000)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(native(f"id-{number % 80}") for number in range(100)) + b"bad\n")
    result = memory.ingest([str(path)])
    assert (result.total.lines, result.total.events, result.total.duplicates) == (101, 80, 20)
    assert memory.sql("select lines, events, duplicates, quarantined from sources").rows() == [(101, 80, 20, 1)]
    assert memory.ingest([str(path)]).unchanged == 1
