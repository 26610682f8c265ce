"""What a lake says and keeps is what a store in a file says and keeps, whatever is done to both."""

from __future__ import annotations

import io
import json
import os
import shutil
from datetime import date
from pathlib import Path

import pytest

from analyzer.analysis import overview
from analyzer.cli import call
from analyzer.events.times import now
from analyzer.lake.former import current
from analyzer.lake.layout import JOURNAL, rows
from analyzer.lake.push import ingest_into
from analyzer.lake.store import LakeStore, WritableLakeStore, connected, snapshot
from analyzer.report import render_json
from analyzer.store import catalogue, open_store, views
from analyzer.store.journal import journal_of, parts_of
from tests import REPOSITORY, sampled
from tests.lake.both import Both
from tests.lake.equal import RULES, differences, lasting, said

SAMPLES = REPOSITORY / "sample_events"
NIGHTS = ("2026-11-05", "2026-11-08", "2026-11-09", "2026-11-10", "2026-11-11")


def test_the_samples_are_the_same_rows_in_a_lake_and_a_second_ingest_adds_none(both: Both) -> None:
    """Every table of the store, and in the journal the events of foreign logs."""
    assert both.ingest(SAMPLES)["events"] > 200
    at = current(both.lake)
    journal = rows(both.lake, JOURNAL, at.files[JOURNAL])["line"].to_pylist()
    kept = [line for part in parts_of(str(journal_of(str(both.store)))) for line in Path(part).read_text().splitlines()]
    assert len(journal) == len(kept) > 0
    assert both.ingest(SAMPLES)["lines"] == 0
    assert current(both.lake).number == at.number


def test_logs_that_grow_move_and_change_are_told_apart_as_in_a_store(both: Both, tmp_path: Path) -> None:
    """A copy, a renamed, a rewritten and a torn log, lines that are none, and an id with two contents."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("healthy-week.jsonl", "torn-tail.jsonl", "relay-storm.jsonl", "gdd-events.jsonl"):
        shutil.copy(SAMPLES / name, logs)
    both.ingest(logs)
    week = (logs / "healthy-week.jsonl").read_bytes().splitlines(True)
    other = week[1].replace(b'"error', b'"errer')
    (logs / "copy.jsonl").write_bytes(b"".join(week[:9]) + b"no line\n\n" + other + b'{"v')
    (logs / "relay-storm.jsonl").rename(logs / "renamed.jsonl")
    (logs / "healthy-week.jsonl").write_bytes(b"".join(week[:3]))
    figures = both.ingest(logs)
    assert figures["duplicates"] > 0 < figures["quarantined"]
    with open(logs / "torn-tail.jsonl", "ab") as torn:
        torn.write(b'"}\n' + week[5].replace(b"0", b"1"))
    both.ingest(logs)


def test_an_event_with_the_id_of_a_foreign_record_gives_it_up_in_a_lake_too(begun: Both, tmp_path: Path) -> None:
    """Whichever of the two was read first: the row that the lake has already gets another id."""
    with LakeStore(begun.lake) as store:
        name = store.sql("select event_id from events where source_format <> 'analyzer' order by all limit 1").item()
    shutil.rmtree(begun.lake.path)
    begun.store.unlink()
    shutil.rmtree(str(journal_of(str(begun.store))))
    line = json.loads((SAMPLES / "healthy-week.jsonl").read_text().splitlines()[1])
    del line["crc"]
    (tmp_path / "claims.jsonl").write_text(json.dumps({**line, "id": name}) + "\n")
    begun.ingest(tmp_path / "claims.jsonl")
    begun.ingest(SAMPLES / "gdd-events.jsonl")
    with LakeStore(begun.lake) as store:
        assert store.sql("select count(*) from events where event_id = $1", ["claimed:" + name]).item() == 1


def test_standard_input_is_read_once_into_a_lake(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes twice is told as repeated."""
    data = (SAMPLES / "healthy-week.jsonl").read_bytes()
    for repeated in (0, 131):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        figures = ingest_into(both.lake, ["-"]).to_dict()
        assert (figures["lines"], figures["duplicates"]) == (131, repeated)


