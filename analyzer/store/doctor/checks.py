"""What a check says: fine, worth a word, or wrong; and the checks that stores and folders share."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "note", "problem"]


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


def listed(names: list[str], shown: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")


def megabytes(size: int) -> str:
    """A number of bytes in megabytes: `1.5 MB`."""
    return f"{size / 1e6:,.1f} MB"
