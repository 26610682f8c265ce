"""The command that takes up a session again, by the format of its log.

Invariant: an id that is no plain word is in no command, since it came from a log.
"""

from __future__ import annotations

import re
import shlex

from analyzer.phrases import terminal_safe

_COMMANDS = {
    "claude_code": "claude --resume {}",
    "claude_print": "claude --resume {}",
    "codex": "codex resume {}",
    "codex_exec": "codex resume {}",
    "copilot": "copilot --resume {}",
    "opencode": "opencode --session {}",
    "opencode_db": "opencode --session {}",
}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def resuming(source_format: str | None, session: str, cwd: str | None) -> str:
    """The command, in the folder of the session where the log names it; empty where there is none."""
    command = _COMMANDS.get(source_format or "")
    if command is None or not _ID.fullmatch(session):
        return ""
    said = command.format(session)
    if not cwd or terminal_safe(cwd) != cwd:
        return said
    home, slash, rest = cwd.partition("~/")
    folder = f"~/{shlex.quote(rest)}" if slash and not home else shlex.quote(cwd)
    return f"cd {folder} && {said}"
