"""The command that takes up a session again: for agents that have one, and safe to paste."""

from __future__ import annotations

import pytest

from analyzer.importers import BY_NAME
from analyzer.importers.programs import resuming


@pytest.mark.parametrize(
    ("source_format", "session", "cwd", "command"),
    [
        ("claude_code", "5e1f-0c2a", None, "claude --resume 5e1f-0c2a"),
        ("codex", "5e1f", "~/my shop", "cd ~/'my shop' && codex resume 5e1f"),
        ("opencode_db", "ses_1", "/srv/x; rm", "cd '/srv/x; rm' && opencode --session ses_1"),
        ("claude_code", "a; rm -rf ~", None, ""),
        ("claude_code", "--help", None, ""),
        ("claude_code", "5e1f", "/a\nb", "claude --resume 5e1f"),
        ("aider", "5e1f", None, ""),
        (None, "5e1f", None, ""),
    ],
)
def test_a_session_is_taken_up_again(source_format: str | None, session: str, cwd: str | None, command: str) -> None:
    """Ids and folders come from logs: what is no plain id gives no command, and a folder is quoted."""
    assert source_format is None or source_format in BY_NAME
    assert resuming(source_format, session, cwd) == command
