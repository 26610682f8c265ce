"""Fixtures of the store's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.store.killing import Victims


@pytest.fixture(scope="session")
def victims() -> Iterator[Victims]:
    """A process whose children are killed in the middle of their work."""
    with Victims() as process:
        yield process
