"""A store of an earlier version: opened, it is one of today with the same rows in all views.

`store-4.duckdb.xz` was made by the last program that wrote version 4: events of every type with values of every kind
under each key, decisions in the forms that there were, findings, nights, a ruleset that was applied, and a prune.
`store-10.duckdb.xz` was made by the last program that wrote version 10, of the samples: a finding that was
acknowledged, the rules that explain it applied, and the night that tells it as resolved.
"""

from __future__ import annotations

import hashlib
import lzma
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analyzer.errors import StoreError
from analyzer.store import Store, open_store, views
from analyzer.store.db.tables.columns import TYPED
from analyzer.store.db.tables.schema import MIGRATED, SCHEMA_VERSION, setting, statements
from analyzer.store.prices import statements as prices
from analyzer.store.upkeep.rebuild import rebuild
from tests.store.killing import Victims

KEPT = Path(__file__).with_name("store-4.duckdb.xz")
KEPT_LATER = Path(__file__).with_name("store-10.duckdb.xz")
WORK = ("agent", "agent_version", "project", "cwd", "branch")
ANSWERED = ("request_id", "asked_model", "served_model", "service_tier", "effort")
NEW = {
    "errors": (*WORK, *ANSWERED, "party", "confidence", "suggested_reason", "suggested_probability"),
    "verdicts": ("confidence", "suggested_reason", "suggested_probability"),
    **dict.fromkeys(("retries", "relays"), (*WORK, "provider", "model")),
    "exhaustions": ("caller", *WORK[1:], "provider", "model"),
    "sessions": (
        "caller",
        *WORK,
        "provider",
        "model",
        "tool_calls",
        "tool_failures",
        "input_tokens",
        "output_tokens",
        "cost_usd",
        "forked_from",
    ),
}
"""Columns that views got since."""
LATER = ("answers", "tool_failures", "tool_calls", "usage", "endings", "limits")
"""Views that there were not."""
NAMES = [name for name, header in views().items() if not header.params and name not in LATER]
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the store of version 4."""
    path = tmp_path / "old.duckdb"
    path.write_bytes(lzma.decompress(KEPT.read_bytes()))
    return path


def before(path: Path) -> Rows:
    """What the store's own views say, whatever its version; where an event of several may be asked, the least one is.

    `any_value` gave whichever was met first, and its events have what they should have in common in disorder.
    """
    copy = path.with_name("copy.duckdb")
    copy.write_bytes(path.read_bytes())
    with duckdb.connect(str(copy)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        for (sql,) in connection.execute("select sql from duckdb_views() where not internal").fetchall():
            connection.execute(sql.replace("CREATE VIEW", "CREATE OR REPLACE VIEW").replace("any_value(", "min("))
        return {name: connection.execute(f"from {name} order by all").fetchall() for name in NAMES}


def after(store: Store) -> Rows:
    """What its views of today say, in the columns that they had then: new ones stand behind them."""
    return {name: store.sql(f"from {name} order by all").drop(NEW.get(name, ())).rows() for name in NAMES}


@pytest.mark.parametrize("writable", [True, False])
def test_all_rows_of_all_views_stay(old: Path, writable: bool) -> None:
    """Whoever opens it first brings it up to date, also one who only reads; then nothing is left to do."""
    rows = before(old)
    assert all(rows[name] for name in NAMES if name not in ("writers", "context_recoveries"))
    with open_store(old, writable=writable) as store:
        assert after(store) == rows
    content = old.read_bytes()
    with open_store(old) as store:
        assert after(store) == rows
    assert old.read_bytes() == content


@pytest.mark.parametrize("writable", [True, False])
def test_a_store_of_the_version_before_keeps_all_rows(tmp_path: Path, writable: bool) -> None:
    """With all columns that it had, its finding and what was decided of it; a rebuild is not needed."""
    path = tmp_path / "later.duckdb"
    path.write_bytes(lzma.decompress(KEPT_LATER.read_bytes()))
    with duckdb.connect(str(path), read_only=True) as connection:
        assert setting(connection, "schema_version") == "10"
    rows = before(path)
    assert all(rows.values())
    with open_store(path, writable=writable) as store:
        since = {
            "errors": ["party", *ANSWERED],
            "sessions": ["input_tokens", "output_tokens", "cost_usd", "forked_from"],
        }
        assert {name: store.sql(f"from {name} order by all").drop(since.get(name, [])).rows() for name in NAMES} == rows
        ((state, resolution),) = store.sql("select state, resolution from findings").rows()
        assert (state, resolution) == ("resolved", "explained")
    with duckdb.connect(str(path), read_only=True) as connection:
        assert setting(connection, "schema_version") == SCHEMA_VERSION


def test_counts_of_days_that_an_earlier_version_kept_are_dropped(tmp_path: Path) -> None:
    """They are asked of the events."""
    path = tmp_path / "counted.duckdb"
    open_store(path, writable=True).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table internal.sum_day_v1 (timezone varchar, day date, ruleset varchar)")
        connection.execute("update internal.store_v1 set value = '24' where key = 'schema_version'")
    with open_store(path) as store:
        assert store.sql("select count(*) from duckdb_tables() where table_name = 'sum_day_v1'").row(0) == (0,)


def test_verdicts_of_an_earlier_version_have_no_confidence(old: Path) -> None:
    """It was not asked for then."""
    with open_store(old) as store:
        ((judged, sure),) = store.sql("select count(*), count(confidence) from verdicts where not recorded").rows()
        assert judged > 0
        assert sure == 0


def test_its_tables_are_those_of_a_new_store(old: Path, memory: Store) -> None:
    """The same columns in the same order with the same types, and none of the former tables."""
    asked = (
        "select table_name, column_name, data_type, is_nullable from duckdb_columns()"
        " where schema_name = 'internal' order by table_name, column_index"
    )
    with open_store(old, writable=True) as store:
        assert store.sql(asked).rows() == memory.sql(asked).rows()


def test_one_that_may_not_be_written_says_what_to_do(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its views are not those of this program, so it is not read."""
    content = old.read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="earlier version") as caught:
        open_store(old)
    assert "bring it up to date" in caught.value.hint
    assert old.read_bytes() == content


