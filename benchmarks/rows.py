"""Two stores of the same logs, made by two versions: whether every column of every view is the same.

Of each column the hashes of its values are summed, and of each row that of all its columns, so that no order matters
and millions of rows take seconds. Left out is what says when a store was made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import duckdb

from analyzer.store.db.frames import quoted, sql

WHEN = frozenset({"ingested_at", "first_ingested_at", "last_ingested_at", "incident_at", "judged_at"})
Sums = dict[tuple[str, str], int]


def sums(path: str) -> Sums:
    """The number of rows of each view, and the sums of its columns and of its rows, by view and name."""
    found: Sums = {}
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"attach {quoted(path)} as analyzer (read_only)")
        connection.execute("use analyzer")
        views = "select view_name from duckdb_views() where database_name = 'analyzer' and not internal"
        for (view,) in connection.execute(f"{views} and schema_name = 'main' order by 1").fetchall():
            columns = [name for name, *_ in connection.execute(f"describe {view}").fetchall() if name not in WHEN]
            quotes = [f'"{name}"' for name in columns]
            hashed = [f"coalesce(sum(hash({each})::hugeint), 0)" for each in (*quotes, f"row({', '.join(quotes)})")]
            row = connection.execute(
                sql("select {figures} from {view}", figures=f"count(*), {', '.join(hashed)}", view=view)
            ).fetchone()
            assert row is not None
            found |= {(view, name): int(value) for name, value in zip(("rows", *columns, "all"), row, strict=True)}
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print what differs, and return 1 where anything does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rows", description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    given = parser.parse_args(argv)
    old, new = sums(given.old), sums(given.new)
    differ = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    for view, name in differ:
        if (view, name) in old and (view, name) in new:
            print(f"{view}.{name} differs")
    alone = [f"{view}.{name}" for view, name in differ if ((view, name) in old) != ((view, name) in new)]
    if alone:
        print(f"in one alone: {', '.join(alone)}")
    print(f"{len(old)} figures of the old store, {len(differ)} that differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
