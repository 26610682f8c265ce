"""Logs that grow, are rotated, cut, rewritten and let go of: each new line is told once, and nothing that was there."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analyzer.events import Event, encode
from analyzer.events.times import format_time, now
from analyzer.store import following
from analyzer.store.following import Changes, Tails

ERROR = "error.classified"
Told = Callable[[], list[str]]


def line(name: str, at: datetime | None = None, message: str = "it broke") -> bytes:
    """An error of our own log."""
    return encode(Event(ERROR, at or now(), "s-1", {"reason": "unknown", "facts": {"message": message}}, name))


def transcript(name: str, at: datetime) -> bytes:
    """A call of a tool in a transcript of Claude Code that the API refuses."""
    record = {
        "type": "assistant",
        "uuid": name,
        "sessionId": "s-2",
        "timestamp": format_time(at),
        "cwd": "/home/me/shop",
        "isApiErrorMessage": True,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "API Error: 529 overloaded_error"}]},
    }
    return json.dumps(record).encode() + b"\n"


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Told]]:
    """Begins to watch the folder; each call of what comes back gives the ids of what is new, by the clock of no one."""
    monkeypatch.setattr(following, "LOOKED_SECONDS", 0)
    monkeypatch.setattr(following, "WALKED_SECONDS", 0)
    monkeypatch.setattr(following, "SHARE", 1e9)

    def watch() -> Told:
        seen, reading = Changes([str(tmp_path)]), Tails(now(), {ERROR})

        def new() -> list[str]:
            changed = seen.changed().items()
            found = [event for path, size in changed for event in reading.new(path, size, seen.folder_of(path))]
            assert not reading.problems
            return [event.id for event in found]

        return new

    yield watch


def test_new_lines_alone_are_told_and_each_once(tmp_path: Path, told: Callable[[], Told]) -> None:
    """Neither what was there, nor a line before its end is written; a file that appears is read from its start."""
    log = tmp_path / "a.jsonl"
    log.write_bytes(line("old"))
    new = told()
    assert new() == []
    rest = line("b")
    with log.open("ab") as handle:
        handle.write(line("a") + rest[:30])
        handle.flush()
        assert new() == ["a"]
        handle.write(rest[30:])
    assert new() == ["b"]
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.jsonl").write_bytes(line("c"))
    assert new() == ["c"]
    assert new() == []


def test_a_line_that_was_begun_before_the_watch_is_told_when_it_ends(tmp_path: Path, told: Callable[[], Told]) -> None:
    """What stood there of it was not told to anybody."""
    log, whole = tmp_path / "a.jsonl", line("a")
    log.write_bytes(line("old") + whole[:40])
    new = told()
    log.write_bytes(line("old") + whole)
    assert new() == ["a"]


def test_a_rotated_log_goes_on_and_a_cut_one_starts_again(tmp_path: Path, told: Callable[[], Told]) -> None:
    """Under its new name nothing is told twice, and the new file below the old name is told whole."""
    log = tmp_path / "a.jsonl"
    log.write_bytes(line("old"))
    new = told()
    log.write_bytes(line("old") + line("a"))
    assert new() == ["a"]
    log.rename(tmp_path / "a.jsonl.1")
    log.write_bytes(line("b"))
    assert new() == ["b"]
    os.truncate(log, 0)
    assert new() == []
    log.write_bytes(line("c"))
    assert new() == ["c"]


def test_history_in_a_new_file_is_not_news(tmp_path: Path, told: Callable[[], Told]) -> None:
    """A session that is taken up again begins with what it had said; a clock that is late by minutes does no harm."""
    new = told()
    (tmp_path / "a.jsonl").write_bytes(
        line("ago", now() - timedelta(hours=2)) + line("a", now() - timedelta(minutes=5))
    )
    assert new() == ["a"]


def test_a_foreign_log_is_read_by_its_reader(tmp_path: Path, told: Callable[[], Told]) -> None:
    """From its start, because the reader has to know what came before; what was there is not told."""
    log = tmp_path / "t.jsonl"
    log.write_bytes(transcript("u-1", now()))
    new = told()
    log.write_bytes(log.read_bytes() + transcript("u-2", now()))
    assert len(new()) == 1
    log.write_bytes(log.read_bytes() + transcript("u-3", now()) + transcript("u-4", now()))
    assert len(new()) == 2


def test_secrets_are_taken_out_and_origins_told(tmp_path: Path) -> None:
    """As an ingest does it."""
    log, secret = tmp_path / "a.jsonl", "sk-ant-" + "api03-" + "Ab1" * 31 + "AA"
    log.write_bytes(line("old") + line("a", message=f"key {secret} refused"))
    (event,) = Tails(now(), {ERROR}).new(str(log), len(line("old")), None)
    assert secret not in str(event.payload)
    assert "refused" in event.payload["facts"]["message"]
    assert event.origin is not None
    assert (event.origin.format, event.origin.path, event.origin.line) == ("analyzer", str(log), 2)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was let go of is read again from its start, and tells nothing twice; ids are forgotten in their order."""
    monkeypatch.setattr(following, "MOST_OPEN", 2)
    monkeypatch.setattr(following, "MOST_TOLD", 3)
    reading = Tails(now(), {ERROR})
    logs = [tmp_path / f"{place}.jsonl" for place in range(4)]
    for place, log in enumerate(logs):
        log.write_bytes(line(f"a{place}"))
        assert [event.id for event in reading.new(str(log), 0, None)] == [f"a{place}"]
    assert (len(reading._tails), list(reading._shown_ids)) == (2, ["a1", "a2", "a3"])
    size = logs[0].stat().st_size
    logs[0].write_bytes(logs[0].read_bytes() + line("b0"))
    assert [event.id for event in reading.new(str(logs[0]), size, None)] == ["b0"]