@pytest.mark.slow
def test_whoever_dies_on_the_way_leaves_it_whole(old: Path, victims: Victims) -> None:
    """Killed before statements in turn, until one run gets through; whoever comes next brings it up to date."""
    rows = before(old)
    content = old.read_bytes()

    def check(_: int) -> None:
        with open_store(old) as store:
            assert after(store) == rows
        old.write_bytes(content)

    work = f"arm(); open_store({str(old)!r}, writable=True).close()"
    assert victims.killed_at_each_moment(work, check) > 3


def test_a_failure_on_the_way_leaves_it_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that the database refuses takes all others back."""
    rows = before(old)
    with monkeypatch.context() as patched:
        patched.setattr("analyzer.store.db.tables.columns.filled", lambda *_: "select error('disk on fire')")
        with pytest.raises(StoreError, match="disk on fire"):
            open_store(old, writable=True)
    assert before(old) == rows


def test_a_rebuild_takes_over_what_no_log_has(old: Path) -> None:
    """Without log and journal all events are the former store's; its typed columns are decoded on the way."""
    rows = before(old)
    rebuild(str(old))
    with open_store(old) as store:
        found = after(store)
    assert {name: found[name] for name in NAMES if name != "sources"} == {
        name: rows[name] for name in NAMES if name != "sources"
    }


def test_no_view_reads_json() -> None:
    """What they show was decoded when it entered the store; another engine has other functions for JSON."""
    for name, header in views().items():
        assert not any(word in header.body for word in ("json", "->", "internal.whole", "try_cast")), name
    assert {"caller", "operation", "reason", "retryable", "attempt"} <= TYPED["event_v1"]


def test_what_a_store_is_made_of_changes_with_its_version_alone() -> None:
    """A store of the same version would keep the views and macros that it has, and fail where others are asked."""
    words = {each for each in statements() if each.startswith("comment on ")}
    made_of = "\0".join(each for each in statements() if each not in {*words, *prices()})
    known = ("29", "79c09b81713ce241")
    assert (SCHEMA_VERSION, hashlib.sha256(made_of.encode()).hexdigest()[:16]) == known, "raise the version as well"
    assert SCHEMA_VERSION not in MIGRATED
