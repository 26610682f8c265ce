"""The table of types of records, and the types in logs that it does not have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.importers import BY_NAME
from analyzer.importers.places import LogPlace
from analyzer.importers.shapes.record_types import TELLING, newer_types, producer_of, producers
from analyzer.store.ingest.discover import survey
from analyzer.store.ingest.newer import newer_in
from tests.shown_formats import LOGS


def test_each_type_tells_something_or_nothing() -> None:
    """A type that tells something is not among the others, and no row names a format or a type twice."""
    formats = [name for row in producers() for name in row.formats]
    assert len(producers()) == 10
    assert sorted(set(formats)) == sorted(formats)
    for row in producers():
        assert set(row.formats) <= BY_NAME.keys()
        assert all(sorted(set(names)) == list(names) for names in row.types.values())
        telling = {name for kind in TELLING for name in row.types[kind]}
        assert telling, row.name
        assert not telling & set(row.types["other"])


@pytest.mark.parametrize("kind", [name for row in producers() for name in row.formats if name in LOGS])
def test_the_table_has_the_types_of_the_logs_that_readers_are_tried_on(kind: str) -> None:
    """What a reader reads was looked at; a type that was made up is counted."""
    row = producer_of(kind)
    assert row is not None
    records = [record for record in LOGS[kind] if isinstance(record, dict)]
    assert newer_types(row, records) == {}


@pytest.mark.parametrize(
    ("kind", "record", "name"),
    [
        ("claude_code", {"type": "system", "subtype": "made_up"}, "system/made_up"),
        (
            "codex",
            {"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "Sun"}}},
            "event_msg/item_completed/Sun",
        ),
        ("gemini_chat", {"$set": {"messages": [{"type": "user"}, {"type": "made_up"}]}}, "made_up"),
        ("cline", {"type": "say", "say": "made_up"}, "say/made_up"),
        ("goose", {"content": [{"type": "text"}, {"type": "made_up"}]}, "made_up"),
        ("kimi", {"type": "context.append_loop_event", "event": {"type": "sun"}}, "context.append_loop_event/sun"),
    ],
)
def test_a_type_that_the_table_does_not_have_is_newer(kind: str, record: dict[str, object], name: str) -> None:
    """It is named by its keys; a record without a type, and a type that is prose, are left out."""
    row = producer_of(kind)
    assert row is not None
    assert newer_types(row, [record, record, {"content": 3}, {"type": "a secret of ours"}]) == {name: 2}


def test_the_newest_logs_of_a_place_are_looked_at(tmp_path: Path) -> None:
    """Whatever is no record, breaks off or is no log of a producer that was looked at says nothing."""
    lines = [{"type": "user", "sessionId": "s", "uuid": "u"}, {"type": "sun", "uuid": "v"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "a.jsonl").write_text(text + "3\n{", "utf-8")
    (tmp_path / "b.jsonl").write_text(text, "utf-8")
    (tmp_path / "c.jsonl").write_text('{"type": "sun"}\n', "utf-8")
    place = LogPlace("Claude Code", ("claude_code",), str(tmp_path), ("*.jsonl",))
    found = newer_in(survey([place], {}).stocks)
    assert [(row.producer.name, row.type, row.count) for row in found] == [("Claude Code", "sun", 2)]
