"""Types of records that producers were seen to write, and the types in a log that are newer than that.

The table is `record_types.toml`. Nothing here is used while logs are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from analyzer.config_files import toml
from analyzer.frozen import frozen

TELLING = ("failure", "retry", "limit", "compaction", "tokens")
"""What records of a type may tell."""
_PLAIN = re.compile(r"[A-Za-z$][\w.$/-]{0,79}")
"""A name of a type; anything else may be private."""


@frozen
class Producer:
    """A program that writes logs, and the types of its records at the version that was looked at."""

    name: str
    version: str
    looked_at: date
    source: str
    formats: tuple[str, ...]
    names: tuple[str, ...]
    """The keys that make the name of a type, as in `types_of`."""
    types: Mapping[str, tuple[str, ...]]
    """The types by what they tell, as in `TELLING`, and `other`."""


@cache
def producers() -> tuple[Producer, ...]:
    """Return every row of the table, in its order."""
    rows = toml(resources.files("analyzer.importers.shapes").joinpath("record_types.toml").read_bytes())["producers"]
    return tuple(
        Producer(
            row["producer"],
            row["version"],
            row["looked_at"],
            row["source"],
            tuple(row["formats"]),
            tuple(row["names"]),
            {kind: tuple(row.get(kind, "").split()) for kind in (*TELLING, "other")},
        )
        for row in rows
    )


def producer_of(kind: str) -> Producer | None:
    """Return the producer of a format's logs; None if its types were not looked at."""
    return next((producer for producer in producers() if kind in producer.formats), None)


def newer_types(producer: Producer, records: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the records of each type that the table does not have."""
    known = {name for names in producer.types.values() for name in names}
    counts = Counter(
        name for record in records for path in producer.names for name in types_of(record, path.split("/"))
    )
    return Counter({name: count for name, count in counts.items() if name not in known and _PLAIN.fullmatch(name)})


def types_of(record: object, keys: list[str]) -> list[str]:
    """Return the names of a record's types: the texts under the keys, joined by slashes.

    Dots in a key lead into objects; of a list each item counts. A key that is missing is left out.
    """
    names = [""]
    for key in keys:
        values = _texts(record, key.split("."))
        names = [f"{name}/{value}".lstrip("/") for name in names for value in values] or names
    return [name for name in names if name]


def _texts(value: object, path: list[str]) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in _texts(item, path)]
    if path:
        return _texts(value.get(path[0]), path[1:]) if isinstance(value, dict) else []
    return [value] if isinstance(value, str) else []
