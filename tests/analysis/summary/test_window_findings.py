"""The findings of a window: what a report opens with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from analyzer.analysis import Overview, Window, check, overview, spikes, window
from analyzer.analysis.nightly.night import Night
from analyzer.errors import AnalyzerError
from analyzer.events import Event, encode
from analyzer.store import Store, open_store
from tests import Native
from tests.analysis.nightly.test_check import START, history, line


def day(number: int) -> str:
    """The day so many days after the first."""
    return str(START + timedelta(days=number))


@pytest.fixture(scope="module")
def read(samples: Path) -> Iterator[Store]:
    """A store of the samples, which tests only ask."""
    with open_store(":memory:") as store:
        store.ingest([str(samples)])
        yield store


@pytest.fixture(scope="module")
def whole(read: Store) -> Overview:
    """The report of all of it."""
    return overview(read, Window())


@pytest.fixture
def fleet(tmp_path: Path, native: Native) -> Iterator[Store]:
    """Forty-five days, three of them, from the thirtieth on, with an unknown error in every session."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(history(native, 45, 30, 33)))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(path)])
        yield store


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_the_samples_have_the_findings_that_their_readme_tells(read: Store, zone: str) -> None:
    """A spike of figma-probe, a session of many hand-offs, and no more.

    In Tokyo both lie on two days: five unknown errors a day of a young caller are no sure spike.
    """
    content = overview(read, window(timezone=zone))
    own = date(2026, 11, 5 if zone == "Asia/Tokyo" else 4)
    spike = ("spike", "figma-probe", None, date(2026, 11, 9), date(2026, 11, 9), "open")
    relays = ("relays", "craftsman", "implement", own, own, "open")
    findings = [
        (one.finding, one.scope.caller, one.scope.step, one.opened_on, one.last_on, one.state)
        for one in content.findings
    ]
    assert findings == ([relays] if zone == "Asia/Tokyo" else [spike, relays])
    assert all(one.onset == one.opened_on and one.parts == () for one in content.findings)
    assert content.drifts.found == ()
    headline = "Many hand-offs" if zone == "Asia/Tokyo" else "Unknown errors spiked for figma-probe"
    assert content.verdict.headline.startswith(headline)


def test_a_hand_off_that_was_given_up_is_no_quiet_day(memory: Store, native: Native, tmp_path: Path) -> None:
    """Also where no error is in the logs: a young history of hand-offs cannot be judged either."""
    known = {"session": "s-1", "caller": "bot", "step_id": "implement", "relay": "r-1"}
    events = [
        native("e-1", "relay.triggered", at=f"{START}T08:00:00", **known),
        native("e-2", "relay.halted", at=f"{START}T08:01:00", **known),
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(events))
    memory.ingest([str(tmp_path)])
    assert overview(memory, Window()).verdict.level == "unjudged"


def test_a_finding_comes_with_its_numbers(whole: Overview) -> None:
    """The days of its caller up to the window's end, and the messages that explain it, the most sessions first."""
    case, _ = whole.cases
    assert case.numbers["day"].max() == date(2026, 11, 9)
    worst = case.numbers.row(-1, named=True)
    assert worst == {
        "day": date(2026, 11, 9),
        "unknown_share": pytest.approx(11 / 15),
        "unknown_groups": 11,
        "groups": 15,
        "unknown_sessions": 5,
        "sessions": 5,
    }
    assert case.templates["events"].to_list() == [8, 4, 2]
    assert case.finding.words[:2] == ("unknowns", "--suggest")
    assert case.finding.latest.observed == worst["unknown_share"]


def test_spikes_are_the_days_that_the_tests_found(read: Store) -> None:
    """As objects, rows, JSON and a figure."""
    found = spikes(read)
    assert found.callers == ("figma-probe",)
    assert [(one.day, one.finding, one.groups) for one in found.found] == [(date(2026, 11, 9), "spike", 11)]
    assert found.to_polars()["caller"].to_list() == ["figma-probe"]
    assert found.to_dict()["spikes"][0]["day"] == "2026-11-09"
    assert "figma-probe" in str(found.plot().to_json())
    assert repr(found).startswith(
        "<Spikes 'figma-probe: 73.3% of its distinct errors up to 2026-11-09 are unknown, normally 7.5%"
    )


