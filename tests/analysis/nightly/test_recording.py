"""A night in the journal: as large as it may be, whole or not there, and the same in a store that is made again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis import check
from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding import Finding, scope_of
from analyzer.analysis.kinds.scope import Identity, finding_id
from analyzer.analysis.nightly.decisions import findings
from analyzer.analysis.nightly.night import Night, night_before, recorded, write_down
from analyzer.errors import StoreError
from analyzer.events import EventLog
from analyzer.events.appending.appender import MAX_LINE_BYTES
from analyzer.report.night.document import night_document
from analyzer.report.writers.text import to_text
from analyzer.store import Store, open_store, rebuild
from tests import LONG_RUNS
from tests.store.killing import Victims
from tests.store.upkeep.test_rebuild import assert_same, dump

DAY = date(2026, 10, 7)


def found(number: int, parts: tuple[Finding, ...] = (), sample: str = "") -> Finding:
    """A new message of one of many callers."""
    one = Detection(
        day=DAY, finding="template", caller=f"caller-{number}", template=f"t{number}", p_value=1e-9, sessions=12
    )
    scope = scope_of(one)
    return Finding(
        id=finding_id(Identity("template", scope), DAY),
        state="new",
        severity="warning",
        opened_on=DAY,
        last_on=DAY,
        latest=replace(one, onset=DAY),
        explanation=f"caller-{number} says something new.",
        evidence=("e1", "e2"),
        samples=(sample,) if sample else (),
        parts=parts,
    )


def night_of(*findings: Finding, day: date = DAY, minute: int = 0) -> Night:
    """A night with these findings."""
    judged_at = datetime(day.year, day.month, day.day, 23, minute)
    return Night(
        day=day,
        timezone="UTC",
        judged_at=judged_at,
        ruleset="r",
        since=None,
        caller_days=1,
        callers=1,
        findings=findings,
        notes=("said",),
    )


def ended(night: Night) -> Night:
    """The night after, on which all findings end."""
    day = night.day + timedelta(days=1)
    over = [replace(one, state="resolved", resolved_on=day, resolution="quiet") for one in night.findings]
    return replace(night, day=day, judged_at=night.judged_at + timedelta(days=1), findings=tuple(over))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty one in a file, so that there is a journal."""
    with open_store(tmp_path / "s.duckdb", writable=True) as opened:
        yield opened


def test_a_night_with_long_messages_is_read_back_as_it_was(store: Store, tmp_path: Path) -> None:
    """Some hundred findings of three kilobytes, more than a line of the log may have, are one night, also rebuilt."""
    night = night_of(*(found(number, sample=f"{number} " + "word " * 600) for number in range(350)))
    assert len(json.dumps(night.to_dict())) > MAX_LINE_BYTES
    write_down(store, night)
    told = recorded(store, DAY, "UTC")
    assert told is not None
    assert (told.findings, told.notes, told.recorded) == (night.findings, night.notes, True)
    store.close()
    before = dump(tmp_path / "s.duckdb")
    rebuild(str(tmp_path / "s.duckdb"), [])
    assert_same(dump(tmp_path / "s.duckdb"), before)


@pytest.mark.parametrize("count", [1_100] if LONG_RUNS == 1 else [1_100, 10_000])
def test_a_night_with_more_findings_than_a_list_may_have_is_resolved(store: Store, tmp_path: Path, count: int) -> None:
    """However many open on one night and end on the next: none stays open, in the store and in one made again."""
    night = night_of(*(found(number) for number in range(count)))
    write_down(store, night)
    assert store.sql("select distinct state, count(*) as n from findings group by all").rows() == [("open", count)]
    before = night_before(store, DAY + timedelta(days=1), "UTC")
    assert before is not None
    assert before.findings == night.findings
    write_down(store, ended(night))
    store.close()
    rebuild(str(tmp_path / "s.duckdb"), [])
    with open_store(tmp_path / "s.duckdb") as again:
        rows = again.sql("select distinct state, count(*) as n from findings group by all").rows()
        assert rows == [("resolved", count)]
        assert again.query("detection-nights")["findings"].to_list() == [count, count]


