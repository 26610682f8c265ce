"""What nights say of a finding is what the events of that finding have: hours, days, counts and texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analyzer.analysis import Finding, Night, check, overview
from analyzer.analysis.kinds.finding import KINDS
from analyzer.analysis.timeline import timeline
from analyzer.classifier.fingerprint import template
from analyzer.events import Event, decode, encode
from analyzer.report.night.document import finding_document, night_document
from analyzer.report.overview import render_text
from analyzer.report.writers.text import to_text
from analyzer.store import Store, open_store
from tests import LONG_RUNS
from tests.analysis import histories

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


@pytest.mark.parametrize("seed", range(3 * LONG_RUNS))
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
        text = to_text(night_document(second))
        assert f"\nOpen, last seen 4 November: craftsman: many hand-offs; id {one.id[:8]}\n" in text
        assert one.explanation not in text
        assert "Goes on" not in render_text(overview(store))


TYPES = {
    **dict.fromkeys(("relays", "compactions"), "relay.triggered"),
    "tool_failures": "tool.failed",
    "model_swapped": "usage.recorded",
    **dict.fromkeys(("recovery_fell", "retry_in_vain", "retry_would_pay", "waits_grow"), "retry.settled"),
    "retries_exhausted": "retry.settled",
    **dict.fromkeys(("sessions_aborted", "sessions_empty", "shipped_twice", "silence"), "session.observed"),
}
"""What the evidence of a kind is, where it is no errors."""
COMPARED = re.compile(
    r"normally [\d.,]*[\d]%?(?: in so many days)?(?:, at most [\d.,]*[\d]%?|, between [\d.]+% and [\d.]+%)?"
    r"|\(surely [^)]+\)|\(three a session at most\)"
    r"|[\d.]+% of [\d,]+ in the week before.*|which matched in [\d,]+ sessions of the six weeks before, matched in 0"
    r"|waited for [\d,]+ s or more|. What it matched: “[^”]*”|; [\d,]+ of [\d,]+ sessions of [-\d]+ failed[^;.]*"
    r"|at [\d,]+ of its [\d,]+ callers|“[^”]*”"
)
"""Of a sentence what was expected or there before, what it is held against, what it cost, and what it quotes."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict[str, Event], dict[str, Finding]]]:
    """A store with a finding of each kind, its events by id, and the findings by kind."""
    log = tmp_path_factory.mktemp("fleet") / "log.jsonl"
    log.write_bytes(b"".join(histories.every_finding()))
    known = (decode(line, datetime.combine(START, time())) for line in log.read_bytes().splitlines())
    events = {event.id: event for event in known if isinstance(event, Event)}
    with open_store(log.parent / "x.duckdb", writable=True) as store:
        store.ingest([str(log)])
        nights = [check(store, until=str(histories.START + timedelta(days=day + 1))) for day in (46, 47, 48, 49)]
        found = {one.finding: one for night in nights for one in night.findings}
        yield store, events, found


def figures(events: list[Event], last: date) -> set[int]:
    """Count events, sessions and callers of some stretches of days or hours, with what became of chains."""
    found = set()
    stretches = [[event for event in events if event.occurred_at.date() > last - timedelta(days=n)] for n in range(50)]
    stretches += [[event for event in stretches[1] if event.occurred_at.hour >= hour] for hour in range(24)]
    for near in stretches:
        for some in (
            near,
            [event for event in near if event.payload.get("attempts", 2) > 1],
            [event for event in near if event.payload.get("attempts") == 1],
            [event for event in near if event.payload.get("outcome") == "recovered"],
        ):
            found |= {len(some), len({event.session_id for event in some})}
            found.add(len({event.payload.get("caller") for event in some}))
    return found


def texts_of(events: Iterable[Event], own: list[Event]) -> set[str]:
    """The messages of some events, of chains those of their errors."""
    chains = {event.payload.get("operation") for event in own} - {None}
    errors = [event for event in events if event.payload.get("operation") in chains]
    said = ((event.payload.get("facts") or event.payload).get("message") for event in (*own, *errors))
    return {text for text in said if text}


def test_the_history_has_every_kind(told: tuple[Store, dict[str, Event], dict[str, Finding]]) -> None:
    """Each kind that is told alone has a finding; new messages and causes may be told with a rise."""
    assert set(told[2]) == {name for name, kind in KINDS.items() if not kind.cause}


