"""`contrib/grafana/`: dashboard and rules speak of gauges that are written; Prometheus' own tool accepts the rules."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from analyzer.analysis.summary.day_figures import NightFigures
from analyzer.report.night.metrics import render_prometheus
from tests.analysis.made_nights import night_of

REPOSITORY = Path(__file__).resolve().parents[2]
CONTRIB = REPOSITORY / "contrib" / "grafana"
NIGHT = night_of(judged_at=datetime(2026, 11, 10, 3), ruleset="r", warnings_a_week=0.5)
FIGURES = NightFigures(
    errors={("coder", "unknown"): 3, ("coder", "validation"): 4},
    error_sessions={("coder", "unknown"): 2, ("coder", "validation"): 4},
    sessions={"coder": 9},
    unknown_share={"coder": 3 / 7},
    last_ingest_seconds=1_794_000_000.0,
    quarantine_rows=2,
    store_bytes=4096,
)
LABELS = {
    "analyzer_findings": {"severity", "state"},
    "analyzer_finding_observed": {"id", "finding", "caller", "severity"},
    "analyzer_errors": {"caller", "reason"},
    "analyzer_error_sessions": {"caller", "reason"},
    "analyzer_sessions": {"caller"},
    "analyzer_unknown_share": {"caller"},
}
"""Of gauges with more than one series."""


def test_no_metric_is_spoken_of_that_is_not_written() -> None:
    """Dashboard, rules and their tests name gauges of the textfile; the page of the check names all of them."""
    written = _written()
    for name in ("dashboard.json", "alerts.yml", "alerts_test.yml"):
        named = set(re.findall(r"\banalyzer_\w+", (CONTRIB / name).read_text("utf-8")))
        assert named, name
        assert named <= written, name
    page = (REPOSITORY / "docs" / "reference" / "check.md").read_text("utf-8")
    assert set(re.findall(r"`(analyzer_[a-z_]+)[{`]", page)) == written


def test_no_label_is_asked_for_that_is_not_written() -> None:
    """Labels in queries, groupings and legends are those of the gauge, or `instance`, which Prometheus adds."""
    for expr, legend in _queries():
        names = set(re.findall(r"\banalyzer_\w+", expr))
        known = {"instance"}.union(*(LABELS.get(name, set()) for name in names))
        asked = set(re.findall(r"(\w+)=~?\"", expr)) | set(re.findall(r"{{(\w+)}}", legend))
        for grouping in re.findall(r"by \(([\w, ]+)\)", expr):
            asked.update(grouping.split(", "))
        assert asked <= known, expr


def test_a_dashboard_has_the_form_that_grafana_imports() -> None:
    """Schema 39 or later; panels have numbers and places of their own in 24 columns, and a data source to choose."""
    board = _board()
    assert board["schemaVersion"] >= 39
    assert board.get("id") is None  # Grafana gives it
    assert {"title", "uid", "time", "templating", "annotations"} <= set(board)
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert {one["type"] for one in variables.values()} == {"datasource", "query"}
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] in {"stat", "timeseries", "bargauge"}
        assert panel["title"] and panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        place = panel["gridPos"]
        own = {(place["x"] + across, place["y"] + down) for across in range(place["w"]) for down in range(place["h"])}
        assert max(x for x, _ in own) < 24
        assert not own & cells, panel["title"]
        cells |= own
        references = [target["refId"] for target in panel["targets"]]
        assert references and len(set(references)) == len(references)
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= set(variables)


def test_figures_become_gauges() -> None:
    """With the labels that are promised, and a figure that nobody knows is left out."""
    text = render_prometheus(NIGHT, FIGURES).decode()
    assert 'analyzer_errors{caller="coder",reason="unknown"} 3.0' in text
    assert 'analyzer_error_sessions{caller="coder",reason="validation"} 4.0' in text
    assert 'analyzer_sessions{caller="coder"} 9.0' in text
    assert 'analyzer_unknown_share{caller="coder"} 0.42' in text
    assert "analyzer_store_bytes 4096.0" in text
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert set(sample.labels) == LABELS.get(sample.name, set())
    nothing = NightFigures(
        errors={},
        error_sessions={},
        sessions={},
        unknown_share={},
        last_ingest_seconds=None,
        quarantine_rows=0,
        store_bytes=None,
    )
    bare = render_prometheus(NIGHT, nothing).decode()
    assert "analyzer_quarantine_rows 0.0" in bare
    assert "analyzer_last_ingest_seconds" not in bare
    assert "analyzer_store_bytes" not in bare


@pytest.mark.parametrize("line", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")])
def test_prometheus_own_tool_accepts_the_rules(line: tuple[str, ...]) -> None:
    """They are well formed, and fire on the made-up nights that they should fire on, and on no other."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("RULES NOT TESTED, no promtool here: apt-get install prometheus")
    done = subprocess.run([program, *line], cwd=CONTRIB, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_has_a_night_that_it_fires_on() -> None:
    """In the tests of the rules, beside its words for people."""
    rules = set(re.findall(r"- alert: (\w+)", (CONTRIB / "alerts.yml").read_text("utf-8")))
    tests = (CONTRIB / "alerts_test.yml").read_text("utf-8")
    fired = set(re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- exp_labels", tests))
    assert rules == fired


def _board() -> dict[str, Any]:
    board: dict[str, Any] = json.loads((CONTRIB / "dashboard.json").read_text("utf-8"))
    return board


def _queries() -> Iterator[tuple[str, str]]:
    for panel in _board()["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


def _written() -> set[str]:
    return {family.name for family in text_string_to_metric_families(render_prometheus(NIGHT, FIGURES).decode())}