def test_parts_of_a_finding_stay_its_parts(store: Store) -> None:
    """Each is an event of its own, and all come back in their places; parts open and end no finding by themselves."""
    night = night_of(found(1, parts=(found(2), found(3))), found(4), found(5, parts=(found(6),)))
    write_down(store, night)
    told = recorded(store, DAY, "UTC")
    assert told is not None
    assert told.findings == night.findings
    rows = store.query("detection-reported").select("place", "part_of").rows()
    assert rows == [(0, None), (1, 0), (2, 0), (3, None), (4, None), (5, 4)]
    assert store.sql("select count(*) from findings").item() == 3


def test_a_kind_that_is_no_longer_told_ends_on_the_next_night(store: Store) -> None:
    """What an earlier version opened is read, listed and rendered by its name, and is over with the next check."""
    one = Detection(day=DAY, finding="reasons", caller="probe", observed=0.2, expected=0.01, note="validation grew")
    old = replace(found(1), id="x", latest=replace(one, onset=DAY), explanation="Validation grew.")
    write_down(store, replace(night_of(old), ruleset=store.judge_history()))
    (listed,) = findings(store)
    assert (listed.finding, listed.kind.title, listed.explanation) == ("reasons", "reasons", "Validation grew.")
    night = check(store, until=f"{DAY + timedelta(days=2)}")
    (over,) = night.findings
    assert (over.id, over.state, over.resolution) == ("x", "resolved", "rejudged")
    assert "Validation grew." in to_text(night_document(recorded(store, DAY, "UTC") or night))
    assert findings(store) == []


def test_a_quiet_night_is_a_night(store: Store) -> None:
    """Without any finding its own event is all there is of it."""
    write_down(store, night_of())
    assert recorded(store, DAY, "UTC") == replace(night_of(), recorded=True)
    assert store.sql("select type from events")["type"].to_list() == ["night.judged"]


