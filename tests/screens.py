"""The screens of the README: commands typed on the sample logs, and what they print."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from analyzer.cli import cli
from tests import REPOSITORY

SHOWN = (
    ("analyzer report sample_events/", 6),
    ("analyzer unknowns --store fleet.duckdb", 5),
    ("analyzer show 5e1f --store fleet.duckdb", 7),
    (
        'analyzer sql "select reason, outcome, count(*) n from retries group by all order by 3" --store fleet.duckdb',
        5,
    ),
    ("analyzer verdict sample_events/claude-print.jsonl", 3),
)
"""Each command of a screen, and how many lines of its answer the screen shows."""
WIDTH = 120
"""A longer line of an answer ends in `…`."""


@functools.cache
def screens() -> tuple[str, ...]:
    """Run the commands in a folder of their own, and return a block of Markdown for each."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, clear=False):
        os.environ.pop("ANALYZER_STORE", None)
        shutil.copytree(REPOSITORY / "sample_events", Path(folder) / "sample_events")
        os.chdir(folder)
        try:
            for command in (
                "ingest sample_events/ --store fleet.duckdb",
                "check --until 2026-11-10 --store fleet.duckdb",
            ):
                CliRunner().invoke(cli, shlex.split(command), catch_exceptions=False)
            return tuple(_screen(command, most) for command, most in SHOWN)
        finally:
            os.chdir(before)


def _screen(command: str, most: int) -> str:
    answer = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False).stdout.rstrip()
    assert answer, command
    lines = [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in answer.splitlines()]
    shown = lines[:most] + ["…"] * (len(lines) > most)
    return "\n".join(["```text", f"$ {command}", *shown, "```"])