def test_what_is_no_log_is_not_read_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that grows is looked into when it is twice as long, since it may become a log; archives never are."""
    heads = []
    monkeypatch.setattr(following, "detect", lambda head: heads.append(1) or DETECT(head))
    reading, log = Tails(now(), {ERROR}), tmp_path / "notes.txt"
    log.write_bytes(b"hello\n" * 10)
    for _ in range(5):
        log.write_bytes(log.read_bytes() + b"hello\n")
        assert reading.new(str(log), 0, None) == []
    assert len(heads) == 1
    log.write_bytes(line("a"))
    assert [event.id for event in reading.new(str(log), 0, None)] == ["a"]
    (tmp_path / "old.gz").write_bytes(b"\x1f\x8b" + b"\0" * 100)
    assert reading.new(str(tmp_path / "old.gz"), 0, None) == []


def test_a_file_that_no_reader_knows_is_told_once(tmp_path: Path) -> None:
    """By its path and what it looks like; an empty one may become anything, and what becomes a log is read."""
    reading = Tails(now(), {ERROR})
    strange, empty, packed = (tmp_path / name for name in ("strange.log", "empty.jsonl", "old.gz"))
    strange.write_bytes(b"Once upon a time\n")
    empty.write_bytes(b"")
    packed.write_bytes(b"\x1f\x8b" + b"\0" * 100)
    for _ in range(3):
        for path in (strange, empty, packed):
            assert reading.new(str(path), 0, None) == []
        strange.write_bytes(strange.read_bytes() * 9)
    assert [(problem.path, problem.message) for problem in reading.problems] == [
        (str(strange), "is not watched: not read yet, or no log (format: text)"),
        (str(packed), "is not watched: it is packed (gzip)"),
    ]
    assert all(problem.hint for problem in reading.problems)
    empty.write_bytes(line("a"))
    assert [event.id for event in reading.new(str(empty), 0, None)] == ["a"]


def test_a_file_that_no_reader_knows_is_told_before_it_changes(tmp_path: Path) -> None:
    """Of those that were named, each once; one that a reader knows is silent, and goes on where it was."""
    strange, known = tmp_path / "strange.log", tmp_path / "a.jsonl"
    strange.write_bytes(b"Once upon a time\n")
    known.write_bytes(line("a"))
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "b.log").write_bytes(b"Once upon a time\n")
    changes, reading = Changes([str(strange), str(known), str(tmp_path / "inside")]), Tails(now(), {ERROR})
    assert sorted(changes.named) == [str(known), str(strange)]
    size = known.stat().st_size
    for path, before in [*changes.named.items()] * 2:
        reading.look(path, before)
    assert [problem.path for problem in reading.problems] == [str(strange)]
    known.write_bytes(line("a") + line("b"))
    assert [event.id for event in reading.new(str(known), size, None)] == ["b"]


DETECT = following.detect


def test_a_file_that_is_gone_or_a_planted_link_gives_nothing(tmp_path: Path) -> None:
    """Between the walk and the reading anything may happen."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "secret.jsonl").write_bytes(line("a"))
    (tmp_path / "logs" / "b.jsonl").symlink_to(tmp_path / "secret.jsonl")
    reading = Tails(now(), {ERROR})
    assert reading.new(str(tmp_path / "none.jsonl"), 0, None) == []
    assert reading.new(str(tmp_path / "logs" / "b.jsonl"), 0, str(tmp_path / "logs")) == []


def test_a_database_is_seen_to_change_by_its_write_ahead_log(tmp_path: Path, told: Callable[[], Told]) -> None:
    """Its own file does not change until the writer tidies up."""
    path = tmp_path / "x.db"
    database = sqlite3.connect(path)
    database.execute("pragma journal_mode=wal")
    database.execute("create table t (a)")
    database.commit()
    seen = Changes([str(tmp_path)])
    seen.changed()
    database.execute("insert into t values (1)")
    database.commit()
    told()
    assert str(path) in seen.changed()
    database.close()


def test_what_comes_and_goes_has_changed(tmp_path: Path, told: Callable[[], Told]) -> None:
    """Each once; and what was there at first has not."""
    told()
    log = tmp_path / "a.jsonl"
    log.write_bytes(line("a"))
    seen = Changes([str(tmp_path)])
    assert (seen.files, seen.changed()) == (1, {})
    log.unlink()
    assert seen.changed() == {str(log): 0}
    assert seen.changed() == {}


def test_quiet_files_are_looked_at_more_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has just changed at every call, the others when their time has come."""
    busy, quiet = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for each in (busy, quiet):
        each.write_bytes(b"")
    seen = Changes([str(tmp_path)])
    busy.write_bytes(b"1")
    assert list(seen.changed()) == [str(busy)]
    for each in (busy, quiet):
        each.write_bytes(b"12")
    assert list(seen.changed()) == [str(busy)]
    seen._next_look = 0
    assert list(seen.changed()) == [str(quiet)]
