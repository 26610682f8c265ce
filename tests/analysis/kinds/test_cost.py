"""What a finding costs, out of a store, and the severity and the words that follow from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import Cost, cost_of, with_cost
from analyzer.analysis.kinds.sentences import sentence
from analyzer.analysis.nightly.incidents import gravest_first
from analyzer.store import Store, open_store
from tests import each_row
from tests.analysis.histories import OVERLOADED, line

DAY = Detection(day=date(2026, 10, 9), caller="bot", finding="volume", observed=100.0, expected=0.0, note="100 errors")
NONE = Cost(error_sessions=20, sessions_failed=20, sessions_seen=100, waited_seconds=0.0, reason="auth_error")


def finding(severity: str = "warning", **cost: Any) -> Finding:
    """A finding of a day that cost something."""
    days = {"opened_on": DAY.day, "last_on": DAY.day}
    return Finding(id="f", state="new", severity=severity, latest=DAY, cost=replace(NONE, **cost), **days)


def store_of(lines: Iterator[bytes], tmp: Any) -> Store:
    """A store of these lines."""
    (tmp / "x.jsonl").write_bytes(b"".join(lines))
    store = open_store(":memory:")
    store.ingest([str(tmp / "x.jsonl")])
    return store


def chain(session: int, hour: int, outcome: str | None, observed: bool = True) -> Iterator[bytes]:
    """A session with an error, retried after 90 seconds and settled so; without an outcome a session without errors."""
    name, begin = f"s-{session}", f"2026-10-09T{hour:02}:"
    known = {"caller": "bot", "operation": f"op-{session}"}
    if observed:
        yield line(f"{name}-o", "session.observed", f"{begin}{session:02}:00", name, caller="bot")
    if outcome is None:
        return
    error = {"reason": "network_transient", "facts": OVERLOADED}
    yield line(f"{name}-e", at=f"{begin}{session:02}:05", session=name, attempt=1, **error, **known)
    yield line(f"{name}-w", "retry.scheduled", f"{begin}{session:02}:06", name, attempt=1, delay_seconds=90.0, **known)
    settled = {"outcome": outcome, "attempts": 2}
    yield line(f"{name}-r", "retry.settled", f"{begin}{session:02}:59", name, **settled, **known)


def test_a_session_failed_where_no_retry_recovered(tmp_path: Any) -> None:
    """Waits count either way; a session without an error is seen; what fails in a row at the end gives the moment."""
    outcomes = ["recovered", None, "exhausted", None, *["exhausted"] * 6]
    lines = (each for number, one in enumerate(outcomes) for each in chain(number, 9 + number // 4, one))
    with store_of(lines, tmp_path) as store:
        rows = store.query("detection-cost", asked=json.dumps([{"place": 0, "caller": "bot"}]))
        nobody = store.query("detection-cost", asked=json.dumps([{"place": 0, "caller": "else"}]))
    since = datetime(2026, 10, 9, 10, 4, 5)
    assert cost_of(rows) == Cost(8, 7, 10, 720.0, "network_transient", since, every_session=True, callers=("bot",))
    assert nobody.is_empty()
    assert Cost.from_dict(json.loads(json.dumps(cost_of(rows).to_dict()))) == cost_of(rows)


def test_a_cost_names_whose_sessions_failed_and_for_how_much(tmp_path: Any) -> None:
    """The dollars are those of the requests of failed sessions, and of no session that recovered."""

    def spent(session: int, outcome: str) -> Iterator[bytes]:
        yield from chain(session, 9, outcome)
        priced = {"caller": "bot", "cost_usd": 0.25 + session}
        yield line(f"s-{session}-u", "usage.recorded", f"2026-10-09T09:{session:02}:01", f"s-{session}", **priced)

    outcomes = ["exhausted", "recovered", "exhausted"]
    with store_of((each for number, one in enumerate(outcomes) for each in spent(number, one)), tmp_path) as store:
        cost = cost_of(store.query("detection-cost", asked=json.dumps([{"place": 0, "reason": "network_transient"}])))
    assert (cost.callers, cost.failed_usd) == (("bot",), 2.5)
    outage = replace(DAY, finding="outage", caller=None, scope="anthropic")
    one = Finding(
        id="x", state="new", severity="warning", opened_on=outage.day, last_on=outage.day, latest=outage, cost=cost
    )
    assert ". 2 of 3 sessions failed in bot. These sessions cost $2.50." in sentence(one)


def test_sessions_that_only_errors_show_are_no_share(tmp_path: Any) -> None:
    """Where logs show no session without an error, nobody can say that every session fails."""
    with store_of((x for n in range(9) for x in chain(n, 9, "surfaced", observed=False)), tmp_path) as store:
        cost = cost_of(store.query("detection-cost", asked=json.dumps([{"place": 0, "caller": "bot"}])))
    assert (cost.sessions_failed, cost.sessions_seen, cost.failed_since, cost.every_session) == (9, None, None, False)


def test_the_hour_from_which_on_more_fail_is_told(tmp_path: Any) -> None:
    """Of a day on which some still work."""
    lines = (x for n in range(50) for x in chain(n, 5 + n // 10, "exhausted" if n >= 30 and n % 4 else None))
    with store_of(lines, tmp_path) as store:
        cost = cost_of(store.query("detection-cost", asked=json.dumps([{"place": 0, "caller": "bot"}])))
    assert (cost.failed_since, cost.every_session) == (datetime(2026, 10, 9, 8, 30, 5), False)
    one = replace(finding(), cost=cost)
    said = ". 15 of 50 sessions failed, most of them after 08:30 UTC"
    said += ". Retries waited 22 min"
    assert sentence(one).endswith(f"{said}.")


@each_row(
    "before, expected, cost, after",
    [
        ("warning", 0.0, {"sessions_failed": 10, "sessions_seen": 20}, "critical"),
        ("warning", 0.0, {"sessions_failed": 10, "sessions_seen": 21}, "warning"),
        ("warning", 0.0, {"sessions_failed": 9, "sessions_seen": 9}, "warning"),
        ("warning", 60.0, {"sessions_failed": 20, "sessions_seen": 20}, "warning"),
        ("info", 0.0, {"sessions_failed": 7, "sessions_seen": 9, "every_session": True}, "critical"),
        ("info", 0.0, {"waited_seconds": 3_600.0}, "warning"),
        ("info", 0.0, {"waited_seconds": 14_400.0}, "critical"),
        ("critical", 0.0, {"sessions_failed": 9, "error_sessions": 19}, "warning"),
        ("critical", 0.0, {"sessions_failed": 9, "error_sessions": 18}, "critical"),
        ("critical", 0.0, {"sessions_failed": 10, "error_sessions": 90}, "critical"),
        ("info", 0.0, {"sessions_failed": 0, "error_sessions": 9}, "info"),
    ],
)
def test_severity_follows_what_it_cost(before: str, expected: float, cost: dict[str, Any], after: str) -> None:
    """Beyond what was expected: half of the sessions and ten of them, every one, or hours of waiting."""
    assert with_cost(before, replace(DAY, expected=expected), replace(NONE, **cost)) == after


def test_the_costlier_of_two_comes_first() -> None:
    """Among equally severe ones by sessions that failed, then by time spent waiting."""
    waited, failed, little = finding(waited_seconds=99.0), finding(sessions_failed=21), finding()
    critical = finding("critical", sessions_failed=1)
    assert gravest_first([little, waited, failed, critical]) == (critical, failed, waited, little)


def test_a_second_day_of_failures_keeps_the_beginning() -> None:
    """Where all of its sessions failed, and not where some worked in between; a finding is as grave as at its worst."""
    began = datetime(2026, 10, 8, 2, 10)
    first = finding("critical", failed_since=began, every_session=True)
    whole = finding(sessions_failed=9, sessions_seen=9, failed_since=datetime(2026, 10, 9), every_session=True)
    assert whole.after(first).severity == "critical"
    assert sentence(whole.after(first)).startswith(
        "every session of bot has failed with auth_error since 2026-10-08 02:10 UTC: 100 errors"
    )
    partly = replace(whole, cost=replace(NONE, failed_since=datetime(2026, 10, 9, 7), every_session=True))
    assert "since 07:00 UTC" in sentence(partly.after(first))
    assert "since 09:00 (Europe/Berlin)" in sentence(partly, timezone="Europe/Berlin")
    assert sentence(replace(partly, cost=replace(NONE, reason="unknown", every_session=True))).startswith(
        "every session of bot has failed with errors that no rule knows since 2026-10-09"
    )
