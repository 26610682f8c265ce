"""The journal, which is the log folder beside a store: where it is, and how it is told from a log.

A journal says what a store decided and what it read of logs that are gone. Only `rebuild` reads it, and believes it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from analyzer.command_lines import command_line
from analyzer.errors import StoreError
from analyzer.events import Event, EventLog
from analyzer.events.recorded import Recorded
from analyzer.store.db.lock import MEMORY
from analyzer.store.db.replacement import replacement_waits
from analyzer.store.upkeep.log_parts import part_day

ENDING = ".journal"
_MAGIC, _MAGIC_OFFSET = b"DUCK", 8


def journal_of(store_path: str) -> str | None:
    """The path of the journal of a store; None for a store in memory."""
    if store_path == MEMORY:
        return None
    base, ending = os.path.splitext(os.path.realpath(store_path))
    return f"{base}{ENDING}" if ending != ENDING else f"{base}{ending}{ENDING}"


@contextlib.contextmanager
def open_journal(store_path: str) -> Iterator[EventLog | None]:
    """Open the journal of a store; gives None for a store in memory."""
    folder = journal_of(store_path)
    if folder is None:
        yield None
        return
    with EventLog(folder, durability="batch") as journal:
        yield journal


def record_all(journal: EventLog, events: Iterable[Event | Recorded]) -> None:
    """Append events to a journal, and wait until they are on the disk.

    The store's own commit is synced: it must not know of events that a power cut takes from the journal.

    Raises:
        StoreError: the journal cannot be written; it may have the first few of the events.
    """
    if not (all(journal.record(event) is not None for event in events) and journal.sync()):
        raise StoreError(f"the journal in {journal.folder} cannot be written", "free space, or check its permissions")


def parts_of(folder: str) -> list[str]:
    """The parts of a journal, oldest first; none where there is no such folder."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl")]


def is_journal(folder: str) -> bool:
    """Whether a folder is the journal of some store, by its name and by the parts in it."""
    real = os.path.realpath(folder)
    return real.endswith(ENDING) and any(part_day(path) is not None for path in parts_of(real))


def left_behind(store_path: str) -> str | None:
    """The journal of a store that is not there, where it holds something; else None."""
    folder = journal_of(store_path)
    if folder is None or os.path.exists(store_path) or replacement_waits(store_path):
        return None
    return folder if parts_of(folder) else None


def was_store(path: str) -> bool:
    """Whether a file that cannot be read is one to be made again: it begins like a database, or has a journal."""
    with open(path, "rb") as handle:
        handle.seek(_MAGIC_OFFSET)
        begins = handle.read(len(_MAGIC)) == _MAGIC
    return begins or os.path.isdir(journal_of(path) or "")


def rebuild_hint(store_path: str) -> str:
    """How to make a store again, for one that is damaged, too old or gone."""
    return f"make it again from the logs: {command_line('rebuild', 'PATH...', store=store_path)}"
