"""Memory that DuckDB has freed, and keeps for ten seconds: given back to the system where something else needs it.

What is made of a large answer would otherwise stand beside what the answer took while it was worked out.
"""

from __future__ import annotations

import duckdb

MANY_ROWS = 100_000
"""From so many rows on an answer is worth the ten milliseconds that giving back takes."""


def give_back() -> None:
    """Lets all of DuckDB's allocators go of what they hold and do not use, in every database of the process.

    DuckDB has no function for it, but does it whenever a database is closed.
    """
    duckdb.connect(":memory:").close()
