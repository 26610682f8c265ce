"""Records without a time take that of their log: of the record before, the header or the file's name, not of today."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analyzer.events import Event
from analyzer.importers import BY_NAME, FORMATS, Source, base, block_of
from analyzer.importers.base import named_moment
from analyzer.store import Store, open_store
from analyzer.store.upkeep.rebuild import rebuild
from tests import REPOSITORY, each_row
from tests.shown_formats import FILES, LOGS, PATHS

FORMER, COPIED = datetime(2026, 3, 5), datetime(2027, 6, 1)
NAMES = [kind.name for kind in FORMATS if kind.made_by and not kind.native]


def events(name: str, path: str, file_time: datetime) -> list[Event]:
    """What is read of the log of a format at a path, by a file of this time."""
    kind = BY_NAME[name]
    assert kind.reader is not None
    data = (REPOSITORY / "sample_events" / FILES[name]).read_bytes() if name in FILES else b""
    lines = (item if isinstance(item, str) else json.dumps(item) for item in LOGS.get(name, ()))
    data += b"".join(line.encode() + b"\n" for line in lines)
    reader = kind.reader(Source(path, file_time), {})
    return [*(event for hit in reader.read(block_of(data)) for event in hit.events), *reader.finish()]


@each_row("name", NAMES)
def test_no_event_takes_the_time_of_a_copy(name: str) -> None:
    """Where any record names a time, or the file's name does, that of the file says nothing."""
    path = PATHS.get(name, "task/log")
    before = events(name, path, FORMER)
    assert before
    if any(event.time_source != "file" for event in before):
        assert events(name, path, COPIED) == before
        assert {event.time_source for event in before} <= {"event", "log"}
    folder, _, file = path.rpartition("/")
    dated = events(name, f"{folder}/2024-02-03T04-05-06-{file}", COPIED)
    assert {event.time_source for event in dated} <= {"event", "log"}
    assert COPIED not in {event.occurred_at for event in dated}


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/x/rollout-2025-08-25T10-20-30-0198.jsonl", "2025-08-25T10:20:30"),
        ("/x/session_20250825_102030_ab12.json", "2025-08-25T10:20:30"),
        ("/x/session-2025-08-25T10-20-ab12.json", "2025-08-25T10:20:00"),
        ("/x/2025-08-25/messages.jsonl", "2025-08-25T00:00:00"),
    ],
)
def test_a_date_in_a_name_is_of_this_machines_clock(path: str, local: str) -> None:
    """Programs name their logs by it."""
    moment = datetime.fromisoformat(local).astimezone(UTC).replace(tzinfo=None)
    assert named_moment(path) == moment


def test_an_epoch_in_a_name_is_a_moment_and_other_digits_are_none() -> None:
    """Tasks are named by milliseconds; digests, versions and impossible dates are nobody's time."""
    assert named_moment("/x/tasks/1756117230000/ui.json") == datetime(2025, 8, 25, 10, 20, 30)
    others = ["/x/log", "/x/a20250825b", "/x/20251399", "/x/2025", "/x/17561172300001", "/2025-08-25/x/log"]
    assert [named_moment(path) for path in others] == [None] * len(others)


def test_a_copied_rollout_of_before_times_is_of_its_headers_day(memory: Store, tmp_path: Path) -> None:
    """The records of Codex's first generation name no time; neither its failures nor its session are of today."""
    path = tmp_path / "rollout-2025-08-25-0198.jsonl"
    records = [
        {"id": "s", "timestamp": "2025-08-25T10:20:30.000Z", "instructions": None},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "Exit code: 2\nOutput:"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    memory.ingest([str(path)])
    days = "select distinct type, cast(occurred_at as date)::varchar, time_source from events order by 1"
    assert memory.sql(days).rows() == [
        ("session.observed", "2025-08-25", "event"),
        ("tool.failed", "2025-08-25", "log"),
    ]
    assert memory.sql("select ended_at - started_at = interval 0 second from sessions").item()


def test_a_rebuild_dates_anew_what_the_time_of_its_file_dated(tmp_path: Path) -> None:
    """Also where the id of an event held that time: it counts once, and of a log that is gone it stays as it is."""
    store, gone, here = tmp_path / "a.duckdb", tmp_path / "gone.jsonl", tmp_path / "rollout-2025-08-25.jsonl"
    for number, path in enumerate((gone, here)):
        call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": f"c{number}"}
        answer = {"type": "function_call_output", "call_id": f"c{number}", "output": "Exit code: 2\nOutput:"}
        lines = [{"record_type": "state"}, call, answer]
        path.write_text("".join(json.dumps(record) + "\n" for record in lines))
    with pytest.MonkeyPatch.context() as former:
        former.setattr(base, "named_moment", lambda _: None)
        with open_store(store, writable=True) as writer:
            writer.ingest([str(gone), str(here)])
    gone.unlink()
    rebuild(str(store), [str(here)])
    with open_store(store) as reader:
        rows = reader.sql("select time_source, count(*) from events where type = 'tool.failed' group by 1 order by 1")
        assert rows.rows() == [("file", 1), ("log", 1)]
