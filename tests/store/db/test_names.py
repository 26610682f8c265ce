"""The name of a store's file means nothing to a query: every statement finds what it finds in any other store."""

from __future__ import annotations

import re
import shutil
import string
import struct
from pathlib import Path

import duckdb
import pytest

from analyzer.errors import StoreBusyError
from analyzer.store import open_store, views
from analyzer.store.db.connection import connect, connect_plain
from analyzer.store.db.location import CATALOG
from analyzer.store.db.tables.schema import statements
from analyzer.store.export.slices import cut_slice
from analyzer.store.query.catalogue import catalogue
from analyzer.store.upkeep.rebuild import rebuild
from tests import sampled
from tests.cli.conftest import Run, forks, run

__all__ = ["forks", "run"]

ODD = [
    *("temp", "system", "main", "memory", "internal", "analyzer", "analyzer_former", "analyzer_whole", "pg_catalog"),
    *("l", "o", "errors", "select", "said", "a b", 'a"b', "a'b", "a.b.c", ".hidden", "é😀", "%41", "#", ";--", "-x"),
]
SQL = [
    *statements(),
    *(header.body for header in views().values()),
    *(query.header.body for query in catalogue().values()),
]


FEW = ["l", "internal", "a'b.\"c d", "é😀"]
"""Of every kind one, where all of them would take minutes."""


def words() -> set[str]:
    """Names of views, tables, macros and aliases in the program's SQL; DuckDB's reserved words; and every letter."""
    asked = "select keyword_name from duckdb_keywords() where keyword_category = 'reserved'"
    with duckdb.connect() as connection:
        keywords = {name for (name,) in connection.execute(asked).fetchall()}
    places = re.findall(r"\b(?:as|from|join|macro|view|table)\s+(\w+)", "\n".join(SQL).lower())
    return {*places, *keywords, *string.ascii_letters}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """A folder with a store of the samples; tests copy it."""
    folder = tmp_path_factory.mktemp("made")
    with open_store(folder / "made.duckdb", writable=True) as store:
        store.ingest([str(samples)])
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    """A store of the samples."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "made.duckdb"


def test_no_statement_of_the_program_uses_the_name_that_databases_are_opened_under() -> None:
    """So nothing in a statement can be read as the database, and nothing of the database as what is in a statement."""
    bare = (re.sub(r"--[^\n]*|'[^']*'", "", text) for text in SQL)
    assert not [text for text in bare if re.search(rf"\b{CATALOG}\b", text, re.IGNORECASE)]


def test_a_store_is_opened_under_one_name_whatever_its_file_is_called(store: Path) -> None:
    """Names in the program's SQL, words of DuckDB's, every letter, and names that need quotes."""
    asked = "select string_agg(database_name, ' ' order by database_name) from duckdb_databases()"
    found = {}
    path = store
    for name in sorted({*sampled(sorted(words()), step=9), *ODD}):
        path = path.rename(path.with_name(f"{name}.duckdb"))
        with connect_plain(str(path), read_only=True) as connection:
            found[name] = connection.execute(asked).fetchall()
    assert [name for name in found if found[name] != [(f"{CATALOG} system temp",)]] == []


@pytest.mark.parametrize(("first", "name"), list(enumerate(FEW)))
def test_every_query_and_every_view_answers_whatever_the_file_is_called(store: Path, first: int, name: str) -> None:
    """Each under at least one of the names, and under all of them in long runs."""
    path = store.rename(store.with_name(f"{name}.duckdb"))
    with open_store(path) as opened:
        assert opened.sql("select count(*) from errors").item() == 121
        for query in sampled(list(catalogue()), first % 3):
            opened.query(query)
        for view, header in sampled(list(views().items()), first % 3):
            opened.sql(f"from {view}({', '.join('null' for _ in header.params)})" if header.params else f"from {view}")


@pytest.mark.parametrize("name", sampled(FEW[1:3], 1))
def test_commands_take_a_store_of_any_name(run: Run, samples: Path, tmp_path: Path, name: str) -> None:
    """From the first report on: read, asked, judged, written again, cut into a slice, pruned and examined."""
    path = str(tmp_path / f"{name}.duckdb")
    for words_of_command in (
        ["report", str(samples / "unknown-spike.jsonl")],
        ["check", "--until", "2026-11-11"],
        ["query", "errors-by-reason"],
        ["sql", "select count(*) from errors join findings on true"],
        ["export", "--to", str(tmp_path / "days")],
        ["export", "--to", str(tmp_path / "days" / f"{name}.duckdb")],
        ["reclassify", "--apply"],
        ["quarantine", "retry"],
        ["prune", "--older-than", "9000d"],
        ["rebuild"],
        ["doctor"],
        ["findings", "list"],
    ):
        done = run(*words_of_command, "--store", path)
        assert done.returncode in (0, 1), done.stderr


def test_a_store_is_written_in_a_format_that_clients_of_duckdb_1_4_read(store: Path, tmp_path: Path) -> None:
    """The number in the header of the file is the one of 1.4, also of a slice and of a store that was made again."""
    slice_path = tmp_path / "slice.duckdb"
    cut_slice(str(store), str(slice_path), None, None)
    rebuild(str(store), [])
    for path in (store, slice_path):
        (version,) = struct.unpack_from("<Q", path.read_bytes(), 12)
        assert version == 67


def test_views_hold_nothing_that_duckdb_1_lacks() -> None:
    """`if` as a function with three arguments is of DuckDB 2; a view keeps it as it is written."""
    made = [text for text in statements() if "create" in text]
    assert not [text for text in made if re.search(r"\bif\(", text)]


def test_one_process_reads_a_store_many_times_at_once_and_does_not_write_it_meanwhile(store: Path) -> None:
    """Readers share the file; a writer beside them would find it open for reading."""
    with open_store(store) as first, open_store(store) as second:
        assert first.sql("select 1 from errors").height == second.sql("select 1 from errors").height == 121
        with pytest.raises(StoreBusyError, match="open for reading in this process"):
            connect(str(store), read_only=False)
