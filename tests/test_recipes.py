"""The recipes of docs/how-to, pasted into a shell as they stand there, each in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.examples import blocks

RECIPES = {
    # Page, language, which block, what is printed
    "a run's answer": ("verdict.md", "sh", 0, ("wait: until ", "exit code 12", "passed: ")),
    "hooks": ("mcp.md", "sh", 1, ("5h limit 71 %", "1 error of 1 caller in 1 of 2 sessions")),
    "a question": ("mcp.md", "python", 0, ("Most failures: ", "529 Overloaded")),
    "a receiver": ("receive.md", "sh", 0, ("{}", "1 error of 1 caller")),
    "an export": (
        "sql.md",
        "sh",
        -1,
        ("121 errors, 14 hand-offs, 42 retry chains", "121 errors of 12 callers"),
    ),
}
ASKED = '\nprint(asyncio.run(ask("why", about="529 Overloaded")), asyncio.run(ask("recent_failures", last="50y")))\n'


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_of_five_lines_does_what_its_page_says(name: str, tmp_path: Path) -> None:
    """Without an edit but for the port, which is whichever is free, and the path of the program."""
    page, language, place, said = RECIPES[name]
    if name == "a receiver" and shutil.which("curl") is None:
        pytest.skip("THE RECIPE OF THE RECEIVER IS NOT TESTED: there is no curl here")
    recipe = blocks((REPOSITORY / "docs" / "how-to" / page).read_text("utf-8"), language)[place]
    lines = [line for line in recipe.splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(lines) <= 5
    program = tmp_path / "bin" / "analyzer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{REPOSITORY}" exec "{sys.executable}" -m analyzer "$@"\n')
    program.chmod(0o755)
    shutil.copytree(REPOSITORY / "sample_events", tmp_path / "sample_events")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        recipe = recipe.replace(":4318", f":{free.getsockname()[1]}")
    if language == "python":
        transcripts = tmp_path / ".claude" / "projects"
        shutil.copytree(REPOSITORY / "sample_events", transcripts)
        command = [sys.executable, "-c", recipe + ASKED]
    else:
        command = ["sh", "-c", recipe]
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path), "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    printed = " ".join((done.stdout + done.stderr).split())
    assert [each for each in said if each not in printed] == [], printed
