"""Sums by day: what came late, went, was judged otherwise or asked for in another zone, they are what events say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analyzer.analysis.detection.burst import MIN_REPEATS
from analyzer.analysis.observations import DATED, Observations, end_of, observe, start_of
from analyzer.store import LOUD, CallerDays, Store, open_store, rebuild
from analyzer.store.sums.counting import counted
from tests.analysis.observed import observations

Native = Callable[..., bytes]
START = datetime(2026, 10, 20)
"""Clocks are put back in Berlin five days later."""
DAYS = 9
ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles")
RULE = """
[[rule]]
id = "gate"
reason = "network_transient"
detail = "gate"
text = ["lattice gate"]
source = "made up"
examples = ["lattice gate 4 closed", "lattice gate 5 closed"]
counter_examples = ["the lattice is fine"]
"""
FRAMES = (*DATED, "versions")


def assert_as_told(store: Store, night: date, timezone: str, ruleset: str) -> None:
    """The observations are those that the catalogue's answers come to, which are counted from all events."""
    seen = observe(store, night, timezone, ruleset)
    told = from_events(store, night, timezone, ruleset)
    for name in FRAMES:
        names: Mapping[Any, Any] = {pl.Categorical: pl.String}
        frames = (getattr(each, name).cast(names) for each in (seen, told))
        assert_frame_equal(*(each.sort(each.columns) if "volumes" in name else each for each in frames))
    counts = store.query("detection-counts", until=end_of(night, timezone), timezone=timezone, ruleset=ruleset)
    assert_frame_equal(seen.counts.select(counts.columns), counts)
    for asked in ([CallerDays("a", night - timedelta(days=3), night)], [CallerDays(None, night, night)]):
        assert_frame_equal(seen.rows.groups(asked), told.rows.groups(asked))


def from_events(store: Store, night: date, timezone: str, ruleset: str) -> Observations:
    """The observations out of the catalogue."""
    span = {"until": end_of(night, timezone), "timezone": timezone}
    groups = store.query("detection-groups", **span, ruleset=ruleset)
    return observations(
        groups,
        store.query("detection-relays", **span),
        store.query("detection-chains", **span, ruleset=ruleset),
        store.query("detection-versions", **span),
        night,
        volumes=store.query("detection-volume", **span, ruleset=ruleset),
        work=store.query("detection-work", **span),
        signals=store.query("detection-signals", **span),
    )


class Log:
    """Events of a few callers, of moments near one another or far apart."""

    def __init__(self, seed: int, native: Native, folder: Path) -> None:
        self.random, self._native, self._folder, self._number = Random(seed), native, folder, 0

    def some(self, count: int, first: float = 0, last: float = DAYS) -> str:
        """A new file of so many events between two days."""
        lines = [self._event(START + timedelta(days=self.random.uniform(first, last))) for _ in range(count)]
        path = self._folder / f"log-{self._number}.jsonl"
        path.write_bytes(b"".join(lines))
        return str(path)

    def _event(self, at: datetime) -> bytes:
        self._number += 1
        choose = self.random.choice
        caller, session = choose(("a", "a", "b", None)), choose(("s1", "s2", "s3", None))
        known: dict[str, Any] = {"caller": caller} if caller else {}
        kinds = ("error.classified", "retry.settled", "retry.scheduled", "relay", "tool.failed")
        kind = self.random.choices(kinds, [6, 2, 1, 3, 1])[0]
        if kind == "relay":
            kind = choose(("relay.triggered", "relay.triggered", "relay.resumed", "relay.skipped"))
            known |= {"step_id": choose(("plan", "build"))}
            if self.random.random() < 0.6:
                # All events of a hand-off name the same caller, step and session.
                number = self.random.randrange(12)
                known = {"relay": f"r{number}", "caller": "ab"[number % 2], "step_id": "plan"}
                session = f"s{number % 3}"
        else:
            known |= {"operation": f"op-{self.random.randrange(30)}"} if self.random.random() < 0.7 else {}
        if kind == "error.classified":
            message = choose(("lattice gate 7 closed", "Too Many Requests", "nobody knows this", "sluice is stuck"))
            known |= {"reason": choose(("unknown", "rate_limited", "validation")), "attempt": choose((1, 2))}
            known |= {"detail": "aborted"} if self.random.random() < 0.1 else {}
            if caller == "b" and self.random.random() < 0.7:
                known |= {
                    "ruleset": choose(("old", "new")),
                    "message": message,
                    "confidence": choose(("strong", "weak")),
                }
            else:
                # A status that no text speaks for is weak evidence.
                known |= {"facts": {"message": message, **({"status": 503} if choose((True, False)) else {})}}
        if kind == "retry.settled":
            known |= {"outcome": choose(("recovered", "exhausted", "aborted")), "attempts": choose((1, 2, 3))}
            known |= {"waited_seconds": choose((0.5, 3.0, 70.0)), "provider": choose(("openai", "anthropic"))}
        if kind == "tool.failed":
            known |= {"tool": choose(("Read", "Bash"))}
        return self._native(f"e{self._number}", kind=kind, at=at.isoformat(), session=session, **known)


