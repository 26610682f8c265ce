"""The acceptance page: a test for each requirement of the five documents, named by its document and line.

`python -m tests seeds` prints them as a table. A test `test_003_128_…` holds what line 128 of document 003 asks for,
and the first sentence of its docstring is the requirement in our words.
"""

from __future__ import annotations

import inspect
import os
import re

import pytest

from tests.recovery.conftest import clock, log, settings

__all__ = ["clock", "log", "settings"]

SHOWN = "SHOW_SEEDS"
"""The variable of the environment that asks for the table."""
_NAME = re.compile(r"test_(\d{3})_(\d+)_\w+")
_passed: dict[tuple[str, ...], bool] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its row of the table; a test without one is an error."""
    for item in items:
        if not isinstance(item, pytest.Function) or item.path.parent.name != "seeds":
            continue
        name = _NAME.fullmatch(item.originalname)
        if name is None or not item.function.__doc__:
            raise pytest.UsageError(f"{item.nodeid} is not named by seed and line, or does not say what it holds")
        said = " ".join(inspect.cleandoc(item.function.__doc__).split())
        row = (name[1], f"{int(name[2]):3}", re.split(r"(?<=\.) (?=[A-Z])", said)[0], item.originalname)
        item.user_properties.append(("seed", row))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note whether a requirement holds: in all cases of its test, from making ready to putting away."""
    for name, row in report.user_properties:
        if name == "seed" and isinstance(row, (tuple, list)):
            _passed[tuple(row)] = _passed.get(tuple(row), True) and report.outcome == "passed"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table and its counts."""
    if not os.environ.get(SHOWN):
        return
    write = terminalreporter.write_line
    write("")
    write("seed  line  held    requirement")
    for (seed, line, requirement, _), passed in sorted(_passed.items()):
        write(f"{seed}    {line}  {'passed' if passed else 'FAILED'}  {requirement}")
    failed = list(_passed.values()).count(False)
    write(f"{len(_passed)} requirements: {len(_passed) - failed} passed, {failed} failed")
