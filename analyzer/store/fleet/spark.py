"""Push logs into a shared table by executors of Apache Spark: each reads and pushes a group of files.

Spark passes names of files and returns figures; it never sees an event, and runs no statement. A task that is run
twice finds the number of its group in the table, or is refused by it, and adds nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from analyzer import interpreter
from analyzer.command_lines import TABLE
from analyzer.errors import AnalyzerError, StoreError, system_text
from analyzer.store.db.connection import connect, transaction
from analyzer.store.db.engine import Connection
from analyzer.store.db.location import MEMORY
from analyzer.store.db.tables.schema import remember, setting
from analyzer.store.fleet.ship import Push, push
from analyzer.store.fleet.table import table_named
from analyzer.store.ingest.discover import Problem, discover
from analyzer.store.ingest.run import ingest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

GROUP_BYTES = 256 * 1024 * 1024
"""Bytes of files, roughly, that an executor reads at once; a file is never cut."""
GROUP_FILES = 5_000
_ENGINE = ("pyspark", "pandas", "pyarrow")
_STANDALONE = "spark://"
_ANSWER_SECONDS = 5.0
"""Seconds after which a master that does not answer counts as missing."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class FileGroup(msgspec.Struct):
    """Files that one task reads."""

    sizes: dict[str, int]
    """Bytes by path."""
    below: dict[str, str]
    """The folder in which a file was listed, for files that were not named themselves."""

    @property
    def writer(self) -> str:
        """Return the name under which the events are committed: it follows from paths and sizes."""
        return f"spark:{hashlib.sha256(msgspec.json.encode(self.sizes)).hexdigest()[:32]}"


def push_by_executors(connection: Connection, master: str, paths: Iterable[str], to: str) -> tuple[Push, list[Problem]]:
    """Push logs below the paths, which all executors see under the same names, into a table.

    The store remembers the size of each file that was pushed. Files of that size are left out, others are read whole.

    Raises:
        AnalyzerError: the master is none that Spark knows, or the name can be that of no table.
        StoreError: Spark does not start or fails, or the table cannot be reached; what was added stays.
    """
    if not (master in {"local", "yarn"} or master.startswith(("local[", "spark://", "sc://", "k8s://"))):
        raise AnalyzerError(f"{master!r} is no master of Spark", "write local[*], spark://host:7077 or sc://host:15002")
    table = table_named(to)
    require(master)
    table.opened(create=True)
    key = f"pushed_by_executors {table.path}"
    pushed = msgspec.json.decode(setting(connection, key) or "{}", type=dict[str, int])
    discovery = discover(list(map(os.path.abspath, paths)), own=[table.path])
    sizes = {path: os.path.getsize(path) for path in discovery.files if os.path.exists(path)}
    groups = list(_groups({path: size for path, size in sizes.items() if pushed.get(path) != size}, discovery.below))
    result, problems = Push(f"{TABLE}{table.path}"), list(discovery.problems)
    for group, answer in zip(groups, _run(master, to, groups) if groups else (), strict=True):
        events, parts, unread = msgspec.msgpack.decode(answer, type=tuple[int, int, list[Problem]])
        result.events += events
        result.parts += parts
        problems += unread
        pushed |= {} if unread else group.sizes
    with transaction(connection):
        remember(connection, **{key: pushed})
    return result, problems


def _groups(sizes: dict[str, int], below: dict[str, str]) -> Iterator[FileGroup]:
    group = FileGroup({}, {})
    for path, size in sizes.items():
        if group.sizes and (len(group.sizes) >= GROUP_FILES or size + sum(group.sizes.values()) > GROUP_BYTES):
            yield group
            group = FileGroup({}, {})
        group.sizes[path] = size
        if path in below:
            group.below[path] = below[path]
    if group.sizes:
        yield group


def _run(master: str, to: str, groups: list[FileGroup]) -> list[bytes]:
    import pyarrow as pa

    with _failures():
        spark = _session(master)
        kinds = pa.schema([("place", pa.int64()), ("files", pa.binary())])
        rows = pa.table({"place": range(len(groups)), "files": list(map(msgspec.msgpack.encode, groups))}, kinds)
        # By range, as what goes round robin puts several groups into one task and none into others.
        frame = spark.createDataFrame(rows).repartitionByRange(len(groups), "place")
        made = frame.mapInArrow(partial(read_groups, to), "place bigint, done binary").toArrow()
    answers: list[bytes] = made.sort_by("place")["done"].to_pylist()
    return answers


