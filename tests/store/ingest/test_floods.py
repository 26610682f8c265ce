"""Small inputs that were made to cost much: time and memory stay in proportion to bytes, every line is on record."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from analyzer.store import Store, open_store
from analyzer.store.ingest import read
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import Blocks
from tests import sampled
from tests.growth import assert_linear

Native = Callable[..., bytes]
SECRET = b"sk-ant-api03-" + b"Ab3dEf6hIj" * 4
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0skip"


@pytest.mark.parametrize("content", [b"x\n" * 5_000, b"\n" * 5_000, b"y" * 9_000 + b"\n" + b"x\n" * 3_000 + b"tail"])
def test_a_stretch_has_few_lines_however_short_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """Lines become objects stretch by stretch; all stretches together are the file."""
    monkeypatch.setattr(read, "MOST_LINES", 100)
    (tmp_path / "log").write_bytes(content)
    with Input(str(tmp_path / "log")) as source:
        found = Blocks(source, 0)
        stretches = list(found)
    assert max(stretch.data.count(b"\n") for stretch in stretches) <= 100
    assert len(stretches) < 5 * content.count(b"\n") / 100
    assert b"".join(stretch.data for stretch in stretches) + found.tail == content
    assert [stretch.offset for stretch in stretches[1:]] == [
        stretch.offset + stretch.length for stretch in stretches[:-1]
    ]


def test_every_line_of_a_flood_is_in_quarantine_with_its_place(
    memory: Store, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal and different ones; a secret among clean neighbours is redacted."""
    monkeypatch.setattr(read, "MOST_LINES", 1_000)
    lines = [b"x", b"null", b"[", b"\xff", b"x%d"] * 600
    lines = [line % number if b"%" in line else line for number, line in enumerate(lines)]
    lines[1_234] = b"token " + SECRET
    (tmp_path / "log").write_bytes(native("a") + b"".join(line + b"\n" for line in lines) + native("b"))
    total = memory.ingest([str(tmp_path / "log")]).total
    assert (total.lines, total.events, total.quarantined) == (3_002, 2, 3_000)
    kept = memory.sql("select line, byte_length, why, text from quarantine order by line").rows()
    assert [row[:2] for row in kept] == [(number, len(line)) for number, line in enumerate(lines, 2)]
    assert {row[3]: row[2] for row in kept[:4]} == {
        "x": "not_json",
        "null": "not_an_object",
        "[": "not_json",
        "\ufffd": "invalid_utf8",
    }
    assert kept[1_234][3].startswith("token [REDACTED:")


@pytest.mark.parametrize("item", [b"[]", b"{}", b"0", b'"ab"', b'{"a":[]}'], ids=str)
def test_a_record_of_very_many_items_is_refused_before_they_are_made(
    memory: Store, native: Native, tmp_path: Path, item: bytes
) -> None:
    """Three bytes of a list of empty lists take eighty in memory."""
    many = b'{"type":"a.b","payload":{"m":[' + item + (b"," + item) * 500_000 + b"]}}\n"
    (tmp_path / "log").write_bytes(native("a") + many + native("b"))
    total = memory.ingest([str(tmp_path / "log")]).total
    assert (total.events, total.quarantined) == (2, 1)
    assert memory.sql("select why from quarantine").item() == "too_many_items"


def test_items_inside_of_texts_do_not_count(memory: Store, native: Native, tmp_path: Path) -> None:
    """A long table, or a source file with quotes in it, is one text."""
    text = r"a,b,[{\",\\" * 200_000
    (tmp_path / "log").write_bytes(native("a") + b'{"type":"a.b","payload":{"m":"%s"}}\n' % text.encode())
    assert memory.ingest([str(tmp_path / "log")]).total.events == 2


@pytest.mark.parametrize(
    ("pack", "member"),
    [
        (gzip.compress, gzip.compress(b"")),
        (gzip.compress, gzip.compress(b"\n")),
        (zstandard.compress, zstandard.compress(b"")),
        (zstandard.compress, zstandard.compress(b"\n")),
        (zstandard.compress, SKIPPABLE),
    ],
    ids=["gzip, empty", "gzip, a blank line", "zstd, empty", "zstd, a blank line", "zstd, skippable"],
)
def test_very_many_members_cost_little(
    native: Native, tmp_path: Path, pack: Callable[[bytes], bytes], member: bytes
) -> None:
    """Frames of some ten bytes each, between two that hold an event."""

    def read(members: int) -> None:
        (tmp_path / "log").write_bytes(pack(native("a")) + member * members + pack(native("b")))
        with open_store(":memory:") as store:
            result = store.ingest([str(tmp_path / "log")])
        assert (result.total.events, result.problems) == (2, [])

    assert_linear(read, 25_000, 100_000)


def test_a_log_that_begins_with_a_skippable_frame_is_read(memory: Store, native: Native, tmp_path: Path) -> None:
    """Parallel compressors put one in front."""
    (tmp_path / "log.zst").write_bytes(SKIPPABLE + zstandard.compress(native("a")))
    assert memory.ingest([str(tmp_path / "log.zst")]).total.events == 1


