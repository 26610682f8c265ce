"""Read logs into a lake by executors of Apache Spark: each reads its share of the files as a batch.

Spark passes names of files and returns figures; it never sees an event, and runs no statement.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from analyzer import interpreter
from analyzer.errors import AnalyzerError, StoreError, system_text
from analyzer.importers.places import LogPlace
from analyzer.lake.batch import make_where_none_is
from analyzer.lake.location import Lake
from analyzer.lake.push import OnProgress, ingest_into
from analyzer.store.db.location import kept
from analyzer.store.ingest.discover import STDIN, Problem, discover
from analyzer.store.ingest.run import IngestResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP_BYTES = 256 * 1024 * 1024
"""Bytes of files, roughly, that an executor reads as one batch; a file is never cut."""
_GROUP_FILES = 5_000
_ENGINE = ("pyspark", "pandas")
_STANDALONE = "spark://"
_ANSWER_SECONDS = 5.0
"""Seconds after which a master that does not answer counts as missing."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_decode = msgspec.msgpack.Decoder(IngestResult).decode


def ingest_by_executors(
    lake: Lake, paths: Iterable[str | LogPlace], progress: OnProgress | None = None
) -> IngestResult:
    """Read what is new below the paths, which all executors see under the same names, into a lake.

    Raises:
        StoreError: Spark does not start or fails, or the lake cannot be read or written; what was added stays.
    """
    began = time.monotonic()
    require(lake)
    make_where_none_is(lake)
    discovery = discover(list(paths), own=[] if lake.remote else [lake.path])
    result = IngestResult(problems=list(discovery.problems))
    if STDIN in discovery.files:
        _add(result, ingest_into(lake, [STDIN], progress, shared=True))
    groups = list(_groups([path for path in discovery.files if path != STDIN]))
    if groups:
        below = [{kept(path): discovery.below[path] for path in group if path in discovery.below} for group in groups]
        requests = [msgspec.msgpack.encode(request) for request in zip(groups, below, strict=True)]
        for done in _run(lake, requests):
            _add(result, _decode(done))
    result.seconds = time.monotonic() - began
    return result


def _groups(files: list[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for path in files:
        length = os.path.getsize(path) if os.path.exists(path) else 0
        if group and (size + length > GROUP_BYTES or len(group) >= _GROUP_FILES):
            yield group
            group, size = [], 0
        group.append(path)
        size += length
    if group:
        yield group


def _add(total: IngestResult, part: IngestResult) -> None:
    total.sources += part.sources
    total.problems += part.problems
    total.unchanged += part.unchanged
    total.pruned += part.pruned
    total.unjudged += part.unjudged


def _run(lake: Lake, requests: list[bytes]) -> list[bytes]:
    with _failures():
        spark = _session(lake)
        kinds = pa.schema([("place", pa.int64()), ("asked", pa.binary())])
        rows = pa.table({"place": range(len(requests)), "asked": requests}, kinds)
        # By range, as what goes round robin puts several groups into one task and none into others.
        frame = spark.createDataFrame(rows).repartitionByRange(len(requests), "place")
        made = frame.mapInArrow(
            partial(read_share, lake.path, dict(lake.storage), os.getcwd()), "done binary"
        ).toArrow()
    answers: list[bytes] = made["done"].to_pylist()
    return answers


def read_share(
    path: str, storage: dict[str, str], folder: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read groups of files in an executor; yield their results. Relative names are below `folder`."""
    lake = Lake(path, None, storage)
    for batch in batches:
        for asked in batch.column("asked").to_pylist():
            group, below = msgspec.msgpack.decode(asked)
            if not all(map(os.path.isabs, group)):
                os.chdir(folder)
            try:
                result = ingest_into(lake, group, shared=True, below=below)
            except AnalyzerError as error:
                result = IngestResult(problems=[Problem(group[0], error.message, error.hint or "run it again")])
            done = pa.array([msgspec.msgpack.encode(result)], pa.binary())
            yield pa.RecordBatch.from_arrays([done], names=["done"])


@contextmanager
def _failures() -> Iterator[None]:
    """Translate errors of Spark into `StoreError`."""
    try:
        yield
    except Exception as error:
        # Its bridge and its SQL each raise classes of their own, which only an import of all of Spark names.
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        hint = "batches that were added are kept; run the same command again"
        raise StoreError(f"Spark failed at it: {_message_of(error)}", hint) from None


def java() -> str | None:
    """Return the Java that a driver in this process would run on; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    inside = os.path.join(home, "bin", "java") if home else None
    return inside if inside and os.access(inside, os.X_OK) else shutil.which("java")


def require(lake: Lake) -> None:
    """Raise an error for anything missing before Spark is asked to start.

    Raises:
        StoreError: the extra is not installed, there is no Java for a driver in this process, or no client for Connect.
    """
    if missing := [name for name in _ENGINE if importlib.util.find_spec(name) is None]:
        hint = "install it: pip install 'agent-error-analyzer[spark]', or leave out --master"
        raise StoreError(f"--master needs {', '.join(missing)}, not installed here", hint)
    connect = (lake.master or "").startswith("sc://")
    if connect and importlib.util.find_spec("grpc") is None:
        raise StoreError("Spark Connect needs grpcio, not installed here", "install it: pip install 'pyspark[connect]'")
    if not connect and java() is None:
        hint = "install it, set JAVA_HOME, or leave out --master"
        raise StoreError("Spark needs Java 17 or later, which is not here", hint)


def _session(lake: Lake) -> SparkSession:
    """Start or find the session for the master of a lake.

    Raises:
        StoreError: Spark does not start or cannot be reached.
    """
    from pyspark.sql import SparkSession

    master = str(lake.master)
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