def read_groups(to: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read groups in an executor, push their events, and yield what came of each."""
    import pyarrow as pa

    for batch in batches:
        for place, group in zip(batch["place"], batch["files"].to_pylist(), strict=True):
            done = msgspec.msgpack.encode(read_group(to, msgspec.msgpack.decode(group, type=FileGroup)))
            yield pa.RecordBatch.from_pydict({"place": [place.as_py()], "done": pa.array([done], pa.binary())})


def read_group(to: str, group: FileGroup) -> tuple[int, int, list[Problem]]:
    """Read the files of a group into a throw-away store, and push its events.

    Return the events and parts that were added, and the files that could not be read.
    """
    try:
        with closing(connect(MEMORY, read_only=False)) as connection:
            read = ingest(connection, group.sizes, below=group.below)
            added = push(connection, to, group.writer)
        return added.events, added.parts, read.problems
    except AnalyzerError as error:
        return 0, 0, [Problem(next(iter(group.sizes)), error.message, error.hint or "run it again")]


@contextmanager
def _failures() -> Iterator[None]:
    """Translate errors of Spark into `StoreError`."""
    try:
        yield
    except Exception as error:
        # Its bridge and its SQL each raise classes of their own, which only an import of all of Spark names.
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        hint = "parts that were added are kept; run the same command again"
        raise StoreError(f"Spark failed at it: {_message_of(error)}", hint) from None


def java() -> str | None:
    """Return the Java that a driver in this process would run on; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    inside = os.path.join(home, "bin", "java") if home else None
    return inside if inside and os.access(inside, os.X_OK) else shutil.which("java")


def require(master: str) -> None:
    """Raise an error for anything missing before Spark is asked to start.

    Raises:
        StoreError: the extra is not installed, there is no Java for a driver in this process, or no client for Connect.
    """
    if missing := [name for name in _ENGINE if importlib.util.find_spec(name) is None]:
        hint = "install it: pip install 'agent-error-analyzer[spark]', or leave out --master"
        raise StoreError(f"--master needs {', '.join(missing)}, not installed here", hint)
    connect = master.startswith("sc://")
    if connect and importlib.util.find_spec("grpc") is None:
        raise StoreError("Spark Connect needs grpcio, not installed here", "install it: pip install 'pyspark[connect]'")
    if not connect and java() is None:
        hint = "install it, set JAVA_HOME, or leave out --master"
        raise StoreError("Spark needs Java 17 or later, which is not here", hint)


def _session(master: str) -> SparkSession:
    """Start or find the session for a master.

    Raises:
        StoreError: Spark does not start or cannot be reached.
    """
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        _reach(master)
    # Workers run this program's interpreter: another one would lack the package.
    os.environ.setdefault("PYSPARK_PYTHON", interpreter.path())
    builder: Any = SparkSession.builder.appName("analyzer")
    remote = master.startswith("sc://")
    builder = builder.remote(master) if remote else builder.master(master)
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    for name, value in {**({} if remote else _SETTINGS), **(loopback if master.startswith("local") else {})}.items():
        builder = builder.config(name, value)
    # Errors of ours report refused statements.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    try:
        with _without_narration():
            session: SparkSession = builder.getOrCreate()
            if not remote:
                session.sparkContext.setLogLevel("OFF")
    except Exception as error:  # noqa: BLE001 - the JVM, its bridge and Connect each raise classes of their own
        message = f"Spark does not start for {master}: {_message_of(error)}"
        raise StoreError(message, "check --master, and that Java 17 or later runs here") from None
    return session


def _reach(master: str) -> None:
    """Raise an error if no named standalone master answers: Spark itself tries for a minute.

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
            failed.append(f"{place} ({system_text(error)})")
    raise StoreError(f"no master of Spark answers at {', '.join(failed)}", "start it, or check --master")


def _message_of(error: Exception) -> str:
    """Return the message of Spark, or of the bridge to its JVM, in one line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # The bridge names a call of its own first.
    message = lines[1] if lines[0].startswith("An error occurred while calling") and len(lines) > 1 else lines[0]
    return message.removeprefix(": ")[:300]


@contextmanager
def _without_narration() -> Iterator[None]:
    """Redirect standard error of processes started in the block to a nameless file."""
    try:
        stderr = os.dup(2)
    except OSError:
        yield
        return
    with tempfile.TemporaryFile() as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
