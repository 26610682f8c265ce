"""A lake made again: the rows, figures and result of a store that is made again from the same logs; all or nothing."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.cli import call
from analyzer.errors import StoreError
from analyzer.lake.layout import JOURNAL
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import up
from analyzer.lake.rebuilding.rebuild import rebuild
from analyzer.lake.session import java, session
from analyzer.lake.store import LakeStore
from analyzer.lake.writing.ledger import Ledger
from analyzer.lake.writing.opening import ingest_into, opened
from analyzer.store import open_store, views
from analyzer.store import rebuild as rebuild_file
from tests import REPOSITORY
from tests.lake.equal import differences
from tests.lake.test_answers import SMALL
from tests.lake.test_replaying import RULES

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
_OWN = ("store", "aside", "seconds")
"""What a file and a lake say otherwise."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs, a store of them that was judged, pruned and checked, and beside it what tests get back."""
    home = tmp_path_factory.mktemp("rebuilding") / "home"
    shutil.copytree(REPOSITORY / "sample_events", home / "logs")
    os.utime(home / "logs" / "torn-tail.jsonl", (1_793_500_000, 1_793_500_000))
    with open_store(home / "fleet.duckdb", writable=True) as store:
        store.ingest([str(home / "logs")])
        store.reclassify(apply=True)
        (home / "rules.toml").write_text(RULES)
        store.reclassify(str(home / "rules.toml"), apply=True)
        store.prune(datetime(2026, 11, 4))
    shutil.copytree(home, home.with_name("kept"))
    return home


@pytest.fixture
def both(made: Path) -> tuple[Path, Lake]:
    """The store with its logs as they were, and a lake of it."""
    shutil.rmtree(made)
    shutil.copytree(made.with_name("kept"), made)
    lake = lake_of(f"delta:{made}/fleet", "local[2]")
    up(str(made / "fleet.duckdb"), lake)
    session(lake, SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    return made / "fleet.duckdb", lake


def _moments(lake: Lake) -> dict[str, datetime]:
    """By event: when it was met."""
    with LakeStore(lake) as store:
        return dict(store.view("events").select("event_id", "ingested_at").rows())


def _same(lake: Lake, path: Path, *paths: Path) -> dict[str, Any]:
    """Make both again; what both say."""
    told = rebuild(lake, list(map(str, paths))).to_dict()
    wanted = rebuild_file(str(path), list(map(str, paths))).to_dict()
    for name in _OWN:
        del told[name], wanted[name]
    assert told == wanted
    assert differences(lake, path) == {}
    return told


def test_a_lake_made_again_is_a_store_made_again(both: tuple[Path, Lake]) -> None:
    """With a log gone, one renamed, one that has grown and a new one, after a prune and a ruleset; and once more."""
    path, lake = both
    logs = path.parent / "logs"
    before = _moments(lake)
    (logs / "relay-storm.jsonl").unlink()
    (logs / "healthy-week.jsonl").rename(logs / "renamed.jsonl")
    with (logs / "torn-tail.jsonl").open("ab") as torn:
        torn.write(b'"}\nno line\n')
    week = (logs / "renamed.jsonl").read_text().splitlines(True)
    (logs / "more.jsonl").write_text("".join(line.replace("0", "7") for line in week[:40]) + week[60])
    told = _same(lake, path, logs)
    assert told["carried_events"] > 10
    assert told["journal_events"] > 10
    assert told["vanished"] == [str(logs / "relay-storm.jsonl")]
    assert (told["former"], told["unjudged"]) == ("read", 0)
    assert told["ruleset"]
    with open_store(path) as store, LakeStore(lake) as there:
        for name, header in views().items():
            if not header.params:
                columns = [one.name for one in header.columns if not one.name.endswith(("ingested_at", "judged_at"))]
                here, found = store.sql(f"select * from {name}").select(columns), there.view(name).select(columns)
                assert sorted(map(repr, found.rows())) == sorted(map(repr, here.rows())), name
    assert _moments(lake).items() >= before.items()
    assert _same(lake, path)["carried_events"] == told["carried_events"]
    # What was added to a log that was known waits for an ingest.
    figures = ingest_into(lake, [str(logs)]).to_dict()
    with open_store(path, writable=True) as store:
        assert store.ingest([str(logs)]).to_dict() == figures
    assert figures["events"] == 1
    assert differences(lake, path) == {}


@pytest.mark.parametrize("commit", [2, 6])
def test_one_that_dies_leaves_the_lake_as_it_was(
    both: tuple[Path, Lake], monkeypatch: pytest.MonkeyPatch, commit: int
) -> None:
    """No reader sees any of it, at once or later; whoever writes next takes it back, and the next rebuild is whole."""
    path, lake = both
    (path.parent / "logs" / "relay-storm.jsonl").unlink()
    before, renew, count = _moments(lake), Ledger.renew, 0

    def die(self: Ledger, name: str, chunks: Any) -> None:
        nonlocal count
        count += 1
        if count == commit:
            raise KeyboardInterrupt
        renew(self, name, chunks)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Ledger, "renew", die)
        rebuild(lake)
    assert not (Path(lake.path) / "_staging").exists()
    assert _moments(lake) == before
    if commit == 6:
        with opened(lake):
            """Whoever writes next takes it back."""
        assert differences(lake, path) == {}
    _same(lake, path)


def test_a_lake_with_a_file_missing_is_made_again_from_the_logs_that_are_named(
    both: tuple[Path, Lake], capsys: pytest.CaptureFixture[str]
) -> None:
    """As a store that cannot be read; what the journal has lost is told. Without a lake, one is made."""
    path, lake = both
    logs = path.parent / "logs"
    (events,) = Path(lake.path).glob("event_v1/day=2026-11-05/*.parquet")
    events.unlink()
    name = f"delta:{lake.path}"
    assert call(["rebuild", "--store", name, "-q"]) == 3
    assert "name the logs that it was made from" in capsys.readouterr().err
    assert call(["rebuild", str(logs), "--store", name, "-q", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["former"] == "unreadable"
    assert events.name in told["why"]
    path.write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 500)
    wanted = rebuild_file(str(path), [str(logs)]).to_dict()
    assert {name: told[name] for name in wanted if name not in (*_OWN, "why")} == {
        name: wanted[name] for name in wanted if name not in (*_OWN, "why")
    }
    assert differences(lake, path) == {}
    for journal in Path(lake.path).glob(f"{JOURNAL}/*.parquet"):
        journal.unlink()
    assert call(["rebuild", "--store", name, "-q"]) == 3
    assert "a damaged part of the journal" in capsys.readouterr().err
    # What was derived of logs that are still there is in it again, but for the three decisions.
    with opened(lake) as ledger:
        assert ledger.rows(JOURNAL).num_rows == told["journal_events"] - 3 > 10
    shutil.rmtree(lake.path)
    with pytest.raises(StoreError, match="no lake at"):
        rebuild(lake)
    assert rebuild(lake, [str(logs / "healthy-week.jsonl")]).events > 100
    for known in Path(lake.path).glob("store_v1/*.parquet"):
        known.unlink()
    with pytest.raises(StoreError) as refused:
        rebuild(lake)
    assert "name the logs" in str(refused.value.hint)
    again = rebuild(lake, [str(logs / "healthy-week.jsonl")])
    assert (again.former, again.events > 100) == ("unreadable", True)
