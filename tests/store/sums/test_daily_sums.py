"""Sums by day are what the catalogue counts, whatever came late, went, or was judged or dated otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analyzer.analysis.kinds.families.bursts import MIN_REPEATS
from analyzer.analysis.observations import DATED, Observations, end_of, observe, start_of
from analyzer.store import LOUD, CallerDays, Store, open_store
from analyzer.store.sums.counting import counted
from tests import Native
from tests.analysis.observed import observations

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


SEEDS = range(int(os.environ.get("ANALYZER_LONG_RUNS", "1")))


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
    """The parts come to the same, in the same order."""
    store.ingest([log.some(200)])
    ruleset = store.judge_history()
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


@pytest.mark.parametrize("telemetry_first", [True, False])
def test_a_failure_that_is_told_on_both_sides_of_midnight_counts_once(
    store: Store, jsonl: Callable[..., Path], telemetry_first: bool
) -> None:
    """The log that is read later tells it on another day."""
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


def test_what_is_not_judged_yet_counts_as_it_was_recorded(store: Store, log: Log, tmp_path: Path) -> None:
    """The rules are gone: errors count as they were recorded, until the rules are there again."""
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
    for path, content in saved.items():
        path.write_bytes(content)
    assert store.judge_history() == ruleset
    assert_as_told(store, day(DAYS), "UTC", ruleset)


def test_a_stretch_has_the_days_of_all_history_that_lie_in_it(store: Store, log: Log) -> None:
    """From any first day on, and with the versions of all history."""
    store.ingest([log.some(200)])
    ruleset = store.judge_history()
    whole = store.daily_sums(date.min, day(DAYS), "Europe/Berlin", ruleset)
    part = store.daily_sums(day(4), day(DAYS), "Europe/Berlin", ruleset)
    assert whole.frames.keys() == part.frames.keys()
    assert_frame_equal(part.frames["versions"], whole.frames["versions"])
    weak = part.frames["known_templates"]["template"].unique().to_list()
    for name in part.frames.keys() - {"versions"}:
        expected = whole.frames[name].filter(pl.col("day") >= day(4))
        if name == "known_templates":
            expected = expected.filter(pl.col("template").is_in(weak))
        assert_frame_equal(part.frames[name], expected)


def test_an_empty_store_has_no_sums(store: Store) -> None:
    """Every frame is there, without a row."""
    sums = store.daily_sums(date.min, day(0))
    assert all(frame.is_empty() for frame in sums.frames.values())


def test_groups_are_kept_by_name_from_where_a_burst_begins() -> None:
    """The test of bursts sees all of them."""
    assert LOUD <= MIN_REPEATS
    assert start_of(day(1), "UTC") == end_of(day(0), "UTC")
