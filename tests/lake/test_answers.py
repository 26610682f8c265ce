"""Every view and every query, on both engines over the same rows: equal in values, types and order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.analysis import Overview, check, handle, overview, window
from analyzer.cli import call
from analyzer.errors import QueryError, StoreError
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import up
from analyzer.lake.session import java, session
from analyzer.lake.store import LakeStore
from analyzer.store import CallerDays, Selection, Store, catalogue, open_store, views
from tests import REPOSITORY

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
SMALL = {
    "spark.driver.memory": "1g",
    # Few questions on few rows: a second compiler and collectors in parallel cost more than they give.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
WINDOW = {"since": datetime(2026, 11, 3), "until": datetime(2026, 11, 9, 12)}
OTHERS = {
    "detection-late": {"judged_at": datetime(2026, 11, 1)},
    "unknown-share": {"timezone": "Asia/Kathmandu"},
    "detection-groups": {"timezone": "Asia/Kathmandu"},
    "detection-hours": {"asked": '[{"place": 1, "since": "2026-11-03T00:00:00", "until": "2026-11-05T00:00:00"}]'},
    "detection-cost": {
        "asked": '[{"place": 1, "callers": ["figma-probe"]}, {"place": 2, "since": "2026-11-04 00:00:00"}]'
    },
}
"""Parameters beside the window."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a store of the samples is, judged again and checked, and a lake of it."""
    made = tmp_path_factory.mktemp("answers")
    with open_store(made / "fleet.duckdb", writable=True) as store:
        store.ingest([str(REPOSITORY / "sample_events")])
        store.reclassify(apply=True)
        night = check(store, until="2026-11-10")
        handle(store, night.findings[0].id, "acknowledged", note="the provider knows")
    up(str(made / "fleet.duckdb"), lake_of(f"delta:{made}/fleet"))
    return made


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[Store]:
    """The store."""
    with open_store(folder / "fleet.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def lake(folder: Path) -> LakeStore:
    """The lake, on the one session of all these tests."""
    found: Lake = lake_of(f"delta:{folder}/fleet", "local[2]")
    session(found, SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    return LakeStore(found)


def test_every_view_is_the_same(store: Store, lake: LakeStore) -> None:
    """Rows that no order is promised for are sorted by all of their columns."""
    for name, header in views().items():
        if not header.params:
            here, there = store.sql(f"select * from {name}"), lake.view(name)
            assert here.schema == there.schema, name
            assert here.height, name
            assert here.sort(here.columns).equals(there.sort(here.columns)), name


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_query_is_the_same(store: Store, lake: LakeStore, name: str) -> None:
    """Of all of history, of a window, and in another time zone where it has one."""
    known = {param.name for param in catalogue()[name].header.params}
    window = {key: value for key, value in WINDOW.items() if key in known}
    for given in (OTHERS.get(name, {}), window) if window or name in OTHERS else ({},):
        here, there = store.query(name, **given), lake.query(name, **given)
        assert here.schema == there.schema
        assert here.equals(there), pl.concat([here, there])


def test_a_part_of_a_lake_is_that_of_the_store(store: Store, lake: LakeStore) -> None:
    """Chosen by a caller; afterwards the whole lake answers again."""
    whole = lake.query("errors-by-reason")
    only = Selection(caller=store.query("errors-by-caller")["caller"][0])
    with store.selecting(only), lake.selecting(only):
        for name in ("errors-by-reason", "overview-totals", "ruleset-matrix"):
            assert store.query(name).equals(lake.query(name)), name
        assert not whole.equals(lake.query("errors-by-reason"))
    assert whole.equals(lake.query("errors-by-reason"))


def test_the_commands_print_the_same_of_both(folder: Path, capsys: pytest.CaptureFixture[str], lake: LakeStore) -> None:
    """`query` and `unknowns`, byte for byte."""
    for command in (["query", "errors-by-caller", "--json"], ["unknowns", "--json"]):
        said = []
        for name in (f"{folder}/fleet.duckdb", f"delta:{folder}/fleet"):
            assert call([*command, "--store", name]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]


def test_what_a_query_refuses_a_lake_refuses(lake: LakeStore) -> None:
    """A time zone that is none."""
    with pytest.raises(QueryError):
        lake.query("unknown-share", timezone="Mars/Olympus")


def test_a_file_that_goes_while_a_lake_is_open_is_told(folder: Path, lake: LakeStore, tmp_path: Path) -> None:
    """As a damaged lake, not as a query that is wrong."""
    up(str(folder / "fleet.duckdb"), gone := lake_of(f"delta:{tmp_path}/gone", "local[2]"))
    opened = LakeStore(gone)
    for path in (tmp_path / "gone" / "quarantine_v1").glob("*.parquet"):
        path.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        opened.query("quarantine-lines")


def test_the_report_is_the_same(store: Store, lake: LakeStore) -> None:
    """Findings with all that is behind them, tables and figures, in days of a zone that is no whole hours off."""
    chosen = window("2026-11-03", "2026-11-10", None, "Asia/Kathmandu")
    here = _reported(overview(store, chosen))
    assert here["findings"]
    assert _reported(overview(lake, chosen)) == here


def test_a_report_on_a_part_is_the_same(store: Store, lake: LakeStore) -> None:
    """Of one caller, all time."""
    only = Selection(caller="figma-probe")
    assert _reported(overview(lake, only=only)) == _reported(overview(store, only=only))


def test_sums_are_the_same(store: Store, lake: LakeStore) -> None:
    """What executors count by day and caller, message by message, and the rows behind it."""
    ruleset = store.judge_history()
    assert lake.judge_history() == ruleset
    here, there = (one.daily_sums(date(2026, 11, 10), "America/Los_Angeles", ruleset) for one in (store, lake))
    for name, frame in here.frames.items():
        assert_frame_equal(frame.sort(frame.columns), there.frames[name])
    callers = [CallerDays(caller, date(2026, 11, 2), date(2026, 11, 10)) for caller in (None, "figma-probe")]
    for one in callers:
        assert_frame_equal(here.groups([one]), there.groups([one]))
        assert here.groups([one]).height


def _reported(found: Overview) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "generated_at"}
