"""The nightly check: what it says, writes down, and says again."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analyzer.analysis import Night, check, each_night
from analyzer.analysis.observations import DATED, observe
from analyzer.analysis.tables import window
from analyzer.errors import AnalyzerError
from analyzer.events.times import now
from analyzer.store import Store, open_store, rebuild

Native = Callable[..., bytes]
START = date(2026, 9, 7)
WORDING = "lattice gate {} closed by curator {}"


def history(native: Native, days: int, unknown_from: int, unknown_to: int = 10**6) -> list[bytes]:
    """Lines of a caller that meets known errors every day, and from some day on an unknown one in every session."""
    lines = []
    for number in range(days):
        day = START + timedelta(days=number)
        for session in range(12):
            known = {"facts": {"status": 429, "message": f"Too Many Requests {session}"}, "reason": "rate_limited"}
            lines.append(line(native, day, session, "k", **known))
            if unknown_from <= number < unknown_to or (session == 0 and number % 5 == 0):
                message = WORDING.format(number, session)
                lines.append(line(native, day, session, "u", facts={"message": message}, reason="unknown"))
    return lines


def line(native: Native, day: date, session: int, mark: str, **payload: Any) -> bytes:
    """One error of one session."""
    name = f"{day}-{session}"
    at = datetime(day.year, day.month, day.day, 8, session).isoformat()
    return native(f"{name}-{mark}", at=at, session=name, caller="probe", **payload)


@pytest.fixture(scope="session")
def fed(tmp_path_factory: pytest.TempPathFactory, native: Native) -> Path:
    """A folder with forty days, the last ten with a new unknown error, and a store of them; tests copy it."""
    folder = tmp_path_factory.mktemp("forty-days")
    (folder / "log.jsonl").write_bytes(b"".join(history(native, 40, 30)))
    with open_store(folder / "s.duckdb", writable=True) as store:
        store.ingest([str(folder / "log.jsonl")])
    return folder


@pytest.fixture
def fleet(tmp_path: Path, fed: Path) -> Iterator[Store]:
    """The forty days in a file, so that there is a journal."""
    shutil.copytree(fed, tmp_path, dirs_exist_ok=True)
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        yield store


def test_events_that_lie_ahead_are_a_note(fleet: Store, tmp_path: Path, native: Native) -> None:
    """A clock that is five hours ahead is told on every night; minutes are not."""
    lines = [native(f"c{hours}", at=(now() + timedelta(hours=hours)).isoformat(), caller="probe") for hours in (0.1, 5)]
    (tmp_path / "ahead.jsonl").write_bytes(b"".join(lines))
    assert not [each for each in night(fleet, 20).notes if "ahead" in each]
    fleet.ingest([str(tmp_path / "ahead.jsonl")])
    (note,) = [each for each in night(fleet, 21).notes if "ahead" in each]
    assert re.fullmatch(r"up to (4\.9|5\.0) h ahead of now: 1 event; is the clock right there\?", note)


def night(store: Store, number: int, **options: Any) -> Night:
    """The check of the day so many days after the first."""
    return check(store, until=f"{START + timedelta(days=number + 1)}", **options)


def test_a_quiet_night_says_nothing(fleet: Store) -> None:
    """No finding, nothing but the night itself in the journal."""
    quiet = night(fleet, 29)
    assert quiet.findings == ()
    assert quiet.worst() is None
    assert fleet.sql("select type from events where type not like 'error%'")["type"].to_list() == ["night.judged"]


def test_a_new_wording_is_one_finding_with_its_message(fleet: Store) -> None:
    """A spike on its first night, with sessions, evidence, a sample and advice; the new message is part of it."""
    (found,) = night(fleet, 30).findings
    assert (found.finding, found.state, found.scope.caller) == ("spike", "new", "probe")
    assert found.latest.sessions == 12
    assert found.latest.observed == pytest.approx(0.5)
    assert found.samples[0].startswith("lattice gate")
    assert "probe, 08:00–08:11 on 7 October: 12 of 24 distinct errors matched no rule (50.0%," in found.explanation
    assert found.words == (
        *("unknowns", "--suggest", "--caller", "probe"),
        *("--since", "2026-10-07", "--until", "2026-10-08"),
    )
    assert set(found.evidence) <= set(fleet.sql("select event_id from errors where reason = 'unknown'")["event_id"])


def test_a_window_that_is_partly_ahead_or_beside_the_logs_is_told(
    memory: Store, tmp_path: Path, native: Native
) -> None:
    """Of tomorrow the last whole day is judged, and said so; a day of which no log says anything is no quiet one."""
    (tmp_path / "log.jsonl").write_bytes(b"".join(history(native, 31, 30)))
    memory.ingest([str(tmp_path)])
    ahead = check(memory, until=(now() + timedelta(days=1)).isoformat())
    assert any("lies ahead; judged is" in said for said in ahead.remarks)
    assert any(re.match("no log says anything of .*; they go from 2026-09-07 to", said) for said in ahead.remarks)
    noon = check(memory, until="2026-10-07T12:00")
    assert "judged is 2026-10-06, the last day that is over at 2026-10-07 12:00 UTC" in noon.remarks
    assert not any("judged is" in said for said in check(memory, until="2026-10-07").remarks)


def test_a_night_asked_for_again_gives_the_same_answer(fleet: Store, tmp_path: Path, native: Native) -> None:
    """Even when events came late; they are counted, and `again` judges with them."""
    first = night(fleet, 30)
    again = night(fleet, 30)
    assert again.recorded
    assert (again.findings, again.judged_at, again.late_events) == (first.findings, first.judged_at, 0)
    late = tmp_path / "late.jsonl"
    known = {"facts": {"status": 429, "message": "Too Many Requests"}, "reason": "rate_limited"}
    late.write_bytes(b"".join(line(native, START + timedelta(days=30), 20 + n, "late", **known) for n in range(30)))
    fleet.ingest([str(late)])
    told = night(fleet, 30)
    assert (told.findings, told.late_events) == (first.findings, 30)
    rejudged = night(fleet, 30, again=True)
    assert not rejudged.recorded
    share, volume = sorted(rejudged.findings, key=lambda one: one.finding)
    assert share.latest.observed == pytest.approx(12 / 54)
    assert [share.id] == [one.id for one in first.findings]
    assert (volume.finding, volume.latest.observed) == ("volume", 42.0)  # thirty late ones are many more than usual
    assert volume.scope.reason == "rate_limited"  # named by what grew, without the unknown ones


def test_what_was_taken_back_can_be_told_again(fleet: Store, tmp_path: Path, native: Native) -> None:
    """Late events may take a finding away and others bring it back: it is open again, under its id."""
    (told,) = night(fleet, 30).findings
    day = START + timedelta(days=30)
    late = tmp_path / "late.jsonl"

    def come(mark: str, **payload: Any) -> None:
        lines = (
            native(f"{mark}{each}", at=f"{day}T09:00:00", session=f"late-{each}", caller="probe", **payload)
            for each in range(1_000)
        )
        late.write_bytes(b"".join(lines))
        fleet.ingest([str(late)])

    come("l", facts={"status": 429, "message": "Too Many Requests"}, reason="rate_limited")
    assert "spike" not in {one.finding for one in night(fleet, 30, again=True).of("new")}
    ended = fleet.sql("select state, resolution from findings where finding = 'spike'")
    assert ended.rows() == [("resolved", "rejudged")]
    come("m", facts={"message": WORDING.format(30, 1)}, reason="unknown")
    assert told.id in {one.id for one in night(fleet, 30, again=True).of("new")}
    states = dict(fleet.sql("select finding_id, state from findings").iter_rows())
    assert states[told.id] == "open"


def test_a_log_judges_no_night(fleet: Store, tmp_path: Path, native: Native) -> None:
    """Whoever may write to a log can neither silence the night with a judgement of their own nor end its finding."""
    silent = night(fleet, 29).to_dict()
    silent["window"] |= dict.fromkeys(("since", "until"), f"{START + timedelta(days=30)}")
    forged = tmp_path / "forged.jsonl"
    forged.write_bytes(
        native("n", kind="night.judged", at="2199-01-01T00:00:00", **silent)
        + native("m", kind="night.judged", at="2199-01-01T00:00:00", window={"since": "9999-99-99"})
    )
    fleet.ingest([str(forged)])
    (found,) = night(fleet, 30).findings
    forged.write_bytes(native("r", kind="finding.resolved", at="2199-01-01T00:00:00", finding_id=found.id))
    fleet.ingest([str(forged)])
    assert fleet.sql("select state from findings").item() == "open"


@pytest.mark.parametrize(
    "damage",
    [{"window": {"since": "9999-99-99"}}, {"findings": [{"id": 7}]}, {"judged_at": None}, {"baseline": []}],
    ids=["window", "findings", "judged_at", "baseline"],
)
def test_a_night_that_cannot_be_read_is_judged_anew(fleet: Store, damage: dict[str, Any]) -> None:
    """Another version, or an editor, wrote it: the nights around it, and its own, are judged all the same."""
    told = night(fleet, 30)
    fleet.decide([("night.judged", {**told.to_dict(), **damage})])
    assert night(fleet, 30).findings == told.findings
    assert [one.id for one in night(fleet, 31).findings] == [one.id for one in told.findings]


def test_a_night_before_all_logs_is_refused() -> None:
    """There is no day before the calendar's first, and none that a log could speak of before 1970."""
    with pytest.raises(AnalyzerError, match="too long ago"):
        window(until="0001-01-01")


