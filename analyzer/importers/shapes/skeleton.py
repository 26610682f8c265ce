"""The shape of a log, to be shown to others: its keys and the types of their values, and no value.

Invariant: nothing that was said leaves. A key that could be somebody's own, as a path or a number is, is shown as `…`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

from analyzer.importers.heads import Head
from analyzer.importers.shapes.files import SQLITE
from analyzer.redaction import redact

_KEY = re.compile(r"[A-Za-z_$][A-Za-z_$.-]{0,39}\d{0,2}")
_DEEPEST = 12
_MOST_KEYS = 60
"""Keys of an object; one with more is a table of somebody's own."""
_MOST_SHAPES = 40
_LINES, _WIDTH = 10, 100
_LETTERS = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d")

Shape = dict[str, Any] | list[Any] | str


def skeleton(head: Head, path: str) -> list[dict[str, Any]]:
    """The shapes of the first records of a file, each with how many of these have it; of a text those of its lines."""
    if head.data.startswith(SQLITE):
        return _tables(path)
    found: dict[str, dict[str, Any]] = {}
    for record in head.elements or head.objects:
        shape = _shape(record, 0)
        kind = repr(sorted(shape) if isinstance(shape, dict) else shape)
        if kind in found:
            found[kind]["count"] += 1
            found[kind]["shape"] = _joined(found[kind]["shape"], shape)
        elif len(found) < _MOST_SHAPES:
            found[kind] = {"count": 1, "shape": shape}
    return list(found.values()) or _lines(head.data)


def _shape(value: object, depth: int) -> Shape:
    if isinstance(value, Mapping):
        if depth == _DEEPEST:
            return "object"
        named: dict[str, Any] = {}
        for key, inner in list(value.items())[:_MOST_KEYS]:
            known = len(value) <= _MOST_KEYS and _KEY.fullmatch(key) is not None and redact(key) == key
            name, shape = key if known else "…", _shape(inner, depth + 1)
            named[name] = _joined(named[name], shape) if name in named else shape
        return named
    if isinstance(value, list):
        if depth == _DEEPEST:
            return "array"
        shapes = [_shape(inner, depth + 1) for inner in value[:_MOST_KEYS]]
        return [_joined_all(shapes)] if shapes else []
    names = {str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def _joined_all(shapes: Iterable[Shape]) -> Shape:
    joined: Shape | None = None
    for shape in shapes:
        joined = shape if joined is None else _joined(joined, shape)
    return "null" if joined is None else joined


def _joined(one: Shape, other: Shape) -> Shape:
    """A shape that both have; where they differ in kind, their names beside each other."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _joined(one[key], other[key]) for key in one if key in other}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        return [_joined_all([*one, *other])] if one or other else []
    names = dict.fromkeys([*_kind(one).split(" or "), *_kind(other).split(" or ")])
    return one if one == other else " or ".join(names)


def _kind(shape: Shape) -> str:
    return shape if isinstance(shape, str) else "object" if isinstance(shape, dict) else "array"


def _lines(data: bytes) -> list[dict[str, Any]]:
    """How the first lines of a text are built: `a` for a letter, `9` for a digit, everything else as it stands."""
    lines = data.decode("utf-8", "replace").splitlines()[:_LINES]
    built = (_DIGITS.sub("9", _LETTERS.sub("a", line[:_WIDTH])) for line in lines)
    return [{"count": 1, "shape": line} for line in built]


def _tables(path: str) -> list[dict[str, Any]]:
    """The tables of a database, with their columns and the types that these are declared with; no row is read."""
    columns = "select m.name, c.name, c.type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'"
    found: dict[str, dict[str, str]] = {}
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)) as connection:
        connection.execute("pragma trusted_schema = off")
        for table, column, kind in connection.execute(
            f"{columns} and m.sql not like 'create virtual%' order by 1, c.cid"
        ):
            shown = [name if _KEY.fullmatch(name) else "…" for name in (str(table), str(column))]
            found.setdefault(shown[0], {})[shown[1]] = str(kind).lower()[:20] or "any"
    return [{"count": 0, "table": table, "shape": shape} for table, shape in found.items()]
