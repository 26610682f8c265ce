"""The shape of a log, to be shown to others: its keys and the types of their values, and no value.

Invariant: no prose is shown. A key that may be private, as a path or number, is shown as `…`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import reduce
from typing import Any
from urllib.parse import quote

from analyzer.importers.heads import Head
from analyzer.importers.shapes.files import SQLITE
from analyzer.redaction import redact

_KEY = re.compile(r"[A-Za-z_$][A-Za-z_$.-]{0,39}\d{0,2}")
_DEEPEST = 12
_MOST_KEYS = 60
"""Keys of an object that are shown; an object with more is a table whose keys are data."""
_MOST_SHAPES = 40
_LINES, _WIDTH = 10, 100
_LETTERS = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d")

Shape = dict[str, Any] | list[Any] | str


def skeleton(head: Head, path: str) -> list[dict[str, Any]]:
    """Return the shapes of a file's first records, each with the number of records that have it.

    A text without records gives the shapes of its lines, a database those of its tables.
    """
    if head.data.startswith(SQLITE):
        return _tables(path)
    shapes: dict[str, dict[str, Any]] = {}
    for record in head.elements or head.objects:
        shape = _shape(record, 0)
        keys = repr(sorted(shape) if isinstance(shape, dict) else shape)
        if keys in shapes:
            shapes[keys]["count"] += 1
            shapes[keys]["shape"] = _join(shapes[keys]["shape"], shape)
        elif len(shapes) < _MOST_SHAPES:
            shapes[keys] = {"count": 1, "shape": shape}
    return list(shapes.values()) or _lines(head.data)


def _shape(value: object, depth: int) -> Shape:
    if isinstance(value, Mapping):
        if depth == _DEEPEST:
            return "object"
        fields: dict[str, Any] = {}
        for key, inner in list(value.items())[:_MOST_KEYS]:
            is_public = len(value) <= _MOST_KEYS and _KEY.fullmatch(key) is not None and redact(key) == key
            name, shape = key if is_public else "…", _shape(inner, depth + 1)
            fields[name] = _join(fields[name], shape) if name in fields else shape
        return fields
    if isinstance(value, list):
        if depth == _DEEPEST:
            return "array"
        shapes = [_shape(inner, depth + 1) for inner in value[:_MOST_KEYS]]
        return [_join_all(shapes)] if shapes else []
    names = {str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _join_all(shapes: Sequence[Shape]) -> Shape:
    return reduce(_join, shapes) if shapes else "null"


def _join(first: Shape, second: Shape) -> Shape:
    """Join two shapes to one that fits both; of different kinds their names are joined by "or"."""
    if isinstance(first, dict) and isinstance(second, dict):
        both = {key: _join(first[key], second[key]) for key in first if key in second}
        return {**first, **second, **both}
    if isinstance(first, list) and isinstance(second, list):
        return [_join_all([*first, *second])] if first or second else []
    names = dict.fromkeys([*_kind(first).split(" or "), *_kind(second).split(" or ")])
    return first if first == second else " or ".join(names)


def _kind(shape: Shape) -> str:
    if isinstance(shape, str):
        return shape
    return "object" if isinstance(shape, dict) else "array"


def _lines(data: bytes) -> list[dict[str, Any]]:
    """Return the patterns of a text's first lines, with `a` for letters and `9` for digits."""
    lines = data.decode("utf-8", "replace").splitlines()[:_LINES]
    patterns = (_DIGITS.sub("9", _LETTERS.sub("a", line[:_WIDTH])) for line in lines)
    return [{"count": 1, "shape": pattern} for pattern in patterns]


def _tables(path: str) -> list[dict[str, Any]]:
    """Return the tables of a database, with the declared types of their columns; no row is read."""
    columns = "select m.name, c.name, c.type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'"
    shapes: dict[str, dict[str, str]] = {}
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)) as connection:
        connection.execute("pragma trusted_schema = off")
        for table, column, kind in connection.execute(
            f"{columns} and m.sql not like 'create virtual%' order by 1, c.cid"
        ):
            shown = [name if _KEY.fullmatch(name) else "…" for name in (str(table), str(column))]
            shapes.setdefault(shown[0], {})[shown[1]] = str(kind).lower()[:20] or "any"
    return [{"count": 0, "table": table, "shape": shape} for table, shape in shapes.items()]
