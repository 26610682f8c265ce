"""Parse the names of lakes, as `delta:/lake/fleet`, and see whether a lake is there.

Invariant: what is no lake and what is not installed is reported before slow imports.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from analyzer.command_lines import LAKE
from analyzer.errors import AnalyzerError, StoreError

_EXTRA = ("deltalake", "pyarrow")
_HINT = "write delta:/path/of/lake, or delta:s3://bucket/path"
_REMOTE = ("s3://", "s3a://", "gs://", "abfs://", "abfss://", "hdfs://")


class NoLakeError(StoreError):
    """There is nothing that could be a lake."""


_MISREAD = re.compile(r"%[0-9A-Fa-f]{2}|[][{}*?\\]")
"""Characters that an address escapes, or that stand for many files."""
_MARKS = re.compile(r"\x1b\[[0-9]+m|↳")
_FRAME = re.compile(r"^ *[0-9]+: ")


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake, and the Spark that reads logs for it."""

    path: str
    """The folder of its tables: an absolute path, or an address such as `s3://bucket/path`."""
    master: str | None = None
    """`local[*]`, `spark://host:port`, or `sc://host:port` for Connect; None where this process reads."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """Settings of the object store, as delta-rs names them; what is not given comes from the environment."""

    @property
    def remote(self) -> bool:
        """Say whether it is in an object store."""
        return self.path.startswith(_REMOTE)

    def table(self, name: str) -> str:
        """Return the address of a table of this lake."""
        return f"{self.path}/{name}"

    @property
    def exists(self) -> bool:
        """Say whether a lake of this program is there; in an object store, by the table that all
        lakes have.

        Raises:
            StoreError: the object store cannot be reached, or refuses.
        """
        if not self.remote:
            return os.path.isdir(f"{self.table('store_v1')}/_delta_log")
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return bool(DeltaTable.is_deltatable(self.table("store_v1"), dict(self.storage)))
        except (DeltaError, OSError) as error:
            hint = "check its name and its settings, such as AWS_REGION and AWS_ENDPOINT_URL: see docs/how-to/fleet.md"
            raise StoreError(f"{self.path} cannot be reached: {message_of(error)}", hint) from None

    def check(self) -> None:
        """Raise an error where there is no lake.

        Raises:
            NoLakeError: there is nothing at this path.
            StoreError: there is something else than a lake.
        """
        if self.exists:
            return
        if not self.remote and os.path.exists(self.path) and not os.path.isdir(self.path):
            raise StoreError(f"{self.path} is a file, not a lake", "name a DuckDB file without delta: before it")
        if not self.remote and os.path.isdir(self.path) and not os.access(self.path, os.R_OK | os.X_OK):
            raise StoreError(f"{self.path} may not be read", "check its permissions")
        if not self.remote and os.path.isdir(self.path) and os.listdir(self.path):
            raise StoreError(f"{self.path} holds something else than a lake of this program", "name another folder")
        raise NoLakeError(f"no lake at {self.path}", f"make one with: analyzer ingest PATH --store {LAKE}{self.path}")


def message_of(error: Exception) -> str:
    """Return the message of Delta or the storage in one line, without colours and the addresses of its code."""
    lines = takewhile(lambda line: not _FRAME.match(line), _MARKS.sub("", str(error)).splitlines())
    return " ".join(" ".join(lines).split())[:300] or type(error).__name__


def require_extra() -> None:
    """Raise an error where a library is not installed that every lake needs.

    Raises:
        StoreError: the extra is not installed.
    """
    if missing := [name for name in _EXTRA if importlib.util.find_spec(name) is None]:
        hint = "install it: pip install 'agent-error-analyzer[lake]'"
        raise StoreError(f"a lake needs {', '.join(missing)}, not installed here", hint)


def lake_of(store: str, master: str | None = None, storage: Mapping[str, str] | None = None) -> Lake:
    """Return the lake that `delta:PATH` names, whether it is there or not.

    Raises:
        AnalyzerError: the name holds no path, or one that Delta would read as another, or the master is none
            that Spark knows.
    """
    named = store.removeprefix(LAKE)
    if not named.strip("/"):
        raise AnalyzerError(f"{store!r} names no lake", _HINT)
    if "://" in named and not named.startswith(_REMOTE):
        raise AnalyzerError(f"{store!r}: no object store of this kind is known", f"known: {', '.join(_REMOTE)}")
    if master and not (master in {"local", "yarn"} or master.startswith(("local[", "spark://", "sc://", "k8s://"))):
        raise AnalyzerError(f"{master!r} is no master of Spark", "write local[*], spark://host:7077 or sc://host:15002")
    path = named.rstrip("/") if named.startswith(_REMOTE) else os.path.realpath(named)
    if not named.startswith(_REMOTE) and (odd := _MISREAD.search(path)):
        message = f"{odd[0]!r} in the path {path} means something else to Delta"
        raise AnalyzerError(message, "name a folder without it")
    return Lake(path, master or None, dict(storage or {}))
