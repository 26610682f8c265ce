"""History costs nothing: what a check and the report of a week scan does not grow with what lies before them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from analyzer.command_lines import HERE
from analyzer.store import Store, find, open_store
from analyzer.ui.sessions import session
from benchmarks import scans

EVENTS = 24_000


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> scans.Histories:
    """A store, and one with twice the history."""
    return scans.histories(tmp_path_factory.mktemp("scans"), EVENTS)


def test_no_statement_of_a_check_or_a_week_scans_the_history(
    stores: scans.Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those few that are allowed to, each of which still does."""
    with monkeypatch.context() as nothing_allowed:
        nothing_allowed.setattr(scans, "ALLOWED", {})
        excess = {name: stores.excess(work) for name, work in scans.commands(stores.last)}
    assert [*excess] == ["check of a new night", "check of a night that was checked", "report of a week"]
    scanning = [one for statements in excess.values() for one in statements]
    assert [one for one in scanning if not scans._is_allowed(one.statement, one.table, one.looks)] == []
    begun = {
        begins for one in excess["report of a week"] for begins in scans.ALLOWED if one.statement.startswith(begins)
    }
    assert begun == {*scans.ALLOWED}


def test_a_statement_that_scans_it_is_found(stores: scans.Histories) -> None:
    """With the number of its looks, also a question of the catalogue; one that stays in its window is none."""
    count, week = (
        "select count(session_id) from internal.event_v1",
        f"occurred_at >= '{stores.last - timedelta(days=7)}'",
    )
    bad = {
        count: 1,
        f"{count} where {week} or length(host) = 1": 1,
        f"{count} where {week} or event_id in (select max(event_id) from internal.event_v1 group by session_id)": 2,
    }

    def work(store: Store) -> None:
        for statement in (*bad, f"{count} where {week}"):
            store._connection.execute(statement).fetchall()
        store.query("retries-outcomes", since=stores.last - timedelta(days=7))

    asked = " ".join(find("retries-outcomes").header.body.split())
    assert {one.statement: one.looks for one in stores.excess(work) if one.statement != asked} == bad
    assert [one.table for one in stores.excess(work) if one.statement == asked] == ["event_v1"]


def test_the_page_of_a_session_looks_at_all_events_twice(stores: scans.Histories) -> None:
    """One look finds which are its own and one copies them; no view of all of them is worked out."""
    with open_store(stores.short) as store:
        name = store.sql("select max(session_id) as name from sessions")["name"][0]
    pages = []
    made = scans.traced(stores.short, lambda store: pages.append(session(store, {"id": name}, HERE)))
    assert pages[0].title == f"Session {name}"
    assert sum(scan.looks["event_v1"] for scan in made) == 2
