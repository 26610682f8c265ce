"""A lake that is written by a real cluster, of which a worker dies: equal to a store that read the same logs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import Popen

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.lake.location import lake_of
from analyzer.lake.session import java
from analyzer.store import open_store
from tests import REPOSITORY
from tests.lake.cluster import Cluster, until
from tests.lake.equal import differences

pytestmark = pytest.mark.skipif(java() is None, reason="NO CLUSTER IS TESTED: there is no Java here")


def test_a_cluster_reads_the_samples_and_goes_on_when_a_worker_is_killed(tmp_path: Path) -> None:
    """More files than one task takes, one of two workers killed by SIGKILL after it has begun one."""
    # From here, where no worker is.
    name, more = os.path.relpath(REPOSITORY / "sample_events"), _more(tmp_path / "more")
    store, lake = tmp_path / "fleet.duckdb", f"delta:{tmp_path}/fleet"
    with Cluster(tmp_path / "cluster") as cluster:
        events = _figures(cluster.run("ingest", name, "--store", lake, "--json"))["events"]
        with open_store(store, writable=True) as kept:
            assert kept.ingest([name]).to_dict()["events"] == events > 200
        assert differences(lake_of(lake), store) == {}

        process = cluster.run("ingest", str(more), "--store", lake, "--json")
        reads = tmp_path / "fleet" / "_staging"
        assert until(lambda: process.poll() is not None or (any(reads.glob("*/_temporary")) and cluster.begun(1, 2)))
        assert process.poll() is None, "nothing was left to kill a worker of"
        cluster.kill(1)
        events = _figures(process)["events"]
    with open_store(store, writable=True) as kept:
        assert kept.ingest([str(more)]).to_dict()["events"] == events == 12_000
    assert differences(lake_of(lake), store) == {}


def _figures(process: Popen[bytes]) -> dict[str, int]:
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()[-2000:]
    found: dict[str, int] = json.loads(out)
    return found


def _more(folder: Path) -> Path:
    """Logs of 1,200 agents with ten events each: three tasks."""
    folder.mkdir()
    lines = (REPOSITORY / "sample_events" / "healthy-week.jsonl").read_text().splitlines()[:10]
    for number in range(1200):
        rows = [json.loads(line) for line in lines]
        for place, row in enumerate(rows):
            row["id"] = f"00000000-0000-4000-8000-{number:08d}{place:04d}"
            del row["crc"]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
