"""Programs out of the documentation, run where they may write, and told to notice loops that go through nothing."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests import REPOSITORY

_BEFORE = """
_loops_that_ran = set()
def _seen(items, line):
    for item in items:
        _loops_that_ran.add(line)
        yield item
"""
_AFTER = """
if _idle := {line: text for line, text in %r.items() if line not in _loops_that_ran}:
    raise AssertionError(f"nothing to go through: {_idle}")
"""


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def run_example(program: str, folder: Path, environment: dict[str, str]) -> str:
    """What a program prints that runs in the folder, beside the samples; warnings are errors.

    Raises:
        CalledProcessError: it failed, or a loop or comprehension of it went through nothing: nobody knows then
            whether its body would run.
    """
    shutil.copytree(REPOSITORY / "sample_events", folder / "sample_events", dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _watched(program)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def _watched(program: str) -> str:
    tree = ast.parse(program)
    loops = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            line = node.iter.lineno
            loops[line] = program.splitlines()[line - 1].strip()
            node.iter = ast.Call(ast.Name("_seen", ast.Load()), [node.iter, ast.Constant(line)], [])
    return f"{_BEFORE}\n{ast.unparse(ast.fix_missing_locations(tree))}\n{_AFTER % loops}"
