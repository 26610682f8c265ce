"""Take over decisions that the journal has and the store lacks, after a process died.

The journal is the truth: a store that is opened for writing takes them over, as a rebuild would.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from glob import escape, glob
from itertools import islice

import msgspec

from analyzer.store.db.connection import transaction
from analyzer.store.db.engine import Connection, execute
from analyzer.store.db.tables.schema import remember, setting
from analyzer.store.journal import DECISIONS, journal_of, keep_decided

_READ = "journal_read"
"""Key under which a store keeps how many bytes of each part of its journal were searched for decisions."""
_WORTH_KEEPING = 1024 * 1024
"""Bytes.

Fewer are searched again next time, which costs less than recording that they were searched.
"""
_AT_ONCE = 4_096
"""Decisions that are looked up in the store together."""
_BLOCK = 1024 * 1024
_DECISION = re.compile(
    rb'^\{"v":\d+,"id":"([^"\\]+)","type":"(?:%s)".*$' % b"|".join(re.escape(name).encode() for name in DECISIONS),
    re.MULTILINE,
)
"""Matches a line with a decision as our appender writes it; only such lines are taken over."""


def catch_up(connection: Connection, path: str) -> int:
    """Give the store the decisions of its journal that it lacks, and act on them.

    Return their number.
    """
    folder = journal_of(path)
    # Reading a pipe that replaced a part would block.
    parts = sorted(filter(os.path.isfile, glob(os.path.join(escape(folder), "*.jsonl")))) if folder else []
    if not parts:
        return 0
    before = _offsets(connection)
    offsets = dict(before)
    missing: list[bytes] = []
    lines = (line for part in parts for line in _decisions(part, offsets))
    while batch := dict(islice(lines, _AT_ONCE)):
        stored = execute(
            connection, "select event_id from internal.event_v1 where event_id in (select unnest($1))", [list(batch)]
        )
        known = {name for (name,) in stored}
        missing += [line for name, line in batch.items() if name not in known]
    read = sum(offsets.values()) - sum(before.get(name, 0) for name in offsets)
    if missing or read >= _WORTH_KEEPING:
        with transaction(connection):
            _take_over(connection, missing)
            remember(connection, **{_READ: offsets})
    return len(missing)


def _take_over(connection: Connection, missing: list[bytes]) -> None:
    # These imports load much, and there is hardly ever anything to take over.
    from analyzer.store.upkeep.prune import restore_horizon
    from analyzer.store.verdicts.rulesets import restore_active

    kinds = keep_decided(connection, missing)
    if "history.pruned" in kinds:
        restore_horizon(connection)
    if "ruleset.applied" in kinds:
        restore_active(connection)


def _offsets(connection: Connection) -> dict[str, int]:
    try:
        return msgspec.json.decode(setting(connection, _READ) or "{}", type=dict[str, int])
    except msgspec.DecodeError:
        return {}


def _decisions(part: str, offsets: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield id and line of each decision after the offset up to which a part was searched.

    Update it.
    """
    name = os.path.basename(part)
    try:
        with open(part, "rb") as source:
            begin = offsets.get(name, 0)
            if begin > os.path.getsize(part):
                begin = 0  # cut off, or another file under its name
            offsets[name] = source.seek(begin)
            while block := source.read(_BLOCK) + source.readline():
                whole = block.rfind(b"\n") + 1
                for match in _DECISION.finditer(block, 0, whole):
                    yield match[1].decode("utf-8", "replace"), match[0]
                offsets[name] += whole
                if whole < len(block):
                    return  # its last line is not finished
    except OSError:
        return  # `doctor` says so
