"""DuckDB itself, without the relations and frames that its Python package adds to it.

The package takes 80 ms to load, of 270 ms that a query of a small store takes in all, and most of a store uses only
SQL. Whoever needs relations or registers a frame imports the package; both have the same classes.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Connection", "Parameters", "duckdb", "execute", "first_value"]
if TYPE_CHECKING:
    import duckdb
else:
    try:
        import _duckdb as duckdb  # the package's own name for it: another release may choose another one
    except ImportError:
        import duckdb

Connection: TypeAlias = duckdb.DuckDBPyConnection
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
"""Values of a statement: by name, or in order."""


def execute(connection: Connection, statement: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
    """Run a statement to its end and return its rows; the row of one that writes is the number of changed rows."""
    return connection.execute(statement, parameters).fetchall()


def first_value(connection: Connection, statement: str, parameters: Parameters = None) -> Any:
    """Run a statement to its end and return the first value of its first row."""
    return execute(connection, statement, parameters)[0][0]
