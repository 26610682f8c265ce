"""Real shells complete commands, options, files and names of what is stored, by click's own means."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import Event, encode
from tests import REPOSITORY
from tests.cli.conftest import Run

ASK = """
eval "$(_ANALYZER_COMPLETE=bash_source analyzer)"
while read -r line; do
  IFS=' ' read -ra COMP_WORDS <<< "${line%'~'}"
  [[ $line == *'~' ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )) COMPREPLY=()
  _analyzer_completion analyzer
  echo "${COMPREPLY[@]}"
done
"""
"""Reads lines of words, `~` for an empty last one, and answers with what bash would propose for the last word."""


SHELLS = {
    "bash": (
        ".bashrc",
        'eval "$(analyzer completion show bash)"',
        'PS1=READY; dump() { echo "$READLINE_LINE" >line; }; bind -x \'"\\C-xd": dump\'',
    ),
    "zsh": (
        ".zshrc",
        'eval "$(analyzer completion show zsh)"',
        "PS1=READY; dump() { print -r -- $BUFFER >line }; zle -N dump; bindkey '^Xd' dump",
    ),
    "fish": (
        ".config/fish/config.fish",
        "analyzer completion show fish | source",
        "function fish_prompt; echo READY; end; function dump; commandline >line; end; bind \\cxd dump",
    ),
}
"""Of each its settings, the line that loads the script, and a prompt that says when it listens, with a key that
writes down the line as it is."""
HOSTILE = "zz, a: b;touch planted $(touch planted) 'c"


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
        "analyzer query --li": {"--list"},
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


@pytest.mark.parametrize("shell", SHELLS)
def test_a_person_who_types_gets_files_and_names_whole(run: Run, tmp_path: Path, program: str, shell: str) -> None:
    """At a terminal, by the script where it was put; a name that a log made up is one word and no command."""
    if shutil.which(shell) is None:
        pytest.skip(f"COMPLETION IN {shell} WAS NOT TESTED: it is not installed here")
    error = Event("error.classified", datetime(2026, 11, 10), "s", {"caller": HOSTILE, "reason": "unknown"}, "e-1")
    (tmp_path / "log.jsonl").write_bytes(encode(error))
    run("ingest", "log.jsonl", "--store", "s.duckdb")
    settings, *lines = SHELLS[shell]
    (tmp_path / settings).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / settings).write_text("\n".join(lines) + "\n")
    asked = {"analyzer report --store s.duckdb --caller zz": HOSTILE, "analyzer report log": "log.jsonl"}
    assert [shlex.split(line)[-1] for line in typed(shell, tmp_path, program, list(asked))] == list(asked.values())
    assert not (tmp_path / "planted").exists()


def typed(shell: str, home: Path, program: str, lines: list[str]) -> list[str]:
    """What becomes of lines in an interactive shell, each followed by a tab."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(home)
        path = f"{program}:{os.environ['PATH']}"
        environment = {"HOME": str(home), "PATH": path, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm"}
        os.execvpe(shell, [shell, "-i"], environment)
    shown, found, written = b"", [], home / "line"

    def until(done: Callable[[], bool]) -> None:
        nonlocal shown
        ends = time.monotonic() + 30
        while not done():
            assert time.monotonic() < ends, shown
            if select.select([terminal], [], [], 0.02)[0]:
                shown += os.read(terminal, 65_536)

    try:
        until(lambda: b"READY" in shown)
        for line in lines:
            os.write(terminal, line.encode() + b"\t\x18d")
            until(lambda: written.exists() and written.read_text().endswith("\n"))
            found.append(written.read_text())
            written.unlink()
            os.write(terminal, b"\x15")
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
    return found


def test_findings_are_completed_by_their_ids(run: Run, store: str) -> None:
    """What `analyzer findings ack` wants."""
    told = run("check", "--until", "2026-11-10", "--store", store).stdout
    name, *_ = [line.split()[1] for line in told.splitlines() if line.startswith("  id ")]
    words = f"analyzer findings show --store {store} {name[:2]}"
    asked = {"_ANALYZER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "5"}
    assert run(env=asked).stdout.split() == [f"plain,{name}"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_what_click_prints(run: Run, shell: str) -> None:
    """The shell is that of $SHELL unless it is named."""
    printed = {
        run("completion", "show", shell).stdout,
        run("completion", "show", env={"SHELL": f"/bin/{shell}"}).stdout,
        run(env={"_ANALYZER_COMPLETE": f"{shell}_source"}).stdout,
    }
    assert len(printed) == 1
    assert "_analyzer_completion" in printed.pop()


def test_an_unknown_shell_is_refused(run: Run) -> None:
    """The message names the shells that are supported."""
    done = run("completion", "show", env={"SHELL": "/bin/tcsh"})
    assert done.returncode == 2
    assert "bash" in done.stderr and "zsh" in done.stderr and "fish" in done.stderr
