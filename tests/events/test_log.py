"""The event log: what reaches the disk, from where, and what never does."""

from __future__ import annotations

import ast
import json
import os
import stat
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path

import jsonlines
import pytest

from analyzer.classifier import classify
from analyzer.events import Event, EventLog, Origin, decode, encode, error_payload
from analyzer.events.appending.appender import Appender
from analyzer.events.appending.writer import event_line
from analyzer.events.payloads import EVENT_TYPES
from analyzer.events.times import now
from analyzer.store.journal import DECISIONS
from tests.events.disk import read_back


def lines_of(folder: Path) -> list[dict[str, object]]:
    """Every line of every file in the folder, read strictly."""
    found: list[dict[str, object]] = []
    for path in sorted(folder.glob("*.jsonl")):
        with jsonlines.open(path) as reader:
            found.extend(reader)
    return found


def test_append_returns_the_id_of_the_written_event(tmp_path: Path) -> None:
    """The id that comes back is the one on the disk."""
    with EventLog(tmp_path) as log:
        written = log.append("relay.triggered", {"step_id": "implement"}, session="s-42")
    (line,) = lines_of(tmp_path)
    assert (line["id"], line["type"], line["sessionId"]) == (written, "relay.triggered", "s-42")
    assert line["payload"] == {"step_id": "implement"}


def test_a_classified_error_carries_its_facts(tmp_path: Path) -> None:
    """What the classifier saw stands beside what it said."""
    verdict = classify({"status": 529, "message": "Overloaded"})
    with EventLog(tmp_path) as log:
        log.error_classified(verdict, caller="figma-probe", session="s-1", attempt=2)
    payload = lines_of(tmp_path)[0]["payload"]
    assert isinstance(payload, dict)
    assert (payload["reason"], payload["detail"], payload["caller"]) == (
        "network_transient",
        "overloaded",
        "figma-probe",
    )
    assert payload["facts"] == {"status": 529, "message": "Overloaded"}
    assert payload["attempt"] == 2
    assert "model" not in error_payload(verdict)


def test_every_type_that_a_program_leaves_has_its_own_method(tmp_path: Path) -> None:
    """It writes an event of that type; the analyzer's own decisions have none, as no other log decides anything."""
    log = EventLog(tmp_path)
    left = [kind for kind in EVENT_TYPES if kind not in (*DECISIONS, "error.classified")]
    for kind in left:
        assert getattr(log, kind.replace(".", "_"))(session="s-1")
    log.error_classified(classify("Overloaded"), caller="planner")
    assert [event.type for event in read_back(tmp_path).values()] == [*left, "error.classified"]
    assert not any(hasattr(log, kind.replace(".", "_")) for kind in DECISIONS)