def test_an_incident_keeps_its_id_until_it_ends(tmp_path: Path, native: Native) -> None:
    """New, ongoing, resolved; the journal has one opening and one end, and the view shows both."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(history(native, 45, 30, 33)))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(path)])
        told = [night(store, number).findings for number in (*range(29, 39), 44)]
        states = [[one.state for one in found] for found in told]
        ids = {one.id for found in told for one in found}
        assert len(ids) == 1
        assert states[:2] == [[], ["new"]]
        assert [state for state in states if state == ["resolved"]] == [["resolved"]]
        assert states[-1] == []
        rows = store.sql("select finding_id, finding, state, opened_on, resolution from findings").rows()
        assert rows == [(*ids, "spike", "resolved", START + timedelta(days=30), "quiet")]


def test_every_night_replayed_is_what_each_night_said(fleet: Store) -> None:
    """`each_night` writes nothing down and comes to the same states, ids and figures."""
    begin, end = START + timedelta(days=28), START + timedelta(days=36)
    before = fleet.sql("select count(*) as n from events")["n"][0]
    replayed = each_night(fleet, f"{begin}..{end}")
    assert fleet.sql("select count(*) as n from events")["n"][0] == before
    alone = [night(fleet, number) for number in range(28, 36)]
    assert [item.day for item in replayed] == [item.day for item in alone]
    assert [item.findings for item in replayed] == [item.findings for item in alone]


def test_a_night_reads_no_older_days_than_its_tests_look_at(fleet: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are summed and kept all the same, and are there for who asks for all nights."""
    monkeypatch.setattr("analyzer.analysis.observations.HISTORY_DAYS", 10)
    last = START + timedelta(days=30)
    short = observe(fleet, last, judged_from=last)
    whole = observe(fleet, last)
    assert (short.days[0], whole.days[0]) == (START + timedelta(days=20), START)
    for name in DATED:
        assert getattr(short, name).equals(getattr(whole, name).filter(pl.col("day") >= short.days[0]))
    assert short.versions.equals(whole.versions)


