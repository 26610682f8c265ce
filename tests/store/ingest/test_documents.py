"""JSON documents are read as lines, one a record: whole, growing, rewritten, torn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzer.importers.shapes import files
from analyzer.store import Store
from analyzer.store.ingest.inputs import Input


def message(number: int, said: str = '[API Error: {"code": 500}]') -> dict[str, Any]:
    """A message of a chat that is an error."""
    at = f"2026-03-05T10:00:{number:02}.000Z"
    return {"id": f"m-{number}", "timestamp": at, "type": "error", "content": said}


def chat(*messages: dict[str, Any]) -> str:
    """A chat as one object."""
    return json.dumps({"sessionId": "s", "projectHash": "h", "messages": list(messages)}, indent=2)


def errors(store: Store) -> int:
    """How many errors the store has."""
    return int(store.sql("select count(*) from errors").item())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the document lies."""
    return tmp_path / "session.json"


def test_a_document_has_a_line_for_each_record(memory: Store, path: Path) -> None:
    """The head and each message; a second look finds nothing new."""
    path.write_text(chat(message(1), message(2)))
    first, second = memory.ingest([str(path)]), memory.ingest([str(path)])
    assert (first.total.lines, first.total.quarantined, errors(memory)) == (3, 0, 2)
    assert (second.total.lines, second.unchanged) == (0, 1)
    places = memory.sql("select source_line from errors order by 1").rows()
    assert places == [(2,), (3,)]


def test_a_document_that_is_broken_all_over_costs_no_square_of_it() -> None:
    """Parts of it are told one by one up to a number; what is behind them is one more, and nothing is lost."""
    whole = '[\n{"a": 1},\n' + '{"a": [x]},\n' * 3_000 + "]"
    lines = files.unfolded(whole.encode()).splitlines()
    assert (lines[0], len(lines)) == (b'{"a":1}', 1_001)
    assert b" ".join(lines[1:]).count(b"[x]") == 3_000


def test_a_document_that_grows_is_read_on(memory: Store, path: Path) -> None:
    """What was read is not read again, although the file is written anew."""
    path.write_text(chat(message(1)))
    memory.ingest([str(path)])
    path.write_text(chat(message(1), message(2)))
    again = memory.ingest([str(path)])
    assert (again.total.lines, again.total.events, errors(memory)) == (1, 2, 2)


def test_a_record_that_changes_in_place_is_no_incident(memory: Store, path: Path) -> None:
    """The whole document is read again; nothing counts twice, and it stays one source."""
    path.write_text(chat(message(1, "[API Error: half"), message(2)))
    memory.ingest([str(path)])
    path.write_text(chat(message(1), message(2), message(3)))
    again = memory.ingest([str(path)])
    assert (again.total.lines, errors(memory)) == (4, 3)
    rows = memory.sql("select lines, incident, generation from sources").rows()
    assert rows == [(4, None, 0)]


def test_a_document_that_breaks_off_waits_for_its_end(memory: Store, path: Path) -> None:
    """Whoever writes it may be in the middle of a record."""
    whole = json.dumps(
        [{"ts": 1772704800000 + n, "type": "say", "say": "text", "text": "x"} for n in range(3)], indent=1
    )
    path.write_text('{\n "sessionId": "s",\n "projectHash": "h",\n "messages": [\n  {"id": "m')
    torn = memory.ingest([str(path)])
    assert (torn.total.quarantined, torn.problems) == (0, [])
    path.write_text(chat(message(1)))
    assert memory.ingest([str(path)]).total.quarantined == 0
    assert errors(memory) == 1
    assert files.unfolded(whole.encode()[:-20]).count(b"\n") == 2


def test_what_is_broken_between_two_records_is_one_line_of_quarantine(memory: Store, path: Path) -> None:
    """The records on both sides are read."""
    records = [json.dumps({"resourceSpans": [], "n": n}, indent=2) for n in range(3)]
    path.write_text("\n".join([records[0], records[1].replace(":", "", 1), records[2]]) + "\n")
    result = memory.ingest([str(path)])
    assert (result.total.lines, result.total.quarantined) == (3, 1)


def test_a_document_of_no_known_kind_stays_as_it_is(memory: Store, path: Path) -> None:
    """Its lines are those of the file."""
    path.write_text(json.dumps({"name": "x", "version": 1}, indent=2))
    result = memory.ingest([str(path)])
    assert result.unsupported() == {"json": 1}
    assert result.total.lines == 4


def test_a_document_too_large_to_hold_is_a_problem(memory: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said with its size, and other files are read."""
    path.write_text(chat(message(1)))
    monkeypatch.setattr("analyzer.store.ingest.inputs.MOST_BYTES", 20)
    result = memory.ingest([str(path)])
    assert "JSON document" in result.problems[0].message
    assert errors(memory) == 0


def test_bytes_of_a_document_can_be_had_from_any_place(path: Path) -> None:
    """What fits between two places is what the lines have there."""
    path.write_text(chat(message(1), message(2)))
    with Input(str(path)) as source:
        whole = b"".join(source.chunks(0))
        assert whole.count(b"\n") == 3
        assert source.codec == "json"
        assert source.between(5, 9) == whole[5:9]
        assert source.length() == len(whole)
