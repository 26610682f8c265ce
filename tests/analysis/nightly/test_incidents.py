"""Incidents: they open, go on and end, and what a night says follows from that night and the ones before it."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.scope import Scope
from analyzer.analysis.nightly.incidents import SILENT_DAYS, incidents
from analyzer.analysis.nightly.night import carried_on
from analyzer.analysis.periods import QUIET_DAYS

START = date(2026, 11, 2)
TRAFFIC = {"probe": [START + timedelta(days=number) for number in range(60)]}


def day(number: int) -> date:
    """The day so many days after the first."""
    return START + timedelta(days=number)


def seen(number: int, finding: str = "spike", **known: Any) -> Detection:
    """A detection of one day."""
    figures = {"observed": 0.3, "expected": 0.05, "p_value": 1e-6, "sessions": 12, "groups": 40, "caller": "probe"}
    return Detection(day=day(number), finding=finding, **{**figures, **known})


def states(detections: list[Detection], nights: int) -> list[list[str]]:
    """The states that each night reports."""
    return [[one.state for one in incidents(detections, TRAFFIC, day(number))] for number in range(nights)]


@pytest.mark.parametrize(
    ("caller", "who"),
    [("probe", "probe"), (None, "the fleet"), ("", "(none)"), (" \t", "(none)"), ("x" * 5_000, "x" * 79 + "…")],
)
def test_a_caller_is_named_in_few_words(caller: str | None, who: str) -> None:
    """A log may name a caller by nothing or by a book; neither is the fleet, nor fills the night's report."""
    assert Scope(caller=caller).who == who


def test_an_incident_opens_goes_on_and_ends() -> None:
    """New on its first night, ongoing while its days show it, open until three days without it, then resolved."""
    assert states([seen(1), seen(2)], 8) == [
        [],
        ["new"],
        ["ongoing"],
        ["open"],
        ["open"],
        ["resolved"],
        [],
        [],
    ]


def test_a_spike_that_becomes_a_drift_is_one_incident() -> None:
    """Whichever test sees it, it is the same rise of the same share, under the name that its beginning gave it."""
    first = incidents([seen(1)], TRAFFIC, day(1))
    later = incidents([seen(1), seen(3, "drift"), seen(5, "drift")], TRAFFIC, day(5))
    assert [(one.id, one.finding, one.opened_on) for one in later] == [(first[0].id, "spike", day(1))]


def test_an_incident_after_a_quiet_time_is_another_one() -> None:
    """The same caller later gets a new id."""
    first = incidents([seen(1)], TRAFFIC, day(1))[0]
    later = incidents([seen(1), seen(1 + QUIET_DAYS + 1)], TRAFFIC, day(1 + QUIET_DAYS + 1))[0]
    assert later.state == "new"
    assert later.id != first.id


def test_a_silent_caller_has_not_got_better() -> None:
    """Days without traffic are no recovery; after two weeks the incident ends all the same, and says why."""
    traffic = {"probe": [day(0), day(1)]}
    assert [one.state for one in incidents([seen(1)], traffic, day(14))] == ["open"]
    ended = incidents([seen(1)], traffic, day(1 + SILENT_DAYS))[0]
    assert (ended.state, ended.resolution, ended.resolved_on) == ("resolved", "silent", day(1 + SILENT_DAYS))
    assert incidents([seen(1)], traffic, day(30)) == ()
    late = {"probe": [day(0), day(1), day(13), day(14), day(20)]}
    assert incidents([seen(1)], late, day(15))[0].resolution == "silent"


def test_what_comes_later_changes_no_night() -> None:
    """A night is judged from that night and the ones before it alone."""
    early = [seen(1), seen(2, "template", template="abc")]
    late = [seen(4, "drift"), seen(9)]
    assert incidents(early, TRAFFIC, day(2)) == incidents(early + late, TRAFFIC, day(2))


def test_a_message_that_explains_a_rise_is_part_of_it() -> None:
    """One cause is one finding: the new template stands inside the spike; that of another caller for itself."""
    found = incidents(
        [seen(1), seen(1, "template", template="abc"), seen(1, "template", caller="other", template="abc")],
        {**TRAFFIC, "other": TRAFFIC["probe"]},
        day(1),
    )
    assert [(one.finding, one.scope.caller, len(one.parts)) for one in found] == [
        ("spike", "probe", 1),
        ("template", "other", 0),
    ]


def test_the_gravest_stands_first() -> None:
    """Critical before warning before info; what ended comes last."""
    detections = [
        seen(3, "burst", caller="a", scope="s-1"),
        seen(3, caller="b"),
        seen(3, caller="c", observed=0.12, expected=0.05),
        seen(0, caller="d"),
    ]
    found = incidents(detections, dict.fromkeys("abcd", TRAFFIC["probe"]), day(3))
    assert [(one.scope.caller, one.severity, one.state) for one in found] == [
        ("b", "critical", "new"),
        ("c", "warning", "new"),
        ("a", "info", "new"),
        ("d", "critical", "resolved"),
    ]


def test_a_finding_survives_the_journal() -> None:
    """What is written down as JSON is read back as the same finding."""
    found = incidents([seen(1), seen(1, "template", template="abc")], TRAFFIC, day(1))[0]
    assert Finding.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_known_incident_keeps_its_id_when_late_events_move_its_first_day() -> None:
    """The id is the one that the first night gave."""
    first = incidents([seen(2)], TRAFFIC, day(2))
    moved = incidents([seen(1), seen(2), seen(3)], TRAFFIC, day(3))
    assert moved[0].id != first[0].id
    assert [(one.id, one.state, one.opened_on) for one in carried_on(moved, first, day(3))] == [
        (first[0].id, "ongoing", day(2))
    ]


def test_what_todays_rules_no_longer_see_is_resolved_as_explained() -> None:
    """A rule that takes the messages of an incident ends it the same night."""
    first = incidents([seen(2)], TRAFFIC, day(2))
    ended = carried_on((), first, day(3))
    assert [(one.id, one.state, one.resolution, one.resolved_on) for one in ended] == [
        (first[0].id, "resolved", "explained", day(3))
    ]
    assert carried_on((), ended, day(4)) == ()


def test_an_incident_of_nights_that_were_left_out_is_new() -> None:
    """Nobody has been told of it yet."""
    assert [one.state for one in carried_on(incidents([seen(1), seen(2)], TRAFFIC, day(2)), (), day(2))] == ["new"]


@pytest.mark.parametrize("severity", ["", "fatal"])
def test_an_unknown_severity_is_refused(severity: str) -> None:
    """With the legal words."""
    from analyzer.analysis.kinds.finding import at_least
    from analyzer.errors import AnalyzerError

    with pytest.raises(AnalyzerError, match="severity"):
        at_least("info", severity)


@given(st.lists(st.integers(0, 30), max_size=12), st.randoms())
def test_the_order_of_detections_makes_no_difference(days: list[int], chance: Any) -> None:
    """And every incident that opened is told every night until it ends, under one id."""
    detections = [seen(number) for number in sorted(set(days))]
    shuffled = list(detections)
    chance.shuffle(shuffled)
    told: dict[str, list[str]] = {}
    for number in range(40):
        found = incidents(detections, TRAFFIC, day(number))
        assert found == incidents(shuffled, TRAFFIC, day(number))
        for one in found:
            told.setdefault(one.id, []).append(one.state)
    for history in told.values():
        assert history[0] == "new"
        assert history[-1] == "resolved"
        assert set(history[1:-1]) <= {"ongoing", "open"}
