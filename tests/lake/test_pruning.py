"""Retention in a lake: what is left is what is left of a store in a file, and it is all of it or nothing."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.cli import call
from analyzer.errors import AnalyzerError
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import up
from analyzer.lake.session import java, session
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.opening import ingest_into, opened
from analyzer.lake.writing.pruning import prune
from analyzer.store import open_store
from tests import REPOSITORY
from tests.lake.equal import differences
from tests.lake.test_answers import SMALL

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
BEFORE = datetime(2026, 11, 6)


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Lake]:
    """A store of the samples with the verdicts of a ruleset, and a lake of it; a file with rejects is an old one."""
    logs = tmp_path / "logs"
    shutil.copytree(REPOSITORY / "sample_events", logs)
    os.utime(logs / "torn-tail.jsonl", (1_793_500_000, 1_793_500_000))
    with open_store(tmp_path / "fleet.duckdb", writable=True) as store:
        store.ingest([str(logs)])
        store.reclassify(apply=True)
    lake = lake_of(f"delta:{tmp_path}/fleet", "local[2]")
    up(str(tmp_path / "fleet.duckdb"), lake)
    session(lake, SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    return tmp_path / "fleet.duckdb", lake


def test_what_is_left_is_that_of_a_store(
    both: tuple[Path, Lake], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted it is nothing; done it is the same, with a decision of its own; a late log brings nothing back."""
    path, lake = both
    with open_store(path) as store:
        wanted = store.prune(BEFORE, dry_run=True)
    assert wanted.events
    assert wanted.quarantined
    assert prune(lake, BEFORE, dry_run=True) == wanted

    def dying(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Ledger, "drop", dying)
        prune(lake, BEFORE)
    with opened(lake):
        """Whoever writes next takes it back."""
    assert differences(lake, path) == {}
    with open_store(path, writable=True) as store:
        assert prune(lake, BEFORE) == store.prune(BEFORE)
    # The decision has an id of its own in each.
    assert differences(lake, path) == {"event_v1": (1, 1)}
    again = prune(lake, BEFORE)
    assert (again.events, again.quarantined) == (0, 0)
    assert differences(lake, path) == {"event_v1": (1, 1)}
    late = path.parent / "late.jsonl"
    shutil.copy(REPOSITORY / "sample_events" / "healthy-week.jsonl", late)
    ingest_into(lake, [str(late)])
    assert prune(lake, BEFORE, dry_run=True).events == 0
    assert call(["prune", "--older-than", "1d", "--store", f"delta:{lake.path}", "--dry-run"]) == 0
    assert "Would delete what happened before " in capsys.readouterr().out


def test_logs_on_shared_storage_are_not_deleted() -> None:
    """They are not the lake's; it is said before any Spark starts."""
    with pytest.raises(AnalyzerError, match="--files is for a store in a file"):
        prune(lake_of("delta:/nowhere"), BEFORE, files=True)
