"""SQL out of named parts: the one place where a statement is put together as text.

Invariant: parts are written in this program. What comes from people or logs is a parameter, or `quoted`.
"""

from __future__ import annotations

import re

_PART = re.compile(r"\{(\w+)\}")


def sql(template: str, /, **parts: str) -> str:
    """Replace each `{name}` of the template with the part of that name, which is taken as it is, braces included.

    Raises:
        KeyError: there is no part of such a name.
    """
    return _PART.sub(lambda found: parts[found[1]], template)


def with_rows(query: str, /, **rows: str) -> str:
    """A query of the form `with name as (…), …` with other rows under some of these names.

    Raises:
        KeyError: the query has no such name.
    """
    for name, body in rows.items():
        part = re.search(rf"^(?:with )?{name} as (?:materialized )?\((\n.*?\n)\)", query, re.MULTILINE | re.DOTALL)
        if part is None:
            raise KeyError(name)
        query = query[: part.start(1)] + body + query[part.end(1) :]
    return query


def quoted(text: str) -> str:
    """Quote a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
