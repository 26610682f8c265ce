"""The second count of agents' logs, on the made-up logs of the tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests import REPOSITORY
from tests.importers import oracle
from tests.shown_formats import FILES, LOGS

AGENTS = {
    "antigravity": "antigravity",
    "claudecode": "claude_code",
    "codex": "codex",
    "copilot": "copilot",
    "gemini-cli": "gemini_chat",
    "hermes": "hermes",
    "kiro-cli": "kiro",
    "mistral-vibe": "vibe",
    "pi": "pi",
    "aider": "aider",
}


def _write(folder: Path, agent: str) -> None:
    """A made-up log of an agent, where recordings would be."""
    path = folder / agent / "made" / ("transcript.md" if agent == "aider" else "transcript.jsonl")
    path.parent.mkdir(parents=True)
    name = AGENTS[agent]
    if name in FILES:
        path.write_bytes((REPOSITORY / "sample_events" / FILES[name]).read_bytes())
    else:
        lines = [item if isinstance(item, str) else json.dumps(item) for item in LOGS[name]]
        path.write_text("".join(line + "\n" for line in lines), "utf-8")


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_read_of_a_log_is_what_a_second_count_finds(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failures, retries, compactions, calls, tokens and ends, counted apart from the importers."""
    _write(tmp_path, agent)
    wrong = oracle.main(str(tmp_path))
    said = capsys.readouterr().out
    assert not wrong, said
    assert said.endswith("1 logs, 0 differences that nothing explains\n")


def test_a_difference_is_told_and_is_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure of one side alone, with its two values."""
    _write(tmp_path, "pi")
    monkeypatch.setitem(oracle.COUNTS, "pi", lambda _: Counter(errors=77))
    assert oracle.main(str(tmp_path)) == 1
    assert "errors 77 expected, " in capsys.readouterr().out
