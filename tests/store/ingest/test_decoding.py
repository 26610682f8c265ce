"""Processes that decode beside this one: the same store with and without them, however they fail."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import Event, Origin, encode
from analyzer.events.times import now
from analyzer.store import open_store
from analyzer.store.ingest import decoding, inputs

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
def split(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Small blocks, for which a second process is started; what it gave an answer to."""
    monkeypatch.setattr(inputs, "CHUNK", 16 * 1024)
    monkeypatch.setattr(decoding, "WORTH_IT", 0)
    monkeypatch.setattr(decoding, "_processors", lambda: 2)
    answered: list[bytes] = []
    running = threading.Event()
    ask, decode = decoding.Helper.ask, decoding._Task.decode

    def asked(self: Any, data: bytes, *more: Any) -> Any:
        told = ask(self, data, *more)
        if told is not None:
            answered.append(data)
        running.set()
        return told

    def decoded(self: Any) -> None:
        # This process would be done before another one has started.
        running.wait(60)
        time.sleep(0.02)
        decode(self)

    monkeypatch.setattr(decoding.Helper, "ask", asked)
    monkeypatch.setattr(decoding._Task, "decode", decoded)
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
    tmp_path: Path, log: Path, split: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, places, quarantine and figures are those of one process."""
    found = contents(tmp_path / "two.duckdb", log)
    assert len(split) > 3
    split.clear()
    monkeypatch.setattr(decoding, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", log)
    assert split == []
    assert len(found[1]) > 3_000
    assert len(found[2]) > 30


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_second_process_that_is_killed_costs_nothing(
    tmp_path: Path, log: Path, split: list[bytes], monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Whether it dies before its first answer or between two: what it was asked is decoded in the first one."""
    ask = decoding.Helper.ask

    def killing(self: Any, *asked: Any) -> Any:
        if len(split) == after:
            self._process = self._process or decoding._started()
            os.kill(self._process.pid, signal.SIGKILL)
        return ask(self, *asked)

    monkeypatch.setattr(decoding.Helper, "ask", killing)
    found = contents(tmp_path / "killed.duckdb", log)
    assert len(split) == after
    monkeypatch.setattr(decoding, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", log)


@pytest.mark.parametrize(
    "says", ["", "sys.exit(1)", "print('nonsense', flush=True)", "sys.stdout.write('99\\nshort')"], ids=repr
)
def test_a_second_process_that_talks_nonsense_is_not_listened_to(
    tmp_path: Path, log: Path, split: list[bytes], monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    """Nor one that cannot be started at all."""

    def started() -> Any:
        program = [sys.executable, "-c", f"import sys; sys.stdin.buffer.readline(); {says}"]
        return subprocess.Popen(program if says else ["/nowhere"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(decoding, "_started", started)
    found = contents(tmp_path / "nonsense.duckdb", log)
    assert split == []
    monkeypatch.setattr(decoding, "WORTH_IT", 2**60)
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


@pytest.mark.parametrize("processors", [2, 4])
def test_files_are_decoded_beside_each_other(
    tmp_path: Path, logs: Path, split: list[bytes], monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    """Each is looked into before its turn; rows, places, quarantine and figures are those of one process."""
    monkeypatch.setattr(decoding, "_LEAST", 0)
    monkeypatch.setattr(decoding, "_processors", lambda: processors)
    found = contents(tmp_path / "many.duckdb", logs)
    assert split
    split.clear()
    monkeypatch.setattr(decoding, "WORTH_IT", 2**60)
    assert found == contents(tmp_path / "one.duckdb", logs)
    assert split == []
    assert len(found[1]) > 400


def test_a_file_that_changes_before_its_turn_is_read_as_it_is_then(
    tmp_path: Path, logs: Path, split: list[bytes], monkeypatch: pytest.MonkeyPatch, native: Native
) -> None:
    """What was foreseen of it is not used."""
    monkeypatch.setattr(decoding, "_LEAST", 0)
    forget = decoding.Decoders.forget

    def changing(self: Any, path: str) -> None:
        forget(self, path)
        if path.endswith("00.jsonl"):
            (logs / "01.jsonl").write_bytes(native("another", seq=0))
            (logs / "02.jsonl").unlink()

    monkeypatch.setattr(decoding.Decoders, "forget", changing)
    (told,), events, _ = contents(tmp_path / "s.duckdb", logs)
    assert split
    assert [Path(problem["path"]).name for problem in told["problems"]] == ["02.jsonl"]
    paths = [str(value) for row in events for value in row if str(value).endswith("01.jsonl")]
    assert len(paths) == 1
