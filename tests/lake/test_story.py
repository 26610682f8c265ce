"""The life of a fleet on a real cluster, command by command: each says what it says of a store in a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.events.times import now
from analyzer.lake.session import java
from analyzer.store import catalogue
from tests import REPOSITORY
from tests.lake.cluster import Cluster
from tests.store.upkeep.test_rebuild import RULES

pytestmark = pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here")
FILES = 2000
_MOMENTS = {"aside", "generated_at", "judged_at", "last_ingested_at", "night", "seconds", "store"}
"""Names of what is another one in every run: when it was, how long it took, and where the store is."""
_INSIDE = re.compile(r'"(?:judged_at|night)":"[^"]*"')
"""The same in results that stand in a column as text."""


def test_every_command_says_on_a_cluster_what_it_says_of_a_file(tmp_path: Path) -> None:
    """The samples and 2,000 files, read twice, checked, reported, asked, judged again, pruned and made again."""
    shutil.copytree(REPOSITORY / "sample_events", tmp_path / "logs")
    _more(tmp_path / "logs" / "more")
    (tmp_path / "rules.toml").write_text(RULES, "utf-8")
    here = _told(tmp_path, ["--store", str(tmp_path / "fleet.duckdb")], os.environ)
    with Cluster(tmp_path / "cluster") as cluster:
        lake = ["--store", f"delta:{tmp_path}/fleet", "--master", cluster.master]
        there = _told(tmp_path, lake, cluster.environment)
    for line, one, other in zip(_lines(tmp_path), here, there, strict=True):
        assert other == one, line
    codes = {code for code, _ in here}
    first, second = (json.loads(text) for _, text in here[:2])
    assert (codes, first["events"] > 2 * FILES, second["events"]) == ({0, 1}, True, 0)


def _lines(folder: Path) -> list[list[str]]:
    logs, age = str(folder / "logs"), f"{(now().date() - date(2026, 11, 4)).days}d"
    return [
        ["ingest", logs, "--json"],
        ["ingest", logs, "--json"],
        ["check", "--until", "2026-11-10", "--json"],
        ["report", "--since", "2026-11-02", "--until", "2026-11-10", "--format", "json"],
        *(["query", name, "--json"] for name in catalogue()),
        ["reclassify", "--rules", str(folder / "rules.toml"), "--apply", "--json"],
        ["query", "errors-by-reason", "--json"],
        ["prune", "--older-than", age, "--json"],
        ["rebuild", "--json"],
        *(["query", name, "--json"] for name in ("errors-by-caller", "overview-totals", "quarantine-lines")),
    ]


def _told(folder: Path, store: list[str], environment: Mapping[str, str]) -> list[tuple[int, str]]:
    """The exit code of each command, and what it said without what is another one in every run."""
    (folder / "lines.json").write_text(json.dumps([[*line, "-q", *store] for line in _lines(folder)]), "utf-8")
    command = [sys.executable, "-m", "tests.lake.commands", str(folder / "lines.json")]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [(code, json.dumps(_lasting(json.loads(text)))) for code, text in json.loads(done.stdout)]


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(each) for key, each in value.items() if key not in _MOMENTS}
    if isinstance(value, list):
        return [_lasting(each) for each in value]
    return _INSIDE.sub("", value) if isinstance(value, str) else value


def _more(folder: Path) -> None:
    """Logs of 2,000 agents with two events each."""
    folder.mkdir()
    lines = (REPOSITORY / "sample_events" / "healthy-week.jsonl").read_text().splitlines()
    rows = [{key: value for key, value in json.loads(line).items() if key != "crc"} for line in lines]
    for number in range(FILES):
        own = (rows[(2 * number + place) % len(rows)] for place in range(2))
        ids = (f"00000000-0000-4000-8000-{number:08d}{place:04d}" for place in range(2))
        text = "".join(json.dumps({**row, "id": name}) + "\n" for row, name in zip(own, ids, strict=True))
        (folder / f"{number}.jsonl").write_text(text, "utf-8")
