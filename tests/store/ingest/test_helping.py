"""Processes that read beside this one: the same store with and without them, however they fail."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analyzer.events import Event, Origin, encode
from analyzer.events.times import now
from analyzer.interpreter import Errand, Helper
from analyzer.store import open_store
from analyzer.store.ingest import inputs, parallel
from tests import REPOSITORY

Native = Callable[..., bytes]


@pytest.fixture
def log(tmp_path: Path, native: Native) -> Path:
    """Many blocks: whole lines with and without facts, broken, blank and repeated ones, derived events, an open end."""
    lines: list[bytes] = []
    for number in range(3_000):
        lines.append(native(f"e-{number}", facts={"message": f"shard {number} is parked"}, seq=number))
        if number % 97 == 0:
            lines += (b"broken\n", b"\n", lines[-1], lines[-1][:40] + native(f"g-{number}", seq=number))
        if number % 101 == 0:
            origin = Origin("wave", "w.log", None if number % 2 else number)
            lines.append(encode(Event("relay.triggered", now(), "s", {}, f"d-{number}", origin=origin)))
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"".join(lines).removesuffix(b"\n"))
    return path


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> list[Errand[Any]]:
    """Small blocks, for which a second process is started; what it gave an answer to."""
    monkeypatch.setattr(inputs, "CHUNK", 16 * 1024)
    monkeypatch.setattr(parallel, "WORTH_IT", 0)
    monkeypatch.setattr(parallel, "_processors", lambda: 3)
    answered: list[Errand[Any]] = []
    underway: list[Errand[Any]] = []
    running, changed = threading.Event(), threading.Condition()
    ask, do, read = Helper.ask, Errand.do, parallel.Readers.read

    def asked(self: Any, work: Errand[Any]) -> Any:
        underway.append(work)
        told = ask(self, work)
        with changed:
            underway.remove(work)
            if told is not None:
                answered.append(work)
            changed.notify_all()
        running.set()
        return told

    def done(self: Any) -> None:
        # This process would be done before another one has started, and before a slow one has its share.
        running.wait(60)
        with changed:
            before = len(answered)
            changed.wait_for(lambda: not underway or len(answered) > before, 60)
        do(self)

    def awaited(self: Any, source: Any) -> Any:
        work = self._files.get(source.path)
        until = time.monotonic() + 60
        while work is not None and self._left and not (work.taken or work.done) and time.monotonic() < until:
            time.sleep(0.01)
        return read(self, source)

    monkeypatch.setattr(Helper, "ask", asked)
    monkeypatch.setattr(Errand, "do", done)
    monkeypatch.setattr(parallel.Readers, "read", awaited)
    return answered


def contents(path: Path, log: Path) -> list[list[Any]]:
    """A store made of the log, and what the run told."""
    with open_store(path, writable=True) as store:
        told = store.ingest([str(log)]).to_dict()
        return [
            [told],
            store.sql("select * exclude (ingested_at) from events order by all").rows(),
            store.sql("select * exclude (ingested_at) from quarantine order by all").rows(),
        ]


def test_a_second_process_changes_nothing(
    tmp_path: Path, log: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, places, quarantine and figures are those of one process."""
    found = contents(tmp_path / "two.duckdb", log)
    assert len(split) > 3
    split.clear()
    # The database takes the second of two processors.
    monkeypatch.setattr(parallel, "_processors", lambda: 2)
    assert found == contents(tmp_path / "one.duckdb", log)
    assert split == []
    assert len(found[1]) > 3_000
    assert len(found[2]) > 30


