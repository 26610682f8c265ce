"""What an ingest into a lake leaves there: the same rows and the same figures as one into a DuckDB store."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from analyzer.lake.layout import JOURNAL
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.reading.tasks import tasks_of
from analyzer.lake.session import java, session
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.opening import ingest_into
from analyzer.lake.writing.run import _Planned
from analyzer.store import open_store
from analyzer.store.db.tables.schema import SCHEMA_VERSION
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input
from analyzer.store.journal import journal_of, parts_of
from tests import REPOSITORY
from tests.lake.equal import differences

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
SMALL = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
}


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One session for all of them: the commands ask for it again, and get this one."""
    session(lake_of("delta:/nowhere", "local[2]"), SMALL)
    yield


class Both:
    """A lake and a store that read the same."""

    def __init__(self, folder: Path) -> None:
        self.lake: Lake = lake_of(f"delta:{folder}/fleet", "local[2]")
        self.store = folder / "fleet.duckdb"

    def ingest(self, *paths: Path) -> dict[str, Any]:
        """Read into both; the figures, which are the same."""
        names = list(map(str, paths))
        figures = ingest_into(self.lake, names).to_dict()
        with open_store(self.store, writable=True) as store:
            assert figures == store.ingest(names).to_dict()
        assert differences(self.lake, self.store) == {}
        return figures


@pytest.fixture
def both(tmp_path: Path) -> Both:
    """An empty lake and an empty store."""
    return Both(tmp_path)


def test_the_samples_are_the_same_rows_in_a_lake_and_a_second_ingest_adds_none(both: Both) -> None:
    """Every table of the store, and in the journal the events of foreign logs."""
    assert both.ingest(REPOSITORY / "sample_events")["events"] > 200
    journal = DeltaTable(both.lake.table(JOURNAL)).to_pyarrow_table()["line"].to_pylist()
    folder = journal_of(str(both.store))
    assert folder is not None
    kept = [line for part in parts_of(folder) for line in Path(part).read_text().splitlines()]
    assert len(journal) == len(kept) > 0
    assert both.ingest(REPOSITORY / "sample_events")["lines"] == 0


def test_logs_that_grow_move_and_change_are_told_apart_as_in_a_store(both: Both, tmp_path: Path) -> None:
    """A copy, a renamed, a rewritten and a torn log, lines that are none, and an id with two contents."""
    logs = tmp_path / "logs"
    logs.mkdir()
    samples = REPOSITORY / "sample_events"
    for name in ("healthy-week.jsonl", "torn-tail.jsonl", "relay-storm.jsonl", "gdd-events.jsonl"):
        shutil.copy(samples / name, logs)
    both.ingest(logs)
    week = (logs / "healthy-week.jsonl").read_bytes().splitlines(True)
    other = week[1].replace(b'"error', b'"errer')
    (logs / "copy.jsonl").write_bytes(b"".join(week[:9]) + b"no line\n\n" + other + b'{"v')
    (logs / "relay-storm.jsonl").rename(logs / "renamed.jsonl")
    (logs / "healthy-week.jsonl").write_bytes(b"".join(week[:3]))
    figures = both.ingest(logs)
    assert figures["duplicates"] > 0 < figures["quarantined"]
    with open(logs / "torn-tail.jsonl", "ab") as torn:
        torn.write(b'"}\n' + week[5].replace(b"0", b"1"))
    both.ingest(logs)


