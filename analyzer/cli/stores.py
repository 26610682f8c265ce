"""The store that a command asks, by its name: a file, or a lake. No command knows which of the two answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.lake.location import Lake
    from analyzer.store import Store

LAKE = "delta:"
"""How the name of a lake begins."""


def refuse_lake(command: str | None, store: str, hint: str) -> None:
    """Say so of a command that works on a store in a file alone.

    Raises:
        AnalyzerError: the name means a lake; `hint` is what to do instead.
    """
    if store.startswith(LAKE):
        raise AnalyzerError(f"{command} takes a store in a file, not a lake", hint)


def chosen_lake(store: str, master: str | None) -> Lake | None:
    """The lake that a name means, None for a file; what a lake needs is installed.

    Raises:
        AnalyzerError: a lake that cannot be meant, or a master without a lake.
        StoreError: the extra is not installed.
    """
    if not store.startswith(LAKE):
        if master is not None:
            raise AnalyzerError("--master is for a lake alone", "name one: --store delta:PATH")
        return None
    from analyzer.lake.location import lake_of, require_extra

    lake = lake_of(store, master)
    require_extra()
    return lake


def asked(store: str, master: str | None) -> Store:
    """The store of this name, open for queries.

    Raises:
        AnalyzerError: as `chosen_lake`, or it cannot be opened.
    """
    lake = chosen_lake(store, master)
    if lake is None:
        from analyzer.store import open_store

        return open_store(store)
    from analyzer.lake.store import LakeStore

    return LakeStore(lake)


def judging(store: str, master: str | None) -> Store:
    """The store of this name, open for what a check or a person decides: for writing, and there already.

    Raises:
        AnalyzerError: as `asked`, or another process writes to it.
    """
    lake = chosen_lake(store, master)
    if lake is None:
        from analyzer.store import open_store

        return open_store(store, writable=True, create=False)
    from analyzer.lake.store import WritableLakeStore

    return WritableLakeStore(lake)


def lake_to_fill(store: str, master: str | None, paths: Sequence[str]) -> Lake | None:
    """The lake that a name means, None for a file, for logs of these paths.

    Raises:
        AnalyzerError: as `chosen_lake`, or there is no path.
    """
    if store.startswith(LAKE) and not paths:
        raise AnalyzerError("a lake is of many machines: no logs of this one are looked for", "name the PATHs to read")
    return chosen_lake(store, master)


def filling(store: str, lake: Lake | None) -> Store:
    """The lake, or the store of this name in a file, made where there is none and open for logs.

    Raises:
        AnalyzerError: it cannot be opened, or another process writes to it.
    """
    if lake is None:
        from analyzer.store import open_store

        return open_store(store, writable=True)
    from analyzer.lake.store import WritableLakeStore

    return WritableLakeStore(lake, create=True)
