"""Rebuild: the same answers from journal and logs, whatever became of the store, and whatever moment it dies at."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analyzer.errors import StoreError
from analyzer.store import open_store, rebuild, views
from analyzer.store.db.location import kept_of, work_of
from tests.store.killing import Victims

Native = Callable[..., bytes]
Dump = dict[str, list[tuple[Any, ...]]]

MOMENTS = ("ingested_at", "first_ingested_at", "last_ingested_at", "judged_at")
"""What a store knows of its own past alone: no log says it."""

RULES = """
[[rule]]
id = "user.rehydration"
reason = "network_transient"
detail = "overloaded"
text = ["snapshot is being rehydrated"]
source = "seen in our own logs"
examples = ["Design file snapshot is being rehydrated, come back in 9 s", "the snapshot is being rehydrated"]
counter_examples = ["the design file is missing"]
"""


def dump(path: str | Path, without: tuple[str, ...] = ()) -> Dump:
    """Every row of every view, sorted."""
    with open_store(path) as store:
        return {
            name: sorted(
                store.sql(f"select {_columns(name, without)} from {name}").rows(),
                key=repr,
            )
            for name, header in views().items()
            if not header.params
        }


def _columns(view: str, without: tuple[str, ...]) -> str:
    return ", ".join(f'"{column.name}"' for column in views()[view].columns if column.name not in without)


def place_of(view: str, column: str, without: tuple[str, ...] = ()) -> int:
    """Where a column stands in the rows of a dump."""
    return [item.name for item in views()[view].columns if item.name not in without].index(column)


def total(found: Dump, view: str, column: str) -> int:
    """The sum of a column."""
    return sum(row[place_of(view, column)] for row in found[view])


def assert_same(after: Dump, before: Dump) -> None:
    """Told by the rows that differ."""
    for name, rows in before.items():
        assert [row for row in after[name] if row not in rows] == [row for row in rows if row not in after[name]], name
        assert len(after[name]) == len(rows), name


def feed(path: str | Path, *paths: str | Path) -> None:
    """One night's ingest."""
    with open_store(path, writable=True) as store:
        store.ingest([str(item) for item in paths])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, samples: Path, native: Native) -> Iterator[Path]:
    """A store with its logs, and beside their folder a copy of it, from which each test has them back."""
    home = tmp_path_factory.mktemp("rebuild") / "home"
    home.mkdir()
    # What is no log is known by its times, and the copies that tests get have others.
    shutil.copytree(samples, home / "logs", ignore=shutil.ignore_patterns("README.md"))
    _feed_nights(home, native)
    shutil.copytree(home, home.with_name("kept"))
    yield home


@pytest.fixture
def store(made: Path) -> Path:
    """A store fed over several nights, in the place that it knows its logs by, as if no other test had been there."""
    shutil.rmtree(made)
    shutil.copytree(made.with_name("kept"), made)
    return made / "s.duckdb"


@pytest.fixture
def logs(request: pytest.FixtureRequest, tmp_path: Path, samples: Path) -> Path:
    """The logs of the store, or a copy of the samples where there is none; they may be changed."""
    if "store" in request.fixturenames:
        found: Path = request.getfixturevalue("store").parent / "logs"
        return found
    shutil.copytree(samples, tmp_path / "logs")
    return tmp_path / "logs"


