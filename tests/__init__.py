"""The tests; they mirror `analyzer/`."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

REPOSITORY = Path(__file__).resolve().parents[1]
LONG_RUNS = int(os.environ.get("ANALYZER_LONG_RUNS", "1"))
"""More than 1: faults at every moment where the test command takes a sample, and so many times the random histories."""

Native = Callable[..., bytes]
"""The fixture `native`, which makes a line of the event log."""
Moment = TypeVar("Moment")


class Lazy:
    """Import a module on first use: each process of a run loads all files of tests, and few of them their tests."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        # pytest asks each name of a file of tests whether it is a mock or a wrapper.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(import_module(self._module), name)


def sampled(moments: Sequence[Moment], first: int = 0, step: int = 3) -> Sequence[Moment]:
    """Return every third of them, or by another step, from the `first` one on; in long runs all of them."""
    return moments if LONG_RUNS > 1 else moments[first::step]


def named(cases: Mapping[str, Any]) -> list[Any]:
    """Make the parameters of a test: the values of each case, a tuple where there are several, under its name."""
    import pytest  # here, since processes that tests start load this file, too

    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name) for name, case in cases.items()]
