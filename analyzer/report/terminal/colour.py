"""The one word of a line that says how bad it is gets a colour; the word says so without it, too."""

from __future__ import annotations

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_COLOURS = {
    "critical": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "info": "\x1b[1;36m",
    "unjudged": "\x1b[1;33m",
    "quiet": "\x1b[1;32m",
}


def painted(line: str, word: str, level: str = "") -> str:
    """The line, its word in the colour of a level of severity; bold for what is none."""
    return line.replace(word, f"{_COLOURS.get(level, _BOLD)}{word}{_PLAIN}", 1)
