"""Memory that DuckDB and polars have freed and keep for later: given back to the system where the other needs it.

What is made of a large answer would otherwise stand beside what the answer took while it was worked out.
"""

from __future__ import annotations

import os
import sys

import duckdb

MANY_ROWS = 100_000
"""From so many rows on an answer is worth the ten milliseconds that giving back takes."""


_CONFIGURATION = "_RJEM_MALLOC_CONF"


def give_back() -> None:
    """Lets all of DuckDB's allocators go of what they hold and do not use, in every database of the process.

    DuckDB has no function for it, but does it whenever a database is closed.
    """
    duckdb.connect(":memory:").close()


def load_frugal_polars() -> None:
    """Imports polars such that it keeps what it has freed for a tenth of a second; no effect where it is imported.

    Its allocator, jemalloc, is told by a variable that polars writes, adding what stands in it, and reads in the same
    moment. The variable is put back: it is not for processes that are started later.
    """
    if "polars" in sys.modules:
        return
    before = os.environ.get(_CONFIGURATION)
    os.environ[_CONFIGURATION] = ",".join([*filter(None, [before]), "dirty_decay_ms:100,muzzy_decay_ms:0"])
    try:
        import polars  # noqa: F401 - the import is what it is for
    finally:
        os.environ.pop(_CONFIGURATION, None)
        if before is not None:
            os.environ[_CONFIGURATION] = before
