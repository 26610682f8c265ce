"""Logs that executors of Spark read into a lake: what a store has that read the same, whoever of them dies."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import Popen

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.lake import spark
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.spark import ingest_by_executors, java
from analyzer.lake.store import WritableLakeStore
from analyzer.store import open_store
from tests import REPOSITORY
from tests.lake.cluster import Cluster, until
from tests.lake.equal import differences

pytestmark = [
    pytest.mark.skipif(java() is None, reason="NO SPARK IS TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]


def _more(folder: Path, count: int = 1200) -> Path:
    """Logs of many agents with ten events each, whose errors are the same ten."""
    folder.mkdir()
    lines = (REPOSITORY / "sample_events" / "healthy-week.jsonl").read_text().splitlines()[:10]
    for number in range(count):
        rows = [json.loads(line) for line in lines]
        for place, row in enumerate(rows):
            row["id"] = f"00000000-0000-4000-8000-{number:08d}{place:04d}"
            del row["crc"]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_executors_read_what_a_store_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samples and many small logs in several groups; the figures are those of a store, and a second time none."""
    monkeypatch.setattr(spark, "_GROUP_FILES", 40)
    lake: Lake = lake_of(f"delta:{tmp_path}/fleet", "local[2]")
    names = [str(REPOSITORY / "sample_events"), str(_more(tmp_path / "more", 100))]
    with open_store(tmp_path / "fleet.duckdb", writable=True) as store:
        wanted = store.ingest(names).to_dict()
    found = ingest_by_executors(lake, names).to_dict()
    assert {one["path"]: one for one in found.pop("sources")} == {one["path"]: one for one in wanted.pop("sources")}
    assert found == wanted
    assert differences(lake, tmp_path / "fleet.duckdb") == {}
    with WritableLakeStore(lake) as held:
        again = held.ingest(names)
    assert (again.total.lines, again.unchanged) == (0, len(again.sources))


def test_a_cluster_goes_on_when_a_worker_is_killed(tmp_path: Path) -> None:
    """One of two workers dies by SIGKILL when it has begun; what its executor had added is read as repeated."""
    more = _more(tmp_path / "more", 12_000)
    store, lake = tmp_path / "fleet.duckdb", f"delta:{tmp_path}/fleet"
    with Cluster(tmp_path / "cluster", memory="1g") as cluster:
        process = cluster.run("ingest", os.path.relpath(more), "--store", lake, "--json")
        assert until(lambda: process.poll() is not None or cluster.begun(1, 1))
        assert process.poll() is None, "nothing was left to kill a worker of"
        cluster.kill(1)
        _figures(process)
    with open_store(store, writable=True) as kept:
        assert kept.ingest([os.path.relpath(more)]).to_dict()["events"] == 120_000
    figures = {"events", "event_lines", "event_bytes", "duplicates", "duplicate_bytes"}
    assert differences(lake_of(lake), store, figures) == {}


def _figures(process: Popen[bytes]) -> dict[str, int]:
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()[-2000:]
    found: dict[str, int] = json.loads(out)
    return found
