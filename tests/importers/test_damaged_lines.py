"""A line that is passed over is whole: one that is torn, glued or otherwise broken is refused, whatever its format."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from analyzer.importers import BY_NAME, Hit, Source, block_of
from tests import each_row
from tests.shown_formats import LOGS, PATHS

Damage = Callable[[bytes, bytes], bytes]
DAMAGES: dict[str, Damage] = {
    "torn in front of the next": lambda line, other: line[: len(line) // 2] + other,
    "torn within a text": lambda line, other: line[: line.rindex(b'"') - 1] + other,
    "without its end": lambda line, _: line[:-1],
    "without its beginning": lambda line, _: line[1:],
    "with something behind it": lambda line, _: line + b" x}",
    "with a brace too many": lambda line, _: line + b"}",
    "control character": lambda line, _: line[:-1] + b',"x":"\x01"}',
    "NaN": lambda line, _: line[:-1] + b',"x":NaN}',
    "no UTF-8": lambda line, _: line[:-1] + b',"x":"\xff"}',
    "NUL": lambda line, _: line[: len(line) // 2] + b"\0\0" + line[len(line) // 2 :],
    "without a value": lambda line, _: line[:-1] + b',"x":}',
}
LINES = [name for name in LOGS if name not in ("aider", "hermes_log") and not name.endswith("_db")]


def hits(name: str, lines: list[bytes]) -> list[Hit]:
    """What a reader makes of some lines."""
    kind = BY_NAME[name]
    assert kind.reader is not None
    reader = kind.reader(Source(PATHS.get(name, "task/log"), datetime(2026, 3, 5)), {})
    return list(reader.read(block_of(b"".join(line + b"\n" for line in lines))))


def events(found: list[Hit]) -> list[tuple[str, object]]:
    """The types and the payloads of the events of some hits."""
    return [(event.type, event.payload) for hit in found for event in hit.events]


@each_row("damage", DAMAGES)
@each_row("name", LINES)
def test_a_damaged_line_is_never_passed_over(name: str, damage: str) -> None:
    """Each line in turn: it is refused, with its place and a cause, and so is no other one.

    Bytes that are no text cost nothing in a field that is not read.
    """
    lines = [json.dumps(item).encode() for item in LOGS[name] if not isinstance(item, str)]
    whole = hits(name, lines)
    assert not [hit for hit in whole if hit.why]
    for place, line in enumerate(lines):
        broken = DAMAGES[damage](line, line)
        damaged = [*lines[:place], broken, *lines[place + 1 :]]
        found = hits(name, damaged)
        refused = [(hit.offset, hit.length) for hit in found if hit.why]
        if damage == "no UTF-8" and not refused:
            assert events(found) == events(whole)
            continue
        assert refused == [(sum(len(before) + 1 for before in lines[:place]), len(broken))], line[:200]


@each_row("name", [name for name in LINES if name != "gdd"])
def test_the_last_value_of_a_repeated_key_counts(name: str) -> None:
    """In each record, as in JavaScript; the line stays out of quarantine. Only our own envelope is strict."""
    lines = [json.dumps(item).encode() for item in LOGS[name] if isinstance(item, dict)]
    repeated = [
        b"".join(b'{"%s": "first", ' % key.encode() for key in list(json.loads(line))[:1]) + line[1:] for line in lines
    ]
    found = hits(name, repeated)
    assert events(found) == events(hits(name, lines))
    assert {hit.why for hit in found} == {hit.why for hit in hits(name, lines)}
