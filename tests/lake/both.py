"""A lake and a store that read the same."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.lake.location import Lake, lake_of
from analyzer.lake.push import ingest_into
from analyzer.store import open_store
from tests.lake.equal import differences


class Both:
    """A lake and a store that read the same."""

    def __init__(self, folder: Path) -> None:
        self.lake: Lake = lake_of(f"delta:{folder}/fleet")
        self.store = folder / "fleet.duckdb"
        self.names = (str(self.store), f"delta:{self.lake.path}")

    def ingest(self, *paths: Path) -> dict[str, Any]:
        """Read into both; the figures, which are the same, as are the rows."""
        names = list(map(str, paths))
        figures = ingest_into(self.lake, names).to_dict()
        with open_store(self.store, writable=True) as store:
            assert figures == store.ingest(names).to_dict()
        assert differences(self.lake, self.store) == {}
        return figures


@pytest.fixture
def both(tmp_path: Path) -> Both:
    """An empty lake and an empty store."""
    return Both(tmp_path)


@pytest.fixture(scope="session")
def fed(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with a lake and a store of some of the samples, made once; tests copy it."""

    @functools.cache
    def folder(some: str) -> Path:
        made = tmp_path_factory.mktemp("both")
        Both(made).ingest(samples / some)
        return made

    return folder


@pytest.fixture
def full(fed: Callable[[str], Path], tmp_path: Path) -> Both:
    """A lake and a store of the samples."""
    shutil.copytree(fed("."), tmp_path, dirs_exist_ok=True)
    return Both(tmp_path)


@pytest.fixture
def begun(fed: Callable[[str], Path], tmp_path: Path) -> Both:
    """A lake and a store of one foreign log."""
    shutil.copytree(fed("gdd-events.jsonl"), tmp_path, dirs_exist_ok=True)
    return Both(tmp_path)
