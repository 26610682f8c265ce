"""`analyzer completion`: a real bash completes commands, options and names of what is stored."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.cli.completing import place_of
from tests.cli.conftest import Run

ASK = """
eval "$(analyzer completion show bash)"
while read -r line; do
  IFS=' ' read -ra COMP_WORDS <<< "${line%~}"
  [[ $line == *~ ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMPREPLY=()
  _analyzer_completion analyzer
  echo "${COMPREPLY[@]}"
done
"""
"""Reads lines of words, `~` for an empty last one, and answers with what bash would propose for the last word."""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A folder with the program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "analyzer"
    script.write_text(f"#!{sys.executable}\nfrom analyzer.cli import main\nmain()\n")
    script.chmod(0o755)
    return str(folder)


def test_bash_completes_commands_queries_callers_and_findings(run: Run, store: str, program: str) -> None:
    """Out of the catalogue and of the store that the line names; a store that is none gives nothing, silently."""
    run("check", "--until", "2026-11-10", "--store", store)
    asked = {
        "analyzer rep": {"report"},
        "analyzer query errors-by-c": {"errors-by-caller", "errors-by-caller-reason"},
        f"analyzer report --store {store} --caller figma": {"figma-probe"},
        f"analyzer report --store {store} --reason rate": {"rate_limited"},
        "analyzer report --store /none --caller ~": set(),
        "analyzer completion show z": {"zsh"},
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK],
        input="\n".join(asked) + "\n",
        env={"PATH": f"{program}:{os.environ['PATH']}", "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [set(line.split()) for line in done.stdout.splitlines()] == list(asked.values())
    assert done.stderr == ""


def test_findings_are_completed_by_their_ids(run: Run, store: str) -> None:
    """What `analyzer findings ack` wants."""
    told = run("check", "--until", "2026-11-10", "--store", store).stdout
    (name,) = [line.split()[1] for line in told.splitlines() if line.startswith("  id ")]
    words = f"analyzer findings show --store {store} {name[:2]}"
    asked = {"_ANALYZER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "5"}
    assert run(env=asked).stdout.split() == [f"plain,{name}"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_install_writes_where_the_shell_reads(run: Run, tmp_path: Path, shell: str) -> None:
    """Once and again gives the same files; zsh's own file keeps what stands in it and gets one line."""
    settings = tmp_path / ".zshrc"
    settings.write_text("alias x=y")
    for _ in range(2):
        done = run("completion", "install", shell)
        assert (done.returncode, done.stdout) == (0, "")
    path, line = place_of(shell, {}, str(tmp_path))
    assert Path(path).read_text() == run("completion", "show", env={"SHELL": f"/bin/{shell}"}).stdout
    added = f"{line[1]}\n" if line else ""
    assert settings.read_text() == f"alias x=y{chr(10) if line else ''}{added}"


def test_a_shell_that_is_not_known_is_said(run: Run) -> None:
    """With those that are."""
    done = run("completion", "install", env={"SHELL": "/bin/tcsh"})
    assert done.returncode == 2
    assert "bash, zsh, fish" in done.stderr