def test_a_rules_change_alone_never_alarms(tmp_path: Path, native: Native) -> None:
    """Errors recorded as unknown by older rules and known to those of today are no spike, and the other way round."""
    lines = []
    for number in range(40):
        day = START + timedelta(days=number)
        for session in range(12):
            recorded = "unknown" if number >= 30 else "rate_limited"
            facts = {"status": 429, "message": f"Too Many Requests {session}"}
            lines.append(line(native, day, session, "k", facts=facts, reason=recorded))
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(path)])
        assert [
            found for item in each_night(store, until=str(START + timedelta(days=50))) for found in item.findings
        ] == []


def test_a_rule_that_takes_the_messages_ends_the_incident(fleet: Store, tmp_path: Path) -> None:
    """The night after the rule was applied it is resolved as explained; that there are more errors than usual stays."""
    (opened,) = night(fleet, 30).findings
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "[[rule]]\n"
        'id = "lattice-gate"\n'
        'reason = "network_transient"\n'
        'detail = "gate"\n'
        'text = ["lattice gate"]\n'
        'source = "seen in a test"\n'
        'examples = ["lattice gate 4 closed by curator 9", "lattice gate 5 closed by curator 1"]\n'
        'counter_examples = ["the lattice is fine"]\n',
        "utf-8",
    )
    fleet.reclassify(str(rules), apply=True)
    after = night(fleet, 31)
    told = {one.finding: (one.id, one.state, one.resolution) for one in after.findings}
    assert told.pop("spike") == (opened.id, "resolved", "explained")
    assert set(told) == {"volume"}
    assert {one.finding for one in night(fleet, 32).findings} == {"volume"}


