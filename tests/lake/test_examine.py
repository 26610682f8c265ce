"""The doctor of a lake: each fault is found and named, a healthy lake has none, and its rows say what a store's do."""

from __future__ import annotations

import json
import os
import shutil
import socket
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

import pyarrow as pa
from deltalake import write_deltalake

from analyzer.cli import call
from analyzer.errors import StoreError
from analyzer.events.times import now
from analyzer.lake import examine as doctor
from analyzer.lake.examine import examine
from analyzer.lake.layout import JOURNAL, tables
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import up
from analyzer.lake.session import java, session
from analyzer.lake.store import LakeStore
from analyzer.lake.writing import lease
from analyzer.lake.writing.lease import Lease
from analyzer.lake.writing.opening import STAGING, opened
from analyzer.store import Check, open_store
from analyzer.store import examine as examine_file
from tests.lake.test_answers import SMALL

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
ROWS = ("gaps", "future", "clocks", "damaged", "quarantine", "claims", "age")
"""The checks of rows, which Spark and DuckDB both answer."""


def _line(number: int, moment: str, writer: str) -> str:
    return json.dumps(
        {
            "v": 1,
            "id": f"0190aaaa-0000-7000-8000-{number:012d}",
            "type": "error.classified",
            "timestamp": moment,
            "sessionId": "s",
            "writer": writer,
            "seq": number,
            "payload": {"caller": "checkout", "reason": "unknown", "detail": f"{number} of them"},
        }
    )


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log with a gap, a clock that goes back, an event of next year, and a line that is none."""
    ahead = (now() + timedelta(days=400)).isoformat(timespec="seconds") + "Z"
    moments = ["2026-11-02T08:00:00Z", "2026-11-02T07:30:00Z", "2026-11-02T09:00:00Z", ahead]
    lines = [_line(number, moment, "one") for number, moment in zip((1, 2, 3, 7), moments, strict=True)]
    (tmp_path / "faults.jsonl").write_text("\n".join([*lines, '{"v":1,"id":', ""]), "utf-8")
    return tmp_path / "faults.jsonl"


@pytest.fixture
def lake(tmp_path: Path, logs: Path) -> Lake:
    """A lake that was moved up from a store of that log."""
    with open_store(tmp_path / "fleet.duckdb", writable=True) as store:
        store.ingest([str(logs)])
        store.reclassify(apply=True)
    found = lake_of(f"delta:{tmp_path}/fleet", "local[2]")
    up(str(tmp_path / "fleet.duckdb"), found)
    session(found, SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    return found


@pytest.fixture
def rowless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is not asked: what is tested are the files."""
    monkeypatch.setattr(doctor, "_rows", lambda _: iter(()))


def _by_name(checks: list[Check], names: tuple[str, ...]) -> dict[str, Check]:
    return {check.name: check for check in checks if check.name in names}


def _states(lake: Lake) -> dict[str, str]:
    return {check.name: check.state for check in examine(lake) if check.state != "ok"}


def test_the_rows_of_a_lake_say_what_those_of_a_store_say(lake: Lake, tmp_path: Path) -> None:
    """Each check with its state, words and remedy, but for what reads quarantine again; and the files are in order."""
    there, here = examine(lake), examine_file(str(tmp_path / "fleet.duckdb"))
    told = _by_name(there, ROWS)
    assert told["quarantine"].todo.endswith(": analyzer rebuild")
    told["quarantine"] = replace(told["quarantine"], todo=_by_name(here, ROWS)["quarantine"].todo)
    assert told == _by_name(here, ROWS)
    assert {name for name, check in _by_name(there, ROWS).items() if check.state != "ok"} == {
        "gaps",
        "future",
        "clocks",
        "quarantine",
    }
    assert {check.name: check.state for check in there if check.name not in ROWS} == dict.fromkeys(
        ("lock", "permissions of the lake", "store", "files", "past", "batches", "space", "ruleset"), "ok"
    )


