"""The ready store in the user's cache folder: what is copied from it is what the statements make."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from analyzer.store import open_store
from analyzer.store.db import connection as connections
from analyzer.store.db.connection import connect
from analyzer.store.db.tables import schema
from analyzer.store.db.tables.schema import ready_store

PARTS = {
    "duckdb_schemas()": "schema_name, comment, sql",
    "duckdb_tables()": "schema_name, table_name, comment, has_primary_key, estimated_size, column_count, sql",
    "duckdb_columns()": "schema_name, table_name, column_name, comment, column_index, data_type, is_nullable",
    "duckdb_views()": "schema_name, view_name, comment, column_count, sql",
    "duckdb_functions()": "schema_name, function_name, comment, parameters, function_type, macro_definition",
    "internal.store_v1": "*",
}
Dump = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of this test's own."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "analyzer"


def dumped(path: str = ":memory:") -> Dump:
    """All that a store, which is made if there is none, says of what it is made of."""
    where = {"internal.store_v1": ""}
    own = "where database_name = 'analyzer' and not internal"
    with closing(connect(path, read_only=False)) as connection:
        return {
            part: connection.execute(f"select {columns} from {part} {where.get(part, own)} order by all").fetchall()
            for part, columns in PARTS.items()
        }


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Dump:
    """A store that was made by all statements, as its file has them."""
    path = str(tmp_path / "created.duckdb")
    with monkeypatch.context() as patched:
        patched.setattr(connections, "ready_store", lambda: None)
        connect(path, read_only=False).close()
    return dumped(path)


def test_a_copied_store_is_made_of_the_same_as_a_created_one(
    created: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, columns, views, macros, their statements and comments: in memory and in a file."""
    assert ready_store()
    monkeypatch.setattr(connections, "create", None)
    assert len(created["duckdb_columns()"]) > 500
    in_memory = dumped()
    # A macro that was not in a file yet keeps the case of the names of types.
    functions = [[str(row).lower() for row in made.pop("duckdb_functions()")] for made in (dict(created), in_memory)]
    assert functions[0] == functions[1]
    assert in_memory == {part: created[part] for part in in_memory}
    assert dumped(str(tmp_path / "new.duckdb")) == created


def test_two_stores_and_the_ready_one_have_ids_of_their_own(tmp_path: Path) -> None:
    """By its id DuckDB tells whether a write-ahead log belongs to a file."""
    for name in ("a.duckdb", "b.duckdb"):
        open_store(tmp_path / name, writable=True).close()
    files = [str(tmp_path / "a.duckdb"), str(tmp_path / "b.duckdb"), str(ready_store())]
    heads = [Path(file).read_bytes()[:4096] for file in files]
    assert len({head[8:] for head in heads}) == 3


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_ready_store_is_made_anew(cache: Path, damage: str, created: Dump) -> None:
    """It is noticed by the digest in its name before the database looks at it."""
    path = Path(str(ready_store()))
    content = path.read_bytes()
    middle = len(content) // 2
    harm = {"cut": content[:-100], "changed": content[:middle] + b"\xff" + content[middle + 1 :], "empty": b""}
    path.write_bytes(harm[damage])
    assert dumped() == created
    (again,) = cache.iterdir()
    assert again != path
    assert ready_store() == str(again)


def test_a_cache_folder_that_cannot_be_used_costs_nothing_but_time(
    cache: Path, created: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in its place, one where others may write, and no home."""
    cache.write_text("no folder")
    assert ready_store() is None
    connect(new := str(tmp_path / "new.duckdb"), read_only=False).close()
    assert dumped(new) == created
    cache.unlink()
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    assert ready_store() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(cache / "nowhere"))
    assert ready_store() is None
    assert not list(cache.iterdir())


def test_a_ready_store_of_another_version_is_no_ready_store_of_this_one(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the program's statements and of DuckDB's; some of the others are kept, the youngest."""
    first = ready_store()
    monkeypatch.setattr("analyzer.store.db.engine.duckdb.__version__", "0.0.0")
    second = ready_store()
    assert first != second
    assert len(list(cache.iterdir())) == 2
    for number in range(10):
        monkeypatch.setattr(schema, "SCHEMA_VERSION", f"later-{number}")
        last = ready_store()
    assert len(list(cache.iterdir())) == schema._KEPT
    assert os.path.exists(str(last))


def test_processes_that_need_the_first_one_at_once_all_get_their_stores(cache: Path, tmp_path: Path) -> None:
    """Each makes one beside its place and gives it its name when it is whole."""
    program = "import sys; from analyzer.store import open_store; open_store(sys.argv[1], writable=True).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / f"{number}.duckdb")]) for number in range(3)
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    dumps = [dumped(str(tmp_path / f"{number}.duckdb")) for number in range(3)]
    assert dumps[0] == dumps[1] == dumps[2]
    assert all(path.name.startswith("empty-") for path in cache.iterdir())
