"""What there is to read in the places of agents, and what of it a store does not have yet. No file is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from analyzer.importers.machine.places import LogPlace
from analyzer.store.db.paths import kept
from analyzer.store.ingest.discovery import Problem, discover


@dataclass(slots=True)
class Stock:
    """The logs of one place."""

    place: LogPlace
    files: int = 0
    bytes: int = 0
    """On disk: compressed ones as they lie there."""
    new_files: int = 0
    """Of the files those that the store has not read to their present end."""
    new_bytes: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        figures = {name: getattr(self, name) for name in ("files", "bytes", "new_files", "new_bytes")}
        return {"agent": self.place.agent, "formats": list(self.place.formats), "path": self.place.path, **figures}


@dataclass(slots=True)
class Survey:
    """The logs of all places, in the order of the places, the empty ones included."""

    stocks: list[Stock] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def found(self) -> list[Stock]:
        """The places that hold logs."""
        return [stock for stock in self.stocks if stock.files]

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON, but for the store's name."""
        return {
            "sources": [stock.to_dict() for stock in self.stocks],
            "problems": [{"path": item.path, "message": item.message, "hint": item.hint} for item in self.problems],
        }


def survey(places: Iterable[LogPlace], known: Mapping[str, tuple[int, int]]) -> Survey:
    """What lies in the places; `known` has size and time of change (nanoseconds) of files as they were read last."""
    result = Survey()
    counted: set[str] = set()
    for place in places:
        found = discover([place])
        result.problems += found.problems
        stock, folder = Stock(place), os.path.realpath(place.folder)
        result.stocks.append(stock)
        for path in found.files:
            size, changed = _state(path)
            real = folder + path[len(place.folder) :]
            if size < 0 or real in counted:
                continue
            counted.add(real)
            stock.files += 1
            stock.bytes += size
            before = known.get(kept(path), (-1, 0))
            if before != (size, changed):
                stock.new_files += 1
                stock.new_bytes += size - before[0] if 0 <= before[0] < size else size
    return result


def sizes_read(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, int]]:
    """Size and time of change (nanoseconds) of every file as it was when it was read last."""
    rows = connection.execute("select path, size, mtime_ns from internal.source_v1 order by source_id").fetchall()
    return {str(path): (int(size), int(changed)) for path, size, changed in rows}


def _state(path: str) -> tuple[int, int]:
    """Size and time of change as a checkpoint has them: a database's with what its writer keeps beside it."""
    size, changed = -1, 0
    for name in (path, f"{path}-wal") if path.endswith(".db") else (path,):
        try:
            status = os.lstat(name)
        except OSError:
            continue
        size, changed = max(size, 0) + status.st_size, max(changed, min(status.st_mtime_ns, 2**63 - 1))
    return size, changed
