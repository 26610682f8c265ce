"""The page on reliability: every fault has its row, and every test that a row names exists."""

from __future__ import annotations

import ast
import re

from tests import REPOSITORY, each_row

PAGE = (REPOSITORY / "docs" / "explanation" / "reliability.md").read_text("utf-8")
ROWS = re.findall(r"^\| (\d+a?) \| (.+?) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)


def test_every_fault_has_a_row() -> None:
    """1 to the last, 47 at least, with 14a and 25a, each once, in order."""
    last = int(ROWS[-1][0].rstrip("a"))
    assert last >= 47
    numbers = [str(number) for number in range(1, last + 1)]
    for number in ("14", "25"):
        numbers.insert(numbers.index(number) + 1, f"{number}a")
    assert [row[0] for row in ROWS] == numbers


@each_row("row", ROWS)
def test_every_row_names_a_test(row: tuple[str, ...]) -> None:
    """Nothing but names of tests stands in its last cell."""
    cells = row[3].split("<br>")
    assert all(re.fullmatch(r"`[\w/]+\.py::\w+`", cell) for cell in cells)
    assert len(set(cells)) == len(cells)


@each_row("name", sorted({name for name, _ in NAMED}))
def test_every_named_test_exists(name: str) -> None:
    """Told by the syntax tree of its file; a test made by a state machine is a name that is bound there."""
    tree = ast.parse((REPOSITORY / "tests" / name).read_text("utf-8"))
    there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    bound = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    there |= {target.id for target in bound if isinstance(target, ast.Name)}
    assert {test for file, test in NAMED if file == name} <= there


def test_commands_of_the_long_run_are_those_of_contributing() -> None:
    """Both pages tell the same."""
    commands = re.findall(r"^.*(?:tests\.chaos|ANALYZER_LONG_RUNS).*$", PAGE, re.MULTILINE)
    contributing = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    assert len(commands) == 2
    assert all(command in contributing for command in commands)
