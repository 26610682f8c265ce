"""Nothing that was said is stored: no prompt, no reply, no content of a file, nothing that a tool was called with.

Each format gets a log with a mark wherever it keeps such texts, and the store and its journal are searched for it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from analyzer.importers import FORMATS
from analyzer.importers.shapes.threads import SHAPES
from analyzer.store import journal_of, open_store
from tests import shown_formats

MARK = "zebra quill 77"
LOGS = Path(__file__).parent / "prose"
"""Lines of a log of each format, `.log`, and statements that make its database, `.sql`; `-2` is another shape of it."""


def _log_of(name: str, folder: Path) -> str:
    """Write a log of the format with everything that it can show, and the mark wherever it keeps what was said."""
    path = folder / f"{name}.log"
    made = LOGS / f"{name}.sql"
    if made.exists():
        with sqlite3.connect(path) as database:
            database.executescript(made.read_text("utf-8"))
    else:
        shown = b"".join(shown_formats.line_of(record) + b"\n" for record in shown_formats.LOGS.get(name, ()))
        path.write_bytes(shown + (LOGS / f"{name}.log").read_bytes())
    return str(path)


def whole(store: Path) -> str:
    """Everything that a store and its journal hold, as text."""
    said = []
    with duckdb.connect(str(store), read_only=True) as connection:
        tables = connection.execute(
            "select schema_name, table_name from duckdb_tables() where not temporary"
        ).fetchall()
        assert len(tables) > 4
        for schema, table in tables:
            said += connection.execute(f"from {schema}.{table}").fetchall()
    parts = [part.read_text("utf-8") for part in Path(journal_of(store)).rglob("*") if part.is_file()]
    assert any(parts)
    return repr(said) + "".join(parts)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, tuple[str, int]]]:
    """Everything that a store of all these logs holds, and of each log its format and the lines that gave events."""
    folder = tmp_path_factory.mktemp("prose")
    names = {kind.name for kind in FORMATS if kind.reader is not None and not kind.native}
    names |= {path.stem for path in LOGS.iterdir()}
    with open_store(folder / "a.duckdb", writable=True) as store:
        result = store.ingest([_log_of(name, folder) for name in sorted(names)])
    read = {Path(one.checkpoint.path).stem: (one.checkpoint.format, one.tally.event_lines) for one in result.sources}
    return whole(folder / "a.duckdb"), read


def test_each_format_has_a_log_with_the_mark(stored: tuple[str, dict[str, tuple[str, int]]]) -> None:
    """It is read as that format, and gives events: what is not read cannot leak."""
    _, read = stored
    assert {name: kind for name, (kind, _) in read.items()} == {name: name.partition("-")[0] for name in read}
    formats = {kind.name for kind in FORMATS if kind.reader is not None and not kind.native}
    assert formats == {kind for kind, _ in read.values()}
    # A trajectory of ATIF marks no step as failed: of its session only sums are stored, which are of no line.
    assert [name for name, (_, lines) in read.items() if not lines] == ["atif"]
    assert all(MARK in path.read_text("utf-8") for path in LOGS.iterdir())
    assert len([*LOGS.glob("*.sql")]) == len(SHAPES)


def test_nothing_that_was_said_is_stored(stored: tuple[str, dict[str, tuple[str, int]]]) -> None:
    """Neither in a table nor in the journal; what a failed tool said first is there."""
    said, _ = stored
    assert "ENOENT" in said
    at = said.find(MARK)
    assert said[max(0, at - 500) : at + 100] * (at >= 0) == ""