def test_standard_input_is_read_by_the_driver(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, into a lake as into a store; what comes twice is told as repeated."""
    data = (REPOSITORY / "sample_events" / "healthy-week.jsonl").read_bytes()
    for repeated in (0, 131):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        figures = ingest_into(both.lake, ["-"]).to_dict()
        assert (figures["lines"], figures["duplicates"]) == (131, repeated)


def test_ranges_of_a_large_log_are_the_rows_and_the_checkpoint_of_the_whole(
    both: Both, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Several tasks for one log: with lines that are blank, broken, repeated and longer than a range, and one torn that
    is whole later; between logs that are one task, and one of another format, which is never cut."""
    monkeypatch.setattr("analyzer.lake.reading.tasks.GROUP_BYTES", 8_000)
    logs = tmp_path / "logs"
    logs.mkdir()
    samples = REPOSITORY / "sample_events"
    shutil.copy(samples / "torn-tail.jsonl", logs / "a.jsonl")
    shutil.copy(samples / "gdd-events.jsonl", logs / "c.jsonl")
    week = (samples / "healthy-week.jsonl").read_bytes().splitlines(True)
    longest = b'{"v": 1, "said": "' + 20_000 * b"x" + b'"}\n'
    lines = [
        *week[:40],
        b"\n",
        b"no line\n",
        *week[30:70],
        longest,
        b"\r\n",
        *week[20:50],
        week[80].replace(b"1", b"2", 9),
    ]
    large = b"\xef\xbb\xbf" + b"".join(lines)
    (logs / "b.jsonl").write_bytes(large + week[90][:60])
    with Input(str(logs / "b.jsonl")) as whole:
        tasks = list(tasks_of(whole, SourceCheckpoint(1, "b.jsonl", "analyzer"), None, None))
    assert len(tasks) > 5 and all(large[: task.limit].endswith(b"\n") for task in tasks)
    figures = both.ingest(logs)
    assert figures["duplicates"] > 20 < len(tasks) + figures["quarantined"] * 10
    with open(logs / "b.jsonl", "ab") as more:
        more.write(week[90][60:] + b"".join(week[91:]))
    assert both.ingest(logs)["lines"] == len(week) - 90


def test_a_log_that_is_cut_short_while_its_ranges_are_read_is_read_again_from_there(
    both: Both, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing behind the place is kept; the next ingest reads what is there by then."""
    log = tmp_path / "log.jsonl"
    lines = (REPOSITORY / "sample_events" / "healthy-week.jsonl").read_bytes().splitlines(True)[:60]
    log.write_bytes(b"".join(lines))
    monkeypatch.setattr("analyzer.lake.reading.tasks.GROUP_BYTES", 8_000)
    planned = _Planned.take

    def cut(*given: Any) -> None:
        planned(*given)
        log.write_bytes(b"".join(lines)[:12_000])

    monkeypatch.setattr(_Planned, "take", cut)
    result = ingest_into(both.lake, [str(log)])
    assert 0 < result.total.lines < 30
    assert [one.message for one in result.problems] == ["it was cut short while it was read"]
    monkeypatch.undo()
    log.write_bytes(b"".join(lines))
    rest = ingest_into(both.lake, [str(log)])
    assert result.total.lines + rest.total.lines == len(lines)
    with open_store(both.store, writable=True) as store:
        store.ingest([str(log)])
    assert differences(both.lake, both.store) == {}


def test_what_comes_after_a_ruleset_was_applied_is_judged_by_it(both: Both) -> None:
    """The executors' verdicts are those of a store; of rules that are no longer there the facts are counted."""
    samples = REPOSITORY / "sample_events"
    both.ingest(samples / "gdd-events.jsonl")
    with open_store(both.store, writable=True) as store:
        digest = store.reclassify(apply=True).ruleset
    _apply(both.lake, digest)
    ingest_into(both.lake, [str(samples / "unknown-spike.jsonl")])
    with open_store(both.store, writable=True) as store:
        store.ingest([str(samples / "unknown-spike.jsonl")])
    assert DeltaTable(both.lake.table("verdict_v1")).to_pyarrow_table().num_rows > 5
    assert set(differences(both.lake, both.store)) == {"event_v1"}  # the store's decision, which the lake did not make
    _apply(both.lake, "of other rules")
    assert ingest_into(both.lake, [str(samples / "unknown-spike.jsonl")]).unjudged > 5


def _apply(lake: Lake, digest: str) -> None:
    rows = {"key": ["schema_version", "active_ruleset", "active_rules"], "value": [SCHEMA_VERSION, digest, None]}
    write_deltalake(lake.table("store_v1"), pa.table(rows), mode="overwrite")


@pytest.mark.parametrize("commit", [1, 3])
def test_a_driver_that_dies_between_the_commits_of_a_batch_leaves_what_the_next_one_mends(
    both: Both, monkeypatch: pytest.MonkeyPatch, commit: int
) -> None:
    """After the first and all but the last of the tables: the next ingest is equal to a clean one."""
    log = REPOSITORY / "sample_events" / "gdd-events.jsonl"
    marked, count = Ledger._marked, 0

    def die(self: Ledger) -> Any:
        nonlocal count
        count += 1
        if count > commit:
            raise KeyboardInterrupt
        return marked(self)

    monkeypatch.setattr(Ledger, "_marked", die)
    with pytest.raises(KeyboardInterrupt):
        ingest_into(both.lake, [str(log)])
    monkeypatch.undo()
    assert DeltaTable(both.lake.table("event_v1")).to_pyarrow_table().num_rows > 0
    both.ingest(log)
