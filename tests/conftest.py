"""Fixtures that more than one room's tests need."""

from __future__ import annotations

import gc
import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from analyzer.events import Event, encode
from analyzer.store import Store, open_store
from tests import LONG_RUNS, REPOSITORY

# How long an example takes is a matter of the machine and its load; a folder or a store may serve many examples.
# A short run draws the same examples each time, so that it fails by a change and never by chance; a long run draws new
# ones.
settings.register_profile(
    "any machine",
    max_examples=100 * LONG_RUNS,
    derandomize=LONG_RUNS == 1,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One cache folder for all programs of a run: the homes that tests give them stay empty."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.getbasetemp().parent / "cache")


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of sample logs."""
    return REPOSITORY / "sample_events"


@pytest.fixture
def memory() -> Iterator[Store]:
    """A throw-away store."""
    with open_store(":memory:") as store:
        yield store


@pytest.fixture(scope="session")
def native() -> Callable[..., bytes]:
    """Makes a line of the event log."""

    def line(event_id: str, kind: str = "error.classified", at: str = "2026-11-02T08:00:00", **payload: Any) -> bytes:
        session = payload.pop("session", "s-1")
        seq = payload.pop("seq", None)
        writer = "host:1:aa" if seq is not None else None
        return encode(Event(kind, datetime.fromisoformat(at), session, payload, event_id, writer=writer, seq=seq))

    return line


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes records to a file, one JSON object a line."""

    def write(name: str, *records: object) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (item if isinstance(item, str) else json.dumps(item, separators=(",", ":")) for item in records)
        path.write_text("".join(line + "\n" for line in lines), "utf-8")
        return path

    return write


def pytest_collection_finish() -> None:
    """Leave out what was collected where Python looks for garbage: it is most of all objects, and stays."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Free all objects at the end."""
    gc.unfreeze()


def pytest_configure() -> None:
    """Programs that tests start hear Ctrl-C, also where these tests run behind a shell's `&`, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--golden` writes the golden files anew instead of comparing with them."""
    parser.addoption("--golden", action="store_true", help="write golden files anew")
