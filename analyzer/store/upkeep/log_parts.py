"""Parts of an event log as files: which day they are of, and whether anybody still writes to them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import date

from analyzer.events.appending import system
from analyzer.events.appending.places import PART
from analyzer.events.times import now


def part_day(path: str) -> date | None:
    """The UTC day that a file's name says it was written on; None for a file that is no part of an event log."""
    found = PART.match(os.path.basename(path))
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


@contextlib.contextmanager
def finished(path: str) -> Iterator[bool]:
    """Whether nobody will write to this part any more: its day is over, and no living writer has it open.

    Writers hold a shared lock for as long as they have a part open; it is kept from them inside of the block.

    Raises:
        OSError: the file cannot be opened.
    """
    day = part_day(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield system.take_alone(descriptor) and day is not None and day < now().date()
    finally:
        os.close(descriptor)
