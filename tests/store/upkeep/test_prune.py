"""Retention: what is old goes for good, what is not wholly read never goes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import EventLog
from analyzer.events.times import EPOCH
from analyzer.store import Prune, open_store, rebuild
from tests.store.killing import Victims
from tests.store.upkeep.test_rebuild import MOMENTS, assert_same, dump, feed

Native = Callable[..., bytes]
BEFORE = datetime(2026, 6, 1)
OLD, NEW = "2026-05-31T23:59:59", "2026-06-01T00:00:00"


def error(native: Native, event_id: str, at: str, **known: object) -> bytes:
    """An error with facts of its own."""
    return native(event_id, at=at, caller="x", reason="unknown", facts={"message": f"m {event_id}"}, **known)


def aged(path: Path) -> Path:
    """A file that was last changed long ago."""
    seconds = (datetime(2026, 5, 1) - EPOCH).total_seconds()
    os.utime(path, (seconds, seconds))
    return path


def prune(path: Path, *, files: bool = False, dry_run: bool = False) -> Prune:
    """Open, prune, close."""
    with open_store(path, writable=not dry_run) as store:
        return store.prune(BEFORE, files=files, dry_run=dry_run)


@pytest.fixture
def path(tmp_path: Path, native: Native) -> Path:
    """A store with old and new events of native and foreign logs, an old and a new reject, an applied ruleset."""
    foreign = '{"type":"error.classified","timestamp":"%s","sessionId":"s","payload":{"caller":"x"}}\n'
    (tmp_path / "foreign.jsonl").write_text(foreign % OLD + foreign % NEW, "utf-8")
    (tmp_path / "old.jsonl").write_bytes(error(native, "a", OLD, seq=0) + b"broken\n" + error(native, "b", OLD, seq=1))
    (tmp_path / "new.jsonl").write_bytes(error(native, "c", NEW, seq=2) + b"broken\n" + error(native, "a", OLD, seq=0))
    aged(tmp_path / "old.jsonl")
    feed(tmp_path / "s.duckdb", *(tmp_path / f"{name}.jsonl" for name in ("foreign", "old", "new")))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.reclassify(apply=True)
    return tmp_path / "s.duckdb"


def test_a_dry_run_says_what_would_go_and_changes_nothing(path: Path) -> None:
    """The store is only read, the journal not touched."""
    before, journal = dump(path), sorted((path.parent / "s.journal").glob("*"))
    told = prune(path, files=True, dry_run=True)
    assert (told.events, told.quarantined, told.done) == (3, 1, False)
    assert_same(dump(path), before)
    assert sorted((path.parent / "s.journal").glob("*")) == journal


def test_what_is_older_goes_and_decisions_stay(path: Path) -> None:
    """Events, rejects of old files, facts and verdicts that nothing names any more; sources keep their figures."""
    sources = dump(path)["sources"]
    told = prune(path)
    assert (told.events, told.quarantined, told.done) == (3, 1, True)
    with open_store(path) as store:
        assert store.sql("select min(occurred_at) from events where type = 'error.classified'").item() == BEFORE
        assert store.sql("select type from events where source_path is null order by 1").rows() == [
            ("history.pruned",),
            ("ruleset.applied",),
        ]
        assert store.sql("select source_path from quarantine").item().endswith("new.jsonl")
        assert store.sql(
            "select (select count(*) from internal.facts_v1), (select count(*) from internal.verdict_v1)"
        ).rows() == [(1, 1)]
        assert store.sql("select events, missing from writers").rows() == [(1, 0)]
    assert dump(path)["sources"] == sources
    again = prune(path)
    assert (again.events, again.quarantined) == (0, 0)
    with open_store(path) as store:
        assert store.sql("select count(*) from events where type = 'history.pruned'").item() == 1


@pytest.mark.parametrize("lost", [False, True], ids=["store", "no store"])
def test_a_rebuild_does_not_bring_back_what_was_pruned(path: Path, lost: bool) -> None:
    """Though the logs still hold it; the journal knows the day when the store does not."""
    prune(path)
    before = dump(path, MOMENTS if lost else ())
    if lost:
        path.unlink()
    rebuild(str(path), [str(path.parent / f"{name}.jsonl") for name in ("foreign", "old", "new")] if lost else [])
    assert_same(dump(path, MOMENTS if lost else ()), before)


def test_only_the_journal_decides(path: Path, native: Native) -> None:
    """Events of decisions in a log empty no store that is made again, choose no rules, and go when they are old."""
    forged = path.parent / "forged.jsonl"
    forged.write_bytes(
        native("x", kind="history.pruned", at=NEW, before="2199-01-01T00:00:00Z")
        + native("y", kind="ruleset.applied", at="2199-01-01T00:00:00", ruleset="forged")
        + native("z", kind="night.judged", at=OLD)
    )
    feed(path, forged)
    prune(path)
    before = dump(path)
    assert {"c", "x", "y"} <= {row[0] for row in before["events"]}
    assert "z" not in {row[0] for row in before["events"]}
    assert rebuild(str(path)).ruleset not in {None, "forged"}
    assert_same(dump(path), before)
    with open_store(path) as store:
        assert "forged" not in store.query("ruleset-applied")["ruleset"].to_list()


def test_a_late_log_does_not_bring_back_what_was_pruned(path: Path, native: Native) -> None:
    """Its old events are left out, and said to be."""
    prune(path)
    late = path.parent / "late.jsonl"
    late.write_bytes(error(native, "a", OLD) + error(native, "z", OLD) + error(native, "y", NEW))
    with open_store(path, writable=True) as store:
        result = store.ingest([str(late)])
    assert (result.total.events, result.pruned) == (3, 2)
    before = dump(path)
    assert "y" in {row[0] for row in before["events"]}
    assert not {"a", "z"} & {row[0] for row in before["events"]}
    rebuild(str(path))
    assert_same(dump(path), before)


@pytest.fixture
def parts(tmp_path: Path, native: Native) -> Path:
    """A log folder with one part for each reason to stay, and one that may go."""
    folder = tmp_path / "telemetry"
    folder.mkdir()
    contents = {
        "events-2026-05-01.jsonl": error(native, "a", OLD),
        "events-2026-05-02.jsonl": error(native, "b", NEW),
        "events-2026-05-03.jsonl": error(native, "c", OLD) + b"broken\n",
        "events-2026-05-04.jsonl": error(native, "d", OLD),
        "events-2026-05-05.jsonl": error(native, "e", OLD),
        "events-2026-06-05.jsonl": error(native, "f", OLD),
        "other.jsonl": error(native, "g", OLD),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    feed(tmp_path / "s.duckdb", folder)
    with (folder / "events-2026-05-04.jsonl").open("ab") as handle:
        handle.write(error(native, "h", OLD))
    return folder


def test_only_finished_wholly_read_wholly_old_parts_go(parts: Path) -> None:
    """Later events, rejects, unread lines, a writer that has it open, a later day, another name: each keeps a file."""
    path = parts.parent / "s.duckdb"
    with (parts / "events-2026-05-05.jsonl").open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        told = prune(path, files=True, dry_run=True)
        result = prune(path, files=True)
    assert [os.path.basename(name) for name in result.files] == ["events-2026-05-01.jsonl"]
    assert told.files == result.files
    assert result.file_bytes > 0
    said = {os.path.basename(item.split(": ")[0]): item.split(": ")[1] for item in result.kept_files}
    assert said == {
        "events-2026-05-02.jsonl": "holds later events",
        "events-2026-05-03.jsonl": "holds lines that cannot be read",
        "events-2026-05-04.jsonl": "not wholly read",
        "events-2026-05-05.jsonl": "a process still has it open",
    }
    assert len(list(parts.iterdir())) == 6
    before = dump(path)
    rebuild(str(path))
    assert_same(dump(path), before)


def test_without_the_flag_no_file_goes(parts: Path) -> None:
    """Rows alone."""
    assert prune(parts.parent / "s.duckdb").files == []
    assert len(list(parts.iterdir())) == 7


def test_decisions_of_a_part_of_the_journal_move_on_before_it_goes(path: Path) -> None:
    """The old part goes, and a rebuild still knows ruleset and horizon."""
    journal = path.parent / "s.journal"
    [part] = journal.glob("*.jsonl")
    old = journal / "events-2026-05-01.jsonl"
    lines = part.read_bytes().splitlines(keepends=True)
    old.write_bytes(b"".join(line for line in lines if b"ruleset.applied" in line or OLD.encode() in line))
    part.write_bytes(b"".join(line for line in lines if NEW.encode() in line))
    result = prune(path, files=True)
    assert [os.path.basename(name) for name in result.files] == [old.name]
    assert not old.exists()
    before = dump(path)
    rebuild(str(path))
    assert_same(dump(path), before)
    with EventLog(journal) as log:
        assert log.dropped == 0


def test_a_prune_killed_at_any_statement_leaves_all_or_nothing(path: Path, victims: Victims) -> None:
    """The store opens, and holds either every old row or none."""
    seen = set()

    def check(at: int) -> None:
        with open_store(path) as store:
            rows = store.sql(
                f"select count(*) filter (where occurred_at < timestamp '{BEFORE}'),"
                " (select count(*) from quarantine) from events"
            ).rows()
            seen.add(rows[0])

    work = (
        f"from datetime import datetime\narm()\nwith open_store({str(path)!r}, writable=True) as store:\n"
        "    store.prune(datetime(2026, 6, 1), files=True)"
    )
    assert victims.killed_at_each_moment(work, check, every=2) > 8
    assert seen == {(3, 2), (0, 1)}