def _feed_nights(home: Path, native: Native) -> None:
    """Growth, copies, rotation, rejects, a compressed log, a ruleset of its own."""
    logs, path = home / "logs", home / "s.duckdb"
    transcript = logs / "claude-transcript.jsonl"
    whole = transcript.read_bytes()
    transcript.write_bytes(whole[: len(whole) // 2])
    feed(path, logs)
    transcript.write_bytes(whole)
    feed(path, logs)
    own = logs / "own.jsonl"
    own.write_bytes(native("a", caller="x", reason="unknown", seq=0) + b"broken\n")
    feed(path, logs)
    (logs / "copy.jsonl").write_bytes(native("b", caller="x", reason="unknown", seq=1))
    feed(path, logs)
    with own.open("ab") as handle:
        handle.write(native("b", caller="x", reason="unknown", seq=1) + native("c", caller="y", reason="unknown"))
    (logs / "packed.jsonl.gz").write_bytes(gzip.compress(native("d", caller="z", reason="unknown") * 3))
    feed(path, logs)
    with open_store(path, writable=True) as opened:
        opened.reclassify(apply=True)
    (home / "rules.toml").write_text(RULES, "utf-8")
    with open_store(path, writable=True) as opened:
        opened.reclassify(str(home / "rules.toml"), apply=True)
    (logs / "late.jsonl").write_bytes(
        native(
            "late",
            at="2100-01-01T00:00:00",
            caller="x",
            reason="unknown",
            facts={"message": "snapshot is being rehydrated, 3"},
        )
    )
    feed(path, logs)
    (home / "rules.toml").unlink()


def test_a_rebuild_gives_the_same_store(store: Path) -> None:
    """Every row of every view, moments included; verdicts, the active ruleset and its rules too."""
    before = dump(store)
    result = rebuild(str(store))
    assert_same(dump(store), before)
    assert (result.former, result.vanished, result.carried_events, result.unjudged) == ("read", [], 0, 0)
    assert result.events == len(before["events"]) > 100
    assert {row[1] for row in before["verdicts"]} >= {result.ruleset}


def test_a_rebuild_of_a_rebuild_changes_nothing(store: Path) -> None:
    """And ingest finds nothing new afterwards."""
    feed(store, store.parent / "logs")
    rebuild(str(store))
    before = dump(store)
    rebuild(str(store))
    assert_same(dump(store), before)
    with open_store(store, writable=True) as opened:
        found = opened.ingest([str(store.parent / "logs")])
    assert (found.total.lines, found.total.events) == (0, 0)
    assert_same(dump(store), before)


def test_a_log_that_was_cut_and_has_grown_again_is_two_sources(store: Path, logs: Path) -> None:
    """The shorter one is part of the longer: it has not vanished."""
    transcript = logs / "claude-transcript.jsonl"
    whole = transcript.read_bytes()
    transcript.write_bytes(whole[: whole.rindex(b"\n", 0, len(whole) // 3) + 1])
    feed(store, logs)
    transcript.write_bytes(whole)
    feed(store, logs)
    before = dump(store)
    assert rebuild(str(store)).vanished == []
    assert_same(dump(store), before)


def test_what_is_new_in_the_logs_waits_for_ingest(store: Path, logs: Path, native: Native) -> None:
    """A rebuild reads each source as far as it had been read; the next ingest goes on from there."""
    before = dump(store)
    with (logs / "own.jsonl").open("ab") as handle:
        handle.write(native("new", caller="x", reason="unknown"))
    with (logs / "packed.jsonl.gz").open("ab") as handle:
        handle.write(gzip.compress(native("packed", caller="x", reason="unknown")))
    rebuild(str(store))
    assert_same(dump(store), before)
    feed(store, logs)
    with open_store(store) as opened:
        assert opened.sql("select source_line from events where event_id = 'new'").rows() == [(5,)]
        assert opened.sql("select source_line from events where event_id = 'packed'").rows() == [(4,)]
        assert opened.sql("select sum(lines) from sources where source_path like '%own.jsonl'").item() == 5


def test_rows_of_logs_that_are_gone_are_carried_over_and_marked(store: Path, logs: Path) -> None:
    """Foreign, native, rewritten: nothing is lost, and their sources are called vanished."""
    before = dump(store)
    gone = [logs / "claude-transcript.jsonl", logs / "own.jsonl", logs / "gdd-events.jsonl"]
    for path in gone[:2]:
        path.unlink()
    gone[2].write_text('{"type":"other"}\n', "utf-8")
    result = rebuild(str(store))
    after = dump(store)
    assert set(result.vanished) == {str(path) for path in gone}
    assert result.carried_events > 0
    assert {name: rows for name, rows in after.items() if name != "sources"} == {
        name: rows for name, rows in before.items() if name != "sources"
    }
    with open_store(store) as opened:
        marked = opened.sql("select distinct source_path from sources where status = 'vanished'")
        assert set(marked["source_path"]) >= {str(path) for path in gone}
        assert opened.sql("select sum(lines), sum(events) from sources").rows() == [
            (total(before, "sources", "lines"), total(before, "sources", "events"))
        ]


def test_a_log_that_was_renamed_is_found_below_the_paths(store: Path, logs: Path) -> None:
    """It is not read twice, and not called vanished."""
    before = dump(store, ("source_path",))
    (logs / "claude-transcript.jsonl").rename(logs / "elsewhere.jsonl")
    result = rebuild(str(store), [str(logs)])
    assert (result.vanished, result.carried_events) == ([], 0)
    assert_same(dump(store, ("source_path",)), before)


def spoil(path: Path, how: str) -> None:
    """Make a store one that does not open, or that is not there."""
    if how == "gone":
        path.unlink()
    elif how == "version":
        duckdb.connect(str(path)).execute(
            "update internal.store_v1 set value = '0' where key = 'schema_version'"
        ).close()
    elif how == "block":
        data = bytearray(path.read_bytes())
        for at in range(12288 + 500, len(data), 4096):
            data[at] ^= 0xFF
        path.write_bytes(bytes(data))
    else:
        code = (
            "import duckdb, os, sys\n"
            "connection = duckdb.connect(sys.argv[1])\n"
            "connection.execute(\"insert into internal.store_v1 values ('x', repeat('y', 99))\")\n"
            "os._exit(0)"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        wal = Path(f"{path}.wal")
        data = bytearray(wal.read_bytes())
        data[data.index(b"y" * 99)] ^= 0xFF
        wal.write_bytes(bytes(data))


@pytest.mark.parametrize("how", ["gone", "block", "wal"])
def test_a_store_that_does_not_open_is_made_again_from_logs_and_journal(store: Path, logs: Path, how: str) -> None:
    """All views are equal but for the moments that no log knows; the broken one is kept aside, its WAL with it."""
    before = dump(store, MOMENTS)
    spoil(store, how)
    if how != "gone":
        with pytest.raises((StoreError, duckdb.Error)):
            dump(store)
    with pytest.raises(StoreError, match=r"no store|cannot be read") as caught:
        rebuild(str(store))
    assert "analyzer rebuild" in caught.value.hint
    result = rebuild(str(store), [str(logs)])
    assert result.former == ("missing" if how == "gone" else "unreadable")
    assert_same(dump(store, MOMENTS), before)
    aside = f"{store}.before-rebuild"
    assert os.path.exists(aside) == (how != "gone")
    assert os.path.exists(f"{aside}.wal") == (how == "wal")
    assert not os.path.exists(f"{store}.wal")


@pytest.mark.parametrize("gone", [False, True], ids=["log there", "log gone"])
def test_a_store_of_another_version_keeps_what_it_knows(store: Path, logs: Path, gone: bool) -> None:
    """It is not opened by the views of today, and may lack columns that were not there yet."""
    before = dump(store)
    with duckdb.connect(str(store)) as connection:
        connection.execute("update internal.store_v1 set value = '0' where key = 'schema_version'")
        for column in ("line_open", "codec", "pending_bytes"):
            connection.execute(f"alter table internal.source_v1 drop column {column}")
        connection.execute("alter table internal.quarantine_v1 drop column detail")
    with pytest.raises(StoreError, match="another version") as caught:
        open_store(store)
    assert "analyzer rebuild" in caught.value.hint
    if gone:
        (logs / "own.jsonl").unlink()
    rebuild(str(store))
    after = dump(store)
    assert_same({**after, "sources": [], "quarantine": []}, {**before, "sources": [], "quarantine": []})
    assert len(after["sources"]) == len(before["sources"])
    assert len(after["quarantine"]) == len(before["quarantine"])


def test_events_of_foreign_logs_survive_the_log_and_the_store(store: Path, logs: Path) -> None:
    """The journal alone gives them back, word for word."""
    place = place_of("events", "source_format", MOMENTS)
    derived = [row for row in dump(store, MOMENTS)["events"] if row[place] == "claude_code"]
    shutil.copytree(store.parent / "s.journal", store.parent / "t.journal")
    (logs / "one.jsonl").write_bytes((logs / "own.jsonl").read_bytes())
    rebuild(str(store.parent / "t.duckdb"), [str(logs / "one.jsonl")])
    assert derived
    assert [row for row in dump(store.parent / "t.duckdb", MOMENTS)["events"] if row[place] == "claude_code"] == derived


def test_an_event_too_large_for_a_log_line_is_the_same_in_store_and_journal(tmp_path: Path) -> None:
    """Many texts, or a long one: the store keeps what the journal could, and cutting it again changes nothing."""
    texts = {f"key{number}": "x" * 10_000 for number in range(200)}
    record = {"type": "error.classified", "timestamp": "2026-11-02T08:00:00Z", "sessionId": "s", "payload": texts}
    lines = [json.dumps(record), json.dumps({**record, "payload": {"text": "y" * 50_000}})]
    (tmp_path / "big.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    feed(tmp_path / "s.duckdb", tmp_path / "big.jsonl")
    before = dump(tmp_path / "s.duckdb")
    (tmp_path / "big.jsonl").unlink()
    result = rebuild(str(tmp_path / "s.duckdb"))
    assert result.carried_events == 0
    assert dump(tmp_path / "s.duckdb")["events"] == before["events"]
    assert sorted('"truncated":true' in row[4] for row in before["events"]) == [False, True]


def test_a_rebuild_that_fails_leaves_the_store_as_it_was(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the database, an interruption: nothing is replaced, and nothing is left behind."""
    before = dump(store)
    for failure in (duckdb.OperationalError("disk full"), KeyboardInterrupt()):

        def fail(*_: object, failure: BaseException = failure) -> None:
            raise failure

        monkeypatch.setattr(import_module("analyzer.store.upkeep.rebuild"), "restore_horizon", fail)
        with pytest.raises((StoreError, KeyboardInterrupt)):
            rebuild(str(store))
        assert_same(dump(store), before)
        assert sorted(path.name for path in store.parent.glob("s.duckdb*")) == ["s.duckdb", "s.duckdb.lock"]


def test_a_replacement_that_was_interrupted_is_completed_by_whoever_comes_next(store: Path) -> None:
    """A reader too; the write-ahead log of the former store never meets the new one."""
    before = dump(store)
    shutil.copy(store, f"{store}.rebuilt")
    store.write_text("half of an old store")
    Path(f"{store}.wal").write_text("its log")
    assert_same(dump(store), before)
    (aside,) = kept_of(str(store))
    assert Path(aside).read_text() == "half of an old store"
    assert Path(f"{aside}.wal").read_text() == "its log"
    assert not Path(f"{store}.wal").exists()
    assert not Path(f"{store}.rebuilt").exists()


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Nothing is moved."""
    duckdb.connect(str(tmp_path / "o.duckdb")).execute("create table t (i integer)").close()
    before = (tmp_path / "o.duckdb").read_bytes()
    with pytest.raises(StoreError, match="something else"):
        rebuild(str(tmp_path / "o.duckdb"), [str(tmp_path)])
    assert (tmp_path / "o.duckdb").read_bytes() == before


def test_a_replacement_that_died_between_store_and_its_log_is_completed(store: Path) -> None:
    """The write-ahead log follows its own store, past others that are kept."""
    Path(f"{store}.before-rebuild").write_text("an older one")
    shutil.copy(store, f"{store}.rebuilt")
    store.rename(f"{store}.before-rebuild-2")
    Path(f"{store}.wal").write_text("its log")
    dump(store)
    assert Path(f"{store}.before-rebuild-2.wal").read_text() == "its log"
    assert not Path(f"{store}.wal").exists()


def test_no_kept_store_is_ever_overwritten(store: Path, logs: Path) -> None:
    """Each rebuild keeps the store before it under a name of its own; none of them is read as a log."""
    contents = []
    for _ in range(3):
        contents.append(store.read_bytes())
        result = rebuild(str(store), [str(store.parent)])
        assert result.aside == kept_of(str(store))[-1]
    assert [Path(name).read_bytes() for name in kept_of(str(store))] == contents
    assert [Path(name).name.removeprefix("s.duckdb") for name in kept_of(str(store))] == [
        ".before-rebuild",
        ".before-rebuild-2",
        ".before-rebuild-3",
    ]
    assert not [problem for problem in result.problems if "before-rebuild" in problem.path]


@pytest.mark.parametrize("content", [b"shopping list\n", b"", b"{}\n" * 5000, b"\0" * 20_000])
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_is_no_store_is_never_replaced(tmp_path: Path, logs: Path, content: bytes, linked: bool) -> None:
    """Nor one that a link leads to; moved away, or with a journal to show that it was a store, it is."""
    notes, name = tmp_path / "notes.txt", tmp_path / "linked.duckdb"
    notes.write_bytes(content)
    if linked:
        name.symlink_to(notes)
    for _ in range(2):
        with pytest.raises(StoreError, match="is no store") as caught:
            rebuild(str(name if linked else notes), [str(logs)])
        assert "move it away" in caught.value.hint
        assert notes.read_bytes() == content
    assert sorted(path.name for path in tmp_path.glob("notes.txt*")) == ["notes.txt", "notes.txt.lock"]


def test_a_link_to_a_store_stays_a_link(store: Path, tmp_path: Path) -> None:
    """The store that it leads to is made again, and the answer names it."""
    link = tmp_path / "elsewhere" / "link.duckdb"
    link.parent.mkdir()
    link.symlink_to(store)
    result = rebuild(str(link))
    assert link.is_symlink()
    assert (result.store, result.former) == (str(store), "read")
    assert kept_of(str(link)) == kept_of(str(store)) == [result.aside]


def test_a_rebuild_killed_at_any_statement_leaves_the_old_store_or_the_new(
    tmp_path: Path, native: Native, victims: Victims
) -> None:
    """Killed before statements and before each change of a name in turn, until one run gets through."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(native("a", caller="x", reason="unknown") + b"broken\n")
    feed(tmp_path / "s.duckdb", log)
    with open_store(tmp_path / "s.duckdb", writable=True) as opened:
        opened.reclassify(apply=True)
    before = dump(tmp_path / "s.duckdb")
    path = str(tmp_path / "s.duckdb")

    def check(at: int) -> None:
        assert dump(path) == before, at

    assert victims.killed_at_each_moment(f"arm(); rebuild({path!r})", check) > 15
    assert not os.path.exists(work_of(path))