def test_a_read_only_store_is_judged_and_left_as_it_is(fleet: Store, tmp_path: Path) -> None:
    """Notebooks may look without writing."""
    fleet.close()
    with open_store(tmp_path / "s.duckdb") as store:
        assert [one.finding for one in night(store, 30).findings] == ["spike"]
        assert store.sql("from findings").is_empty()


def test_a_store_without_anything_has_nothing_to_report(memory: Store) -> None:
    """No findings, and a note that says why."""
    empty = check(memory)
    assert empty.findings == ()
    assert "no errors" in empty.notes[0]
    assert each_night(memory) == []


def test_logs_that_stopped_coming_are_noted(fleet: Store) -> None:
    """Silence is no good news."""
    assert any("are the logs still read?" in note for note in night(fleet, 45).notes)


@pytest.fixture
def upgraded(tmp_path: Path, native: Native) -> Iterator[Store]:
    """Errors without facts, known to the rules of their producer for thirty days, unknown to its next ones."""
    lines = []
    for number in range(40):
        old = number < 30
        known = {"reason": "rate_limited" if old else "unknown", "detail": "x", "ruleset": "old" if old else "new"}
        lines += [line(native, START + timedelta(days=number), session, "k", **known) for session in range(12)]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(path)])
        yield store


@pytest.mark.parametrize("history", ["fleet", "upgraded"])
def test_frames_are_those_of_the_catalogue(history: str, request: pytest.FixtureRequest) -> None:
    """What is counted out of the groups is what the queries of the same name count, to the last row and type."""
    store: Store = request.getfixturevalue(history)
    ruleset = store.judge_history()
    seen = observe(store, START + timedelta(days=39), ruleset=ruleset)
    for name, frame in (("detection-counts", seen.counts), ("detection-templates", seen.templates)):
        expected = store.query(name, until=START + timedelta(days=40), ruleset=ruleset)
        assert_frame_equal(frame.select(expected.columns), expected)
    assert bool(seen.counts["not_replayed"].sum()) == (history == "upgraded")


def test_errors_without_facts_are_cut_where_their_rules_changed(upgraded: Store) -> None:
    """Another version of a producer's rules is no spike; what came before takes no part, and a note says so."""
    before, after = night(upgraded, 29), night(upgraded, 31)
    assert (before.caller_days, after.caller_days) == (30, 2)
    assert (before.findings, after.findings) == ((), ())
    assert after.since == START + timedelta(days=30)
    assert f"judged by other rules since {START + timedelta(days=30)}" in " ".join(after.notes)
    assert "other rules" not in " ".join(before.notes)


