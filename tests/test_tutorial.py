"""The tutorial, typed as it stands: each command answers what the page shows of it."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyzer.cli import cli
from tests import REPOSITORY

PAGE = (REPOSITORY / "docs" / "tutorial" / "first-ten-minutes.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, str, str]]]:
    """Command, what the page shows of its answer, and its answer: stdout, then stderr."""
    folder = tmp_path_factory.mktemp("tutorial")
    shutil.copytree(REPOSITORY / "sample_events", folder / "sample_events")
    typed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("ANALYZER_STORE", raising=False)
        for language, block in BLOCK.findall(PAGE):
            if language == "toml":
                Path("my-rules.toml").write_text(block, "utf-8")
                continue
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
                program, *arguments = shlex.split(command)
                assert program == "analyzer"
                said = CliRunner().invoke(cli, arguments, catch_exceptions=False)
                assert said.exit_code == 0, said.stderr
                typed.append((command, shown, said.stdout + said.stderr))
        yield typed


def test_every_command_answers_what_the_page_shows(answers: list[tuple[str, str, str]]) -> None:
    """The lines of a command's answer are those of the page; `…` stands for some that it leaves out."""
    assert len(answers) >= 12
    for command, shown, said in answers:
        assert re.fullmatch(_pattern(shown), said), f"{command}\n{said}"


def test_every_step_has_a_command(answers: list[tuple[str, str, str]]) -> None:
    """Each numbered step of the page has something to type, and its numbers leave none out."""
    steps = re.split(r"^## (?=\d)", PAGE, flags=re.MULTILINE)[1:]
    assert [step.partition(".")[0] for step in steps] == [str(number) for number in range(1, len(steps) + 1)]
    assert all("\n$ analyzer " in step for step in steps)


def _pattern(shown: str) -> str:
    lines = [r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n" for line in shown.splitlines()]
    return "".join(lines)
