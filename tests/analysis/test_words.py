"""Python in the words of the command line: what an option is called there, a parameter is called here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import analyzer
from analyzer import analysis
from analyzer.classifier import REASONS
from analyzer.errors import AnalyzerError, QueryError
from analyzer.store import Store, open_store

WINDOWED: list[Callable[..., Any]] = [
    analyzer.overview,
    analyzer.spikes,
    analyzer.unknowns,
    analysis.each_night,
    lambda store, *window, **words: analysis.table(store, "errors-by-reason", *window, **words),
]
NAMES = ["overview", "spikes", "unknowns", "each_night", "table"]


@pytest.fixture
def store(memory: Store, samples: Path) -> Store:
    """Errors of a few days."""
    memory.ingest(samples / "unknown-spike.jsonl")
    return memory


@pytest.mark.parametrize("ask", WINDOWED, ids=NAMES)
def test_a_window_may_be_given_in_words(store: Store, ask: Callable[..., Any]) -> None:
    """`since` and `until` give what the window itself gives, and a window with words beside it is refused."""
    words = {"since": "2026-11-02", "until": datetime(2026, 11, 8)}
    shown = [repr(ask(store, **words)), repr(ask(store, analysis.window(**words)))]  # type: ignore[arg-type]
    assert shown[0] == shown[1]
    ask(store, since="2026-11-02", until="2026-11-05", timezone="Europe/Berlin")
    with pytest.raises(AnalyzerError, match="a window, and its ends beside it"):
        ask(store, "7d", last="7d")


def test_a_query_takes_the_last_days(store: Store) -> None:
    """As `--last` does: `since` that long ago; both are one too many, and a query without a window says so."""
    days = "9000d"
    assert store.query("errors-by-reason", last=days).rows() == store.query("errors-by-reason", since=days).rows()
    assert store.query("errors-by-reason", last="1m").height == 0
    with pytest.raises(QueryError, match="both since and last"):
        store.query("errors-by-reason", last="7d", since="7d")
    with pytest.raises(QueryError, match="unknown parameter of query quarantine-lines 'since'"):
        store.query("quarantine-lines", last="7d")
    with pytest.raises(QueryError, match="no parameter project") as caught:
        store.query("errors-by-reason", project="shop")
    assert "store.selecting(Selection(project='shop'))" in caught.value.hint


def test_classify_takes_a_status_and_an_exit_code() -> None:
    """Beside a text, a mapping or an exception, as `--status` and `--exit-code` stand beside TEXT."""
    assert analyzer.classify("slow", status=429).reason == "rate_limited"
    assert analyzer.classify({"message": "slow"}, status=429).reason == "rate_limited"
    assert analyzer.classify(ValueError("slow"), status=429).reason == "rate_limited"
    facts = analyzer.classify("boom", exit_code=3).facts
    assert (facts.stdout, facts.exit_code) == ("boom", 3)


@pytest.mark.parametrize("error", [(429, "slow"), [429, "slow"], (429, {"error": {"message": "slow"}}), (429, b"slow")])
def test_a_status_with_its_body_is_one(error: object) -> None:
    """As many clients give an answer back."""
    facts = analyzer.classify(error).facts
    assert (facts.status, facts.message) == (429, "slow")


ANYTHING = st.none() | st.text() | st.integers() | st.binary() | st.booleans() | st.floats() | st.just(object)


@given(st.tuples(ANYTHING, ANYTHING) | ANYTHING, ANYTHING, ANYTHING)
def test_classify_has_an_answer_whatever_stands_beside(error: object, status: Any, exit_code: Any) -> None:
    """Of any type."""
    assert analyzer.classify(error, status=status, exit_code=exit_code).reason in REASONS


@pytest.mark.parametrize(
    "rows",
    [
        {"caller": ["planner"], "team": ["red"]},
        [{"caller": "planner", "team": "red"}],
        pl.LazyFrame({"caller": ["planner"], "team": ["red"]}),
    ],
    ids=["dict of columns", "list of dicts", "lazy frame"],
)
def test_register_takes_rows_in_any_form(memory: Store, rows: Any) -> None:
    """As they are at that moment."""
    memory.register("teams", rows)
    assert memory.sql("from teams").rows() == [("planner", "red")]


@pytest.mark.parametrize("rows", [{"a": [1], "b": [1, 2]}, "teams.csv", b"", 5, pl.LazyFrame({"a": [1]}).select("b")])
def test_register_says_what_no_rows_are(memory: Store, rows: Any) -> None:
    """With a hint."""
    with pytest.raises(QueryError) as caught:
        memory.register("teams", rows)
    assert caught.value.hint


def test_ingest_takes_one_path_and_prune_a_length_of_time(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """As the commands do."""
    (tmp_path / "log.jsonl").write_bytes(native("a", at="2020-01-01T00:00:00") + native("b", at="2199-01-01T00:00:00"))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        assert store.ingest(str(tmp_path / "log.jsonl")).total.events == 2
        assert store.ingest([tmp_path / "log.jsonl"]).unchanged == 1
        assert store.prune("90d").events == 1
        with pytest.raises(AnalyzerError, match="not a length of time"):
            store.prune("long ago")