def test_the_history_of_a_window_may_lie_before_it(read: Store) -> None:
    """A report on one day knows the week before; a report on the week before knows no spike."""
    assert spikes(read, "2026-11-09..").callers == ("figma-probe",)
    assert spikes(read, "..2026-11-09").callers == ()
    # Of a day that is cut in two nothing is judged.
    assert [found.finding for found in overview(read, window(until="2026-11-09T20:00")).findings] == ["relays"]


@pytest.mark.parametrize(
    ("since", "until", "level"),
    [
        ("2026-11-02", "2026-11-04", "unjudged"),
        ("2026-11-02", "2026-11-09", "warning"),
        ("2026-11-09", None, "warning"),
        ("2027-01-01", None, "warning"),
    ],
)
def test_the_verdict_follows_from_the_window(read: Store, since: str, until: str | None, level: str) -> None:
    """The first days of all, a session of many hand-offs, a spike, and a future without anything."""
    content = overview(read, window(since, until))
    assert content.verdict.level == level
    assert (content.asked is not None) == bool(content.widened) == (since == "2027-01-01")
    assert bool(content.findings) == (level == "warning")


def test_a_log_without_history_is_unjudged(memory: Store, samples: object) -> None:
    """The spike's own day alone is called neither quiet nor a spike."""
    memory.ingest([f"{samples}/unknown-spike.jsonl"])
    verdict = overview(memory, Window()).verdict
    assert verdict.level == "unjudged"
    assert "there is 1 (2026-11-09)" in verdict.details[0]


@pytest.mark.parametrize(("days", "level"), [(1, "unjudged"), (7, "unjudged"), (8, "quiet")])
def test_check_and_report_call_the_same_fleets_too_young(memory: Store, tmp_path: Path, days: int, level: str) -> None:
    """Fewer than seven days before the day that is judged, whatever was seen on them."""
    begin = datetime(2026, 10, 5, 8)
    kept = tmp_path / "log.jsonl"
    facts = {"status": 429, "message": "Too Many Requests"}
    said = {"caller": "c", "reason": "rate_limited", "facts": facts}
    errors = (Event("error.classified", begin + timedelta(day), f"s{day}", said, f"e{day}") for day in range(days))
    kept.write_bytes(b"".join(map(encode, errors)))
    memory.ingest([str(kept)])
    until = (begin + timedelta(days)).replace(hour=0)
    night = check(memory, until=until)
    verdict = overview(memory, until=until).verdict
    assert verdict.level == level
    assert night.headline.startswith("Not judged: too little history" if level == "unjudged" else "No findings")
    assert night.unjudged == (verdict.details[0] if level == "unjudged" else "")
    assert Night.from_dict(night.to_dict()).headline == night.headline


def test_an_overview_hangs_together(whole: Overview) -> None:
    """Totals and completeness agree with the tables, and everything becomes JSON."""
    assert whole.totals.errors == whole.tables["errors-by-reason"].frame["errors"].sum()
    assert whole.totals.unknown_errors <= whole.totals.counted_errors <= whole.totals.errors
    assert whole.completeness.quarantined == whole.tables["quarantine-lines"].frame.height
    data = whole.to_dict()
    assert data["schema"] == "analyzer.report/1"
    assert data["findings"][0]["templates"][0]["events"] == 8
    assert data["drifts"]["days"][0] == {"day": "2026-11-02", "errors": 12, "recorded_share": 0.0, "unknown_share": 0.0}


def test_an_incident_that_ended_in_the_window_is_told_as_over(fleet: Store) -> None:
    """Nothing is open, so the verdict is quiet; before it ended it was open, and after it there is nothing to tell."""
    ended = overview(fleet, window(day(28), day(40)))
    assert ended.verdict.level == "quiet"
    (found,) = ended.findings
    assert (found.state, found.resolution, found.resolved_on) == ("resolved", "quiet", START + timedelta(days=35))
    assert not ended.cases[0].is_open
    still = overview(fleet, window(day(28), day(34)))
    assert (still.verdict.level, still.findings[0].state, still.findings[0].id) == ("critical", "open", found.id)
    assert overview(fleet, window(day(36), day(44))).findings == ()


