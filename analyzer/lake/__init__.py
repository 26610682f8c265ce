"""A store as a Delta lake on shared storage, which DuckDB reads; only `delta:…` loads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import duckdb  # noqa: F401 - it gives connections the relations that a lake is read by

from analyzer.lake.location import Lake, lake_of, require_extra

if TYPE_CHECKING:
    from analyzer.lake.store import LakeStore
    from analyzer.store import Check, Rebuild


def open_lake(name: str, master: str | None = None, *, writable: bool = False, create: bool = True) -> LakeStore:
    """Open the lake of this name, as `analyzer.store.open_store` opens a file.

    Raises:
        AnalyzerError: the name can be that of no lake.
        StoreError: there is no lake, it is damaged, or what it needs is not installed.
        StoreBusyError: another process holds it.
    """
    lake = _lake(name, master)
    from analyzer.lake.store import LakeStore, WritableLakeStore

    return WritableLakeStore(lake, create=create) if writable else LakeStore(lake)


def rebuild_lake(
    name: str, paths: Iterable[str] = (), progress: Callable[[str, int, int], None] | None = None
) -> Rebuild:
    """Make the lake of this name again, as `analyzer.store.rebuild` makes a file again.

    Raises:
        AnalyzerError: as `open_lake`, or there is nothing to make it from.
    """
    lake = _lake(name)
    from analyzer.lake.moving import rebuild

    return rebuild(lake, paths, progress)


def examine_lake(name: str) -> list[Check]:
    """Run all checks of the lake of this name.

    Raises:
        AnalyzerError: the name can be that of no lake, or what a lake needs is not installed.
    """
    lake = _lake(name)
    from analyzer.lake.examine import examine

    return examine(lake)


def _lake(name: str, master: str | None = None) -> Lake:
    lake = lake_of(name, master)
    require_extra()
    return lake
