"""Several push into one lake at once, and somebody decides or changes what is there meanwhile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analyzer.errors import StoreBusyError
from analyzer.events.times import now
from analyzer.lake import log, push
from analyzer.lake.batch import LakeBatch
from analyzer.lake.former import current
from analyzer.lake.layout import rows
from analyzer.lake.log import Lease
from analyzer.lake.push import ingest_into
from analyzer.lake.store import LakeStore, WritableLakeStore
from analyzer.store import open_store
from tests import LONG_RUNS, REPOSITORY
from tests.lake.both import Both
from tests.lake.equal import differences

LINES = (REPOSITORY / "sample_events" / "healthy-week.jsonl").read_text().splitlines()
PUSHERS, COMMITS = 8, 2 * LONG_RUNS


def _log(path: Path, name: str, first: int = 0, count: int = 10) -> Path:
    """A log with events of its own, whose errors are those of all such logs."""
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as out:
        for place in range(first, first + count):
            row = json.loads(LINES[place % len(LINES)])
            row.pop("crc", None)
            out.write(json.dumps({**row, "id": f"{name}-{place:04d}-7000-8000-000000000000"}) + "\n")
    return path


def _at_once(works: list[Callable[[], object]]) -> None:
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_what_many_push_at_once_all_lands_exactly_once(both: Both, tmp_path: Path) -> None:
    """Eight with several commits each: every event and source, and each of the facts that all of them have once."""
    start = threading.Barrier(PUSHERS)

    def pusher(number: int) -> None:
        start.wait()
        for commit in range(COMMITS):
            path = _log(tmp_path / "logs" / f"{number}.jsonl", f"{number:08d}", commit * 10)
            ingest_into(both.lake, [str(path)])

    ingest_into(both.lake, [])
    _at_once([lambda number=number: pusher(number) for number in range(PUSHERS)])  # type: ignore[misc]
    with open_store(both.store, writable=True) as store:
        store.ingest([str(tmp_path / "logs")])
    assert differences(both.lake, both.store) == {}
    at = current(both.lake)
    assert at.number >= PUSHERS * COMMITS
    numbers = rows(both.lake, "source_v1", at.files["source_v1"])["source_id"].to_pylist()
    assert len(set(numbers)) == len(numbers) == PUSHERS


def test_one_log_that_several_push_at_once_is_in_the_lake_once(both: Both, tmp_path: Path) -> None:
    """Who comes second reads again, and finds nothing new, or the same events under its own name."""
    path = _log(tmp_path / "logs" / "one.jsonl", "0" * 8, count=40)
    copy = _log(tmp_path / "copies" / "two.jsonl", "0" * 8, count=40)
    ingest_into(both.lake, [])
    _at_once([lambda one=one: ingest_into(both.lake, [str(one)]) for one in (path, path, copy, copy)])  # type: ignore[misc]
    with LakeStore(both.lake) as store:
        assert store.sql("select count(*), count(distinct event_id) from events").row(0) == (40, 40)
        assert sorted(store.sql("select duplicates from sources").to_series()) == [0, 40]


def test_two_machines_with_the_same_paths_have_sources_of_their_own(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one's log is no new content of the first one's, and each goes on where it stopped itself."""
    path = tmp_path / "logs" / "agent.jsonl"
    for machine in ("one", "two"):
        path.unlink(missing_ok=True)
        _log(path, machine * 2)
        monkeypatch.setattr(push, "machine", lambda machine=machine: machine)
        assert ingest_into(both.lake, [str(path)]).total.events == 10
    _log(path, "two" * 2, 10, 5)
    assert ingest_into(both.lake, [str(path)]).total.lines == 5
    with LakeStore(both.lake) as store:
        found = store.sql("select source_path, lines, incident from sources order by lines")
        assert found.rows() == [(str(path), 10, None), (str(path), 15, None)]


def test_a_push_waits_for_who_holds_the_lake_alone_and_no_longer(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease that is not alone is in nobody's way; a second one is refused."""
    path = _log(tmp_path / "logs" / "one.jsonl", "0" * 8)
    ingest_into(both.lake, [])
    monkeypatch.setattr(log, "PATIENCE_SECONDS", 0.0)
    with WritableLakeStore(both.lake) as store:
        with pytest.raises(StoreBusyError, match="being written by process"):
            WritableLakeStore(both.lake)
        with store._lease.alone(), pytest.raises(StoreBusyError):
            ingest_into(both.lake, [str(path)])
        assert ingest_into(both.lake, [str(path)]).total.events == 10


def _left(both: Both, **changes: object) -> None:
    """A lease that somebody left behind."""
    held = Lease(both.lake)
    held._write(first=True)
    held._alone = True
    held._write()
    swap = log.Swap(both.lake)
    assert swap.hold({**(swap.lease or {}), **changes})


@pytest.mark.parametrize(
    ("changes", "lives"),
    [
        ({"process": 999_999_999}, False),
        ({"began": "1"}, False),
        ({"where": "another boot"}, True),
        ({"where": "another boot", "until": (datetime(2026, 1, 1)).isoformat()}, False),
        ({"where": None, "until": (now() + timedelta(days=9)).isoformat()}, True),
    ],
)
def test_a_lease_lives_by_what_two_machines_cannot_share(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], lives: bool
) -> None:
    """By its process where boot and space of processes are those of here, else until it runs out; never by a name."""
    path = _log(tmp_path / "logs" / "one.jsonl", "0" * 8)
    ingest_into(both.lake, [])
    monkeypatch.setattr("socket.gethostname", lambda: str(now()))
    monkeypatch.setattr(log, "PATIENCE_SECONDS", 0.0)
    _left(both, **changes)
    if lives:
        with pytest.raises(StoreBusyError):
            ingest_into(both.lake, [str(path)])
    else:
        assert ingest_into(both.lake, [str(path)]).total.events == 10


def test_who_was_taken_for_dead_and_is_not_writes_no_more(both: Both) -> None:
    """Its lease is another one's by then, whatever it still has to say."""
    ingest_into(both.lake, [])
    with WritableLakeStore(both.lake) as store:
        swap = log.Swap(both.lake)
        assert swap.hold({**(swap.lease or {}), "token": "another"})
        with pytest.raises(StoreBusyError, match="taken over"):
            store.decide([("finding.opened", {"finding": "x"})])
    with LakeStore(both.lake) as lake:
        assert lake.sql("select count(*) from events").item() == 0


def test_a_ruleset_that_is_applied_while_others_push_judges_what_they_brought(
    both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither is lost, and no facts are left without a verdict, or with two."""
    ingest_into(both.lake, [str(_log(tmp_path / "logs" / "one.jsonl", "0" * 8))])
    late = _log(tmp_path / "logs" / "late.jsonl", "1" * 8, 10, 60)
    commit, came = LakeBatch.commit, [str(late)]

    def meanwhile(batch: LakeBatch, *given: object) -> None:
        if "store_v1" in batch.adds and came:
            ingest_into(both.lake, [came.pop()])
        commit(batch, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(LakeBatch, "commit", meanwhile)
    with WritableLakeStore(both.lake) as store:
        store.reclassify(apply=True)
    with LakeStore(both.lake) as store:
        facts = "select count(*), count(distinct facts_id) from internal.facts_v1"
        verdicts = "select count(*), count(distinct facts_id) from internal.verdict_v1"
        found = [store._connection.execute(asked).fetchall()[0] for asked in (facts, verdicts)]
        assert found[0] == found[1] and len({*found[0], *found[1]}) == 1
        assert store.sql("select count(*) from events where type <> 'ruleset.applied'").item() == 70
