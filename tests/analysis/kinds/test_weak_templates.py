"""New messages that a rule knows by weak evidence: told of a caller and of the fleet, and not where they are known."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.new_messages import shared_templates, weak_templates
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.incidents import incidents
from tests.analysis.nightly.test_nightly_tests import group, observed

START, DAYS, CHANGE = date(2026, 3, 2), 60, 40
Row = tuple[int, str, str, int, int]


def day(number: int) -> date:
    """The day so many days after the first."""
    return START + timedelta(days=number)


def found(*rows: Row, unknown: tuple[Row, ...] = (), callers: int = 6, sessions: int = 20) -> list[Detection]:
    """Over a fleet at work: day, caller, template, sessions, and those of them that weak evidence decided."""
    names = ["day", "caller", "template", "sessions", "weak_sessions"]
    known, others = (
        pl.DataFrame([(day(one[0]), *one[1:]) for one in some], names, orient="row")
        if some
        else pl.DataFrame(schema=dict(zip(names, (pl.Date, pl.String, pl.String, pl.Int64, pl.Int64), strict=True)))
        for some in (rows, unknown)
    )
    work = pl.DataFrame(
        [(day(number), f"c{caller}", sessions, float(sessions)) for number in range(DAYS) for caller in range(callers)],
        ["day", "caller", "sessions", "exposure"],
        orient="row",
    )
    return weak_templates(known.with_columns(reason=pl.lit("auth_error")), others, work, work)


def test_a_message_that_comes_often_at_one_caller_is_told_of_it() -> None:
    """With its reason, on the day on which it is sure, and on later ones that show it."""
    first, *more = found(*((CHANGE + number, "c1", "t", 3, 3) for number in range(4)))
    assert (first.caller, first.template, first.scope, first.state) == ("c1", "t", "auth_error", "new")
    assert first.day in {day(CHANGE), day(CHANGE + 1)}
    assert first.onset == day(CHANGE)
    assert {one.state for one in more} == {"ongoing"}
    assert more[-1].day == day(CHANGE + 3)
    assert more[-1].sessions == 12


def test_a_message_that_few_sessions_of_each_caller_show_is_told_of_the_fleet() -> None:
    """And of no caller beside that; two callers and two days are needed."""
    seen = found(*((CHANGE + number // 3, f"c{number % 3}", "t", 1, 1) for number in range(9)))
    assert {one.caller for one in seen} == {None}
    assert "3 callers" in (seen[-1].note or "")
    assert not found(*((CHANGE, f"c{number}", "t", 1, 1) for number in range(6)))


@pytest.mark.parametrize(
    "before",
    [
        {"rows": ((20, "c1", "t", 1, 1),)},
        {"rows": ((20, "c1", "t", 1, 0),)},
        {"unknown": ((20, "c1", "t", 1, 0),)},
    ],
    ids=["by weak evidence", "by better evidence or nobody said", "by no rule"],
)
def test_what_was_there_under_any_verdict_is_not_new(before: dict[str, tuple[Row, ...]]) -> None:
    """A store whose verdicts say only by now how sure they are tells of nothing."""
    now = tuple((CHANGE + number, "c1", "t", 3, 3) for number in range(4))
    assert found(*now)
    assert not found(*before.get("rows", ()), *now, unknown=before.get("unknown", ()))


def test_what_better_evidence_decides_is_none_of_its_business() -> None:
    """Nor is a first sight without a history to be new in."""
    assert not found(*((CHANGE + number, "c1", "t", 5, 0) for number in range(4)))
    assert not found(*((3 + number, "c1", "t", 5, 5) for number in range(4)))


def test_several_new_messages_of_a_night_are_one_finding() -> None:
    """Of the clearest; the others are counted."""
    seen = found(*((CHANGE + number, "c1", text, 4, 4) for number in range(4) for text in ("a", "b", "c")))
    assert {one.template for one in seen} == {"a"}
    assert "2 more came with it" in (seen[0].note or "")


def test_a_message_that_pauses_is_not_told_again() -> None:
    """Its finding ends after quiet days; a rare message would be a new finding each time."""
    often = [(CHANGE + number, "c1", "t", 4, 4) for number in (0, 1, 2)]
    seen = found(*often, (CHANGE + 9, "c1", "t", 1, 1), (CHANGE + 15, "c1", "t", 4, 4))
    assert max(one.day for one in seen) == day(CHANGE + 2)


@pytest.mark.parametrize("shared", [True, False], ids=["unknown", "weak"])
def test_a_message_that_goes_on_keeps_its_finding_open(shared: bool) -> None:
    """Until four weeks have passed: then it is the new normal."""
    rows = [(CHANGE - 20 + number, f"c{number % 6}", "t", 2, 2) for number in range(38)]
    work = {f"c{caller}": [day(number) for number in range(DAYS)] for caller in range(6)}
    if shared:
        names = ["day", "caller", "template", "sessions"]
        seen = pl.DataFrame([(day(one[0]), *one[1:4]) for one in rows], names, orient="row")
        exposure = pl.DataFrame(
            [(at, caller, 20.0) for caller, days in work.items() for at in days],
            ["day", "caller", "exposure"],
            orient="row",
        )
        told = shared_templates(seen, exposure)
    else:
        told = found(*rows)
    told = [one for one in told if one.caller is None]
    traffic = {"": work["c0"]}
    for later in (3, 10, 20, 27):
        (one,) = incidents(told, traffic, told[0].day + timedelta(days=later))
        assert (one.is_open, one.last_on) == (True, told[0].day + timedelta(days=later))
    (one,) = incidents(told, traffic, told[0].day + timedelta(days=28))
    assert (one.state, one.resolution) == ("resolved", "accepted")


def test_history_by_session_is_told_with_its_reason() -> None:
    """End to end over rows of errors: of a caller, with what a rule made of it."""
    usual = [group(n, s, "rate_limited", confidence="strong") for n in range(DAYS) for s in range(20)]
    new = [
        group(n, s, "network_transient", template="x", rule="http_5xx", confidence="weak")
        for n in range(CHANGE, CHANGE + 5)
        for s in range(3)
    ]
    told = [one for one in detections(observed([*usual, *new])) if one.finding == "weak_template"]
    assert {(one.caller, one.template, one.scope) for one in told} == {("probe", "x", "network_transient")}
    strong = [(*one[:-2], "strong", one[-1]) for one in new]
    assert not [one for one in detections(observed([*usual, *strong])) if one.finding == "weak_template"]
