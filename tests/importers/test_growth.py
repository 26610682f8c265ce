"""Reading is linear in the size of one record: of thousands of parts, none costs a look at all others."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from analyzer.importers import BY_NAME, Source, block_of
from tests import sampled
from tests.analysis.verdicts.outputs import lines
from tests.growth import assert_linear
from tests.shown_formats import LOGS, PATHS

_AT = "2026-03-05T10:00:0{}.000Z"
_IDS = frozenset({"id", "toolCallId", "tool_call_id", "callID", "call_id", "toolUseId", "tool_use_id", "message_id"})
Row = dict[str, Any]


def read(name: str, data: bytes) -> int:
    """Read a log; the number of its events."""
    kind = BY_NAME[name]
    assert kind.reader is not None
    reader = kind.reader(Source(PATHS.get(name, "task/log"), datetime(2026, 3, 5)), {})
    return sum(len(hit.events) for hit in reader.read(block_of(data))) + len(reader.finish())


def claude(number: int, kind: str, content: list[Row], **keys: Any) -> Row:
    """A record of a transcript."""
    head = {"parentUuid": None, "type": kind, "sessionId": "s", "uuid": f"u{number}", "timestamp": _AT.format(1)}
    return {**head, "message": {"id": "m", "model": "c", "role": kind, "content": content}, **keys}


def calls(n: int) -> list[Row]:
    """So many calls of a tool."""
    return [{"type": "tool_use", "id": f"t{place}", "name": "Bash", "input": {"command": "c"}} for place in range(n)]


def results(n: int, said: str = "API Error: 529") -> list[Row]:
    """What so many calls came to."""
    part = {"type": "tool_result", "is_error": True, "content": said}
    return [{**part, "tool_use_id": f"t{place}"} for place in range(n)]


def relayed(n: int) -> list[Row]:
    """What is repeated of a sub-agent."""
    return [{"type": "agent_progress", "id": f"q{place}", "name": "Bash", "input": {}} for place in range(n)]


def run(rows: list[Row]) -> list[Row]:
    """The records as a printed run has them, without names of their own."""
    return [{"type": "system", "subtype": "init", "session_id": "s"}, *({**row, "uuid": None} for row in rows)]


SHAPES: dict[str, tuple[str, Callable[[int], list[Row]]]] = {
    "calls and results": ("claude_code", lambda n: [claude(1, "assistant", calls(n)), claude(2, "user", results(n))]),
    "results": ("claude_code", lambda n: [claude(1, "user", results(n))]),
    "tools that are not there": ("claude_code", lambda n: [claude(1, "user", results(n, "No such tool available: X"))]),
    "results by line": ("claude_code", lambda n: [claude(p, "user", [part]) for p, part in enumerate(results(n))]),
    "relayed": ("claude_code", lambda n: [claude(1, "progress", relayed(n)), claude(2, "assistant", calls(n))]),
    "a run": ("claude_print", lambda n: run([claude(1, "assistant", calls(n)), claude(2, "user", results(n))])),
}


@pytest.mark.parametrize("name", SHAPES)
def test_results_of_tools_cost_no_square(name: str) -> None:
    """Four times as many failed results, or calls, take about four times as long."""
    kind, make = SHAPES[name]
    small, large = (lines(*make(n)).encode() for n in (1_000, 4_000))
    assert read(kind, large) >= read(kind, small)
    assert_linear(lambda data: read(kind, data), small, large)


def lists(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Give the paths to the lists of objects inside a record."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from lists(inner, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield path
        for place, inner in enumerate(value):
            yield from lists(inner, (*path, place))


def renamed(value: Any, number: int) -> Any:
    """Return a copy whose ids are others."""
    if isinstance(value, dict):
        ids = _IDS & value.keys()
        return {key: f"{inner}{number}" if key in ids else renamed(inner, number) for key, inner in value.items()}
    return [renamed(inner, number) for inner in value] if isinstance(value, list) else value


def grown(name: str, row: int, path: tuple[str | int, ...], n: int) -> bytes:
    """Return the log of a format with so many parts in one list of one record."""
    rows = copy.deepcopy(LOGS[name])
    parts: Any = rows[row]
    for key in path:
        parts = parts[key]
    parts[:] = [renamed(parts[place % len(parts)], place) for place in range(n)]
    return b"".join((row if isinstance(row, str) else json.dumps(row)).encode() + b"\n" for row in rows)


PLACES = [
    (name, row, path)
    for name, rows in LOGS.items()
    if BY_NAME[name].reader is not None
    for row, record in enumerate(rows)
    for path in lists(record)
]


@pytest.mark.parametrize("place", sampled(PLACES), ids=str)
def test_no_list_of_a_record_costs_a_square(place: tuple[str, int, tuple[str | int, ...]]) -> None:
    """Of each format, each list of each record that it is shown by."""
    small, large = (grown(*place, n) for n in (300, 1_200))
    assert_linear(lambda data: read(place[0], data), small, large)
