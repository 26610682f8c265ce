"""A night's work on a lake, in one command: that of a store in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.cli import call
from analyzer.lake.location import lake_of
from analyzer.lake.session import java, session
from analyzer.lake.writable import WritableLakeStore
from tests import REPOSITORY
from tests.lake.test_answers import SMALL

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]


def test_a_night_of_a_lake_is_that_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps, night, exit code, gauges and page; the lake is made, and held from the first step to the last."""
    monkeypatch.chdir(tmp_path)
    session(lake_of(f"delta:{tmp_path}/fleet", "local[2]"), SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    line = ("nightly", str(REPOSITORY / "sample_events"), "--until", "2026-11-10", "--keep", "3650d", "--json", "-q")
    told = []
    for store in (("--store", "fleet.duckdb"), ("--store", f"delta:{tmp_path}/fleet", "--master", "local[2]")):
        code = call([*line, "--prometheus", "gauges", "--page", "page.html", *store])
        found = json.loads(capsys.readouterr().out)
        page = (tmp_path / "page.html").read_text("utf-8")
        told.append((code, _steps(found), _night(found), _gauges(tmp_path / "gauges"), _headings(page)))
    assert told[1] == told[0]
    assert told[0][0] == 1
    assert [name for name, _, _ in told[0][1]] == ["ingest", "check", "report", "prune", "prometheus"]
    with WritableLakeStore(lake_of(f"delta:{tmp_path}/fleet", "local[2]")):
        assert call([*line, "--store", f"delta:{tmp_path}/fleet", "--master", "local[2]"]) == 75


def test_a_unit_names_the_lake_and_its_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the line did."""
    monkeypatch.chdir(tmp_path)
    line = ["nightly", "/logs", "--store", "delta:/lake/fleet", "--master", "spark://head:7077", "--install", "cron"]
    monkeypatch.setattr("sys.argv", ["analyzer", *line])
    written: list[str] = []
    monkeypatch.setattr("analyzer.cli.commands.nightly.write", lambda text, _: written.append(text))
    assert call(line) == 0
    assert "nightly /logs --store delta:/lake/fleet --master spark://head:7077" in written[0]


def _steps(found: dict[str, Any]) -> list[Any]:
    return [(step["step"], step["exit_code"], step["said"]) for step in found["steps"]]


def _night(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found["night"].items() if name != "judged_at"}


def _gauges(path: Path) -> list[str]:
    """All but what differs by the moment, and by what a lake is not: one file."""
    lines = path.read_text("utf-8").splitlines()
    return [each for each in lines if not re.match(r".*(?:_seconds|_timestamp|store_bytes|size)", each)]


def _headings(page: str) -> list[str]:
    return re.findall(r"<h[12][^>]*>.*?</h[12]>", page)