def test_threads_share_one_log_without_tearing(tmp_path: Path) -> None:
    """Eight threads leave whole lines and a gapless count."""
    with EventLog(tmp_path) as log:
        threads = [
            threading.Thread(target=lambda: [log.append("a.b", {"text": "x" * 500}) for _ in range(100)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = lines_of(tmp_path)
    assert sorted(line["seq"] for line in lines) == list(range(800))  # type: ignore[type-var]


WRITE_SOME = """
import sys
from analyzer import EventLog
with EventLog(sys.argv[1]) as log:
    for number in range(100):
        assert log.append("a.b", {"number": number, "text": ["y" * 10_000] * 2})
"""


def test_processes_share_one_file_without_tearing(tmp_path: Path) -> None:
    """Four processes append large lines to one file, and every line is whole."""
    workers = [subprocess.Popen([sys.executable, "-c", WRITE_SOME, str(tmp_path)]) for _ in range(4)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    assert len(list(tmp_path.glob("*.jsonl"))) == 1
    lines = lines_of(tmp_path)
    assert len(lines) == 400
    assert len({line["writer"] for line in lines}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_is_another_writer(tmp_path: Path) -> None:
    """Parent and child number their events apart."""
    log = EventLog(tmp_path)
    log.append("a.b", {"who": "parent"})
    child = os.fork()
    if child == 0:
        log.append("a.b", {"who": "child"})
        os._exit(0)
    os.waitpid(child, 0)
    log.append("a.b", {"who": "parent"})
    lines = lines_of(tmp_path)
    by_writer = {
        line["writer"]: [other["seq"] for other in lines if other["writer"] == line["writer"]] for line in lines
    }
    assert sorted(by_writer.values()) == [[0], [0, 1]]


def test_files_and_folder_are_for_their_owner_alone(tmp_path: Path) -> None:
    """Under any umask: 0600 files in a 0700 folder."""
    before = os.umask(0)
    try:
        with EventLog(tmp_path / "telemetry") as log:
            log.append("a.b")
    finally:
        os.umask(before)
    folder = tmp_path / "telemetry"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_secrets_never_reach_the_disk(tmp_path: Path) -> None:
    """A key in any corner of a payload is replaced before it is written."""
    secret = "sk-ant-api03-" + "Ab3dEf6hIj" * 4
    with EventLog(tmp_path) as log:
        log.append("a.b", {"message": f"bad key {secret}", "deep": [{"header": f"Bearer {secret}"}], secret: 1})
        log.error_classified(classify({"status": 401, "message": f"invalid x-api-key: {secret}"}), caller="c")
    written = b"".join(path.read_bytes() for path in tmp_path.glob("*.jsonl"))
    assert secret.encode() not in written
    assert b"[REDACTED:" in written


def test_nothing_that_a_host_passes_makes_append_raise(tmp_path: Path) -> None:
    """Cycles, bytes, surrogates, NaN, huge numbers and hostile objects are written in some form or refused."""

    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no")

    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    with EventLog(tmp_path) as log:
        for awkward in (
            cycle,
            {"b": b"\xff"},
            {"s": "\udcff"},
            {"n": float("nan")},
            {"i": 10**40},
            {"d": deep},
            {7: {1}},
        ):
            assert log.append("a.b", awkward) is not None
        assert log.append("a.b", {"h": Hostile(), Hostile(): 1}) is not None
        assert log.append("a.b", 5) is None  # type: ignore[arg-type]
        assert log.append("") is None
        assert log.append("a.b", at=datetime(1, 1, 1)) is None
        assert log.append(Hostile()) is not None  # type: ignore[arg-type]
    assert len(lines_of(tmp_path)) == 9
    assert log.dropped == 3


def test_a_payload_over_the_cap_leaves_a_placeholder(tmp_path: Path) -> None:
    """A line stays bounded, and says that it was cut; what is cut stands in no other file."""
    with EventLog(tmp_path) as log:
        log.append("a.b", {"step_id": "plan", "items": ["x" * 16_000] * 200})
    assert len(list(tmp_path.iterdir())) == 1
    (line,) = lines_of(tmp_path)
    assert line["payload"] == {
        "step_id": "plan",
        "truncated": True,
        "original_bytes": pytest.approx(3_200_000, rel=0.01),
    }


def test_a_log_that_cannot_be_written_says_so_once_and_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host goes on; append answers None; stderr has one line."""
    (tmp_path / "file").write_text("in the way")
    log = EventLog(tmp_path / "file" / "log")
    assert [log.append("a.b"), log.append("a.b")] == [None, None]
    assert log.dropped == 2
    assert capsys.readouterr().err.count("cannot write to the event log") == 1


def test_a_fifo_in_the_logs_place_does_not_hang_the_host(tmp_path: Path) -> None:
    """What is no regular file is left alone, and the next part is taken."""
    # Of tomorrow, too: a day may end meanwhile.
    places = [tmp_path / f"events-{now().date() + timedelta(days=days)}.jsonl" for days in (0, 1)]
    for fifo in places:
        os.mkfifo(fifo)
    assert EventLog(tmp_path).append("a.b") is not None
    assert [path.suffixes for path in tmp_path.iterdir() if path not in places] == [[".001", ".jsonl"]]


def test_a_new_line_is_begun_after_a_torn_one(tmp_path: Path) -> None:
    """The event behind a torn line is not glued to it."""
    with EventLog(tmp_path) as log:
        log.append("a.b", {"n": 1})
        (path,) = tmp_path.glob("*.jsonl")
        with path.open("ab") as handle:
            handle.write(b'{"v":1,"id":"torn')
        log.append("a.b", {"n": 2})
    last = path.read_bytes().splitlines()[-1]
    assert json.loads(last)["payload"] == {"n": 2}


def test_a_log_that_was_deleted_is_begun_again(tmp_path: Path) -> None:
    """An acknowledged event is in a file that has a name."""
    with EventLog(tmp_path / "log") as log:
        log.append("a.b", {"n": 1})
        (path,) = (tmp_path / "log").iterdir()
        path.unlink()
        log.append("a.b", {"n": 2})
    assert [line["payload"] for line in lines_of(tmp_path / "log")] == [{"n": 2}]


def test_a_full_part_is_followed_by_a_new_one(tmp_path: Path) -> None:
    """Rotation begins new names and leaves the old files alone."""
    with EventLog(tmp_path, max_bytes=1_000) as log:
        for number in range(20):
            log.append("a.b", {"number": number})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) > 2
    assert {name[17:] for name in names} >= {".jsonl", ".001.jsonl", ".002.jsonl"}
    assert all(path.stat().st_size <= 1_000 for path in tmp_path.iterdir())
    assert len(lines_of(tmp_path)) == 20


DAY = 86_400 * 10**9


def test_a_new_day_begins_a_new_file(tmp_path: Path) -> None:
    """The name carries the UTC day of writing; a clock that goes back goes back to its file."""
    appender = Appender(tmp_path)
    for day in (20_758, 20_758, 20_759, 20_757, 20_758, 0):
        appender.write(b"{}\n", day * DAY + 5)
    appender.close()
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {
        "events-2026-11-01.jsonl": 9,
        "events-2026-11-02.jsonl": 3,
        "events-2026-10-31.jsonl": 3,
        "events-1970-01-01.jsonl": 3,
    }


def test_a_restarted_writer_goes_on_with_the_newest_part(tmp_path: Path) -> None:
    """Parts that are full already are not opened again."""
    (tmp_path / "events-2026-11-01.jsonl").write_bytes(b"x" * 99 + b"\n")
    (tmp_path / "events-2026-11-01.002.jsonl").write_bytes(b"{}\n")
    appender = Appender(tmp_path, max_bytes=100)
    appender.write(b'{"a":1}\n', 20_758 * DAY)
    appender.close()
    assert (tmp_path / "events-2026-11-01.002.jsonl").read_bytes() == b'{}\n{"a":1}\n'


def test_a_given_moment_is_written_in_utc(tmp_path: Path) -> None:
    """An aware time is shifted; the line says Z."""
    with EventLog(tmp_path) as log:
        log.append("a.b", at=datetime.fromisoformat("2026-11-01T02:00:00+02:00"))
    assert lines_of(tmp_path)[0]["timestamp"] == "2026-11-01T00:00:00.000Z"


def test_a_line_is_what_the_codec_would_make_of_its_event(tmp_path: Path) -> None:
    """The appender puts its lines together by hand, and they are the same bytes."""
    log = EventLog(tmp_path)
    for kind, session, payload in [
        ("a.b", None, None),
        ('q"\u00e9\n', "s\u2028", {"n": [1, {"m": None}], "\u00e9": 0.5}),
    ]:
        log.append(kind, payload, session=session)
    log.append("a.b", at=datetime(2026, 11, 1, 2, 3, 4, 567_891))
    (path,) = tmp_path.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    for line in lines:
        event = decode(line[:-1], datetime(2026, 1, 1))
        assert isinstance(event, Event)
        assert encode(event) == line
    assert json.loads(lines[2])["timestamp"] == "2026-11-01T02:03:04.567Z"


def test_a_recorded_event_keeps_its_id_and_its_bounds(tmp_path: Path) -> None:
    """A derived event is written with the journal's writer and number; one that is too long leaves a placeholder."""
    log = EventLog(tmp_path)
    small = Event("a.b", datetime(2026, 11, 1), "s", {"token": "hunter2x"}, "id-1", origin=Origin("gdd", "/x", 3))
    large = Event("a.b", datetime(2026, 11, 1), "s", {"k": 1, "items": ["x" * 16_000] * 200}, "id-2")
    assert log.record([event_line(small), event_line(large)])
    first, second = lines_of(tmp_path)
    assert (first["id"], first["seq"], first["origin"]) == ("id-1", 0, {"format": "gdd", "path": "/x", "line": 3})
    assert "hunter2x" not in str(first)
    assert (second["seq"], second["payload"]["k"], second["payload"]["truncated"]) == (1, 1, True)  # type: ignore[index]


def test_an_unknown_durability_is_an_error_of_the_program(tmp_path: Path) -> None:
    """A word that promises nothing is refused where it is written."""
    with pytest.raises(ValueError, match="process, batch or event"):
        EventLog(tmp_path, durability="always")  # type: ignore[arg-type]


def test_importing_the_log_loads_little(tmp_path: Path) -> None:
    """The name alone loads nothing of others and few modules of Python's own; an open log the serializer (with its
    `typing_extensions`) and RE2, not even the classifier, and an append no module at all.
    """
    script = (
        "import sys; before = set(sys.modules); import analyzer; analyzer.EventLog\n"
        "def loaded():\n"
        "    names = set(sys.modules) - before\n"
        "    return sorted({name.split('.')[0] for name in names} - sys.stdlib_module_names), sorted(names)\n"
        "named = loaded(); log = analyzer.EventLog(sys.argv[1]); opened = loaded()\n"
        "appended = log.append('a.b', {'c': 1}) is not None\n"
        "print([named, opened, appended, loaded()])"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "log")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (named, all_named), (opened, all_opened), appended, (_, after) = ast.literal_eval(done.stdout)
    assert named == ["analyzer"]
    assert {"re", "dataclasses", "typing", "json"}.isdisjoint(all_named)
    assert set(opened) <= {"analyzer", "msgspec", "re2", "typing_extensions"}
    assert "analyzer.classifier" not in after
    assert appended
    assert after == all_opened
