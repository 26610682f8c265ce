"""Hostile and broken input: none of it stops the run, counts twice, grows without bound, or reaches a view raw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from analyzer.analysis import Window, overview
from analyzer.events import EventLog
from analyzer.store import Store, open_store
from analyzer.store.ingest import inputs
from tests.security.test_prose import whole

SECRET = "sk-ant-api03-" + "Ab3dEf6hIj" * 4
LARGE = "1" + "0" * 399
CLAUDE = {"sessionId": "s", "uuid": "u", "timestamp": "2026-11-03T10:00:00Z"}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"type":["string","null"]}', id="a JSON schema"),
        pytest.param('{"timestamp":"2026-11-03T10:00:00Z","step_id":"a","state":[]}', id="a list for a state"),
        pytest.param(f'{{"v":1,"id":"x","type":"a.b","timestamp":{LARGE},"payload":{{}}}}', id="a time of 400 digits"),
        pytest.param(json.dumps({**CLAUDE, "type": "result", "is_error": True, "errors": 5}), id="a number for a list"),
        pytest.param(
            json.dumps({**CLAUDE, "type": "assistant", "isApiErrorMessage": True, "quotaLimits": {"resetsAt": 1e18}}),
            id="a reset in the far future",
        ),
        pytest.param(
            json.dumps({**CLAUDE, "type": "system", "subtype": "api_error", "error": {}}).replace(
                '"error": {}', f'"error": {{}}, "retryInMs": {LARGE}'
            ),
            id="a delay of 400 digits",
        ),
        pytest.param(
            json.dumps({**CLAUDE, "type": "system", "subtype": "api_error"})[:-1] + ',"retryAttempt":NaN}', id="NaN"
        ),
        pytest.param(
            json.dumps({**CLAUDE, "type": "system", "subtype": "api_error", "sessionId": "s\ud800"}),
            id="half a surrogate",
        ),
        pytest.param(
            '{"timestamp":"2026-11-03T10:00:00Z","step_id":"a","state":"retrying","message":"attempt '
            + "9" * 5_000
            + '/3"}',
            id="an attempt of 5,000 digits",
        ),
    ],
)
def test_no_line_stops_the_other_logs(memory: Store, native: Callable[..., bytes], tmp_path: Path, line: str) -> None:
    """Whatever a record holds, the good log beside it is read, and the second run agrees with the first."""
    first = json.dumps({**CLAUDE, "type": "user", "parentUuid": None})
    (tmp_path / "a.jsonl").write_text(f"{first}\n{line}\n" if '"uuid"' in line else f"{line}\n", "utf-8")
    (tmp_path / "b.jsonl").write_bytes(native("good"))
    result = memory.ingest([str(tmp_path)])
    assert memory.sql("select count(*) from events where event_id = 'good'").item() == 1
    assert [problem.message for problem in result.problems] == []
    assert memory.ingest([str(tmp_path)]).total.lines == 0


def test_an_importer_that_fails_costs_only_its_own_log(
    memory: Store, native: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, nothing of that log is kept, and the next run reads it whole."""
    (tmp_path / "a.jsonl").write_bytes(native("a") + native("b"))
    (tmp_path / "z.jsonl").write_bytes(native("z"))

    def fail(self: Any, data: bytes) -> Any:
        if b'"a"' in data:
            raise RuntimeError("a bug")
        return original(self, data)

    from analyzer.events.rows import RowDecoder

    original = RowDecoder.decode
    with monkeypatch.context() as patched:
        patched.setattr(RowDecoder, "decode", fail)
        result = memory.ingest([str(tmp_path)])
    assert [problem.message for problem in result.problems] == ["RuntimeError: a bug"]
    assert set(memory.sql("select event_id from events")["event_id"]) == {"z"}
    assert memory.ingest([str(tmp_path)]).total.events == 2


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGINT"])
def test_a_run_that_is_ended_in_the_middle_is_continued(
    native: Callable[..., bytes], tmp_path: Path, signal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after a batch was saved: the next run takes the rest, and every event is there once."""
    (tmp_path / "log.jsonl").write_bytes(b"".join(native(f"id-{number}") for number in range(3_000)))
    code = (
        "import os, signal, sys\n"
        "from analyzer.store import open_store\n"
        "from analyzer.store.ingest import batch, inputs, write as writing\n"
        "batch.MAX_EVENTS, inputs.CHUNK = 1_000, 50_000\n"
        "apply, saved = writing.Writer.commit, []\n"
        "def stop(self, sealed):\n"
        "    apply(self, sealed); saved.append(1)\n"
        f"    if len(saved) == 2: os.kill(os.getpid(), signal.{signal})\n"
        "writing.Writer.commit = stop\n"
        "store = open_store('s.duckdb', writable=True)\n"
        "store.ingest(['log.jsonl'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode != 0
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        before = store.sql("select count(*) from events").item()
        assert 0 < before < 3_000
        monkeypatch.chdir(tmp_path)
        result = store.ingest(["log.jsonl"])
        assert result.total.events == 3_000 - before
        assert result.total.duplicates == 0
        assert store.sql("select count(*), count(distinct event_id), max(source_line) from events").rows() == [
            (3_000, 3_000, 3_000)
        ]


def test_a_line_taken_without_its_newline_does_not_confuse_the_next_runs(
    memory: Store, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """Short files, too, are continued and never begun again."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native("a")[:-1])
    memory.ingest([str(path)])
    for number in ("b", "c"):
        with path.open("ab") as handle:
            handle.write((b"\n" if number == "b" else b"") + native(number))
        result = memory.ingest([str(path)])
        assert (result.total.lines, result.total.duplicates) == (1, 0)
    assert memory.sql("select generation, lines from sources").rows() == [(0, 3)]


def test_a_log_whose_first_line_is_huge_is_recognised(memory: Store, tmp_path: Path) -> None:
    """Our own events reach a megabyte, transcripts more."""
    with EventLog(tmp_path) as log:
        log.append("error.classified", {"caller": "c", "reason": "unknown", "list": ["y" * 16_000] * 45})
        log.append("relay.triggered")
    assert memory.ingest([str(tmp_path)]).total.events == 2


def test_a_byte_order_mark_is_no_part_of_the_first_record(
    memory: Store, native: Callable[..., bytes], tmp_path: Path
) -> None:
    """The checksum is over what follows it."""
    (tmp_path / "log.jsonl").write_bytes(b"\xef\xbb\xbf" + native("a") + native("b"))
    result = memory.ingest([str(tmp_path / "log.jsonl")])
    assert (result.total.events, result.total.quarantined) == (2, 0)
    assert memory.ingest([str(tmp_path / "log.jsonl")]).unchanged == 1


def test_a_bomb_is_read_in_bounded_memory(native: Callable[..., bytes], tmp_path: Path) -> None:
    """A gigabyte of NULs behind a few kilobytes of zstd: one bad line, and no gigabyte in memory."""
    packer = zstandard.ZstdCompressor().compressobj()
    packed = (
        packer.compress(native("a")) + b"".join(packer.compress(bytes(1 << 24)) for _ in range(64)) + packer.flush()
    )
    (tmp_path / "bomb").write_bytes(packed)
    code = (
        "import sys; from analyzer.store import open_store; from tests.peak import peak_megabytes\n"
        "store = open_store(':memory:'); store.ingest(sys.argv[1:])\n"
        "print(store.sql('select count(*) from events').item())\n"
        "print(peak_megabytes())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "bomb")]
    events, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert events == "1"
    assert int(megabytes) < 700


def test_large_lines_fill_a_batch_by_their_weight(
    memory: Store, native: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded by bytes, not by the number of events."""
    from analyzer.store.ingest.write import Writer

    saves: list[int] = []
    commit = Writer.commit
    monkeypatch.setattr("analyzer.store.ingest.batch.MAX_WEIGHT", 100_000)
    monkeypatch.setattr("analyzer.store.ingest.inputs.CHUNK", 50_000)
    monkeypatch.setattr(Writer, "commit", lambda self, sealed: (saves.append(1), commit(self, sealed))[1])
    (tmp_path / "log").write_bytes(b"".join(native(f"id-{number}", text="x" * 10_000) for number in range(40)))
    memory.ingest([str(tmp_path / "log")])
    assert len(saves) > 3
    assert memory.sql("select count(*) from events").item() == 40


ODD_PAYLOADS: list[tuple[str, dict[str, Any]]] = [
    ("agent.exhausted", {"agent": "a", "reset_at": "infinity"}),
    ("agent.exhausted", {"agent": "a", "reset_at": "20000-01-01T00:00:00Z"}),
    ("agent.exhausted", {"agent": "a", "reset_at": "0044-03-15 (BC)"}),
    ("error.classified", {"reason": "unknown", "caller": "c", "reset_at": "infinity", "attempt": "x"}),
    ("retry.settled", {"operation": "o", "attempts": 9_000_000_000_000_000_000, "waited_seconds": "NaN"}),
    ("retry.scheduled", {"operation": "o", "attempt": {}, "delay_seconds": 1e300}),
    ("relay.triggered", {"pre_tokens": 9_000_000_000_000_000_000, "token_usage_percent": {}}),
    ("relay.resumed", {"post_tokens": -9_000_000_000_000_000_000}),
    ("session.observed", {"requests": 9_000_000_000_000_000_000, "started_at": "infinity", "part": "p"}),
]


def test_no_payload_breaks_a_report(memory: Store, native: Callable[..., bytes], tmp_path: Path) -> None:
    """Numbers and moments out of all bounds are null in the views, and many of them add up to nothing worse."""
    lines = [
        native(f"id-{place}-{number}", kind, seq=2**62 - 1, **payload)
        for place, (kind, payload) in enumerate(ODD_PAYLOADS)
        for number in range(3)
    ]
    (tmp_path / "log").write_bytes(b"".join(lines))
    memory.ingest([str(tmp_path / "log")])
    assert overview(memory, Window()).totals.events == len(lines)
    for view in ("errors", "retries", "relays", "sessions", "exhaustions", "writers", "context_recoveries", "verdicts"):
        memory.sql(f"from {view}")


def test_secrets_in_any_corner_stay_off_the_disk(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """Types, sessions, times, keys and their values; in the store, its journal and the log itself."""
    gdd = {"type": "error", "timestamp": "2026-11-03T10:00:00Z", "sessionId": SECRET, "payload": {"message": SECRET}}
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "gdd.jsonl").write_text(json.dumps(gdd) + "\n", "utf-8")
    bad_time = json.dumps({"v": 1, "id": "t", "type": "a.b", "timestamp": f"2026 {SECRET}", "payload": {}})
    native_line = native("n", f"type.{SECRET}", session=SECRET, api_key="correct-horse-battery")
    (folder / "native.jsonl").write_bytes(native_line + bad_time.encode() + b"\n")
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(folder)])
    with EventLog(tmp_path / "telemetry") as log:
        log.append(f"type.{SECRET}", {"api_key": "correct-horse-battery"}, session=SECRET)
    for path in [tmp_path / "s.duckdb", *(tmp_path / "s.journal").iterdir(), *(tmp_path / "telemetry").iterdir()]:
        content = path.read_bytes()
        assert SECRET.encode() not in content, path
        assert b"correct-horse" not in content, path
    kept = whole(tmp_path / "s.duckdb")
    assert "[REDACTED:" in kept
    assert all(secret not in kept for secret in (SECRET, "correct-horse"))


def test_a_damaged_archive_stays_damaged(memory: Store, native: Callable[..., bytes], tmp_path: Path) -> None:
    """Every run says so, not only the one that met it first."""
    packed = zstandard.ZstdCompressor().compress(b"".join(native(f"id-{number}") for number in range(100)))
    (tmp_path / "log.zst").write_bytes(packed[:-20])
    for _ in range(2):
        result = memory.ingest([str(tmp_path / "log.zst")])
        assert [progress.status for progress in result.sources] == ["damaged"]
        assert len(result.problems) == 1


def test_names_and_times_of_files_are_data_too(memory: Store, native: Callable[..., bytes], tmp_path: Path) -> None:
    """A name that is no UTF-8, a time beyond all calendars, a tree deeper than the stack."""
    (tmp_path / "future").write_bytes(native("future"))
    os.utime(tmp_path / "future", (99_999_999_999, 99_999_999_999))
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.jsonl")).write_bytes(native("odd"))
    result = memory.ingest([str(tmp_path)])
    assert set(memory.sql("select event_id from events")["event_id"]) == {"future", "odd"}
    assert result.problems == []


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_bomb_is_damage_and_costs_little(
    memory: Store, native: Callable[..., bytes], tmp_path: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What unpacks to hundreds of times its size is read to a bound; the lines before and other logs are kept."""
    monkeypatch.setattr(inputs, "ANY_RATIO", 4 << 20)
    packer: Any = zlib.compressobj(9, wbits=31) if codec == "gzip" else zstandard.ZstdCompressor().compressobj()
    body = native("a") + (b" " * 99 + b"\n") * 1_000_000
    packed = packer.compress(body) + packer.flush()
    assert len(body) > inputs.MAX_RATIO * len(packed)
    (tmp_path / "bomb").write_bytes(packed)
    (tmp_path / "good.jsonl").write_bytes(native("b"))
    result = memory.ingest([str(tmp_path)])
    assert [source.status for source in result.sources] == ["damaged", "read"]
    assert result.total.events == 2
    assert result.total.bytes < len(body) * 0.6
    assert [problem.message for problem in result.problems] == [
        f"{codec} data that unpacks to more than 200 times its size"
    ]
    assert memory.sql("select incident from sources order by source_path")["incident"].to_list() == ["damaged", None]
    assert memory.ingest([str(tmp_path)]).unchanged == 2


@pytest.mark.slow
def test_a_line_of_200_megabytes_is_read_in_bounded_memory(native: Callable[..., bytes], tmp_path: Path) -> None:
    """It is one line in quarantine, the lines around it are stored, and memory stays far below twice its size."""
    with (tmp_path / "log.jsonl").open("wb") as handle:
        handle.write(native("a") + b'{"type":"a.b","payload":{"text":"')
        for _ in range(200):
            handle.write(b"long " * 200_000)
        handle.write(b'"}}\n' + native("b"))
    code = (
        "import sys; from analyzer.store import open_store; from tests.peak import peak_megabytes\n"
        "before = peak_megabytes()\n"
        "store = open_store(':memory:'); total = store.ingest(sys.argv[1:]).total\n"
        "why = store.sql('select why from quarantine').item()\n"
        "print(total.events, total.quarantined, why, peak_megabytes() - before)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log.jsonl")]
    *told, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert told == ["2", "1", "line_too_long"]
    assert int(megabytes) < 350


@pytest.mark.parametrize(
    "timestamp",
    ["NaN", "Infinity", "1e400", "-1e400", '"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999Z"'],
)
def test_a_time_outside_of_all_logs_puts_its_line_into_quarantine(
    memory: Store, native: Callable[..., bytes], jsonl: Callable[..., Path], timestamp: str
) -> None:
    """No number, and the ends of the calendar; the lines around it are stored."""
    line = f'{{"v":1,"id":"x","type":"a.b","timestamp":{timestamp},"sessionId":"s","payload":{{}}}}'
    path = jsonl("log.jsonl", native("a").decode().strip(), line, native("b").decode().strip())
    memory.ingest([str(path)])
    assert memory.sql("select event_id from events order by event_id")["event_id"].to_list() == ["a", "b"]
    ((why, at),) = memory.sql("select why, line from quarantine").rows()
    assert (why, at) == ("bad_timestamp" if timestamp.startswith('"') else "bad_number", 2)
