"""All tests over one history: bursts, hand-offs and retries, each day from itself and the days before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from typing import Any

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.causes import with_causes
from analyzer.analysis.kinds.families.retries import retry_changes
from analyzer.analysis.kinds.finding import KINDS, Finding, scope_of
from analyzer.analysis.kinds.sentences import sentence
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.incidents import incidents
from analyzer.analysis.nightly.notes import notes
from analyzer.analysis.observations import Observations, exposed
from tests import each_row
from tests.analysis.observed import observations

START = date(2026, 3, 2)  # a Monday
GROUPS = {
    "day": pl.Date,
    "caller": pl.String,
    "session": pl.String,
    "template": pl.String,
    "reason": pl.String,
    "rule": pl.String,
    "old_reason": pl.String,
    "was_unknown": pl.Boolean,
    "judged": pl.Boolean,
    "confidence": pl.String,
    "events": pl.Int64,
}
RELAYS = {"day": pl.Date, "caller": pl.String, "step": pl.String, "session": pl.String, "relays": pl.Int64}
CHAINS = {
    "day": pl.Date,
    "caller": pl.String,
    "reason": pl.String,
    "chains": pl.Int64,
    "recovered": pl.Int64,
    "untried": pl.Int64,
}
VERSIONS = {
    "caller": pl.String,
    "ruleset": pl.String,
    "first_on": pl.Date,
    "last_on": pl.Date,
    "errors": pl.Int64,
}


def day(number: int) -> date:
    """The day so many days after the first."""
    return START + timedelta(days=number)


def group(
    number: int, session: int, reason: str, *, template: str = "", events: int = 1, **known: Any
) -> tuple[Any, ...]:
    """One message of one session, with `caller`, `rule`, `old_reason` or `confidence`."""
    old = known.get("old_reason", reason)
    caller = known.get("caller", "probe")
    name = f"{caller}-{number}-{session}"
    return (
        day(number),
        caller,
        name,
        template or f"text of {reason}",
        reason,
        known.get("rule"),
        old,
        old == "unknown",
        True,
        known.get("confidence"),
        events,
    )


def observed(
    rows: Iterable[tuple[Any, ...]] = (), relays: Iterable[Any] = (), chains: Iterable[Any] = (), night: int = 59
) -> Observations:
    """History of hand-made rows."""
    groups = pl.DataFrame(list(rows), schema=GROUPS, orient="row").sort("day", "caller", "session", "template")
    return observations(
        groups,
        pl.DataFrame(list(relays), schema=RELAYS, orient="row"),
        pl.DataFrame(list(chains), schema=CHAINS, orient="row"),
        pl.DataFrame([], schema=VERSIONS, orient="row"),
        day(night),
    )


def mixed(days: int, change: int, seed: int = 1, sessions: int = 30) -> list[tuple[Any, ...]]:
    """Sessions of three reasons, one of which takes over from some day on."""
    random = Random(seed)
    usual, later = [5, 3, 2], [2, 2, 6]
    return [
        group(n, s, random.choices(["rate_limited", "validation", "auth_error"], later if n >= change else usual)[0])
        for n in range(days)
        for s in range(sessions)
    ]


def test_a_burst_is_told_once_a_day_and_message() -> None:
    """The longest stands for those of other sessions, whose number it names."""
    rows = [group(n, s, "validation") for n in range(5) for s in range(4)]
    rows += [group(4, s, "validation", template="loop", events=40 + s) for s in range(4, 7)]
    (found,) = [one for one in detections(observed(rows)) if one.finding == "burst"]
    assert (found.scope, found.observed, found.template) == ("probe-4-6", 46.0, "loop")
    assert (found.note or "").endswith("; 2 other sessions did so too")


def test_hand_offs_are_measured_against_the_sessions_at_work() -> None:
    """Sessions without a hand-off are exposure as well, in every step."""
    rows = [group(0, s, "validation") for s in range(5)]
    frame = exposed(
        observed(rows, relays=[(day(0), "probe", "implement", "probe-0-1", 2), (day(0), "probe", "plan", "x", 1)])
    )
    shown = {row["step"]: (row["relays"], row["exposure"]) for row in frame.iter_rows(named=True)}
    assert shown == {"implement": (2, 1 + 5), "plan": (1, 1 + 5)}


def test_hand_offs_that_become_frequent_are_found() -> None:
    """Of their step alone, on their day."""
    rows = [group(n, s, "validation") for n in range(40) for s in range(12)]
    relays = [(day(n), "probe", "implement", f"probe-{n}-0", 1) for n in range(40)]
    relays += [(day(39), "probe", "implement", f"probe-39-{s}", 2) for s in range(1, 10)]
    (found,) = [one for one in detections(observed(rows, relays)) if one.finding == "relays"]
    assert (found.day, found.scope, found.observed) == (day(39), "implement", 19.0)


def test_recovery_that_fell_is_found_by_reason_and_caller() -> None:
    """Nine in ten recovered for six weeks, three in ten do now; another reason of the same caller does as ever."""
    chains = [(day(n), "probe", "rate_limited", 10, 9, 0) for n in range(60)]
    chains += [(day(n), "probe", "network_transient", 10, 9 if n < 50 else 3, 0) for n in range(60)]
    found = retry_changes(pl.DataFrame(chains, schema=CHAINS, orient="row"))
    assert {(one.finding, one.scope) for one in found} == {("recovery_fell", "network_transient")}
    assert day(50) < found[0].day <= day(56)


@pytest.mark.parametrize(
    ("row", "expected"), [((10, 0, 0), "retry_in_vain"), ((4, 4, 20), "retry_would_pay"), ((10, 8, 0), None)]
)
def test_standing_facts_of_retries_are_told_until_they_are_accepted(row: tuple[int, ...], expected: str | None) -> None:
    """They are infos, and after four weeks they no longer ring."""
    chains = [(day(n), "probe", "validation", *row) for n in range(80)]
    found = detections(observed(chains=chains, night=79))
    assert {one.finding for one in found} == ({expected} if expected else set())
    traffic = {"probe": [day(n) for n in range(80)]}
    told = [one for n in range(80) for one in incidents(found, traffic, day(n))]
    assert {one.severity for one in told} <= {"info"}
    assert [one.resolution for one in told if one.state == "resolved"] == (["accepted"] if expected else [])
    assert len(told) == (29 if expected else 0)


def test_an_accepted_share_that_rises_again_is_another_incident() -> None:
    """The test of shares says when a level is the new normal."""
    figures = {
        "finding": "drift",
        "caller": "probe",
        "observed": 0.3,
        "expected": 0.05,
        "sessions": 12,
        "p_value": 1e-6,
    }
    rows = [Detection(day=day(n), state="accepted" if n == 3 else "ongoing", **figures) for n in range(4)]
    rows.append(Detection(day=day(4), **figures))
    traffic = {"probe": [day(n) for n in range(9)]}
    told = [incidents(rows, traffic, day(n))[0] for n in range(5)]
    assert [(one.state, one.resolution) for one in told[2:]] == [
        ("ongoing", None),
        ("resolved", "accepted"),
        ("new", None),
    ]
    assert told[4].id != told[3].id


def test_no_day_changes_what_an_earlier_one_said() -> None:
    """All tests together: a history that is cut short says the same of its days."""
    random = Random(4)
    rows = mixed(60, 45) + [group(n, s, "unknown", template="new") for n in range(55, 60) for s in range(9)]
    relays = [(day(n), "probe", "implement", f"probe-{n}-{s}", 1) for n in range(60) for s in range(1 + 9 * (n == 50))]
    chains = [(day(n), "probe", "rate_limited", 10, 9 if n < 50 else random.randrange(4), 0) for n in range(60)]
    seen = observed(rows, relays, chains)
    whole = detections(seen)
    assert {"template", "relays", "recovery_fell"} < {one.finding for one in whole}
    for number in (46, 50, 53, 57):
        assert detections(seen.up_to(day(number))) == [one for one in whole if one.day <= day(number)]


def test_a_recording_classifier_that_changed_is_a_note() -> None:
    """Recorded as unknown from one day on, known to today's rules as ever."""
    rows = [
        group(n, s, "rate_limited", old_reason="unknown" if n >= 50 and s % 2 else "rate_limited")
        for n in range(51)
        for s in range(20)
    ]
    (said,) = notes(observed(rows, night=50))
    assert "today's rules say rate_limited for 10 messages of" in said
    assert "logged as unknown" in said
    assert list(notes(observed(rows, night=49).up_to(day(49)))) == []


