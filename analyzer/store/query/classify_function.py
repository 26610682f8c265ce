"""The classifier as a SQL function: `classify(message)` and `classify(message, status)` give the reason.

DuckDB's Python functions need numpy, which nothing else here does: it is loaded, and the function made on a connection,
only when a statement names it.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec

import duckdb
from duckdb.func import FunctionNullHandling

from analyzer.errors import QueryError

_NAMED = re.compile(r"\bclassify\s*\(", re.IGNORECASE)
_FUNCTION = "classify_one"


def offer_classify(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Make `classify` known to this connection where `sql` names it.

    Raises:
        QueryError: it is named, and numpy is not installed.
    """
    if not load_classify(sql):
        return
    if connection.execute("select 1 from duckdb_functions() where function_name = $1", [_FUNCTION]).fetchall():
        return
    connection.create_function(
        _FUNCTION, _reason, ["VARCHAR", "INTEGER"], "VARCHAR", null_handling=FunctionNullHandling.SPECIAL
    )
    connection.execute(
        f"create or replace temp macro classify(message) as {_FUNCTION}(message::varchar, null),"
        f" (message, status) as {_FUNCTION}(message::varchar, try_cast(status as integer))"
    )


def load_classify(sql: str) -> bool:
    """Whether `sql` names `classify`; if so, load all that it needs, as later there may be limits on doing so.

    Raises:
        QueryError: it is named, and numpy is not installed.
    """
    if not _NAMED.search(sql):
        return False
    if find_spec("numpy") is None:
        raise QueryError(
            "the SQL function classify needs numpy",
            "the installation is not whole: pip install numpy",
        )
    import_module("numpy")
    _reason("", None)
    return True


def _reason(message: str | None, status: int | None) -> str | None:
    if message is None and status is None:
        return None
    from analyzer.classifier import classify

    known = {"message": message, "status": status}
    return classify({key: value for key, value in known.items() if value is not None}).reason