def test_a_report_says_what_the_check_of_its_last_day_says(fleet: Store) -> None:
    """The same ids, figures and sentences, and nothing is written down for it."""
    (reported,) = overview(fleet, window(day(20), day(33))).findings
    assert fleet.sql("select count(*) as n from events where not starts_with(type, 'error')")["n"][0] == 0
    (checked,) = check(fleet, until=day(33)).findings
    # A check that was never made the nights before calls it new.
    assert (reported.id, reported.latest, reported.samples) == (checked.id, checked.latest, checked.samples)
    assert reported.explanation == checked.explanation


def test_a_report_calls_worse_what_the_nights_do(tmp_path: Path, native: Native) -> None:
    """Graver than on the night before: when half the sessions become all of them, and not when they stay so.

    With the nights written down and without any.
    """
    lines = [line for line in history(native, 33, 30) if not (b"2026-10-07-" in line and b"-u" in line)]
    half = [line for line in history(native, 31, 30) if b"2026-10-07-" in line and b"-u" in line][::2]
    assert (START + timedelta(days=30), len(half)) == (date(2026, 10, 7), 6)
    (tmp_path / "log.jsonl").write_bytes(b"".join([*lines, *half]))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])

        def reported(number: int) -> tuple[str, bool]:
            (one,) = overview(store, window(day(20), day(number))).findings
            return one.severity, one.worse

        def checked(number: int) -> tuple[str, bool]:
            (one,) = check(store, until=day(number)).findings
            return one.severity, one.worse

        assert [reported(32), reported(33)] == [("critical", True), ("critical", False)]
        assert (checked(31), reported(32)) == (("warning", False), ("critical", True))
        assert (checked(32), reported(32)) == (("critical", True), ("critical", True))
        assert checked(33) == ("critical", False)


def test_a_store_open_for_reading_gives_the_same_report(fleet: Store, tmp_path: Path) -> None:
    """Nothing has to be written for it."""
    before = overview(fleet, window(day(20), day(33)))
    fleet.close()
    with open_store(tmp_path / "s.duckdb") as store:
        assert overview(store, window(day(20), day(33))).findings == before.findings


def test_a_change_of_rules_is_a_drift_of_the_classifier_and_no_finding(
    memory: Store, tmp_path: Path, native: Native
) -> None:
    """What older rules called unknown is no spike under those of today; the report says what moved."""
    lines = []
    for number in range(20):
        for session in range(12):
            recorded = "unknown" if number >= 15 else "rate_limited"
            facts = {"status": 429, "message": f"Too Many Requests {session}"}
            lines.append(line(native, START + timedelta(days=number), session, "k", facts=facts, reason=recorded))
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    memory.ingest([str(path)])
    content = overview(memory, Window())
    assert content.findings == ()
    (moved,) = content.drifts.found
    assert (moved.drift, moved.about, moved.sessions) == ("classifier", "unknown → rate_limited", 60)
    assert content.drifts.days.row(-1)[2:] == (1.0, 0.0)


def test_rulesets_that_were_applied_are_listed(fleet: Store) -> None:
    """With the day and the one before."""
    fleet.reclassify(None, apply=True)
    drifts = overview(fleet, Window()).drifts
    row = drifts.applied.frame.row(0, named=True)
    assert row["ruleset"] == drifts.ruleset
    assert row["previous"] is None
    assert row["applied_at"].date() == row["applied_on"]


def test_the_warnings_a_week_are_those_of_the_last_night(fleet: Store) -> None:
    """What the check counted and wrote down; nothing where there was no check."""
    assert overview(fleet, Window()).warnings_a_week is None
    night = check(fleet, until=day(33))
    assert overview(fleet, Window()).warnings_a_week == night.warnings_a_week
    fleet.decide([("night.judged", {**night.to_dict(), "warnings_a_week": 0.7})])
    assert overview(fleet, Window()).warnings_a_week == 0.7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"since": "7d", "last": "7d"}, "both"),
        ({"since": "2026-11-02", "until": "2026-11-01"}, "nothing lies between"),
        ({"timezone": "Mars/Base"}, "unknown time zone"),
        ({"timezone": "/etc/passwd"}, "unknown time zone"),
        ({"last": "soon"}, "not a length of time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_window_that_cannot_be_is_refused(arguments: dict[str, str], message: str) -> None:
    """Contradictions and unknown words, each with a hint."""
    with pytest.raises(AnalyzerError, match=message) as caught:
        window(**arguments)  # type: ignore[arg-type]
    assert caught.value.hint