@pytest.mark.parametrize("kind", sorted(name for name, kind in KINDS.items() if not kind.cause))
def test_whatever_a_finding_states_can_be_recounted_from_its_evidence(
    told: tuple[Store, dict[str, Event], dict[str, Finding]], kind: str
) -> None:
    """Each number, day, hour and text of its sentence, and what `show` and `findings show` list, are of its events."""
    store, events, found = told
    one = found[kind]
    own = [events[each.event_id] for each in timeline(store, one.id).happenings]
    assert {event.type for event in own} == {TYPES.get(kind, "error.classified")}
    if kind != "silence":
        times = [event.occurred_at for event in own]
        assert (one.errors, one.error_sessions) == (len(own), len({event.session_id for event in own}))
        assert (one.first_error_at, one.last_error_at) == (min(times), max(times))
    # Both list the evidence and nothing else; what a night writes down is the beginning of it.
    ids = {event.id for event in own}
    assert 0 < len(one.evidence) == len(set(one.evidence) & ids) <= len(ids)
    shown = to_text(finding_document(one), 500)
    assert events.keys() & set(shown.split()) == set(one.evidence)
    assert (f"and {len(ids) - len(one.evidence):,} more: " in shown) == (len(one.evidence) < len(ids))
    assert set(one.samples) <= (texts := texts_of(events.values(), own))
    said = COMPARED.sub("", one.explanation.partition(": ")[2])
    for quoted in re.findall("(?:[Mm]ost often|[Tt]he new text:) “([^”]*)”", one.explanation):
        assert quoted in texts | {template(text) for text in texts}
    assert {date.fromisoformat(day) for day in re.findall(r"\d{4}-\d\d-\d\d", said)} <= {
        event.occurred_at.date() for event in own
    }
    assert set(re.findall(r"\d\d:\d\d", said)) <= {f"{event.occurred_at:%H:%M}" for event in own}
    counts, tried = figures(own, one.last_on), sum(event.payload.get("attempts", 0) > 1 for event in own)
    named = re.compile(
        rf"{kind}|{re.escape(one.scope.who)}|\d{{4}}-\d\d-\d\d|\d\d:\d\d|\d+ (?:October|days)|and \d+ more callers?"
    )
    numbers, shares = named.sub("", said), re.compile(r"([\d.]+)% of (?:([\d,]+) )?")
    for share, whole in shares.findall(numbers):
        every = int(whole or tried or distinct_errors(events.values(), one))
        assert share in {f"{100 * count / every:.1f}" for count in counts}
    numbers = shares.sub("", numbers)
    for number in re.findall(r"(?<![\w.-])([\d,]*\d)(?![\w.]*\w)", numbers):
        assert int(number.replace(",", "")) in counts | exposures(numbers), f"{number} in {said}"


def exposures(said: str) -> set[int]:
    """The numbers that others are a part of, as in "10 of 12 sessions"."""
    return {int(number.replace(",", "")) for number in re.findall(r"\d of ([\d,]+)", said)}


def distinct_errors(events: Iterable[Event], one: Finding) -> int:
    """Count pairs of session and message of its caller on its last day."""
    own = [event for event in events if event.payload.get("caller") == one.scope.caller]
    own = [event for event in own if event.type == "error.classified" and event.occurred_at.date() == one.last_on]
    return len({(event.session_id, template(event.payload["facts"]["message"])) for event in own})


def relay(name: str, minute: int, *kinds: str, **payload: object) -> Iterator[bytes]:
    """The events of a hand-off, or of a compaction."""
    for second, kind in enumerate(kinds):
        at = datetime(2026, 10, 20, 8, minute, second).isoformat()
        known = {"relay": f"{name}-{minute}", "caller": "smith", **payload}
        yield histories.line(f"{name}-{minute}-{kind}", f"relay.{kind}", at, "s-1", **known)


def test_hand_offs_that_were_skipped_and_compactions_are_none(tmp_path: Path) -> None:
    """Of one session: six hand-offs, one given up, two that were skipped, and seven compactions, which have a finding
    of their own; each lists its own events.
    """
    lines = [line for minute in range(5) for line in relay("made", minute, "triggered", "resumed", step_id="build")]
    lines += relay("lost", 5, "triggered", "halted", step_id="build")
    lines += [line for minute in (6, 7) for line in relay("left", minute, "triggered", "skipped", step_id="build")]
    lines += [line for at in range(10, 17) for line in relay("own", at, "triggered", "resumed", strategy="compact")]
    (tmp_path / "x.jsonl").write_bytes(b"".join(lines))
    with open_store(tmp_path / "x.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "x.jsonl")])
        found = {one.finding: one for one in check(store, until="2026-10-21").findings}
        shown = {kind: {each.event_id for each in timeline(store, one.id).happenings} for kind, one in found.items()}
    assert {kind: one.explanation for kind, one in found.items()} == {
        "relays": "smith, 08:00–08:05 on 20 October: one session handed its work to a fresh context 6 times in step"
        " “build” (too few days before to say what is normal). 1 of them failed.",
        "compactions": "smith, 08:10–08:16 on 20 October: one session compacted its context 7 times"
        " (too few days before to say what is normal).",
    }
    assert shown["relays"] == {*(f"made-{at}-triggered" for at in range(5)), "lost-5-triggered", "lost-5-halted"}
    assert shown["compactions"] == {f"own-{at}-triggered" for at in range(10, 17)}
    assert {kind: one.errors for kind, one in found.items()} == {"relays": 6, "compactions": 7}
