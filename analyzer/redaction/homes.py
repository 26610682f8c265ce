"""Home directories out of paths: whose they are is nobody's business but their owner's."""

from __future__ import annotations

import re

_HOME = re.compile(
    r"(?:/mnt/[a-z](?=/))?(?:/(?:var/)?home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:[/\\]+Users[/\\]+[^/\\]+)(?=[/\\]|$)"
)


def without_home(path: str, home: str | None = None) -> str:
    """The path with `~` for the home directory that it begins with, on whatever machine it was written.

    `home` is one more, wherever it lies.
    """
    home = home and home.rstrip("/")
    if home and f"{path}/".startswith(f"{home}/"):
        return f"~{path[len(home) :]}"
    known = _HOME.match(path)
    return f"~{path[known.end() :]}" if known else path
