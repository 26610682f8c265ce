"""Statements out of named parts."""

from __future__ import annotations

import pytest

from analyzer.store import find
from analyzer.store.db.frames import quoted, sql, with_rows
from analyzer.store.sums import statements

QUERY = "with a as materialized (\n  select 1 as x\n),\n\nb as (\n  select (x) from a\n)\n\nselect * from b"


def test_parts_are_put_in_as_they_are() -> None:
    """Braces that name no part stay, as JSON and structs have them; those of a part are its own."""
    assert sql("select {what}, '{}', {'a': 1}", what="'{one}'") == "select '{one}', '{}', {'a': 1}"
    with pytest.raises(KeyError):
        sql("select {nothing}")


def test_a_query_is_asked_of_other_rows() -> None:
    """Under the names that it gives to its rows, and under no others."""
    assert with_rows(QUERY, a="select 2 as x") == QUERY.replace("\n  select 1 as x\n", "select 2 as x")
    assert with_rows(QUERY, b="select 3").endswith("b as (select 3)\n\nselect * from b")
    with pytest.raises(KeyError):
        with_rows(QUERY, c="select 2 as x")


def test_a_literal_ends_where_its_text_ends() -> None:
    """Quotes in it are doubled."""
    assert quoted("it's") == "'it''s'"


@pytest.mark.parametrize("name", ["groups", "volume", "work", "chains", "relays"])
def test_sums_count_by_the_queries_of_the_catalogue(name: str) -> None:
    """What a query does with its rows stands word for word in the statement of the sums."""
    counts = find(f"detection-{name}").header.body.rpartition("\n\nselect\n")[2]
    assert getattr(statements, {"volume": "volumes"}.get(name, name))().endswith(counts)
