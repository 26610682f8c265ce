"""What nights say of a finding is what the events of that finding have: hours, days, counts and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analyzer.analysis import Finding, Night, check, overview
from analyzer.analysis.timeline import timeline
from analyzer.events import Event, encode
from analyzer.report.night.document import render_night_text
from analyzer.report.overview import render_text
from analyzer.store import Store, open_store

START, DAYS = date(2026, 10, 5), 18
CHANGE = DAYS - 3
"""The day on which an outage begins; it may last over midnight."""
CALLERS = {"planner": "anthropic", "coder": "anthropic", "lint": "anthropic", "bot": "openai", "docs": "openai"}
OVERLOADED = {"status": 529, "message": "Overloaded"}
LIMITED = {"status": 429, "message": "Too Many Requests, slow down"}
_REASONS = {529: "network_transient", 429: "rate_limited"}


def fleet(begin: datetime, end: datetime, late: datetime | None, rate: int) -> Iterator[bytes]:
    """A session of each caller every 40 minutes, one in `rate` of which meets an error, and all those of a provider
    between two moments; at a later moment one session of the other provider meets the same error.
    """
    for number in range(DAYS):
        for place in range(36):
            for shift, (caller, provider) in enumerate(CALLERS.items()):
                at = datetime(START.year, START.month, START.day) + timedelta(days=number, minutes=40 * place + shift)
                down = provider == "anthropic" and begin <= at < end
                usual = (number * 5 + place + shift) % rate == 0 and not begin.date() <= at.date() <= end.date()
                facts = OVERLOADED if down or (number + shift) % 2 else LIMITED
                name = f"{caller}-{number}-{place}"
                yield encode(Event("session.observed", at, name, {"caller": caller, "requests": 4}, f"{name}-s"))
                for second in range(3 if down else usual):
                    yield _error(caller, provider, at + timedelta(seconds=second + 1), name, facts)
    if late is not None:
        yield _error("bot", "openai", late, "bot-late", OVERLOADED)


def _error(caller: str, provider: str, at: datetime, session: str, facts: dict[str, Any]) -> bytes:
    payload = {"caller": caller, "provider": provider, "reason": _REASONS[facts["status"]], "facts": facts}
    return encode(Event("error.classified", at, session, payload, f"{session}-{at:%S}"))


def nights_of(store: Store, folder: Path, lines: Iterator[bytes]) -> list[Night]:
    """The nights from the day of the outage on."""
    (folder / "x.jsonl").write_bytes(b"".join(lines))
    store.ingest([str(folder / "x.jsonl")])
    return [check(store, until=str(START + timedelta(days=number + 1))) for number in range(CHANGE, DAYS)]


def held(store: Store, night: Night, one: Finding) -> None:
    """Hold a finding against its events, which are looked for in a second way."""
    rows = list(store.view("errors").iter_rows(named=True))
    about = {name: getattr(one.scope, name) for name in ("caller", "provider", "model", "reason")}
    own = [row for row in rows if all(row[name] == value for name, value in about.items() if value is not None)]
    assert one.first_error_at is not None
    assert one.last_error_at is not None
    own = [row for row in own if one.first_error_at <= row["occurred_at"] <= one.last_error_at]
    times = [row["occurred_at"] for row in own]
    assert (one.errors, one.error_sessions) == (len(own), len({row["session_id"] for row in own}))
    assert (one.first_error_at, one.last_error_at) == (min(times), max(times))
    assert max(times).date() <= night.day
    assert set(one.samples) <= {row["message"] for row in own}
    assert set(re.findall(r"\d\d:\d\d", one.explanation)) <= {f"{at:%H:%M}" for at in times}
    if one.is_open:
        assert one.goes_on == (max(times).date() == night.day)
    shown = timeline(store, one.id)
    assert {each.event_id for each in shown.happenings} == {row["event_id"] for row in own}


@pytest.mark.parametrize("seed", range(8))
def test_a_finding_says_what_its_events_have(tmp_path: Path, seed: int) -> None:
    """Of outages at any hour, over midnight too, each night tells the hours, counts and texts of the events, and the
    first night without an error of it says that it is over.
    """
    dice = Random(seed)
    begin = datetime(START.year, START.month, START.day) + timedelta(days=CHANGE, minutes=dice.randrange(60, 1_400))
    end = begin + timedelta(minutes=dice.randrange(120, 480))
    late = datetime(end.year, end.month, end.day) + timedelta(days=1, minutes=dice.randrange(120))
    with open_store(tmp_path / "x.duckdb", writable=True) as store:
        nights = nights_of(store, tmp_path, fleet(begin, end, late, dice.randrange(9, 14)))
        found = [(night, one) for night in nights for one in night.findings]
        for night, one in found:
            held(store, night, one)
        outages = [(night.day, one) for night, one in found if one.scope.provider == "anthropic"]
        assert outages
        assert all(not one.is_open for day, one in outages if day > end.date())


def test_an_outage_of_an_afternoon_is_over_on_the_next_night(tmp_path: Path) -> None:
    """Hours after midnight that another provider's error belongs to make it go on no longer."""
    begin, end = datetime(2026, 10, 20, 13, 20), datetime(2026, 10, 20, 16)
    with open_store(tmp_path / "x.duckdb", writable=True) as store:
        nights = nights_of(store, tmp_path, fleet(begin, end, datetime(2026, 10, 21, 0, 30), 11))
        (first,), (second,) = nights[0].findings, nights[1].findings
        assert "13:20–15:22 on 20 October" in first.explanation
        assert (second.id, second.state, nights[1].fails("info")) == (first.id, "resolved", False)
        assert second.last_error_at == first.last_error_at


def test_a_day_without_new_evidence_fails_no_night(tmp_path: Path, samples: Path) -> None:
    """What one day had fails that day's night; on later ones it is open, and a line that says when it was last seen."""
    with open_store(tmp_path / "x.duckdb", writable=True) as store:
        store.ingest([str(samples)])
        first, second = (check(store, until=f"2026-11-0{number}") for number in (5, 6))
        (one,) = second.findings
        assert (first.fails("info"), second.fails("info"), second.worst(), second.news()) == (True, False, None, ())
        text = render_night_text(second)
        assert f"  Open, last seen 4 November: craftsman: many hand-offs; id {one.id[:8]}\n" in text
        assert one.explanation not in text
        assert "Goes on" not in render_text(overview(store))