def _new(finding: str, **known: Any) -> Finding:
    latest = Detection(day=day(50), finding=finding, caller="probe", onset=day(48), **known)
    return Finding(id="x", state="new", severity="warning", opened_on=day(48), last_on=day(50), latest=latest)


def test_a_new_finding_is_asked_for_its_cause() -> None:
    """A rule that fell silent while new unknown texts came: the wording changed, and not the traffic."""
    rows = [group(n, s, "rate_limited", rule="slow-down", template="slow down") for n in range(48) for s in range(12)]
    rows += [group(n, s, "unknown", template="calm down") for n in range(48, 51) for s in range(12)]
    (asked,) = with_causes(observed(rows, night=50), (_new("spike"),))
    assert [(part.finding, part.scope.rule) for part in asked.parts] == [("wording_changed", "slow-down")]
    assert "rule slow-down matched in 504 of 504 sessions, now in 0 of 36" in sentence(asked.parts[0])


def test_another_mix_without_another_wording_is_traffic() -> None:
    """The same texts as ever in other proportions; an ongoing finding is not asked again."""
    rows = [group(n, s, "unknown" if s < (6 if n >= 48 else 1) else "validation") for n in range(51) for s in range(12)]
    seen = observed(rows, night=50)
    (asked,) = with_causes(seen, (_new("spike"),))
    assert [part.finding for part in asked.parts] == ["traffic_changed"]
    assert with_causes(seen, (replace(_new("spike"), state="ongoing"),))[0].parts == ()


def test_a_classifier_that_changed_with_it_is_a_cause() -> None:
    """Recorded verdicts flip where the change began, and did not before."""
    rows = [
        group(n, s, "validation", old_reason="unknown" if n >= 48 else "validation")
        for n in range(51)
        for s in range(12)
    ]
    (asked,) = with_causes(observed(rows, night=50), (_new("drift"),))
    assert [(part.finding, part.scope.reason) for part in asked.parts] == [
        ("classifier_changed", "unknown → validation")
    ]


@each_row("kind", sorted(KINDS))
def test_every_kind_has_its_words_and_its_scope(kind: str) -> None:
    """A sentence without a hole in it, advice for all but the last cause, a scope that survives JSON."""
    figures = {"observed": 0.3, "expected": 0.1, "low": 0.05, "high": 0.2, "p_value": 1e-6, "sessions": 4, "groups": 9}
    found = _new(kind, note="something was noted", scope="some-scope", template="abc", **figures)
    said = sentence(found, "a message")
    assert said.startswith("probe, since 2026-04-19: ")
    assert "None" not in said and "–" not in said
    assert bool(found.kind.advice) == (kind != "traffic_changed")
    assert Finding.from_dict(found.to_dict()).scope == found.scope == scope_of(found.latest)
