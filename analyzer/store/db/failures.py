"""What the database says when a store cannot be read or written, in our own words: that is no fault of a query."""

from __future__ import annotations

from analyzer.command_lines import command_line
from analyzer.errors import FREE_SPACE, StoreError

_DAMAGED = (
    "Corrupt database file",
    "FATAL Error",
    "IO Error: Could not",
    "IO Error: Cannot",
    "IO Error: No space",
    "Serialization Error",
    "TransactionContext Error: Failed to commit",
)
"""How its messages begin. Some come without a class of their own, some through a frame, as text alone."""
_FULL = ("No space left", "Disk quota", "File too large", "Failed to allocate", "max_temp_directory_size")


def unusable(message: str) -> StoreError | None:
    """The error of a store that is damaged, or for which there is no room; None for what is wrong with the query."""
    return cannot_go_on(message) if message.startswith(_DAMAGED) else None


def cannot_go_on(message: str) -> StoreError:
    """The error of a store under a statement of our own, whatever the database says."""
    line = message.strip().split("\n", 1)[0]
    if any(said in line for said in _FULL):
        return StoreError(f"the store cannot be written: {line}", FREE_SPACE)
    again = command_line("rebuild", "PATH...", store="FILE")
    hint = f"{command_line('doctor', store='FILE')} says what is wrong; {again} makes it again from the logs"
    return StoreError(f"the store cannot be used: {line}", hint)