def test_a_replay_cuts_history_as_each_night_did(upgraded: Store) -> None:
    """The change of rules has no say over the nights before it."""
    begin, end = START + timedelta(days=28), START + timedelta(days=33)
    replayed = each_night(upgraded, f"{begin}..{end}")
    alone = [night(upgraded, number) for number in range(28, 33)]
    assert [item.caller_days for item in replayed] == [29, 30, 1, 2, 3]
    assert [(item.caller_days, item.notes) for item in replayed] == [(item.caller_days, item.notes) for item in alone]


def test_findings_survive_a_rebuild(fleet: Store, tmp_path: Path) -> None:
    """Nights and findings are in the journal: the store made again from it says the same."""
    told = [night(fleet, number) for number in (29, 30, 31)]
    findings = fleet.sql("from findings")
    assert findings.height == 1
    fleet.close()
    rebuild(str(tmp_path / "s.duckdb"), [])
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        assert_frame_equal(store.sql("from findings"), findings)
        again = [night(store, number) for number in (29, 30, 31)]
        assert all(item.recorded for item in again)
        assert [(item.findings, item.judged_at) for item in again] == [(item.findings, item.judged_at) for item in told]


def test_the_end_of_a_finding_is_told_by_the_next_night_there_is(tmp_path: Path, native: Native) -> None:
    """A check that was left out for a while tells what ended meanwhile, and when."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(history(native, 45, 30, 32)))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(path)])
        (opened,) = night(store, 30).findings
        (ended,) = night(store, 44).findings
        assert (ended.id, ended.state, ended.resolution) == (opened.id, "resolved", "quiet")
        assert ended.resolved_on is not None
        assert ended.resolved_on < START + timedelta(days=44)


def test_a_night_says_how_many_warnings_a_week_there_are(fleet: Store) -> None:
    """Of the weeks that were judged before it, from four weeks on; a night judged earlier takes no part."""
    assert night(fleet, 5).warnings_a_week is None
    assert night(fleet, 31).of("new")
    assert night(fleet, 39).warnings_a_week == pytest.approx(1 / (34 / 7))
    assert night(fleet, 39).warnings_a_week == pytest.approx(1 / (34 / 7))


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/Los_Angeles"])
def test_days_begin_in_the_zone_that_was_asked_for(fleet: Store, zone: str) -> None:
    """The same night in another zone is another night, with an answer of its own."""
    utc, there = night(fleet, 30), night(fleet, 30, timezone=zone)
    assert not there.recorded
    assert there.day == utc.day
    assert os.path.isdir(f"{fleet.path.removesuffix('.duckdb')}.journal")


def test_a_night_asks_for_the_evidence_of_all_findings_at_once(
    tmp_path: Path, native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many findings it has, and each finding still has samples and evidence of its own."""
    lines = []
    for caller in range(12):
        for number in range(31):
            day = START + timedelta(days=number)
            for session in range(8):
                name = f"{caller}-{day}-{session}"
                known = {"facts": {"status": 429, "message": "Too Many Requests"}, "reason": "rate_limited"}
                at = datetime(day.year, day.month, day.day, 8, session).isoformat()
                lines.append(native(f"{name}-k", at=at, session=name, caller=f"c{caller}", **known))
                if number == 30:
                    facts = {"message": f"the {'abcdefghijkl'[caller] * 5} gate is shut"}
                    lines.append(
                        native(f"{name}-u", at=at, session=name, caller=f"c{caller}", facts=facts, reason="unknown")
                    )
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    asked: list[str] = []
    query = Store.query

    def noted(store: Store, name: str, **given: object) -> pl.DataFrame:
        asked.append(name)
        return query(store, name, **given)

    monkeypatch.setattr(Store, "query", noted)
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(path)])
        findings = night(store, 30).findings
    assert len(findings) == 12
    assert asked.count("detection-evidence") == 1
    for one in findings:
        letter = "abcdefghijkl"[int((one.scope.caller or "")[1:])]
        assert one.samples[0] == f"the {letter * 5} gate is shut"
        assert {each.partition("-")[0] for each in one.evidence} == {(one.scope.caller or "")[1:]}
        assert [part.samples for part in one.parts if part.finding == "template"] == [one.samples]
