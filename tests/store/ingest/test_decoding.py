"""A second process that decodes: the same store with and without it, and through every way in which it can fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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
    monkeypatch.setattr(decoding.os, "cpu_count", lambda: 2)
    answered: list[bytes] = []
    ask = decoding.SecondProcess._ask

    def asked(self: Any, data: bytes, *more: Any) -> Any:
        told = ask(self, data, *more)
        if told is not None:
            answered.append(data)
        return told

    monkeypatch.setattr(decoding.SecondProcess, "_ask", asked)
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
    ask = decoding.SecondProcess._ask

    def killing(self: Any, *asked: Any) -> Any:
        if len(split) == after:
            self._process = self._process or decoding._started()
            os.kill(self._process.pid, signal.SIGKILL)
        return ask(self, *asked)

    monkeypatch.setattr(decoding.SecondProcess, "_ask", killing)
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
