"""The session of Spark that answers for a lake.

Invariant: one session a process; days and moments are UTC, whatever the machine's zone, and nothing of Spark's own
narration reaches the terminal.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from analyzer import interpreter
from analyzer.errors import StoreError
from analyzer.lake.location import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTRA = ("pyspark", "deltalake", "sqlglot", "pyarrow", "pandas")
_SQL = {
    "spark.sql.session.timeZone": "UTC",
    # What Spark would answer with null, or wrap around, is an error in DuckDB; both are told apart in the SQL itself.
    "spark.sql.ansi.enabled": "true",
    # A name of a view's column is its name in any case.
    "spark.sql.caseSensitive": "false",
    # A text that holds ${…} is that text, and nothing out of the environment.
    "spark.sql.variable.substitute": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # Moments of the lake are naive UTC, and so is what a parameter gives.
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""What every answer rests on."""
_OWN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
}
"""What a driver in this process adds; a Connect server has its own."""
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # One machine has few cores, and each part of a result costs.
    "spark.sql.shuffle.partitions": "8",
}
_STANDALONE = "spark://"
_ANSWER_SECONDS = 5.0
"""A master that takes longer to answer is taken for none."""


def available() -> str | None:
    """What is missing for a lake, as a sentence; None where everything is there."""
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        return f"a lake needs {', '.join(missing)}, not installed here"
    return None


def java() -> str | None:
    """The Java that a driver in this process would run on; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    inside = os.path.join(home, "bin", "java") if home else None
    return inside if inside and os.access(inside, os.X_OK) else shutil.which("java")


def require_extra() -> None:
    """Say what is not installed that every work on a lake needs.

    Raises:
        StoreError: the extra is not installed.
    """
    if said := available():
        raise StoreError(said, "install it: pip install 'agent-error-analyzer[spark]'")


def require(lake: Lake) -> None:
    """Say what is missing before Spark is asked to start.

    Raises:
        StoreError: the extra is not installed, there is no Java for a driver in this process, or no client for Connect.
    """
    require_extra()
    connect = lake.master.startswith("sc://")
    if connect and importlib.util.find_spec("grpc") is None:
        raise StoreError("Spark Connect needs grpcio, not installed here", "install it: pip install 'pyspark[connect]'")
    if not connect and java() is None:
        raise StoreError("Spark needs Java 17 or later, which is not here", "install it, or set JAVA_HOME")


def session(lake: Lake, settings: dict[str, str] | None = None) -> SparkSession:
    """The session for the master of a lake; `settings` are Spark's own, such as `spark.driver.memory`.

    Raises:
        StoreError: something is missing, or Spark does not start or cannot be reached.
    """
    require(lake)
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        _reach(lake.master)
    # Workers run this program's interpreter: another one would lack the package.
    os.environ.setdefault("PYSPARK_PYTHON", interpreter.path())
    builder: Any = SparkSession.builder.appName("analyzer")
    if lake.master.startswith("sc://"):
        builder = builder.remote(lake.master)
        chosen = {**_SQL, **(settings or {})}
    else:
        builder = builder.master(lake.master)
        here = _LOCAL if lake.master.startswith("local") else {}
        chosen = {**_SQL, **_OWN, **here, **(settings or {})}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    # Each refused statement is told by an error of ours.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    try:
        with _told_elsewhere():
            found: SparkSession = builder.getOrCreate()
            if not lake.master.startswith("sc://"):
                found.sparkContext.setLogLevel("OFF")
    except Exception as error:  # noqa: BLE001 - the JVM, its bridge and Connect each raise classes of their own
        said = f"Spark does not start for {lake.master}: {spark_said(error)}"
        raise StoreError(said, "check --master, and that Java 17 or later runs here") from None
    return found


def _reach(master: str) -> None:
    """Say so where none of the standalone masters that are named answers: Spark itself tries for a minute.

    Raises:
        StoreError: none does.
    """
    if not master.startswith(_STANDALONE):
        return
    failed = []
    for place in master.removeprefix(_STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS):
                return
        except ValueError:
            failed.append(f"{place} (without a port)")
        except OSError as error:
            failed.append(f"{place} ({error.strerror or error})")
    raise StoreError(f"no master of Spark answers at {', '.join(failed)}", "start it, or check --master")


CONNECTOR = (
    "name its connector in spark-defaults.conf, in the folder of $SPARK_CONF_DIR, as spark.jars.packages:"
    " see docs/how-to/fleet.md"
)
"""What to do where Spark does not reach an object store."""


def spark_said(error: Exception) -> str:
    """What Spark, or the bridge to its JVM, says of an error, in one line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # The bridge names a call of its own first.
    said = lines[1] if lines[0].startswith("An error occurred while calling") and len(lines) > 1 else lines[0]
    return said.removeprefix(": ")[:300]


def lacks_connector(error: Exception) -> bool:
    """Whether Spark has no connector for the storage of a lake."""
    return re.search(r"ClassNotFoundException: .*FileSystem|No FileSystem for scheme", str(error)) is not None


@contextlib.contextmanager
def _told_elsewhere() -> Iterator[None]:
    """What starts within writes its narration into a file without a name, for as long as it lives."""
    try:
        here = os.dup(2)
    except OSError:
        yield
        return
    with tempfile.TemporaryFile() as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(here, 2)
            os.close(here)


def own_views(spark: SparkSession) -> SparkSession:
    """A session beside this one, with the same settings and temporary views of its own."""
    found: SparkSession = spark.newSession()
    for name, value in _SQL.items():
        found.conf.set(name, value)
    return found