@pytest.fixture
def dying(split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has a helper killed after so many answers."""
    ask = Helper.ask

    def after(answers: int) -> None:
        def killing(self: Any, work: Any) -> Any:
            if len(split) == answers:
                self._process = self._process or parallel._started()
                os.kill(self._process.pid, signal.SIGKILL)
            return ask(self, work)

        monkeypatch.setattr(Helper, "ask", killing)

    return after


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_second_process_that_is_killed_costs_nothing(
    tmp_path: Path,
    log: Path,
    split: list[Errand[Any]],
    dying: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    after: int,
) -> None:
    """Whether it dies before its first answer or between two: what it was asked is decoded in the first one."""
    dying(after)
    found = contents(tmp_path / "killed.duckdb", log)
    assert len(split) == after
    monkeypatch.setattr(parallel, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", log)


@pytest.mark.parametrize(
    "says", ["", "sys.exit(1)", "print('nonsense', flush=True)", "sys.stdout.write('99\\nshort')"], ids=repr
)
def test_a_second_process_that_talks_nonsense_is_not_listened_to(
    tmp_path: Path, log: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    """Nor one that cannot be started at all."""

    def started() -> Any:
        program = [sys.executable, "-c", f"import sys; sys.stdin.buffer.readline(); {says}"]
        return subprocess.Popen(program if says else ["/nowhere"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(parallel, "_started", started)
    found = contents(tmp_path / "nonsense.duckdb", log)
    assert split == []
    monkeypatch.setattr(parallel, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", log)


@pytest.fixture
def logs(tmp_path: Path, log: Path, native: Native) -> Path:
    """A folder of logs of one block: ours and those of other programs, packed ones, one with a mark in front."""
    folder = tmp_path / "logs"
    folder.mkdir()
    lines = [line for line in log.read_bytes().splitlines(keepends=True) if len(line) > 60]
    for number in range(12):
        (folder / f"{number:02}.jsonl").write_bytes(b"".join(lines[number * 40 : number * 40 + 39]))
    plain = b'{"v": 1, "id": "p-%d", "type": "a.b", "sessionId": "s", "payload": {"n": %d}}\n'
    (folder / "05-plain.jsonl").write_bytes(b"".join(plain % (number, number) for number in range(50)))
    (folder / "06-gdd.jsonl").write_bytes(b'{"type":"error","sessionId":"s","payload":{"message":"Overloaded"}}\n' * 9)
    (folder / "07-packed.jsonl.gz").write_bytes(gzip.compress(native("packed", seq=0)))
    (folder / "08-mark.jsonl").write_bytes(b"\xef\xbb\xbf" + native("mark", seq=0))
    (folder / "09-open.jsonl").write_bytes(native("whole", seq=0) + native("open", seq=1)[:-1])
    return folder


@pytest.mark.parametrize("processors", [3, 4])
def test_files_are_decoded_beside_each_other(
    tmp_path: Path, logs: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    """Each is looked into before its turn; rows, places, quarantine and figures are those of one process."""
    monkeypatch.setattr(parallel, "_LEAST", 0)
    monkeypatch.setattr(parallel, "_processors", lambda: processors)
    found = contents(tmp_path / "many.duckdb", logs)
    assert split
    split.clear()
    monkeypatch.setattr(parallel, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", logs)
    assert split == []
    assert len(found[1]) > 400


def test_a_file_that_changes_before_its_turn_is_read_as_it_is_then(
    tmp_path: Path, logs: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch, native: Native
) -> None:
    """What was foreseen of it is not used."""
    monkeypatch.setattr(parallel, "_LEAST", 0)
    forget = parallel.Readers.forget

    def changing(self: Any, path: str) -> None:
        forget(self, path)
        if path.endswith("00.jsonl"):
            (logs / "01.jsonl").write_bytes(native("another", seq=0))
            (logs / "02.jsonl").unlink()

    monkeypatch.setattr(parallel.Readers, "forget", changing)
    (told,), events, _ = contents(tmp_path / "s.duckdb", logs)
    assert split
    assert [Path(problem["path"]).name for problem in told["problems"]] == ["02.jsonl"]
    paths = [str(value) for row in events for value in row if str(value).endswith("01.jsonl")]
    assert len(paths) == 1


SAMPLES = REPOSITORY / "sample_events"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """Logs of other programs: transcripts and streams, rollouts with broken lines, a packed one, one with an open end,
    one that nobody reads.
    """
    folder = tmp_path / "foreign"
    folder.mkdir()
    for name in ("claude-transcript.jsonl", "claude-print.jsonl", "wave-run.ndjson", "gdd-events.jsonl"):
        for copy in range(3):
            text = (SAMPLES / name).read_text("utf-8").replace("-000", f"-{copy}00").replace("msg_0", f"msg_{copy}")
            (folder / f"{copy}-{name}").write_text(text, "utf-8")
    transcript = (folder / "0-claude-transcript.jsonl").read_bytes()
    (folder / "4-packed.jsonl.gz").write_bytes(gzip.compress(transcript.replace(b"-000", b"-f00")))
    (folder / "5-open.jsonl").write_bytes(transcript.replace(b"-000", b"-e00").removesuffix(b"\n") + b'\n{"type":"us')
    meta = {"type": "session_meta", "payload": {"id": "c-1", "cwd": "/work/shop"}}
    failed = {"type": "event_msg", "payload": {"type": "error", "message": "unexpected status 429: slow down"}}
    lines = [
        json.dumps({"timestamp": f"2026-11-02T10:00:{at:02}Z", **line}) for at, line in enumerate([meta, failed] * 9)
    ]
    lines[5] = lines[5][:40]
    (folder / "6-codex.jsonl").write_text("\n".join([*lines, "", lines[3][:50] + lines[7], ""]), "utf-8")
    (folder / "7-other.jsonl").write_text('{"what": "ever"}\n' * 50, "utf-8")
    return folder


def book_of(path: Path) -> list[Any]:
    """How far each source of a store was read."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(
            "select * exclude (incident_at, first_ingested_at, last_ingested_at, batch_id) from internal.source_v1"
            " order by source_id"
        ).fetchall()


