"""The tests; they mirror `analyzer/`."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from inspect import Signature, signature
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


def each_row(names: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with each row of a table, like `pytest.mark.parametrize`, but as one test, which names all bad rows.

    For tables of many rows without fixtures of their own: pytest takes longer for a test than these take for a row.
    """
    import pytest  # here as in `named`

    words, named_row = names.replace(" ", "").split(","), type(pytest.param())
    table = [row.values if isinstance(row, named_row) else row if len(words) > 1 else (row,) for row in values]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            assert table
            failed = []
            for row in table:
                try:
                    test(**dict(zip(words, row, strict=True)), **fixtures)
                except Exception as error:
                    error.add_note(f"in the row {row!r:.400}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(table)} rows", failed)

        others = [argument for argument in signature(test).parameters.values() if argument.name not in words]
        run.__signature__ = Signature(others)  # type: ignore[attr-defined]
        return run

    return decorate
