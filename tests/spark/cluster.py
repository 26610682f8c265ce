"""A standalone cluster of Spark on loopback: a master and workers of one core each, as pip's Spark starts them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

_PATIENCE = 240.0
"""Seconds to wait for what takes a few on a machine that has nothing else to do."""
ADDRESS = "spark.driver.host 127.0.0.1\nspark.driver.bindAddress 127.0.0.1\n"
# A run is short: what the JVM would win by compiling better it does not get back.
_SETTINGS = """\
spark.driver.memory 700m
spark.executor.memory 512m
spark.sql.shuffle.partitions 2
spark.sql.codegen.wholeStage false
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executorEnv.POLARS_MAX_THREADS 1
"""
_REGISTERED = re.compile(r"(Successfully registered with master)")


class Cluster:
    """Processes of one cluster, each the first of a group of its own; they end with the `with` block."""

    def __init__(self, folder: Path, workers: int = 2, memory: str = "512m") -> None:
        """`memory` is what executors of one worker may have."""
        self._folder, self._count, self._memory = folder, workers, memory
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""
        """As `--master` takes it."""
        found = importlib.util.find_spec("pyspark")
        assert found is not None and found.origin is not None
        self._home = Path(found.origin).parent
        (folder / "conf").mkdir(parents=True)
        (folder / "conf" / "spark-defaults.conf").write_text(ADDRESS + _SETTINGS)
        self.environment = os.environ | {
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        """For the processes of the cluster, and for those that ask it."""

    def __enter__(self) -> Self:
        try:
            self._start("master", "master.Master", "--port", "0")
            pattern = re.compile(r"Starting Spark master at (spark://\S+)")
            self.master = self._said("master", pattern)
            for number in range(self._count):
                self._start_worker(number)
            for number in range(self._count):
                self._said(f"worker{number}", _REGISTERED)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for number in range(len(self._processes)):
            self._end(number)

    @property
    def workers(self) -> set[int]:
        """The processes of the workers; their executors are in their sessions."""
        return {process.pid for process in self._processes[1:]}

    def work(self, number: int) -> Path:
        """The folder below which the executors of a worker write what they say."""
        return self._folder / f"work{number}"

    def kill(self, number: int) -> None:
        """End a worker and its executors by SIGKILL."""
        self._end(number + 1)

    def revive(self, number: int) -> None:
        """Start a worker again that was killed."""
        self._start_worker(number)
        self._said(f"worker{number}", _REGISTERED)

    def kill_executors(self, number: int) -> int:
        """End the executors of a worker by SIGKILL, which goes on itself; how many processes those were."""
        worker, killed = self._processes[number + 1].pid, 0
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it is gone
                if os.getsid(pid := int(entry.name)) == worker and b"CoarseGrained" in (entry / "cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        return killed

    def begun(self, number: int, application: int) -> bool:
        """Whether an executor of a worker has begun a task of an application, counted from 1."""
        applications = sorted(self.work(number).glob("app-*"))[application - 1 :]
        return any("Running task" in said.read_text() for one in applications for said in one.glob("*/stderr"))

    def run(self, *arguments: str, module: str = "analyzer") -> subprocess.Popen[bytes]:
        """Start a command of the analyzer in a session of its own; it is told where the cluster is."""
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments, "--master", self.master],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _start_worker(self, number: int) -> None:
        work = ["--port", "0", "-c", "1", "-m", self._memory, "-d", str(self.work(number)), self.master]
        self._start(f"worker{number}", "worker.Worker", *work, at=number + 1)

    def _start(self, name: str, main: str, *arguments: str, at: int = 0) -> None:
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", "--host", "127.0.0.1"]
        with open(self._log(name), "wb") as log:
            process = subprocess.Popen(
                [*command, "--webui-port", "0", *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes[at : at + 1] = [process]

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _said(self, name: str, pattern: re.Pattern[str]) -> str:
        for _ in waits():
            if found := pattern.search(self._log(name).read_text()):
                return found[1]
        raise AssertionError(f"{name} does not start: {self._log(name).read_text()[-500:]}")

    def _end(self, number: int) -> None:
        process = self._processes[number]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def waits() -> Iterator[None]:
    """Once, and again ten times a second for as long as something may take."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        yield
        time.sleep(0.1)


def until(met: Callable[[], bool]) -> bool:
    """Wait for something; whether it came."""
    return any(met() for _ in waits())
