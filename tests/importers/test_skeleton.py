"""The shape of a log that nobody knows: its keys, and nothing that was said."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from analyzer.importers import head_of
from analyzer.importers.formats import BY_NAME, newer
from analyzer.importers.shapes.files import SQLITE
from analyzer.importers.shapes.skeleton import skeleton
from tests.importers.new_kinds.cases import CASES


def _shapes(*records: object) -> list[dict[str, Any]]:
    return skeleton(head_of(b"".join(json.dumps(record).encode() + b"\n" for record in records)), "log")


def test_records_of_one_shape_stand_together() -> None:
    """With how many there are, and every type that a value had."""
    shapes = _shapes({"id": 1, "error": None}, {"id": "x", "error": {"code": 5}}, {"other": [1, "a", {"k": True}]})
    assert shapes == [
        {"count": 2, "shape": {"id": "number or string", "error": "null or object"}},
        {"count": 1, "shape": {"other": ["number or string or object"]}},
    ]


SECRETS = (
    "ghp_" + "a1B2c3D4e5" * 4,
    "/home/ada/work/plan.txt",
    "ada@example.org",
    "5f3a91c2-77aa-4c11-9f00-0123456789ab",
    "ein geheimer Satz",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_that_was_said_is_in_a_skeleton(secret: str) -> None:
    """Neither as a value nor as a key, in a document, on a line, or in a text."""
    record = {"kind": secret, secret: 1, "deep": [{"x": {secret: [secret]}}], "n": 4711}
    heads = [
        json.dumps(record).encode() + b"\n",
        json.dumps([record], indent=1).encode(),
        f"{secret} says {secret}\n".encode(),
    ]
    for data in heads:
        shown = json.dumps(skeleton(head_of(data), "log"))
        assert secret not in shown
        assert json.dumps(secret)[1:-1] not in shown
        assert "4711" not in shown


def test_a_table_of_names_shows_none_of_them() -> None:
    """An object with very many keys is somebody's own, whatever its keys look like."""
    assert _shapes({"people": {f"name_{'x' * number}": 1 for number in range(1, 90)}})[0]["shape"] == {
        "people": {"…": "number"}
    }


def test_a_database_shows_its_tables_and_columns(tmp_path: Path) -> None:
    """And no row."""
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table turns (id integer primary key, said text)")
        connection.execute("insert into turns values (1, 'hush')")
    connection.close()
    assert skeleton(head_of(path.read_bytes()), str(path)) == [
        {"count": 0, "table": "turns", "shape": {"id": "integer", "said": "text"}}
    ]
    assert path.read_bytes().startswith(SQLITE)


@pytest.mark.parametrize("strange", [b"", b"\0\xff", b"[", b"{}\n", b"[[[]]]", b'{"a":' * 2_000, b"null\n"])
def test_any_file_has_a_skeleton(strange: bytes) -> None:
    """However broken it is."""
    assert isinstance(skeleton(head_of(strange), "log"), list)


def test_a_version_that_is_newer_than_what_was_looked_at_is_told() -> None:
    """And one that was looked at is not."""
    kimi = {"type": "metadata", "protocol_version": "1.5", "created_at": 1}
    heads = [
        head_of(json.dumps({**kimi, "protocol_version": version}).encode() + b"\n") for version in ("1.5", "1.10", "x")
    ]
    assert [newer(head, BY_NAME["kimi"]) for head in heads] == [None, "1.10", None]
    for case in CASES:
        head = head_of(b"".join(json.dumps(item).encode() + b"\n" for item in case.records))
        assert newer(head, BY_NAME[case.format]) is None
