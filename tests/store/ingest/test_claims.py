"""An id is one event by its content, and what a line claims about itself never makes another event vanish."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import cli
from analyzer.events import Event, Origin, encode
from analyzer.events.model import derived_id
from analyzer.events.rows import RowDecoder
from analyzer.store import Store, open_store, rebuild
from analyzer.store.doctor.examine import examine
from analyzer.store.ingest.statements import CLAIMED
from tests.store.upkeep.test_rebuild import assert_same, dump, feed

Native = Callable[..., bytes]
ORIGIN = Origin("claude_code", "/elsewhere/transcript.jsonl", 3)
MOMENT = datetime(2026, 11, 2, 8)
GDD = {"type": "error", "timestamp": "2026-11-03T10:00:00Z", "sessionId": "g", "payload": {"message": "Overloaded"}}


def claiming(event_id: str, **payload: Any) -> bytes:
    """A line that says it is derived from another tool's log."""
    return encode(Event("error.classified", MOMENT, "s-1", payload, event_id, origin=ORIGIN))


def told(store: Store, query: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    return store.sql(query).rows()


@pytest.mark.parametrize("apart", [True, False], ids=["two runs", "one batch"])
@pytest.mark.parametrize("first", [True, False], ids=["forged first", "forged last"])
def test_other_content_under_a_known_id_is_a_conflict_whatever_it_claims(
    memory: Store, native: Native, tmp_path: Path, first: bool, apart: bool
) -> None:
    """25 errors, and 25 lines with their ids that claim an origin: the first ones count, the others are told."""
    (tmp_path / "true").write_bytes(b"".join(native(f"e-{number}", reason="unknown") for number in range(25)))
    (tmp_path / "forged").write_bytes(b"".join(claiming(f"e-{number}") for number in range(25)))
    names = [str(tmp_path / name) for name in (("forged", "true") if first else ("true", "forged"))]
    results = [memory.ingest([name]).total for name in names] if apart else [memory.ingest(names).total]
    assert sum(total.events for total in results) == sum(total.quarantined for total in results) == 25
    assert sum(total.duplicates for total in results) == 0
    assert told(memory, "select distinct source_path, why from quarantine") == [(names[1], "conflict")]
    assert told(memory, "select distinct source_format, source_path from events") == [("analyzer", names[0])]


def test_a_conflict_within_one_file_is_told_under_strict(
    native: Native, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 4, and the same line once more is only a duplicate."""
    (tmp_path / "log").write_bytes(claiming("a") + native("a", caller="x") + claiming("a"))
    command = ["ingest", str(tmp_path / "log"), "--store", str(tmp_path / "s.duckdb"), "--strict", "--json"]
    assert cli.main(command, standalone_mode=False) == 4
    figures = json.loads(capsys.readouterr().out)
    assert (figures["events"], figures["quarantined"], figures["duplicates"]) == (1, 1, 1)


def derived(tmp_path: Path, jsonl: Callable[..., Path]) -> tuple[Path, str]:
    """A foreign log, and the id that the event of its one record will have."""
    log = jsonl("gdd.jsonl", GDD)
    with open_store(":memory:") as store:
        store.ingest([str(log)])
        return log, store.sql("select event_id from events where type = 'error.classified'").item()


@pytest.mark.parametrize(
    ("claim", "first"), [(claiming, True), ("native", False)], ids=["with origin, first", "plain, last"]
)
def test_a_log_cannot_take_the_id_of_a_foreign_record(
    tmp_path: Path, native: Native, jsonl: Callable[..., Path], first: bool, claim: object
) -> None:
    """The foreign event is in the store and in the journal whatever was read before it; so it is after a rebuild."""
    log, taken = derived(tmp_path, jsonl)
    forged = tmp_path / "forged.jsonl"
    forged.write_bytes(claiming(taken) if claim is claiming else native(taken))
    for path in (forged, log) if first else (log, forged):
        feed(tmp_path / "s.duckdb", path)
    with open_store(tmp_path / "s.duckdb") as store:
        assert told(store, "select event_id, source_format from events order by 2") == [
            (CLAIMED + taken, "analyzer"),
            (taken, "gdd"),
        ]
        assert told(store, "select message from errors where source_format = 'gdd'") == [("Overloaded",)]
    (check,) = [check for check in examine(str(tmp_path / "s.duckdb")) if check.name == "claims"]
    assert (check.state, str(forged) in check.said) == ("problem", True)
    (part,) = (tmp_path / "s.journal").glob("*.jsonl")
    assert [json.loads(line)["id"] for line in part.read_text("utf-8").splitlines()] == [taken]
    before = dump(tmp_path / "s.duckdb")
    rebuild(str(tmp_path / "s.duckdb"))
    assert_same(dump(tmp_path / "s.duckdb"), before)


@pytest.mark.parametrize(
    ("order", "together"), [((0, 1, 2), True), ((1, 0, 2), False), ((2, 1, 0), True), ((1, 2, 0), False)]
)
def test_logs_that_share_a_foreign_records_id_are_one_event_by_content_too(
    tmp_path: Path,
    native: Native,
    jsonl: Callable[..., Path],
    memory: Store,
    order: tuple[int, ...],
    together: bool,
) -> None:
    """Beside the foreign event stands the first of them; the same once more is a duplicate, another one a conflict."""
    log, taken = derived(tmp_path, jsonl)
    (tmp_path / "one").write_bytes(native(taken, caller="one") * 2)
    (tmp_path / "two").write_bytes(native(taken, caller="two"))
    paths = [[str(log), str(tmp_path / "one"), str(tmp_path / "two")][place] for place in order]
    totals = [memory.ingest(some).total for some in ([paths] if together else [[path] for path in paths])]
    first = "one" if order.index(1) < order.index(2) else "two"
    assert told(memory, "select event_id, caller from errors order by 1") == [
        *sorted([(taken, "gdd"), (CLAIMED + taken, first)]),
    ]
    assert sum(total.events for total in totals) == 2
    repeated = (sum(total.duplicates for total in totals), sum(total.quarantined for total in totals))
    assert repeated == ((1, 1) if first == "one" else (0, 2))
    assert memory.ingest(paths).total.events == 0


def test_a_copy_of_a_journals_line_is_the_same_event(tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    """Read as a log, before or after the foreign record itself: once, and without a conflict."""
    log, taken = derived(tmp_path, jsonl)
    feed(tmp_path / "s.duckdb", log)
    (part,) = (tmp_path / "s.journal").glob("*.jsonl")
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(part.read_bytes())
    for paths in ([str(log), str(copy)], [str(copy), str(log)]):
        with open_store(":memory:") as store:
            totals = [store.ingest([path]).total for path in paths]
            assert [(total.events, total.duplicates, total.quarantined) for total in totals] == [(1, 0, 0), (0, 1, 0)]
            assert told(store, "select event_id from events") == [(taken,)]


def test_the_id_of_a_line_without_one_is_one_event_by_content(memory: Store, native: Native, tmp_path: Path) -> None:
    """It follows from the bytes of the line, which anyone can work out: who takes it is told as a conflict."""
    line = (
        b'{"v":1,"type":"error.classified","timestamp":"2026-11-02T08:00:00Z","sessionId":"s","payload":{"caller":"x"}}'
    )
    (tmp_path / "forged").write_bytes(native(derived_id("line", line.decode()), caller="y"))
    (tmp_path / "true").write_bytes(native("a") + line + b"\n" + line + b"\n")
    total = memory.ingest([str(tmp_path / "forged"), str(tmp_path / "true")]).total
    assert (total.events, total.duplicates, total.quarantined) == (2, 0, 2)


def test_a_foreign_log_cannot_name_the_ids_of_its_events(tmp_path: Path, memory: Store) -> None:
    """The envelope of GDD is that of our log: an id in it is a claim as well, and each line is an event of its own."""
    line = {"type": "error.classified", "timestamp": "2026-11-03T10:00:00Z", "sessionId": "g", "id": "a"}
    lines = [json.dumps({**line, "payload": {"caller": caller}}) for caller in "xyx"]
    (tmp_path / "gdd").write_text("\n".join(lines) + "\n", "utf-8")
    total = memory.ingest([str(tmp_path / "gdd")]).total
    assert (total.events, total.duplicates) == (2, 1)
    assert told(memory, "select caller, source_format from errors order by 1") == [("x", "gdd"), ("y", "gdd")]


def test_an_event_that_is_derived_anew_from_its_record_is_no_conflict(
    tmp_path: Path, jsonl: Callable[..., Path]
) -> None:
    """A later version may tell the same record differently: the journal's words stand, and nothing is twice."""
    log, _ = derived(tmp_path, jsonl)
    feed(tmp_path / "s.duckdb", log)
    (part,) = (tmp_path / "s.journal").glob("*.jsonl")
    record = json.loads(part.read_text("utf-8"))
    record["payload"]["facts"]["message"] = "Overloaded, said an older version"
    del record["crc"]
    part.write_text(json.dumps(record) + "\n", "utf-8")
    (tmp_path / "s.duckdb").unlink()
    result = rebuild(str(tmp_path / "s.duckdb"), [str(log)])
    assert (result.events, result.journal_damaged) == (1, 0)
    with open_store(tmp_path / "s.duckdb") as store:
        assert told(store, "select message from errors") == [("Overloaded, said an older version",)]
        assert told(store, "select duplicates + event_lines, quarantined from sources") == [(1, 0)]


@pytest.mark.parametrize("fast", [True, False])
def test_only_a_journals_word_about_origins_counts(fast: bool) -> None:
    """On both roads: out of a journal it stands, out of a log it does not."""
    name = derived_id("record")
    for journal in (True, False):
        rows = RowDecoder(MOMENT, fast=fast, journal=journal).decode(claiming(name)).rows
        assert rows.ids == [name]
        assert (rows.source_formats != [None]) is journal


def test_a_conflict_stays_in_quarantine_when_it_is_tried_again(tmp_path: Path, native: Native) -> None:
    """Nothing is wrong with its line; that another event has its id is not mended by reading it alone."""
    (tmp_path / "first").write_bytes(native("a"))
    (tmp_path / "second").write_bytes(native("a", caller="other") + native("b"))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "first"), str(tmp_path / "second")])
        result = store.retry_quarantine()
        assert (result.mended, result.remaining) == (0, 1)
        assert told(store, "select why from quarantine") == [("conflict",)]
