"""JSON documents are read as lines, one a record: whole, growing, rewritten, torn."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from analyzer.importers.shapes import documents
from analyzer.store import Store
from analyzer.store.ingest.inputs import Input
from tests import sampled


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
    lines = documents.unfolded(whole.encode()).splitlines()
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
    assert documents.unfolded(whole.encode()[:-20]).count(b"\n") == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_a_chat_that_breaks_off_is_a_chat_that_waits(memory: Store, path: Path, indent: int | None) -> None:
    """One object has no whole record then; it is known all the same, and is read once its end is there."""
    whole = json.dumps(json.loads(chat(message(1), message(2))), indent=indent)
    path.write_text(whole[:-3])
    (first,) = memory.ingest([str(path)]).sources
    assert (first.status, first.pending_bytes > 0) == ("read", True)
    path.write_text(whole)
    (second,) = memory.ingest([str(path)]).sources
    assert (second.pending_bytes, errors(memory)) == (0, 2)


def test_a_mark_before_a_document_of_one_line_is_no_part_of_it(memory: Store, path: Path) -> None:
    """It is read, though no line break ends it."""
    path.write_text("\ufeff" + json.dumps(json.loads(chat(message(1)))), "utf-8")
    (source,) = memory.ingest([str(path)]).sources
    assert (source.pending_bytes, errors(memory)) == (0, 1)


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


UNREADABLE = {
    "NaN": ('{"a": NaN}', "bad_number"),
    "beyond all bounds": ('{"a": 1e999}', "bad_number"),
    "too many digits": ('{"a": ' + "9" * 5_000 + "}", "bad_number"),
    "depth": ('{"a":' * 70 + "1" + "}" * 70, "too_deep"),
    "depth beyond the parser's": ('{"a":' * 3_000 + "1" + "}" * 3_000, "too_deep"),
    "items": ("[" + "1," * 5_001 + "1]", "too_many_items"),
    "control character": ('{"a": "x\ty"}', "not_json"),
    "break in a text": ('{"a": "x\ry"}', "not_json"),
    "no UTF-8": ('{"a": "\udcff"}', "invalid_utf8"),
    "NUL": ('{"a": "\0"}', "nul_bytes"),
    "no colon": ('{"a" 1}', "not_json"),
    "no value": ('{"a": }', "not_json"),
}
"""Values that no line may hold, and why."""
HOLE = '"a hole"'


def items(number: int) -> list[dict[str, Any]]:
    """Items of a list, of which the fourth holds a value that cannot be read."""
    return [{"id": f"t{place}", "args": json.loads(HOLE) if place == 3 else {}} for place in range(number)]


def gemini_document() -> dict[str, Any]:
    """A chat whose messages are records of their own."""
    failed = {"name": "sh", "status": "error", "result": [{"functionResponse": {"response": {"error": "e"}}}]}
    messages = [
        message(place) | {"type": "gemini", "toolCalls": [item | failed]} for place, item in enumerate(items(9))
    ]
    return {"sessionId": "s", "projectHash": "h", "messages": messages}


def auggie_document() -> dict[str, Any]:
    """A session that is one record."""
    nodes = [
        {"type": 1, "tool_result_node": {"tool_use_id": item["id"], "is_error": True, "content": "e", **item}}
        for item in items(9)
    ]
    history = [{"exchange": {"request_id": f"r{place}", "request_nodes": [node]}} for place, node in enumerate(nodes)]
    return {"sessionId": "s", "created": "2026-03-05T10:00:00Z", "modified": "", "chatHistory": history}


def otlp_document() -> dict[str, Any]:
    """Records three lists deep."""
    said = {"event.name": "gemini_cli.tool_call", "session.id": "s", "function_name": "sh", "error": "e"}
    attributes: list[dict[str, Any]] = [{"key": key, "value": {"stringValue": word}} for key, word in said.items()]
    attributes.append({"key": "success", "value": {"boolValue": False}})
    logs = [
        {"timeUnixNano": str((1_772_704_800 + place) * 10**9), "attributes": attributes, "x": item}
        for place, item in enumerate(items(9))
    ]
    service = {"key": "service.name", "value": {"stringValue": "gemini-cli"}}
    return {"resourceLogs": [{"resource": {"attributes": [service]}, "scopeLogs": [{"logRecords": logs}]}]}


def litellm_document() -> list[dict[str, Any]]:
    """An array of records, each of which is a failed request."""
    named = {"call_type": "acompletion", "status": "failure", "custom_llm_provider": "openai", "model": "m"}
    error = {"error_information": {"error_code": "503", "error_message": "busy"}}
    return [
        {"id": f"c{place}", "trace_id": "t", **named, "startTime": 1_772_704_800 + place, **error, "x": item}
        for place, item in enumerate(items(9))
    ]


MAKERS = [gemini_document, auggie_document, otlp_document, litellm_document]
FAILURES = "select count(*) from events where type in ('tool.failed', 'error.classified')"


@pytest.mark.parametrize("make", MAKERS)
def test_each_item_of_a_whole_document_is_read(memory: Store, path: Path, make: Any) -> None:
    """Each of the nine is a failure."""
    path.write_text(json.dumps(make()).replace(HOLE, "{}"))
    memory.ingest([str(path)])
    assert memory.sql(FAILURES).item() == 9


@pytest.mark.parametrize(("name", "make", "indent"), sampled([*product(UNREADABLE, MAKERS, (None, 1))], step=9))
def test_an_item_that_cannot_be_read_hides_no_other(
    memory: Store, path: Path, monkeypatch: pytest.MonkeyPatch, name: str, make: Any, indent: int | None
) -> None:
    """It is in quarantine with its cause, whatever the document and however it is written; all others are read."""
    value, why = UNREADABLE[name]
    monkeypatch.setattr("analyzer.events.codec.MOST_ITEMS", 5_000)
    whole = json.dumps(make(), indent=indent)
    path.write_bytes(whole.replace(HOLE, value).encode("utf-8", "surrogateescape"))
    total = memory.ingest([str(path)]).total
    assert memory.sql(FAILURES).item() == 8
    assert memory.sql("select why from quarantine").rows() == [(why,)]
    assert memory.sql("select sum(pending_bytes) from sources").item() == 0
    parts = total.event_lines + total.duplicates + total.blank + total.skipped + total.quarantined
    assert (total.lines, total.quarantined) == (parts, 1)


def test_a_member_that_cannot_be_read_hides_no_list(memory: Store, path: Path) -> None:
    """What is neither in a list nor read itself is cut out of the document."""
    document = {**auggie_document(), "settings": json.loads(HOLE)}
    document = json.loads(json.dumps(document).replace('"args": ' + HOLE, '"args": 1'))
    path.write_text(json.dumps(document).replace(HOLE, "[NaN]"))
    memory.ingest([str(path)])
    assert memory.sql("select count(*) from events where type = 'tool.failed'").item() == 9
    assert memory.sql("select why from quarantine").rows() == [("bad_number",)]


def test_of_a_key_that_stands_twice_the_last_value_counts(memory: Store, path: Path) -> None:
    """As in the programs that write such logs, in a document and in a line."""
    record = json.dumps(message(1))
    twice = record.replace('"content"', '"content": "[API Error: {\\"code\\": 400}]", "content"')
    path.write_text('{"sessionId": "s", "projectHash": "h", "messages": [' + twice + "]}")
    lines = path.with_name("session.jsonl")
    lines.write_text('{"sessionId": "t", "projectHash": "h"}\n' + twice.replace("m-1", "m-2") + "\n")
    memory.ingest([str(path), str(lines)])
    assert memory.sql("select status from errors").rows() == [(500,), (500,)]


def test_a_last_line_that_is_whole_and_cannot_be_read_does_not_wait(memory: Store, path: Path) -> None:
    """Nobody will complete it, so it is in quarantine; one that breaks off waits."""
    head = '{"sessionId": "s", "projectHash": "h"}\n'
    path.write_text(head + '{"id": "m", "type": "error", "content": NaN}')
    first = memory.ingest([str(path)]).total
    assert (first.lines, first.quarantined) == (2, 1)
    torn = path.with_name("torn.json")
    torn.write_text(head + '{"id": "m", "type": "error", "content": {}')
    second = memory.ingest([str(torn)])
    assert (second.total.lines, second.sources[0].pending_bytes) == (1, 42)
