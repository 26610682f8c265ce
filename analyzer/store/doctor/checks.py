"""What a check says: fine, worth a word, or wrong; and the checks that stores and folders share."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from analyzer.command_lines import command_line

State = Literal["ok", "note", "problem"]
SPARE_BYTES = 256 * 1024 * 1024
"""Free space that is called little whatever the size of the store."""


@dataclass(frozen=True, slots=True)
class Check:
    """One result of `analyzer doctor`: what was checked, how it stands and what to do."""

    name: str
    state: State
    said: str
    todo: str = ""

    def to_dict(self) -> dict[str, str]:
        """The fields by name."""
        return asdict(self)


def loose_modes(name: str, paths: Iterable[str]) -> Check:
    """Whether others than their owner may read or write these files and folders: they quote error messages."""
    loose = [path for path in paths if stat.S_IMODE(os.stat(path).st_mode) & 0o077]
    if not loose:
        return Check(name, "ok", "for their owner alone")
    return Check(name, "problem", f"others may read or write {listed(loose)}", "chmod go= them")


def space_check(folder: str, size: int) -> Check:
    """Whether the disk of a folder has room for a store of so many bytes to be made again."""
    free = shutil.disk_usage(folder).free
    said = f"{megabytes(free)} free, the store has {megabytes(size)}"
    if free < max(SPARE_BYTES, 2 * size):
        return Check("space", "problem", said, "free some: a rebuild needs the size of the store twice")
    return Check("space", "ok", said)


def ruleset_check(digest: str, *, at_hand: bool, store: str | None = None) -> Check:
    """Whether new errors can be judged by the active ruleset, whose digest this is."""
    if at_hand:
        return Check("ruleset", "ok", f"the rules of {digest}, the active one, are at hand")
    said = f"the rules of {digest}, the active one, are gone"
    again = command_line("reclassify", "--apply", "--rules", "FILE", store=store)
    return Check("ruleset", "problem", said, f"name them: {again}")


def listed(names: list[str], shown: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """A number of bytes in megabytes: `1.5 MB`."""
    return f"{size / 1e6:,.1f} MB"
