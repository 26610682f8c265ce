"""A night fails only by what its own day shows, whatever kind of finding that is and however it goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from analyzer.analysis import Finding, Night
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.nightly.check import each_night
from analyzer.store import open_store
from tests import sampled
from tests.analysis import histories

TROUBLE, USUAL = histories.DAYS - 1, 29
"""Days of the history of all kinds: one with all troubles, and the first of some without any."""
COURSES = {
    "all logs stop": "",
    "all is well again": "uuuuuu",
    "all goes on": "tttttt",
    "it comes again": "uttuutu",
    "it comes again after days without logs": "..t..tu",
}
"""What the days after the history are like: `t` has troubles, `u` has none, `.` has no event."""
Line = dict[str, Any]


def history(course: str) -> list[Line]:
    """Return the lines of the history of all kinds and of the days after it."""
    lines = [line for number in range(histories.DAYS) for line in moved(number, number)]
    for after, kind in enumerate(course):
        number = {"t": TROUBLE, "u": USUAL + after}.get(kind)
        if number is not None:
            lines += moved(number, histories.DAYS + after)
    return lines


def moved(number: int, to: int) -> Iterator[Line]:
    """Yield the lines of a day of the history as those of another day."""
    for story in histories._STORIES:
        for text in story(number):
            line = json.loads(text)
            line.pop("crc", None)
            own, shift = line["payload"], timedelta(days=to - number)
            for of, names in ((line, ("id", "sessionId")), (own, ("operation", "relay"))):
                of |= {name: f"{of[name]}-on-{to}" for name in names if shift and name in of}
            for of, name in ((line, "timestamp"), (own, "ended_at")):
                if name in of:
                    at = datetime.fromisoformat(of[name].removesuffix("Z")) + shift
                    of[name] = f"{at.isoformat(timespec='milliseconds')}Z"
            yield line


def is_of(line: Line, one: Finding) -> bool:
    """Whether a line is an event that speaks for a finding, by its type, caller and whatever it shares."""
    own, scope = line["payload"], one.scope
    if any(getattr(scope, name) not in {None, own.get(name)} for name in ("caller", "provider", "model", "project")):
        return False
    if scope.host is not None and one.finding == "host_outage" and not line.get("writer", "").startswith(scope.host):
        return False
    kind, text = line["type"], own.get("facts", {}).get("message")
    if scope.tool:
        return kind == "tool.failed" and own["tool"] == scope.tool
    if scope.version:
        return kind == "error.classified" and f"{own.get('agent')} {own.get('agent_version')}" == scope.version
    if one.finding == "relays":
        return kind == "relay.triggered"
    if one.finding in {"retries_exhausted", "waits_grow"}:
        return kind == "retry.settled" and (own["outcome"] == "exhausted" or own.get("waited_seconds", 0) > 3)
    if one.finding in {"sessions_aborted", "sessions_empty", "shipped_twice", "silence"}:
        return kind == "session.observed"
    texts = one.samples if scope.template or one.finding == "burst" else (text,)
    return kind == "error.classified" and text in texts


def has_evidence(lines: list[Line], one: Finding, day: date) -> bool:
    """Whether a day has an event of a finding; of a silence, whether it has fewer sessions than two weeks before."""
    of_day = [line for line in lines if line["timestamp"].startswith(f"{day}")]
    if one.finding == "silence":
        before = [line for line in lines if line["timestamp"].startswith(f"{day - timedelta(days=14)}")]
        now, then = (sum(is_of(line, one) for line in rows) for rows in (of_day, before))
        return 3 * now < then
    return any(is_of(line, one) for line in of_day)


@pytest.fixture(scope="module", params=sampled([*COURSES], first=4, step=5))
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Line], list[Night]]:
    """Return the lines of a course of days, and its nights from the one before all changes."""
    lines, folder = history(COURSES[request.param]), tmp_path_factory.mktemp("evidence")
    (folder / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_store(folder / "x.duckdb", writable=True) as store:
        store.ingest([str(folder / "x.jsonl")])
        first, end = (histories.START + timedelta(days=number) for number in (histories.CHANGE - 1, histories.DAYS + 7))
        return lines, each_night(store, since=str(first), until=str(end))


def test_a_night_fails_only_by_evidence_of_its_own_day(told: tuple[list[Line], list[Night]]) -> None:
    """Of every severity that fails a night one finding at least has an event on the judged day."""
    lines, nights = told
    kinds = {one.finding for night in nights for one in night.findings}
    assert len(kinds) >= len(histories._STORIES) - 1  # `template` may be a part of another one
    for night in nights:
        for severity in SEVERITIES:
            shown = [one for one in night.findings if one.goes_on and one.severity == severity]
            assert not shown or any(has_evidence(lines, one, night.day) for one in shown)
        failing = [one for one in night.findings if one.goes_on]
        assert night.fails("info") == bool(failing)
        assert all(has_evidence(lines, one, night.day) for one in failing)


def test_what_is_open_was_last_seen_before(told: tuple[list[Line], list[Night]]) -> None:
    """An open finding was last seen on an earlier day, and no error of its own text is of the judged one."""
    lines, nights = told
    for night in nights:
        for one in night.findings:
            if one.is_open:
                assert one.last_seen <= night.day
                assert one.goes_on == (one.last_seen == night.day)
            if one.state == "open" and one.scope.template:
                assert not has_evidence(lines, one, night.day)


def test_no_finding_is_lost_while_it_is_open(told: tuple[list[Line], list[Night]]) -> None:
    """What was open on a night is told on the next one, as open, as going on or as resolved."""
    _, nights = told
    for before, night in pairwise(nights):
        ids = {one.id for one in night.findings} | {part.id for one in night.findings for part in one.parts}
        assert {one.id for one in before.findings if one.is_open} <= ids
    ends = [one.id for night in nights for one in night.of("resolved")]
    assert len(ends) == len(set(ends))


def test_what_has_events_again_goes_on_and_fails_the_night(told: tuple[list[Line], list[Night]]) -> None:
    """After days without events of it an open finding goes on under its id on the first day that has some."""
    lines, nights = told
    for before, night in pairwise(nights):
        quiet = {one.id for one in before.of("open") if one.scope.template}
        for one in night.findings:
            if one.id in quiet and one.is_open:
                assert (one.state == "ongoing") == has_evidence(lines, one, night.day)
                assert one.state == "open" or night.fails(one.severity)
