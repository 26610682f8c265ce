"""Runs the command line in a process of its own: stdout, stderr and exit code are its contract."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import Event, encode
from analyzer.importers.places import VARIABLES
from analyzer.store import open_store
from tests.cli.forking import Forks, Line
from tests.cli.hook import hook_server
from tests.cli.nightly import NEW_ON, after, write_nights

Run = Callable[..., subprocess.CompletedProcess[str]]
UNSET = ("ANALYZER_STORE", *VARIABLES)
STARTED_WITH = tuple(os.environ)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Runs command lines, each in a fork: what they all import is imported once."""
    with Forks("-W", "error") as process:
        yield process


@pytest.fixture
def run(tmp_path: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run("report", "x", stdin="", env={})`, in an empty folder that is the home directory, too."""

    def call(*arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        given = None
        if stdin:
            given = tmp_path_factory.mktemp("stdin") / "text"
            given.write_text(stdin, "utf-8")
        environment = {**os.environ, "HOME": str(tmp_path)}
        for name in UNSET:
            environment.pop(name, None)
        line = Line(
            list(arguments),
            str(tmp_path),
            stdin=str(given) if given else None,
            environment={**environment, **(env or {})},
            unset=[*UNSET, *(name for name in STARTED_WITH if name not in os.environ)],
            seconds=120,
        )
        done = forks.run(line)
        assert isinstance(done.code, int), f"{done.code}: {arguments}"
        return subprocess.CompletedProcess(["analyzer", *arguments], done.code, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def ingested(samples: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of the samples, and its journal; tests copy it."""
    folder = tmp_path_factory.mktemp("ingested")
    environment = {**os.environ, "HOME": str(folder)}
    line = Line(["ingest", str(samples), "--store", "s.duckdb"], str(folder), environment=environment, unset=UNSET)
    assert forks.run(line).code == 0
    return folder


@pytest.fixture
def store(ingested: Path, tmp_path: Path) -> str:
    """A store of the samples."""
    shutil.copytree(ingested, tmp_path, dirs_exist_ok=True)
    return str(tmp_path / "s.duckdb")


@pytest.fixture(scope="session")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of 38 days, whose history was judged once; tests copy it."""

    def native(event_id: str, at: str, session: str, **payload: Any) -> bytes:
        return encode(Event("error.classified", datetime.fromisoformat(at), session, payload, event_id))

    folder = tmp_path_factory.mktemp("fed")
    write_nights(folder / "logs", native, 38)
    with open_store(folder / "x.duckdb", writable=True) as store:
        store.ingest([str(folder / "logs")])
        store.judge_history()
    return folder


@pytest.fixture(scope="session")
def judged(fed: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with that store after its last quiet night and the first with a finding; tests copy it."""
    folder = tmp_path_factory.mktemp("judged")
    shutil.copytree(fed, folder, dirs_exist_ok=True)
    for number, code in ((NEW_ON - 1, 0), (NEW_ON, 1)):
        words = ["check", "--store", "x.duckdb", "--until", after(number)]
        assert forks.run(Line(words, str(folder), environment={"HOME": str(folder)})).code == code
    return folder


@pytest.fixture
def hook() -> Iterator[Any]:
    """A server on the loopback; `codes` is what it answers, `bodies` what it was sent."""
    with hook_server() as server:
        yield server
