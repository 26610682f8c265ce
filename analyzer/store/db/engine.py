"""DuckDB itself, without the relations and frames that its Python package adds to it.

The package takes 80 ms to load, of 270 ms that a query of a small store takes in all, and most of a store uses only
SQL. Whoever needs relations or registers a frame imports the package; both have the same classes.
"""

from typing import TYPE_CHECKING

__all__ = ["duckdb"]
if TYPE_CHECKING:
    import duckdb
else:
    try:
        import _duckdb as duckdb  # the package's own name for it: another release may choose another one
    except ImportError:
        import duckdb
