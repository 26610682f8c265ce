"""The other backend of a store: a Delta lake on shared storage, which DuckDB reads. Loaded by `delta:…` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.lake.location import lake_of, require_extra

if TYPE_CHECKING:
    from analyzer.lake.store import LakeStore


def open_lake(name: str, master: str | None = None, *, writable: bool = False, create: bool = True) -> LakeStore:
    """Open the lake of this name, as `analyzer.store.open_store` opens a file.

    Raises:
        AnalyzerError: the name can be that of no lake.
        StoreError: there is no lake, it is damaged, or what it needs is not installed.
        StoreBusyError: another process holds it.
    """
    lake = lake_of(name, master)
    require_extra()
    from analyzer.lake.store import LakeStore, WritableLakeStore

    return WritableLakeStore(lake, create=create) if writable else LakeStore(lake)