def test_the_command_ends_with_1_where_something_is_wrong(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a file, with the same JSON."""
    assert call(["doctor", "--store", f"delta:{lake.path}", "--master", "local[2]", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["problems"]) == ("analyzer.doctor/1", 1)
    assert "set the clocks" in [check["todo"] for check in told["checks"]]


def test_where_no_lake_is_is_a_note(tmp_path: Path) -> None:
    """With what makes one; something else is a problem."""
    [check] = examine(lake_of(f"delta:{tmp_path}/none"))
    assert (check.state, f"--store delta:{tmp_path}/none" in check.todo) == ("note", True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    [check] = examine(lake_of(f"delta:{tmp_path}/other"))
    assert check.state == "problem"


@pytest.mark.usefixtures("rowless")
def test_a_missing_and_a_torn_file_are_named(lake: Lake) -> None:
    """Rows are not looked into then."""
    for spoil, said in ((lambda path: path.unlink(), "missing"), (_cut, "cut off")):
        data = next(Path(lake.table("event_v1")).rglob("*.parquet"))
        whole = data.read_bytes()
        spoil(data)
        checks = [check for check in examine(lake) if check.state != "ok"]
        assert [check.name for check in checks] == ["store", "rows"]
        assert said in checks[0].said
        assert data.name in checks[0].said
        assert f"analyzer rebuild PATH... --store delta:{lake.path}" in checks[0].todo
        data.write_bytes(whole)
        assert _states(lake) == {}


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("content", [None, b"", b"PAR1" + bytes(40)])
def test_a_lake_whose_settings_are_gone_is_a_problem(lake: Lake, content: bytes | None) -> None:
    """The file that tells its version is missing, empty or damaged; whoever asks the lake is told the same."""
    data = next(Path(lake.table("store_v1")).glob("*.parquet"))
    data.unlink() if content is None else data.write_bytes(content)
    [check] = examine(lake)
    assert (check.name, check.state) == ("store", "problem")
    assert "\x1b" not in check.said
    with pytest.raises(StoreError, match=r"cannot be (used|read)"):
        LakeStore(lake)


@pytest.mark.usefixtures("rowless")
def test_a_damaged_journal_is_a_problem(lake: Lake) -> None:
    """Its files have their sizes, and cannot be read; the other checks are made all the same."""
    for data in Path(lake.table(JOURNAL)).rglob("*.parquet"):
        data.write_bytes(data.read_bytes()[:-8] + bytes(8))
    assert _states(lake) == {"ruleset": "problem"}


@pytest.mark.usefixtures("rowless")
@pytest.mark.parametrize("name", ["lease", "store_v1", "source_v1", "event_v1"])
def test_a_torn_log_of_any_table_is_a_problem(lake: Lake, name: str) -> None:
    """It is told, not raised."""
    with Lease(lake.path):
        pass
    log = sorted(Path(lake.table(name), "_delta_log").glob("*.json"))[-1]
    log.write_bytes(log.read_bytes()[:-40])
    states = _states(lake)
    assert states.pop("rows", "note") == "note"
    assert set(states.values()) == {"problem"}


@pytest.mark.usefixtures("rowless")
def test_a_writer_is_named_and_a_dead_one_told_apart(lake: Lake) -> None:
    """Neither is a fault of the lake."""
    with Lease(lake.path):
        checks = _by_name(examine(lake), ("lock",))
        assert (checks["lock"].state, f"process {os.getpid()} on" in checks["lock"].said) == ("note", True)
    assert _states(lake) == {}
    row: dict[str, Any] = {
        "owner": "x",
        "host": socket.gethostname(),
        "process": 999_999_999,
        "began": "1",
        "runs_out_at": now(),
    }
    write_deltalake(lake.table("lease"), pa.Table.from_pylist([row], lease._SCHEMA), mode="overwrite")
    checks = _by_name(examine(lake), ("lock",))
    assert (checks["lock"].state, "died" in checks["lock"].said) == ("note", True)


@pytest.mark.usefixtures("rowless")
def test_what_a_dead_process_left_is_a_note(lake: Lake) -> None:
    """A batch that never ended, and what executors had staged; the files that its end leaves behind are the past."""
    with pytest.raises(RuntimeError), opened(lake) as ledger, ledger.batch():
        ledger.append("store_v1", ledger.rows("store_v1"))
        raise RuntimeError
    Path(lake.table(STAGING)).mkdir()
    assert _states(lake) == {"batches": "note", "staging": "note"}
    with opened(lake):
        pass
    shutil.rmtree(lake.table(STAGING))
    assert _states(lake) == {}
    assert "0.0 MB" in _by_name(examine(lake), ("past",))["past"].said


@pytest.mark.usefixtures("rowless")
def test_small_files_and_a_long_past_are_worth_a_word(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the page that says how to mend it."""
    monkeypatch.setattr(doctor, "MANY_FILES", 0)
    for _ in range(40):
        with opened(lake) as ledger, ledger.batch():
            ledger.replace("event_v1", ledger.rows("event_v1"))
    checks = _by_name(examine(lake), ("files", "past"))
    assert {check.state for check in checks.values()} == {"note"}
    assert "event_v1 (" in checks["files"].said
    assert all("docs/how-to/fleet.md" in check.todo for check in checks.values())


@pytest.mark.usefixtures("rowless")
def test_loose_permissions_little_space_and_lost_rules_are_problems(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a store in a file."""
    os.chmod(lake.path, 0o755)
    monkeypatch.setattr("analyzer.store.doctor.checks.SPARE_BYTES", 2**62)
    with opened(lake) as ledger, ledger.batch():
        rows = ledger.rows("store_v1").to_pylist()
        changed = [{**row, "value": "0" * 64} if row["key"] == "active_ruleset" else row for row in rows]
        ledger.replace("store_v1", pa.Table.from_pylist(changed, tables()["store_v1"].schema))
    assert _states(lake) == {"permissions of the lake": "problem", "space": "problem", "ruleset": "problem"}
