"""`reclassify` on a lake: the figures and rows of a store, all of it or nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.cli import call
from analyzer.lake.layout import JOURNAL
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import down, up
from analyzer.lake.session import java, session
from analyzer.lake.writing.judging import kept_name
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.opening import ingest_into, opened
from analyzer.lake.writing.replaying import reclassify
from analyzer.store import open_store
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
RULES = """
[[rule]]
id = "samples.some"
reason = "validation"
text = ['[nr]o']
source = "made up"
examples = ["what is not known", "one does not know"]
counter_examples = ["the design is missing"]
"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the samples."""
    session(lake_of("delta:/nowhere", "local[2]"), SMALL)
    path = tmp_path_factory.mktemp("samples") / "fleet.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(REPOSITORY / "sample_events")])
    return path


@pytest.fixture
def store(samples: Path, tmp_path: Path) -> Path:
    """A copy of it, with an equal lake and rules beside it."""
    shutil.copytree(samples.parent, tmp_path, dirs_exist_ok=True)
    (tmp_path / "rules.toml").write_text(RULES)
    up(str(tmp_path / "fleet.duckdb"), _lake(tmp_path))
    return tmp_path / "fleet.duckdb"


def _lake(folder: Path) -> Lake:
    return lake_of(f"delta:{folder}/fleet", "local[2]")


def _said(capsys: pytest.CaptureFixture[str], store: Path, *options: str) -> list[tuple[int, str]]:
    """Exit code and output of the command on the store and on the lake."""
    found = []
    for name in (str(store), f"delta:{store.parent}/fleet"):
        code = call(["reclassify", *options, "--store", name, "-q"])
        found.append((code, capsys.readouterr().out))
    return found


def test_what_a_ruleset_changes_is_the_same(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run says it, keeps nothing, and ends with 1 where it is asked to; then it is applied, twice."""
    rules = ("--rules", str(store.parent / "rules.toml"))
    here, there = _said(capsys, store, *rules, "--fail-on-change", "1", "--json")
    assert here == there
    assert here[0] == 1
    told = json.loads(here[1])
    assert told["changed"] > 10 < told["judged"]
    assert any(cell["samples"] for cell in told["matrix"])
    assert differences(_lake(store.parent), store) == {}
    for judged in (told["judged"], 0):
        here, there = _said(capsys, store, *rules, "--apply", "--json")
        assert here == there
        assert json.loads(here[1])["judged"] == judged
        # Each has a decision of its own.
        assert differences(_lake(store.parent), store) == {"event_v1": (1, 1)}
    with opened(_lake(store.parent)) as ledger:
        name = kept_name(told["to"])
        assert ledger.rows(JOURNAL, [("event_id", "=", name)]).num_rows == 1
    (store.parent / "rules.toml").unlink()
    more = store.parent / "more.jsonl"
    lines = (REPOSITORY / "sample_events" / "unknown-spike.jsonl").read_text().splitlines(True)
    more.write_text("".join(line.replace("0", "7") for line in lines[:40]))
    assert ingest_into(_lake(store.parent), [str(more)]).unjudged == 0
    down(_lake(store.parent), str(store.parent / "whole.duckdb"))
    assert (store.parent / "whole.journal" / name).is_file()


@pytest.mark.parametrize("commit", [1, 5])
def test_one_that_dies_on_the_way_applies_nothing(store: Path, monkeypatch: pytest.MonkeyPatch, commit: int) -> None:
    """Whoever writes next takes all of it back."""
    count, marked = 0, Ledger._marked

    def die(self: Ledger) -> object:
        nonlocal count
        count += 1
        if count > commit:
            raise KeyboardInterrupt
        return marked(self)

    lake = _lake(store.parent)
    monkeypatch.setattr(Ledger, "_marked", die)
    with pytest.raises(KeyboardInterrupt):
        reclassify(lake, str(store.parent / "rules.toml"), apply=True)
    monkeypatch.undo()
    assert differences(lake, store) != {}
    with opened(lake) as ledger:
        assert "active_ruleset" not in ledger.rows("store_v1")["key"].to_pylist()
        assert not any(one.startswith("rulesets/") for one in ledger.rows(JOURNAL)["event_id"].to_pylist())
    assert differences(lake, store) == {}
