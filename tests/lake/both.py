"""A lake and a store that read the same."""

from __future__ import annotations

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
