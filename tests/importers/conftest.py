"""Runs an importer over records, without a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from analyzer.events import Event
from analyzer.importers import HEAD_BYTES, Hit, Source, block_of, detect, head_of

Read = Callable[..., tuple[list[Event], list[Hit]]]
FILE_TIME = datetime(2026, 11, 1, 12)


def of(events: list[Event], kind: str) -> list[Event]:
    """The events of one type."""
    return [event for event in events if event.type == kind]


@pytest.fixture
def read() -> Read:
    """Records or lines → their events and rejects, in blocks of `split` lines."""

    def run(*records: object, split: int = 1_000) -> tuple[list[Event], list[Hit]]:
        lines = [
            item if isinstance(item, bytes) else item.encode() if isinstance(item, str) else json.dumps(item).encode()
            for item in records
        ]
        kind = detect(head_of(b"\n".join(lines)[:HEAD_BYTES] + b"\n"))
        assert kind.reader is not None, kind.name
        events: list[Event] = []
        rejects: list[Hit] = []
        state: dict[str, object] = {}
        for start in range(0, len(lines), split):
            reader = kind.reader(Source("log", FILE_TIME), state)
            for hit in reader.read(block_of(b"".join(line + b"\n" for line in lines[start : start + split]))):
                events.extend(hit.events)
                if hit.why:
                    rejects.append(hit)
            events.extend(reader.finish())
            state = json.loads(json.dumps(reader.state()))
        return events, rejects

    return run
