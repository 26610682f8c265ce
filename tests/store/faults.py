"""A connection that fails, or ends the process, at its n-th statement."""

from __future__ import annotations

import os
import signal
from typing import Any

import duckdb


class Faulty:
    """Stands in for a DuckDB connection; the transaction that a statement fails in is really aborted."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, at: int, fault: str = "error", *, times: int = 1, marker: str = ""
    ) -> None:
        self.connection = connection
        self.at, self.fault, self.times, self.marker = at, fault, times, marker
        self.statements = self.faults = 0

    def execute(self, sql: str, parameters: Any = None) -> Any:
        """Run a statement, or fail instead."""
        self.statements += 1
        due = self.statements >= self.at and self.faults < self.times
        if due and self.marker:
            due = sql.lstrip().startswith("insert into internal.event") and self._staged_marker()
        if due and sql != "rollback":
            self.faults += 1
            if self.fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault == "fatal":
                self.connection.close()
                raise duckdb.FatalException("FATAL Error: database has been invalidated")
            if self.fault == "after":
                self.connection.execute(sql, parameters).fetchall()
                self.connection.close()
                raise duckdb.FatalException("FATAL Error: the answer was lost")
            self.connection.execute("select error('disk on fire')").fetchall()
        return self.connection.execute(sql, parameters) if parameters is not None else self.connection.execute(sql)

    def _staged_marker(self) -> bool:
        rows = self.connection.execute(
            "select count(*) from staged_event where contains(payload, $1)", [self.marker]
        ).fetchall()
        return bool(rows[0][0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)
