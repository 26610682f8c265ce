"""A secret in any text of any log is not in the events that are made of it, nor is a half of it where a text is cut."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from analyzer.events.sanitize import payload_json, sanitize
from analyzer.importers import BY_NAME, Source, block_of
from tests import each_row
from tests.importers.new_kinds.test_new_kinds import NAMED, Case

_SHOWN = 14
"""Characters of a secret that must not be seen together."""


def _secrets(chance: random.Random) -> Iterator[tuple[str, str]]:
    """A secret's own characters, and a text that holds them: alone, and over both places where it may be cut."""
    core = "".join(chance.choice(string.ascii_letters + string.digits) for _ in range(36))
    yield core, f"ghp_{core}"
    head = "Exit code 1\n" + "y\n" * 980 + f"error: ghp_{core}\n"
    yield core, head + "y" * 3_000 + f" ghp_{core}: error: fatal" + " z" * 983 + "z"


def _with(record: Any, said: str) -> Iterator[Any]:
    """The record with this text in the place of each of its texts, one after the other."""
    members = record.items() if isinstance(record, dict) else enumerate(record)
    for key, value in members:
        found = [said] if isinstance(value, str) else _with(value, said) if isinstance(value, dict | list) else []
        for other in found:
            if isinstance(record, dict):
                yield {**record, key: other}
            else:
                yield [*record[:key], other, *record[key + 1 :]]


@each_row("case", NAMED)
def test_no_secret_of_a_log_is_kept(case: Case) -> None:
    """Wherever it stands, and wherever what a tool said is cut."""
    chance, make = random.Random(case.format), BY_NAME[case.format].reader
    assert make is not None
    whole = [(json.dumps(item) if isinstance(item, dict) else str(item)).encode() + b"\n" for item in case.records]
    for place, record in enumerate(case.records):
        for core, said in _secrets(chance) if isinstance(record, dict) else ():
            for changed in _with(record, said):
                reader = make(Source(case.path, datetime(2026, 11, 1)), {})
                lines = [*whole[:place], json.dumps(changed).encode() + b"\n", *whole[place + 1 :]]
                hits = [*reader.read(block_of(b"".join(lines)))]
                events = [*(event for hit in hits for event in hit.events), *reader.finish()]
                kept = repr([(payload_json(event.payload), sanitize([event.session_id, event.id])) for event in events])
                assert core[:_SHOWN] not in kept
                assert core[-_SHOWN:] not in kept