def test_very_many_records_on_one_line_are_taken_in_one_pass(tmp_path: Path) -> None:
    """Of a transcript whose writers raced; each record costs its own length and not that of all behind it."""
    head = b'{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"timestamp":"2026-11-03T10:00:00Z"}\n'

    def read(records: int) -> None:
        (tmp_path / "log").write_bytes(
            head + b'{"type":"result"}' + b'{"a":"' + b"x" * 400 + b'"}' + b'{"a":1}' * records + b"\n"
        )
        with open_store(":memory:") as store:
            assert store.ingest([str(tmp_path / "log")]).total.lines == 2

    assert_linear(read, 37_500, 150_000)


def test_a_flood_in_quarantine_is_tried_again_whole(tmp_path: Path, native: Native) -> None:
    """Every line of it is on record, and those that can be read now leave."""
    edge = b"".join(native(f"edge{number}") for number in range(9))
    good = [native(f"n{number}") for number in range(2_000)]
    log = tmp_path / "log.jsonl"
    log.write_bytes(edge + b"".join(b"(" + line[1:] for line in good) + edge)
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.ingest([str(log)])
        assert store.sql("select count(*) from quarantine").item() == 2_000
        log.write_bytes(edge + b"".join(good) + edge)
        result = store.retry_quarantine()
        assert (result.tried, result.mended, result.events, result.remaining) == (2_000, 2_000, 2_000, 0)


FLOODED_LINES = {b"[": (b"", b"\n"), b",[]": (b'{"type":"a.b","payload":{"m":[[]', b"]}}\n")}
"""What stands before and after the parts of a flood that is one line."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "count", "bad"),
    [
        pytest.param(b"x\n", 1_000_000, 1_000_000, id="lines"),
        *sampled(
            [
                pytest.param(b",[]", 1_500_000, 1, id="empty lists"),
                pytest.param(b"[", 5_000_000, 1, id="brackets"),
                pytest.param(b"\xff\n", 1_000_000, 1_000_000, id="lines of no UTF-8"),
                pytest.param(gzip.compress(b""), 250_000, 0, id="members of gzip"),
                pytest.param(zstandard.compress(b""), 250_000, 0, id="frames of zstd"),
            ]
        ),
    ],
)
def test_a_flood_takes_bounded_memory(native: Native, tmp_path: Path, part: bytes, count: int, bad: int) -> None:
    """Of a million bad lines, or of some megabytes that are made of the smallest parts there are."""
    begin, end = FLOODED_LINES.get(part, (b"", b""))
    flood = begin + part * count + end
    packers = {b"\x1f\x8b": gzip.compress, b"(\xb5": zstandard.compress}
    (tmp_path / "log").write_bytes(packers.get(flood[:2], bytes)(native("a")) + flood)
    code = (
        "import sys; from analyzer.store import open_store; from tests.peak import peak_megabytes\n"
        "store = open_store(sys.argv[2], writable=True); total = store.ingest(sys.argv[1:2]).total\n"
        "print(total.events, total.quarantined, store.sql('select count(*) from quarantine').item())\n"
        "print(peak_megabytes())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log"), str(tmp_path / "s.duckdb")]
    *told, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert told == ["1", str(bad), str(bad)]
    assert int(megabytes) < 700


GDD = (
    '{"type":"api.retry","sessionId":"s%d","timestamp":"2026-11-03T10:00:00Z",'
    '"payload":{"attempt":%d,"provider":"p"}}\n'
)
WAVE = (
    '{"timestamp":"2026-11-03T10:00:00Z","state":"retrying","step_id":"a%d","pipeline_id":"p",'
    '"message":"attempt %d/3"}\n'
)
CLAUDE = (
    '{"type":"system","subtype":"api_error","sessionId":"s","uuid":"u%d-%d","parentUuid":null,'
    '"timestamp":"2026-11-03T10:00:00Z","retryAttempt":%d,"agentId":"a%d","isSidechain":true}\n'
)


@pytest.mark.parametrize("kind", ["gdd", "wave", "claude"])
def test_of_very_many_open_runs_the_latest_go_on_with_the_next_reading(
    memory: Store, tmp_path: Path, kind: str
) -> None:
    """A checkpoint has room for a thousand; memory does not grow with the runs of a source that ends none."""

    def line(number: int, attempt: int) -> str:
        if kind == "claude":
            return CLAUDE % (number, attempt, attempt, number)
        return (GDD if kind == "gdd" else WAVE) % (number, attempt)

    log = tmp_path / "log"
    log.write_text("".join(line(number, 1) for number in range(1_200)))
    memory.ingest([str(log)])
    with log.open("a") as handle:
        handle.write(line(1_199, 2))
    memory.ingest([str(log)])
    runs = (
        "select source_line, json_extract_string(payload, '$.operation') as run from events where type like 'retry.%'"
    )
    runs_of = dict(memory.sql(runs).rows())
    assert runs_of[1_200] == runs_of[1_201]
    assert len(set(runs_of.values())) == 1_200