def test_every_query_the_overview_and_nights_are_those_of_a_store(
    full: Both, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of the catalogue, to the row; nights are written down."""
    with open_store(full.store) as store, LakeStore(full.lake) as lake:
        for name in catalogue():
            here, there = store.query(name), lake.query(name)
            moments = [column for column in here.columns if column in {"last_ingested_at", "ingested_at"}]
            assert there.drop(moments).equals(here.drop(moments)), name
        told = [
            render_json(overview(one)).replace(name, "STORE")
            for one, name in zip((store, lake), full.names, strict=True)
        ]
        assert lasting(json.loads(told[1])) == lasting(json.loads(told[0]))
    for night in sampled(NIGHTS, 1):
        here, there = (said(capsys, name, "check", "--until", night) for name in full.names)
        assert there == here
    assert here[0] in (0, 1)
    # What is told of the night has its own moment and id in each.
    assert set(differences(full.lake, full.store)) <= {"event_v1"}


def test_ad_hoc_sql_of_a_lake_is_that_of_a_store(full: Both, capsys: pytest.CaptureFixture[str]) -> None:
    """In DuckDB's words, and in the same sandbox: no other file is read, and none is written."""
    for statement in (
        "from errors select caller, count(*) group by all order by all",
        "select classify('429 rate limit'), max_by(reason, occurred_at), list_sort(list(distinct reason)) from errors",
        "from duckdb_columns() select column_name, comment where table_name = 'errors'",
        "select list_transform([1, 2], lambda x: x + 1), regexp_extract('a-b', '(.)-', 1)",
    ):
        here, there = (said(capsys, name, "sql", statement) for name in full.names)
        assert there == here and here[0] == 0
    for statement in (
        "from read_text('/etc/hostname')",
        f"copy (select 1) to '{full.lake.path}/x.csv'",
        f"from read_text('{full.lake.path}/store_v1/_delta_log/00000000000000000000.json')",
        "select count(*) from glob('/etc/*')",
    ):
        assert call(["sql", statement, "--store", full.names[1]]) == 2
        assert capsys.readouterr().err


def test_what_a_ruleset_changes_and_what_it_leaves_behind_is_the_same(
    full: Both, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run says it and keeps nothing; then it is applied, twice, and judges what comes later."""
    (tmp_path / "rules.toml").write_text(RULES)
    line = ("reclassify", "--rules", str(tmp_path / "rules.toml"))
    here, there = (said(capsys, name, *line, "--fail-on-change", "1") for name in full.names)
    assert there == here
    assert here[0] == 1 and here[1]["changed"] > 10
    assert differences(full.lake, full.store) == {}
    for judged in (here[1]["judged"], 0):
        here, there = (said(capsys, name, *line, "--apply") for name in full.names)
        assert there == here
        assert here[1]["judged"] == judged
        # Each has a decision of its own.
        assert differences(full.lake, full.store) == {"event_v1": (1, 1)}
    (tmp_path / "rules.toml").unlink()
    lines = (SAMPLES / "unknown-spike.jsonl").read_text().splitlines(True)
    (tmp_path / "more.jsonl").write_text("".join(line.replace("0", "7") for line in lines[:40]))
    figures = ingest_into(full.lake, [str(tmp_path / "more.jsonl")])
    with open_store(full.store, writable=True) as store:
        assert store.ingest([str(tmp_path / "more.jsonl")]).to_dict() == figures.to_dict()
    assert figures.unjudged == 0
    assert set(differences(full.lake, full.store)) == {"event_v1"}
    with open_store(full.store) as store, LakeStore(full.lake) as lake:
        assert lake.verdicts().sort("event_id").equals(store.verdicts().sort("event_id"))


def test_a_prune_takes_from_a_lake_what_it_takes_from_a_store(
    both: Both, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A dry run says how much; events, facts, verdicts and rejects go for good, decisions stay."""
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLES, logs)
    os.utime(logs / "torn-tail.jsonl", (1_762_000_000, 1_762_000_000))
    both.ingest(logs)
    for name in both.names:
        said(capsys, name, "reclassify", "--apply")
    line = ("prune", "--older-than", f"{(now().date() - date(2026, 11, 6)).days}d")
    for options in (["--dry-run"], [], []):
        here, there = (said(capsys, name, *line, *options) for name in both.names)
        assert there == here
        events, _ = (differences(both.lake, both.store) or {"event_v1": (1, 1)})["event_v1"]
        assert events <= 2 and set(differences(both.lake, both.store)) <= {"event_v1"}
    late = logs / "late.jsonl"
    late.write_bytes(b"".join((SAMPLES / "healthy-week.jsonl").read_bytes().splitlines(True)[:20]))
    here, there = (said(capsys, name, "ingest", str(late)) for name in both.names)
    assert there == here
    assert here[1]["pruned"] > 0
    assert call(["prune", "--older-than", "9d", "--files", "--store", both.names[1]]) == 2


def test_a_night_of_a_lake_is_that_of_a_store(
    both: Both, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps, night and exit code; the lease is held from the first step to the last."""
    monkeypatch.chdir(tmp_path)
    line = ("nightly", str(SAMPLES), "--until", "2026-11-10", "--keep", "3650d", "--page", "page.html")
    here, there = (said(capsys, name, *line) for name in both.names)
    assert there == here
    assert [step["step"] for step in here[1]["steps"]] == ["ingest", "check", "report", "prune"]
    with WritableLakeStore(both.lake):
        assert call([*line, "--store", both.names[1]]) == 75


def test_a_lake_made_again_is_a_store_made_again(
    both: Both, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a log gone, one renamed, one that has grown and a new one, after a prune and a ruleset; and once more."""
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLES, logs)
    both.ingest(logs)
    for name in both.names:
        said(capsys, name, "reclassify", "--apply")
    (logs / "relay-storm.jsonl").unlink()
    (logs / "healthy-week.jsonl").rename(logs / "renamed.jsonl")
    with (logs / "torn-tail.jsonl").open("ab") as torn:
        torn.write(b'"}\nno line\n')
    for _ in range(2):
        here, there = (said(capsys, name, "rebuild", str(logs)) for name in both.names)
        assert there == here
        assert here[1]["vanished"] == [str(logs / "relay-storm.jsonl")]
        assert here[1]["carried_events"] > 10
        assert set(differences(both.lake, both.store)) <= {"event_v1"}
    both_ids = [f"select event_id, type from {name} where type <> 'ruleset.applied'" for name in ("events",)]
    with open_store(both.store) as store, LakeStore(both.lake) as lake:
        assert sorted(lake.sql(both_ids[0]).rows()) == sorted(store.sql(both_ids[0]).rows())


def test_every_view_of_a_lake_is_there_and_frames_can_be_registered(full: Both) -> None:
    """As a notebook asks a store."""
    import polars as pl

    with LakeStore(full.lake) as store:
        for name, header in views().items():
            if not header.params:
                assert store.view(name).columns == [column.name for column in header.columns]
        store.register("mine", pl.DataFrame({"caller": ["claude"]}))
        assert store.sql("from errors semi join mine using (caller)").height > 0
        assert "fleet" in repr(store) and store.size_bytes is None
    with connected(snapshot(full.lake)) as connection, pytest.raises(Exception, match="disabled"):
        connection.execute("from read_text('/etc/hostname')").fetchall()
