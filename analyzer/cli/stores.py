"""The store that a command asks, by its name: a file, or a lake. No command knows which of the two answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from analyzer.command_lines import LAKE
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.lake.location import Lake
    from analyzer.store import Store


def chosen_lake(store: str, master: str | None) -> Lake | None:
    """Return the lake that a name means, None for a file; what a lake needs is installed.

    Raises:
        AnalyzerError: a lake that cannot be meant, or a master without a lake.
        StoreError: the extra is not installed.
    """
    if not store.startswith(LAKE):
        if master is not None:
            raise AnalyzerError("--master is for a lake alone", f"name one: --store {LAKE}PATH")
        return None
    from analyzer.lake.location import lake_of, require_extra

    lake = lake_of(store, master)
    require_extra()
    return lake


def is_there(store: str) -> bool:
    """Return whether there is a store of this name.

    Raises:
        AnalyzerError: as `chosen_lake`, or the object store of a lake cannot be reached.
    """
    lake = chosen_lake(store, None)
    return os.path.exists(store) if lake is None else lake.exists


def asked(store: str, master: str | None) -> Store:
    """Open the store of this name for queries.

    Raises:
        AnalyzerError: as `open_store`.
    """
    from analyzer.store import open_store

    return open_store(store, master=master)


def judging(store: str, master: str | None) -> Store:
    """Open the store of this name, which is there, for what a check or a person decides.

    Raises:
        AnalyzerError: as `open_store`.
    """
    from analyzer.store import open_store

    return open_store(store, writable=True, create=False, master=master)


def filling(store: str, master: str | None) -> Store:
    """Open the store of this name for logs, and make it where there is none.

    Raises:
        AnalyzerError: as `open_store`.
    """
    from analyzer.store import open_store

    return open_store(store, writable=True, master=master)


def check_source(store: str, master: str | None, *, named: bool) -> Lake | None:
    """Return the lake that a name means, None for a file, for logs of paths that are `named`, or else of this machine.

    Raises:
        AnalyzerError: as `chosen_lake`, or workers of Spark would have to read the logs of this machine.
    """
    lake = chosen_lake(store, master)
    if lake is not None and lake.master and not named:
        raise AnalyzerError("--master reads logs that all its workers see", "name the PATHs to read")
    return lake