@pytest.mark.parametrize("lost", ["night.judged", "finding.reported"])
def test_a_night_without_its_end_counts_as_not_judged(
    store: Store, tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event of it is missing: it opened no finding, was not judged, and is written down again as if it were new."""
    night = night_of(found(1), found(2))
    with monkeypatch.context() as patched:
        real = store.decide
        patched.setattr(store, "decide", lambda all_of_it, at: real(list(_without(all_of_it, lost)), at=at))
        write_down(store, night)
    assert recorded(store, DAY, "UTC") is None
    assert store.sql("from findings").is_empty()
    write_down(store, replace(night, judged_at=night.judged_at + timedelta(minutes=1)))
    told = recorded(store, DAY, "UTC")
    assert told is not None
    assert told.findings == night.findings
    assert store.sql("select state from findings")["state"].to_list() == ["open", "open"]


def _without(decisions: Any, lost: str) -> Iterator[tuple[str, Any]]:
    left = True
    for kind, payload in decisions:
        if kind == lost and left:
            left = False
        else:
            yield kind, payload


def test_a_night_in_one_event_is_read_as_ever(store: Store) -> None:
    """Journals of before had a night with all its findings in one event, and findings that name no night."""
    night = night_of(found(1, parts=(found(2),)))
    content = night.to_dict()
    opening = {"finding_id": night.findings[0].id, **content["findings"][0]}
    store.decide([("finding.opened", opening), ("night.judged", content)], at=night.judged_at)
    told = recorded(store, DAY, "UTC")
    assert told is not None
    assert told.findings == night.findings
    assert store.sql("select state from findings")["state"].to_list() == ["open"]
    write_down(store, ended(night))
    assert store.sql("select state from findings")["state"].to_list() == ["resolved"]


def test_what_a_line_cut_off_of_a_night_is_no_night(store: Store) -> None:
    """Of a night that was too long for one event its journal has a placeholder: the night is judged again."""
    window = {"since": f"{DAY}", "until": f"{DAY}", "timezone": "UTC"}
    store.decide([("night.judged", {"window": window, "truncated": True, "original_bytes": 2_000_000})])
    assert recorded(store, DAY, "UTC") is None
    assert store.query("detection-nights").is_empty()


def test_a_decision_that_no_line_can_hold_is_refused(store: Store) -> None:
    """Rather than written down as a placeholder that decides nothing."""
    with pytest.raises(StoreError, match="too long for the journal"):
        store.decide([("night.judged", {f"k{number}": "\x01" * 16_000 for number in range(20)})])
    assert store.sql("from events").is_empty()


def test_the_largest_finding_fits_its_event(store: Store) -> None:
    """Names as long as a log may have them, all of them characters that JSON writes with six."""
    name = "\x01" * 16_000
    one = Detection(day=DAY, finding="burst", caller=name, template=name, scope=name, note=name, onset=DAY)
    large = replace(found(1), latest=one, explanation=name, samples=("\x01" * 1_000,) * 5)
    write_down(store, night_of(large))
    told = recorded(store, DAY, "UTC")
    assert told is not None
    assert told.findings == (large,)


WORK = """
from datetime import timedelta
from analyzer.analysis.nightly.decisions import findings
from analyzer.analysis.nightly.night import write_down
from tests.analysis.nightly.test_recording import DAY, found, night_of
with open_store({path!r}, writable=True) as store:
    day = DAY + timedelta(days=store.query("detection-nights").height)
    arm()
    write_down(store, night_of(*map(found, range(3)), day=day))
"""
"""Judges the first day that is not judged yet."""


@pytest.mark.slow
def test_a_check_killed_at_any_moment_leaves_whole_nights_and_what_a_rebuild_makes(tmp_path: Path) -> None:
    """Between journal and store too: the next one takes over what the journal has, and judges the rest again."""
    path = tmp_path / "s.duckdb"
    open_store(path, writable=True).close()

    def check(at: int) -> None:
        with open_store(path, writable=True) as store:
            days = store.query("detection-nights")["day"].to_list()
            assert days == [DAY + timedelta(days=number) for number in range(len(days))]
        before = dump(path)
        rebuild(str(path), [])
        os.unlink(f"{path}.before-rebuild")
        assert_same(dump(path), before)

    with Victims() as victims:
        assert victims.killed_at_each_moment(WORK.format(path=str(path)), check, every=1) > 2


def test_a_night_that_reached_the_journal_alone_is_in_the_store_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that dies before its commit: the store has the night when it is opened next, and only once ever."""
    path = tmp_path / "s.duckdb"
    night = night_of(found(1), found(2))
    with open_store(path, writable=True) as store, monkeypatch.context() as patched:
        patched.setattr("analyzer.store.journal.keep_decided", _dies)
        with pytest.raises(KeyboardInterrupt):
            write_down(store, night)
        assert recorded(store, DAY, "UTC") is None
    with open_store(path, writable=True) as store:
        told = recorded(store, DAY, "UTC")
        assert told is not None
        assert told.findings == night.findings
    before = dump(path)
    assert len([row for row in before["events"] if "night.judged" in row]) == 1
    rebuild(str(path), [])
    assert_same(dump(path), before)


@pytest.mark.parametrize("written", [1, 4])
def test_a_night_that_reached_half_of_the_journal_is_judged_again(
    tmp_path: Path, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What there is of it is in the journal, the store and a rebuilt one alike, and counts in none of them."""
    path = tmp_path / "s.duckdb"
    night = night_of(found(1), found(2))
    real = EventLog.record

    def dies(log: EventLog, lines: list[bytes]) -> None:
        real(log, lines[:written])
        _dies()

    with open_store(path, writable=True) as store, monkeypatch.context() as patched:
        patched.setattr(EventLog, "record", dies)
        with pytest.raises(KeyboardInterrupt):
            write_down(store, night)
    with open_store(path, writable=True) as store:
        assert recorded(store, DAY, "UTC") is None
        assert store.sql("select count(*) from events").item() == written
        write_down(store, replace(night, judged_at=night.judged_at + timedelta(minutes=1)))
        assert store.sql("select state from findings")["state"].to_list() == ["open", "open"]
    before = dump(path)
    rebuild(str(path), [])
    assert_same(dump(path), before)


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


Native = Callable[..., bytes]


def test_decisions_of_logs_are_not_taken_over(tmp_path: Path, native: Native) -> None:
    """A foreign log's event of such a type, which the journal keeps with its origin, decides nothing later either."""
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text(
        '{"type":"finding.opened","timestamp":"2026-10-07T08:00:00Z","sessionId":"s","payload":{"finding_id":"f"}}\n',
        "utf-8",
    )
    path = tmp_path / "s.duckdb"
    with open_store(path, writable=True) as store:
        store.ingest([str(foreign)])
    with open_store(path, writable=True) as store:
        assert store.sql("from findings").is_empty()
