"""A check of a lake: the night that a store in a file has, written down for good, and told again as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.analysis import check, check_hours, window
from analyzer.cli import call
from analyzer.errors import StoreBusyError, StoreError
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import up
from analyzer.lake.session import java, session
from analyzer.lake.store import LakeStore
from analyzer.lake.writable import WritableLakeStore
from analyzer.lake.writing.ledger import Ledger
from analyzer.store import Store, open_store
from tests import REPOSITORY
from tests.lake.equal import differences
from tests.lake.test_answers import SMALL

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
NIGHT = "2026-11-10"


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Lake]:
    """A store of the samples that no ruleset was applied to, and a lake of it."""
    with open_store(tmp_path / "fleet.duckdb", writable=True) as store:
        store.ingest([str(REPOSITORY / "sample_events")])
    lake = lake_of(f"delta:{tmp_path}/fleet", "local[2]")
    up(str(tmp_path / "fleet.duckdb"), lake)
    session(lake, SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    return tmp_path / "fleet.duckdb", lake


def test_a_night_is_that_of_a_store_and_is_written_down(
    both: tuple[Path, Lake], capsys: pytest.CaptureFixture[str]
) -> None:
    """Verdicts of the built-in rules, finding, night, journal and exit code; asked again it is read back."""
    path, lake = both
    asked = ("check", "--until", NIGHT, "--json", "-q", "--store")
    found = []
    for name in (str(path), f"delta:{lake.path}"):
        master = ("--master", lake.master) if name.startswith("delta:") else ()
        assert call([*asked, name, *master]) == 1
        found.append(json.loads(capsys.readouterr().out))
    assert len(found[0]["findings"]) == 1
    assert _timeless(found[1]) == _timeless(found[0])
    with open_store(path) as store, LakeStore(lake) as there:
        assert _findings(there) == _findings(store)
        kinds = "finding.opened", "finding.reported", "night.judged"
        recorded = [json.loads(line)["type"] for line in _journal(lake) if json.loads(line)["type"] in kinds]
        assert recorded == [*kinds]
        again = check(there, until=NIGHT)
        assert again.recorded
        assert _timeless(again.to_dict() | {"recorded": False}) == _timeless(found[1])
        with pytest.raises(StoreError, match="open for reading"):
            there.decide([("finding.opened", {})])
    # What is told of the night has its own moment and id in each.
    assert set(differences(lake, path)) <= {"event_v1"}


def test_nobody_else_writes_meanwhile_and_a_night_is_whole_or_not_there(
    both: tuple[Path, Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second writer is told to wait; one who dies between two commits of a night leaves none of it."""
    path, lake = both
    real = Ledger.append

    def dying(self: Ledger, name: str, rows: Any) -> None:
        if name == "event_v1":
            raise KeyboardInterrupt
        real(self, name, rows)

    with WritableLakeStore(lake) as store:
        with pytest.raises(StoreBusyError):
            WritableLakeStore(lake)
        here, hours = (open_store(path), window("2026-11-09T09:00", "2026-11-09T11:00"))
        with here:
            assert _timeless(check_hours(store, hours).to_dict()) == _timeless(check_hours(here, hours).to_dict())
        monkeypatch.setattr(Ledger, "append", dying)
        with pytest.raises(KeyboardInterrupt):
            check(store, until=NIGHT)
    monkeypatch.undo()
    with WritableLakeStore(lake) as store:
        assert [line for line in _journal(lake) if "night.judged" in line or "finding." in line] == []
        assert not check(store, until=NIGHT).recorded


def _timeless(night: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in night.items() if name not in {"judged_at"}}


def _findings(store: Store | LakeStore) -> list[Any]:
    return sorted(store.view("findings").select("finding_id", "state", "caller", "opened_on").rows())


def _journal(lake: Lake) -> list[str]:
    from deltalake import DeltaTable

    lines: list[str] = DeltaTable(lake.table("journal_v1")).to_pyarrow_table()["line"].to_pylist()
    return [line for line in lines if line.startswith("{")]
