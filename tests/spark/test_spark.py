"""Logs that executors of Spark push to a shared table: each event once, whoever of them dies."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.errors import StoreError
from analyzer.store import open_store
from analyzer.store.fleet import spark
from analyzer.store.fleet.spark import FileGroup, java, read_group
from tests import REPOSITORY
from tests.spark.cluster import Cluster, until
from tests.store.fleet.machines import differences, ids, load

pytestmark = [
    pytest.mark.skipif(java() is None, reason="NO SPARK IS TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]


def _logs(folder: Path, native: Callable[..., bytes], count: int) -> Path:
    """Make logs of many agents, with ten events each."""
    folder.mkdir()
    for number in range(count):
        lines = [native(f"{number}-{event}", message=f"fault {event}") for event in range(10)]
        (folder / f"{number}.jsonl").write_bytes(b"".join(lines))
    return folder


def test_executors_push_what_a_store_reads(
    tmp_path: Path, native: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples and many small logs in several groups; a second time only a log that has grown is read again."""
    monkeypatch.setattr(spark, "GROUP_FILES", 40)
    to, logs = f"delta:{tmp_path}/table", _logs(tmp_path / "logs", native, 100)
    names = [str(REPOSITORY / "sample_events"), str(logs)]
    with open_store(tmp_path / "driver.duckdb", writable=True) as driver:
        pushed, problems = driver.push_by_executors(names, to, "local[2]")
        assert (pushed.events, pushed.parts, problems) == (1_272, 3, [])
        assert driver.push_by_executors(names, to, "local[2]")[0].parts == 0
        with (logs / "7.jsonl").open("ab") as log:
            log.write(native("7-new"))
        assert driver.push_by_executors(names, to, "local[2]")[0].events == 1
    assert set(ids(to).values()) == {1}
    load(tmp_path / "fleet.duckdb", to)
    load(tmp_path / "direct.duckdb", *names)
    assert differences(tmp_path / "fleet.duckdb", tmp_path / "direct.duckdb") == {}


def test_a_task_that_is_run_twice_adds_nothing(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """And a group whose table cannot be written is a problem, after which its files are tried again."""
    to = f"delta:{tmp_path}/table"
    path = str(_logs(tmp_path / "logs", native, 1) / "0.jsonl")
    group = FileGroup({path: os.path.getsize(path)}, {})
    assert [read_group(to, group)[:2] for _ in range(2)] == [(10, 1), (0, 0)]
    (tmp_path / "file").write_text("x")
    assert "cannot be" in read_group(f"delta:{tmp_path}/file", group)[2][0].message


def test_a_cluster_goes_on_when_a_worker_is_killed(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """One of two workers dies by SIGKILL when it has begun; each event is in the table once."""
    to, logs = f"delta:{tmp_path}/table", _logs(tmp_path / "logs", native, 12_000)
    with Cluster(tmp_path / "cluster", memory="1g") as cluster:
        line = ("push", os.path.relpath(logs), "--to", to, "--store", str(tmp_path / "driver.duckdb"), "--json")
        process = cluster.run(*line)
        assert until(lambda: process.poll() is not None or cluster.begun(1, 1))
        assert process.poll() is None, "nothing was left to kill a worker of"
        cluster.kill(1)
        out, narration = process.communicate(timeout=300)
    assert process.returncode == 0, narration.decode()[-2000:]
    assert 0 < json.loads(out)["events"] <= 120_000
    counts = ids(to)
    assert len(counts) == 120_000 and set(counts.values()) == {1}


def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    """Each of those that are named is tried; who listens is one, and is left to Spark."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        spark._reach(f"spark://127.0.0.1,127.0.0.1:{port}")
    with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port} \(Connection refused\), head \(without a port\)"):
        spark._reach(f"spark://127.0.0.1:{port},head")
    spark._reach("local[*]")


def test_connect_without_its_client_is_named_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint installs it."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(StoreError, match="Spark Connect needs grpcio") as caught:
        spark.require("sc://head:15002")
    assert "pyspark[connect]" in caught.value.hint
