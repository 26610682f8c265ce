"""A whole empty store in the user's cache folder, the source of new stores: to make one costs four times as much.

Invariant: this version of DuckDB made it out of today's statements, and its name holds the digest of its content.
A file that is something else, or a folder that cannot be used, costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

import duckdb

from analyzer.store.db.location import CATALOG, STORAGE_VERSION, WAL
from analyzer.store.db.sql_text import quoted
from analyzer.store.db.tables.schema import SCHEMA_VERSION, create, statements
from analyzer.store.sums.tables import create_sums, sums_text

_KEPT = 8
"""How many ready stores are kept: several versions of this program may take turns."""


def ready_store() -> str | None:
    """The path of a whole empty store, which is made where there is none; None where it cannot be kept."""
    try:
        folder = _cache_folder()
        if folder is None:
            return None
        start = f"empty-{_key()}-"
        for name in sorted(os.listdir(folder)):
            if name.startswith(start):
                path = os.path.join(folder, name)
                if name == start + _digest(path):
                    return path
                os.unlink(path)
        return _make(folder, start)
    except (OSError, duckdb.Error):
        return None


def _cache_folder() -> str | None:
    """The folder of this program in the user's cache folder; None where others may write there."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = given if os.path.isabs(given) else os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "analyzer")
    for name in (base, folder):
        if not os.path.isdir(name):
            if not _own(os.path.dirname(name)):
                return None  # root, at work in somebody's home, leaves nothing there that they could not write
            os.makedirs(name, 0o700, exist_ok=True)
    return folder if _own(folder) and not os.stat(folder).st_mode & 0o022 else None


def _own(folder: str) -> bool:
    return not hasattr(os, "geteuid") or os.stat(folder).st_uid == os.geteuid()


def _key() -> str:
    """What all that a store is made of comes to; a change of any of it gives another one."""
    made_of = (duckdb.__version__, STORAGE_VERSION, SCHEMA_VERSION, sums_text(), *statements())
    return hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make(folder: str, start: str) -> str:
    """Make a store beside its place, and give it its name when it is whole."""
    work = os.path.join(folder, f"making-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with duckdb.connect() as connection:
            attach = f"attach {quoted(work)} as {CATALOG} (storage_version '{STORAGE_VERSION}')"
            connection.execute(attach).fetchall()
            connection.execute(f"use {CATALOG}").fetchall()
            connection.execute("begin")
            create(connection)
            create_sums(connection)
            connection.execute("commit")
        path = os.path.join(folder, start + _digest(work))
        os.replace(work, path)
    finally:
        for name in (work, work + WAL):
            with contextlib.suppress(OSError):
                os.unlink(name)
    # What somebody left who died over this is among the oldest some day.
    for entry in sorted(os.scandir(folder), key=lambda entry: -entry.stat().st_mtime_ns)[_KEPT:]:
        os.unlink(entry.path)
    return path