@pytest.mark.parametrize("processors", [2, 4])
def test_files_of_other_programs_are_read_beside_each_other(
    tmp_path: Path, foreign: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    """Events, quarantine, figures and checkpoints are those of one process; a second run finds nothing new."""
    monkeypatch.setattr(parallel, "_LEAST", 0)
    monkeypatch.setattr(parallel, "_processors", lambda: processors)
    found = contents(tmp_path / "many.duckdb", foreign)
    assert sum(work.answer is not None and work.answer.checkpoint is not None for work in split) >= 3
    split.clear()
    book = book_of(tmp_path / "many.duckdb")
    with open_store(tmp_path / "many.duckdb", writable=True) as store:
        assert store.ingest([str(foreign)]).total.lines == 0
    monkeypatch.setattr(parallel, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", foreign)
    assert split == []
    assert book == book_of(tmp_path / "one.duckdb")
    assert len(found[1]) > 40
    assert len(found[2]) >= 2


def test_a_file_of_another_program_that_changes_before_its_turn_is_read_as_it_is_then(
    tmp_path: Path, foreign: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a helper read of it is not used, nor of one that gives more than is sent."""
    monkeypatch.setattr(parallel, "_LEAST", 0)
    forget = parallel.Readers.forget
    session = b'"00000000-9999-4000-8000-000000000000"'

    def changing(self: Any, path: str) -> None:
        forget(self, path)
        if path.endswith("0-claude-print.jsonl"):
            for name in ("1-claude-transcript.jsonl", "5-open.jsonl"):
                until = time.monotonic() + 60
                work = self._files[str(foreign / name)]
                while self._left and not work.done and time.monotonic() < until:
                    time.sleep(0.01)
            grown = foreign / "1-claude-transcript.jsonl"
            data = grown.read_bytes()
            grown.write_bytes(re.sub(rb'(?<="sessionId":)"[^"]*"', session, data))
            (foreign / "5-open.jsonl").unlink()

    monkeypatch.setattr(parallel.Readers, "forget", changing)
    (told,), events, _ = contents(tmp_path / "s.duckdb", foreign)
    assert split
    assert [Path(problem["path"]).name for problem in told["problems"]] == ["5-open.jsonl"]
    assert [row for row in events if session.decode().strip('"') in map(str, row)]


@pytest.mark.parametrize("after", [0, 2])
def test_a_second_process_that_dies_amid_files_costs_nothing(
    tmp_path: Path,
    foreign: Path,
    split: list[Errand[Any]],
    dying: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    after: int,
) -> None:
    """Those that it had, and those behind them, are read in the first one."""
    monkeypatch.setattr(parallel, "_LEAST", 0)
    monkeypatch.setattr(parallel, "_processors", lambda: 2)
    dying(after)
    found = contents(tmp_path / "killed.duckdb", foreign)
    assert len(split) == after
    monkeypatch.setattr(parallel, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", foreign)


@pytest.mark.parametrize("bound", ["_MOST", "_MOST_BYTES"])
def test_a_file_that_gives_very_much_is_left_to_who_asked(
    tmp_path: Path, foreign: Path, split: list[Errand[Any]], monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """Its batches are saved one by one there."""
    monkeypatch.setattr(parallel, bound, 0)
    taken: list[str] = []
    monkeypatch.setattr(parallel.FileContent, "into", lambda self, *_: taken.append(self.format))
    monkeypatch.setattr(parallel, "_LEAST", 0)
    # The bound holds in this process alone, and whoever answers must be heard by the fixture.
    monkeypatch.setattr(parallel.FileTask, "ask", lambda self, *_: self.here())
    found = contents(tmp_path / "much.duckdb", foreign)
    assert taken == []
    monkeypatch.undo()
    assert found == contents(tmp_path / "one.duckdb", foreign)


def test_a_second_process_that_starts_while_all_ends_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would tell it that there is no more work."""
    monkeypatch.setattr(parallel, "_processors", lambda: 2)
    monkeypatch.setattr(parallel, "WORTH_IT", 1)
    starting, ending, started = threading.Event(), threading.Event(), parallel._started
    helpers: list[subprocess.Popen[bytes]] = []

    def late() -> subprocess.Popen[bytes]:
        starting.set()
        assert ending.wait(30)
        helpers.append(started())
        return helpers[0]

    monkeypatch.setattr(parallel, "_started", late)
    kill = Helper.kill

    def killed(self: Helper) -> None:
        kill(self)
        ending.set()

    monkeypatch.setattr(Helper, "kill", killed)

    def run() -> None:
        with parallel.Readers() as readers:
            readers.begin(1)
            readers.submit(parallel.FileTask(__file__, None))
            assert starting.wait(30)

    ran = threading.Thread(target=run, daemon=True)
    ran.start()
    ran.join(30)
    hung = ran.is_alive()
    if hung:
        helpers[0].kill()
        ran.join(30)
    assert not hung
    assert helpers[0].returncode is not None
