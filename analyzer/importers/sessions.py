"""Sessions of agents: where one was at work, the caller that it is there, and the command that takes it up again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from analyzer.plurals import terminal_safe
from analyzer.redaction.homes import without_home

DIMENSIONS = ("agent", "agent_version", "provider", "model", "project", "cwd", "branch")
"""What a record may know of its session, and what an event says where its payload has a field for it."""
_SEPARATORS = re.compile(r"[/\\]+")
_LONGEST = 1_000
"""Characters of a path; longer ones are cut."""


def place_of(folder: object) -> dict[str, str]:
    """A working directory as `cwd`, without a home, and its last name as `project`; empty where it has none."""
    if not isinstance(folder, str):
        return {}
    kept = without_home(folder[:_LONGEST].rstrip("/\\"))
    name = _SEPARATORS.split(kept)[-1]
    return {"cwd": kept, "project": name} if name else {}


def caller_of(program: str, known: Mapping[str, Any], role: str | None = None) -> str:
    """The caller that an interactive agent is: the program, the project that it is at work in, and its role there."""
    project = known.get("project")
    return f"{program}{f'@{project}' if project else ''}{f'/{role}' if role else ''}"


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