@pytest.fixture
def log(request: pytest.FixtureRequest, native: Native, tmp_path: Path) -> Log:
    """Events by the seed of the test."""
    return Log(getattr(request, "param", 0), native, tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """One with a journal."""
    with open_store(tmp_path / "s.duckdb", writable=True) as opened:
        yield opened


def day(number: int) -> date:
    """The day so many after the first."""
    return START.date() + timedelta(days=number)


SEEDS = range(2 * int(os.environ.get("ANALYZER_LONG_RUNS", "1")))


@pytest.mark.parametrize("log", SEEDS, indirect=True)
def test_sums_are_what_the_events_say_whatever_happens(store: Store, log: Log, tmp_path: Path) -> None:
    """Late events, prunes, other rules, other zones, nights again, in any order."""
    rules = tmp_path / "rules.toml"
    rules.write_text(RULE, "utf-8")
    store.ingest([log.some(120, last=4)])
    for step in range(10):
        match log.random.choice(("late", "late", "new", "prune", "rules", "ask", "ask")):
            case "late":
                store.ingest([log.some(log.random.choice((1, 3)), last=5)])
            case "new":
                store.ingest([log.some(25, step / 2, step)])
            case "prune":
                store.prune(START + timedelta(days=log.random.uniform(0, 3)))
            case "rules":
                store.reclassify(log.random.choice((None, str(rules))), apply=True)
            case _:
                pass
        zone = log.random.choice(ZONES)
        assert_as_told(store, day(log.random.choice((2, 4, DAYS, DAYS + 3))), zone, store.judge_history())


def test_large_days_are_summed_in_parts_of_their_callers(
    store: Store, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts come to the same, in the same order, beside days that are kept already."""
    store.ingest([log.some(200)])
    ruleset = store.judge_history()
    observe(store, day(2), "UTC", ruleset)
    monkeypatch.setattr("analyzer.store.sums.daily._AT_ONCE", 7)
    parts: list[int] = []

    def noted(rows: pl.DataFrame, relays: pl.DataFrame) -> dict[str, pl.DataFrame]:
        parts.append(rows.height)
        return counted(rows, relays)

    monkeypatch.setattr("analyzer.store.sums.daily.counted", noted)
    observe(store, day(DAYS), "UTC", ruleset)
    assert len(parts) > DAYS
    monkeypatch.undo()
    assert_as_told(store, day(DAYS), "UTC", ruleset)


def kept(store: Store, zone: str = "UTC") -> list[date]:
    """The days that the store has sums of."""
    rows = store._connection.execute("select day from internal.sum_day_v1 where timezone = $1 order by day", [zone])
    return [row[0] for row in rows.fetchall()]


def test_only_days_with_late_events_are_summed_again(store: Store, log: Log) -> None:
    """The others stay as they were kept."""
    store.ingest([log.some(300)])
    ruleset = store.judge_history()
    observe(store, day(6), "UTC", ruleset)
    assert kept(store) == [day(number) for number in range(7)]
    store.ingest([log.some(1, 3.2, 3.8)])
    assert day(3) not in kept(store)
    assert len(kept(store)) == 6
    before = store._connection.execute("select * from internal.sum_count_v2 where day <> $1", [day(3)]).fetchall()
    assert_as_told(store, day(6), "UTC", ruleset)
    after = store._connection.execute("select * from internal.sum_count_v2 where day <> $1", [day(3)]).fetchall()
    assert sorted(after) == sorted(before)
    assert len(kept(store)) == 7


@pytest.mark.parametrize("telemetry_first", [True, False])
def test_a_failure_that_is_told_on_both_sides_of_midnight_counts_once(
    store: Store, jsonl: Callable[..., Path], telemetry_first: bool
) -> None:
    """The log that is read later tells it on another day; the day that was summed before is summed again."""
    meta = {"timestamp": "2026-10-22T23:59:00Z", "type": "session_meta", "payload": {"id": "c-1", "cwd": "/home/a/x"}}
    failed = {"type": "error", "message": "exceeded retry limit, last status: 503 X", "codex_error_info": "other"}
    ended = {"timestamp": "2026-10-23T00:00:01.500Z", "type": "event_msg", "payload": failed}
    found = {"event.name": "codex.api_request", "event.timestamp": "2026-10-22T23:59:59.200Z"}
    found |= {"conversation.id": "c-1", "attempt": "0", "http.response.status_code": "503", "error.message": "http 503"}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in found.items()]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "codex_exec"}}]}
    call = {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [{"attributes": attributes}]}]}]}
    paths = [jsonl("rollout.jsonl", meta, ended), jsonl("telemetry.jsonl", call)]
    night = date(2026, 10, 23)
    for path in reversed(paths) if telemetry_first else paths:
        store.ingest([str(path)])
        ruleset = store.judge_history()
        assert_as_told(store, night, "UTC", ruleset)
    assert observe(store, night, "UTC", ruleset).counts["events"].sum() == 1
    assert store.sql("select source_format from errors").rows() == [("otlp",)]


def test_a_run_that_breaks_off_leaves_no_sums(store: Store, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a day nor a row of one; the next run makes them all."""
    store.ingest([log.some(200)])
    ruleset = store.judge_history()

    def broken(name: str) -> str:
        if name == "versions":
            raise KeyboardInterrupt
        return real(name)

    real = __import__("analyzer.store.sums.daily", fromlist=["table_of"]).table_of
    monkeypatch.setattr("analyzer.store.sums.daily.table_of", broken)
    with pytest.raises(KeyboardInterrupt):
        observe(store, day(4), "UTC", ruleset)
    monkeypatch.undo()
    assert kept(store) == []
    assert store._connection.execute("from internal.sum_count_v2").fetchall() == []
    assert_as_told(store, day(4), "UTC", ruleset)
    assert len(kept(store)) == 5


def test_a_store_open_for_reading_is_summed_without_writing(tmp_path: Path, store: Store, log: Log) -> None:
    """Nothing of it is kept, kept days are used, and the answer is the same; also where it never had any sums."""
    store.ingest([log.some(200)])
    ruleset = store.judge_history()
    store.close()
    path = tmp_path / "s.duckdb"
    size = path.stat().st_size
    with open_store(path) as reading:
        assert_as_told(reading, day(DAYS), "UTC", ruleset)
    with open_store(path, writable=True) as writing:
        observe(writing, day(4), "UTC", ruleset)
        assert len(kept(writing)) == 5
    with open_store(path) as reading:
        assert_as_told(reading, day(DAYS), "UTC", ruleset)
        assert len(kept(reading)) == 5
    with open_store(path, writable=True) as writing:
        for (name,) in writing._connection.execute(
            "select table_name from duckdb_tables() where table_name like 'sum\\_%' escape '\\'"
        ).fetchall():
            writing._connection.execute(f"drop table internal.{name}")
    with open_store(path) as reading:
        assert_as_told(reading, day(DAYS), "UTC", ruleset)
    assert size


def test_what_is_not_judged_yet_is_not_kept(store: Store, log: Log, tmp_path: Path) -> None:
    """Its rules are gone: errors count as they were recorded, until the rules are there again."""
    rules = tmp_path / "rules.toml"
    rules.write_text(RULE, "utf-8")
    store.ingest([log.some(60)])
    store.reclassify(str(rules), apply=True)
    saved = {path: path.read_bytes() for path in (rules, *(tmp_path / "s.journal" / "rulesets").iterdir())}
    for path in saved:
        path.unlink()
    late = tmp_path / "late.jsonl"
    late.write_bytes(log._native("late", at=START.isoformat(), caller="a", facts={"message": "lattice gate 99 shut"}))
    store.ingest([str(late)])
    ruleset = store.judge_history()
    assert_as_told(store, day(DAYS), "UTC", ruleset)
    assert kept(store) == []
    for path, content in saved.items():
        path.write_bytes(content)
    assert store.judge_history() == ruleset
    assert_as_told(store, day(DAYS), "UTC", ruleset)
    assert kept(store)


def test_a_store_made_again_is_summed_anew(store: Store, log: Log, tmp_path: Path) -> None:
    """Sums are no part of what a rebuild carries over."""
    store.ingest([log.some(200)])
    ruleset = store.judge_history()
    observe(store, day(DAYS), "UTC", ruleset)
    store.close()
    rebuild(str(tmp_path / "s.duckdb"), [])
    with open_store(tmp_path / "s.duckdb", writable=True) as again:
        assert kept(again) == []
        assert_as_told(again, day(DAYS), "UTC", again.judge_history())


def test_a_store_whose_program_kept_fewer_sums_is_summed_anew(tmp_path: Path, store: Store, log: Log) -> None:
    """Opened for writing it gets the table that it lacks, and its days are forgotten; until then nothing is kept."""
    store.ingest([log.some(60)])
    digest = store.judge_history()
    observe(store, day(DAYS), "UTC", digest)
    store.close()
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("drop table internal.sum_known_template_v1")
    for writable in (False, True):
        with open_store(tmp_path / "s.duckdb", writable=writable) as opened:
            assert_as_told(opened, day(DAYS), "UTC", digest)
            kept = opened.sql("select count(*) from duckdb_tables() where table_name = 'sum_known_template_v1'").row(0)
            assert kept == (int(writable),)


def test_groups_are_kept_by_name_from_where_a_burst_begins() -> None:
    """The test of bursts sees all of them."""
    assert LOUD <= MIN_REPEATS
    assert start_of(day(1), "UTC") == end_of(day(0), "UTC")
