"""The comment header of a .sql file: the one description that listings, docs, comments and tests come from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from analyzer.errors import QueryError

_LINE = re.compile(r"^-- (title|description|view|param|column)\b:?\s*(.*)$")
_PARAM = re.compile(r"^(\w+) ([A-Z]+)\s*=\s*(\S+)\s*: (.+)$")
_COLUMN = re.compile(r"^(\w+) ([A-Z]+): (.+)$")
_VIEW = re.compile(r"^(\w+)(?:\(([\w, ]+)\))?: (.+)$")
_ARGUMENT = re.compile(r"^(\w+) ([A-Z]+)$")


@dataclass(frozen=True, slots=True)
class Param:
    """A named parameter of a query."""

    name: str
    type: str
    """SQL type."""
    default: str
    """`null`, `now`, `now-7d`, or a literal."""
    description: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a query or a view."""

    name: str
    type: str
    """SQL type."""
    description: str


@dataclass(frozen=True, slots=True)
class Header:
    """What a .sql file says of itself."""

    title: str
    description: str
    params: tuple[Param, ...]
    """Of a view: what it is asked with, as `errors_under(ruleset)`; most views are asked with nothing."""
    columns: tuple[Column, ...]
    body: str
    """The statement, without the header."""


def parse_header(text: str, where: str) -> Header:
    """The header and the statement of a .sql file.

    Raises:
        QueryError: a header line cannot be read, or title or columns are missing.
    """
    title, description = "", ""
    params: list[Param] = []
    columns: list[Column] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _LINE.match(line)
        if match is None:
            if line.startswith("--") and not columns:
                raise QueryError(f"{where}:{number + 1}: a header line that cannot be read: {line}")
            if not line.startswith("--"):
                body = "\n".join(lines[number:]).strip()
                break
            continue
        kind, rest = match.groups()
        if kind == "title":
            title = rest
        elif kind == "description":
            description = rest
        elif kind == "view":
            title, arguments, description = _fields(_VIEW, rest, where, number)
            for argument in arguments.split(", ") if arguments else ():
                name, sql_type = _fields(_ARGUMENT, argument, where, number)
                params.append(Param(name, sql_type, "null", ""))
        elif kind == "param":
            params.append(Param(*_fields(_PARAM, rest, where, number)))
        else:
            columns.append(Column(*_fields(_COLUMN, rest, where, number)))
    else:
        raise QueryError(f"{where}: there is no statement below the header")
    if not title or not columns:
        raise QueryError(f"{where}: the header needs a title and its columns")
    return Header(title, description, tuple(params), tuple(columns), body.rstrip(";").strip())


def _fields(pattern: re.Pattern[str], text: str, where: str, number: int) -> tuple[str, ...]:
    match = pattern.match(text)
    if match is None:
        raise QueryError(f"{where}:{number + 1}: a header line that cannot be read: {text}")
    return match.groups()
