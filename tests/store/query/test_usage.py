"""The view `usage`: the tokens of each request, once."""

from __future__ import annotations

from pathlib import Path

from analyzer.events import EventLog
from analyzer.store import open_store


def test_a_request_counts_once_with_the_most_that_was_told_of_it(tmp_path: Path) -> None:
    """Two reports of one request are one row; a request without a name is one of its own; no cost is no basis."""
    with EventLog(tmp_path / "log") as log:
        log.usage_recorded(session="s", caller="a", request="r", input_tokens=9, output_tokens=2)
        log.usage_recorded(session="s", caller="a", request="r", input_tokens=9, output_tokens=50, reasoning_tokens=30)
        log.usage_recorded(session="s", model="m", input_tokens=1, cache_read_tokens=5, cost_usd=0.5)
        log.usage_recorded(session="s", model="m", input_tokens=1, cache_write_tokens=7)
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "log")])
        found = store.sql(
            "select caller, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,"
            " reasoning_tokens, cost_usd, cost_basis from usage order by input_tokens desc, cost_usd nulls last"
        )
    assert found.rows() == [
        ("a", None, 9, 50, None, None, 30, None, None),
        ("(none)", "m", 1, None, 5, None, None, 0.5, "logged"),
        ("(none)", "m", 1, None, None, 7, None, None, None),
    ]


def test_a_whole_run_counts_where_none_of_its_requests_is_told(tmp_path: Path) -> None:
    """Its result sums them up, so that either the sum or the requests count."""
    with EventLog(tmp_path / "log") as log:
        log.usage_recorded(session="s", model="m", request="r1", output_tokens=9)
        log.usage_recorded(session="s", model="m", request="run", output_tokens=99, whole_run=True)
        log.usage_recorded(session="t", model="m", request="run-2", output_tokens=50, whole_run=True)
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "log")])
        found = store.sql("select session_id, output_tokens, whole_run from usage order by all")
    assert found.rows() == [("s", 9, False), ("t", 50, True)]
