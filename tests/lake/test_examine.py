"""The doctor of a lake: each fault is found and named, a healthy lake has none, and its rows say what a store's do."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from analyzer.cli import call
from analyzer.errors import StoreError
from analyzer.events.times import now
from analyzer.lake import examine as doctor
from analyzer.lake import log
from analyzer.lake.batch import SETTINGS, LakeBatch, changed_settings, settings
from analyzer.lake.examine import examine
from analyzer.lake.former import current
from analyzer.lake.layout import JOURNAL, rows, tables
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.log import Lease
from analyzer.lake.moving import up
from analyzer.lake.store import LakeStore
from analyzer.store import Check, open_store
from analyzer.store import examine as examine_file

ROWS = ("gaps", "future", "clocks", "damaged", "unfinished", "quarantine", "claims", "age")
"""The checks of rows."""


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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake that was moved up from a store beside it; tests copy it.

    Its log has a gap, a clock that goes back, an event of next year, and a line that is none.
    """
    folder = tmp_path_factory.mktemp("examined")
    ahead = (now() + timedelta(days=400)).isoformat(timespec="seconds") + "Z"
    moments = ["2026-11-02T08:00:00Z", "2026-11-02T07:30:00Z", "2026-11-02T09:00:00Z", ahead]
    lines = [_line(number, moment, "one") for number, moment in zip((1, 2, 3, 7), moments, strict=True)]
    (folder / "faults.jsonl").write_text("\n".join([*lines, '{"v":1,"id":', ""]), "utf-8")
    with open_store(folder / "fleet.duckdb", writable=True) as store:
        store.ingest([str(folder / "faults.jsonl")])
        store.reclassify(apply=True)
    up(str(folder / "fleet.duckdb"), lake_of(f"delta:{folder}/fleet"))
    return folder


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> Lake:
    """A lake of that log."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return lake_of(f"delta:{tmp_path}/fleet")


HEALTHY = {"gaps": "note", "future": "problem", "clocks": "note", "quarantine": "note"}
"""What there is to say of the rows of that log."""


def _by_name(checks: list[Check], names: tuple[str, ...]) -> dict[str, Check]:
    return {check.name: check for check in checks if check.name in names}


def _states(lake: Lake) -> dict[str, str]:
    return {check.name: check.state for check in examine(lake) if check.state != "ok"}


def test_the_rows_of_a_lake_say_what_those_of_a_store_say(lake: Lake, tmp_path: Path) -> None:
    """Each check with its state, words and remedy, but for what reads quarantine again; and the files are in order."""
    there, here = examine(lake), examine_file(str(tmp_path / "fleet.duckdb"))
    told = _by_name(there, ROWS)
    assert told["quarantine"].todo.endswith(f": analyzer quarantine retry --store delta:{lake.path}")
    told["quarantine"] = replace(told["quarantine"], todo=_by_name(here, ROWS)["quarantine"].todo)
    assert told == _by_name(here, ROWS)
    assert {name for name, check in _by_name(there, ROWS).items() if check.state != "ok"} == {
        "gaps",
        "future",
        "clocks",
        "quarantine",
    }
    assert {check.name: check.state for check in there if check.name not in ROWS} == dict.fromkeys(
        ("lock", "permissions of the lake", "store", "files", "past", "space", "ruleset"), "ok"
    )


def test_the_command_ends_with_1_where_something_is_wrong(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    """As of a file, with the same JSON."""
    assert call(["doctor", "--store", f"delta:{lake.path}", "--json"]) == 1
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
        assert _states(lake) == HEALTHY


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


def test_a_damaged_journal_is_a_problem(lake: Lake) -> None:
    """Its files have their sizes, and cannot be read; the other checks are made all the same."""
    for data in Path(lake.table(JOURNAL)).rglob("*.parquet"):
        data.write_bytes(data.read_bytes()[:-8] + bytes(8))
    assert _states(lake) == HEALTHY | {"ruleset": "problem"}


@pytest.mark.parametrize("name", [log.LOG, "store_v1", "source_v1", "event_v1"])
def test_a_torn_log_of_any_table_is_a_problem(lake: Lake, name: str) -> None:
    """It is told with the name of the table, not raised."""
    entry = sorted(Path(lake.table(name), "_delta_log").glob("*.json"))[-1]
    entry.write_bytes(entry.read_bytes()[:-60])
    [check] = examine(lake)
    assert (check.state, f"the table {name}" in check.said) == ("problem", True)


def test_who_holds_the_lease_is_named_and_a_dead_one_told_apart(lake: Lake) -> None:
    """Neither is a fault of the lake."""
    with Lease(lake).held():
        [check] = [one for one in examine(lake) if one.name == "lock"]
        assert (check.state, f"process {os.getpid()} of this machine" in check.said) == ("note", True)
        held = log.Swap(lake).lease
    assert held is not None
    assert log.Swap(lake).hold({**held, "process": 999_999_999})
    [check] = [one for one in examine(lake) if one.name == "lock"]
    assert (check.state, "died" in check.said) == ("note", True)


def test_small_files_and_a_long_past_are_worth_a_word(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the page that says how to mend it."""
    monkeypatch.setattr(doctor, "MANY_FILES", 0)
    for _ in range(10):
        at = current(lake)
        batch = LakeBatch(lake, at)
        held = tables()["event_v1"].rows(rows(lake, "event_v1", at.files["event_v1"]))
        batch.replace("event_v1", at.files["event_v1"], held)
        batch.commit()
    checks = _by_name(examine(lake), ("files", "past"))
    assert {check.state for check in checks.values()} == {"note"}
    assert "event_v1 (" in checks["files"].said
    assert all("docs/how-to/fleet.md" in check.todo for check in checks.values())


def test_loose_permissions_little_space_and_lost_rules_are_problems(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a store in a file."""
    os.chmod(lake.path, 0o755)
    monkeypatch.setattr("analyzer.store.doctor.checks.SPARE_BYTES", 2**62)
    at = current(lake)
    batch = LakeBatch(lake, at)
    known = settings(lake, at) | {"active_ruleset": "0" * 64}
    batch.replace(SETTINGS, at.files[SETTINGS], changed_settings(known))
    batch.commit()
    assert {name for name, state in _states(lake).items() if state == "problem"} == {
        *("permissions of the lake", "space", "ruleset", "future")
    }
