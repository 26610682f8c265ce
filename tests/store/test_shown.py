"""What a notebook shows of a store, and what it lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from analyzer.store import open_store, views
from analyzer.store.shown import Shown


def test_a_store_shows_its_facts_in_one_line(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """Where it is, what is in it, what it is open for; and that it is closed."""
    path = tmp_path / "s.duckdb"
    (tmp_path / "log.jsonl").write_bytes(native("a", at="2026-11-02T08:00:00") + native("b", at="2026-11-09T21:30:00"))
    with open_store(path, writable=True) as store:
        assert repr(store) == f"<Store {str(path)!r}: events 0, sources 0, open for writing>"
        store.ingest([str(tmp_path / "log.jsonl")])
    with open_store(path) as store:
        store.register("mine", pl.DataFrame({"a": [1]}))
        said = "events 2, from 2026-11-02 08:00, to 2026-11-09 21:30 UTC, sources 1, open for reading, registered mine"
        assert repr(store) == f"<Store {str(path)!r}: {said}>"
        assert "<th>events</th><td>2</td>" in store._repr_html_()
    assert repr(store) == f"<Store {str(path)!r}: open for nothing any more>"
    assert "nothing any more" in store._repr_html_()


def test_a_name_is_shown_and_never_run(tmp_path: Path) -> None:
    """HTML of a path is escaped, and so is what a terminal would obey."""
    with open_store(tmp_path / "<b onload=x>&\x1b[2J.duckdb", writable=True) as store:
        shown, line = store._repr_html_(), repr(store)
    assert "<b onload" not in shown
    assert "&lt;b onload=x&gt;&amp;\\x1b[2J" in shown
    assert "\x1b" not in line + shown


class Telling(Shown):
    """A result that says what it is given."""

    def __init__(self, text: str) -> None:
        self._said = text

    def _shown(self) -> tuple[str, dict[str, str]]:
        return self._said, {self._said: self._said}


@pytest.mark.parametrize("text", ["<script>", "a & b", '"', "'", "\u202e", "\x00", "\n"])
def test_every_part_of_the_table_is_escaped(text: str) -> None:
    """Title, names and values."""
    shown = Telling(text)._repr_html_()
    assert text not in shown
    assert shown.startswith("<table><caption>")


def test_an_ingest_shows_what_it_read(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """Its counts, instead of every source."""
    (tmp_path / "log.jsonl").write_bytes(native("a") + b"broken\n")
    with open_store(":memory:") as store:
        result = store.ingest([str(tmp_path / "log.jsonl"), str(tmp_path / "none")])
    said = "events 1, lines 2, duplicates 0, quarantined 1, files 1, problems 1"
    assert repr(result) == f"<IngestResult: {said}>"
    assert "<th>quarantined</th><td>1</td>" in result._repr_html_()


def test_the_views_are_listed_with_what_they_are() -> None:
    """A row a view, in the words of the reference; each can be asked as it is written."""
    with open_store(":memory:") as store:
        listed = store.views
        assert listed.columns == ["view", "description", "columns"]
        assert {name.partition("(")[0] for name in listed["view"]} == set(views())
        for row in listed.iter_rows(named=True):
            name, _, arguments = row["view"].rstrip(")").partition("(")
            asked = f"{name}({', '.join('null' for _ in arguments.split(','))})" if arguments else name
            assert store.sql(f"from {asked}").columns == row["columns"]
            assert row["description"] == views()[name].description
