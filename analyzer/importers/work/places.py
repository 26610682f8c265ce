"""Where an agent was at work, and the caller that it is there.

Invariant: no path that leaves this module names somebody's home directory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
