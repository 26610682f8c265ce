"""Half of an emoji, as programs leave it that cut texts: it becomes U+FFFD, is counted, and costs no event."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given

from analyzer import EventLog, classify
from analyzer.events import Event, Reject, codec, decode
from analyzer.events.codec import decode_object, sealed_line
from analyzer.importers.shapes.documents import unfolded
from analyzer.redaction.unfolding import readable
from analyzer.store import Store, open_store
from tests.cli.conftest import Run, forks, run
from tests.redaction.test_halves import PIECES

__all__ = ["forks", "run"]

HALF = "\ud83d"
FILE_TIME = datetime(2026, 11, 2)
LINE = b'{"type":"error.classified","timestamp":"2026-11-02T08:00Z","sessionId":"s","payload":{"message":"\\ud83d"}}\n'


def claude(number: int, message: str) -> dict[str, Any]:
    """An API error of a transcript."""
    return {
        "type": "assistant",
        "uuid": f"u-{number}",
        "sessionId": "s",
        "version": "2.1.0",
        "cwd": "/home/me/shop",
        "timestamp": f"2026-11-03T10:00:0{number}Z",
        "isApiErrorMessage": True,
        "error": "server_error",
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": message}]},
    }


@given(PIECES)
def test_a_decoded_line_holds_what_readable_makes_of_its_text(pieces: list[str]) -> None:
    """A half that stands alone is U+FFFD and two that belong together are one character, escaped or not."""
    text = "".join(pieces)
    line = json.dumps({"type": "a", "payload": {"text": text}}).encode()
    decoded = decode_object(line)
    assert not isinstance(decoded, Reject) or decoded.why == "nul_bytes"
    assert isinstance(decoded, dict)
    assert decoded["payload"]["text"] == readable(text)


def test_a_line_with_a_checksum_keeps_its_event_and_id(memory: Store, tmp_path: Path) -> None:
    """The checksum is that of the bytes as they are; what the store keeps of them is valid JSON."""
    body = json.dumps({"v": 1, "id": "e-1", "type": "error.classified", "timestamp": "2026-11-02T08:00:00.000Z"})[:-1]
    line = sealed_line((body + ',"sessionId":"s","payload":{"message":"slow \\ud83d","x":"\\ud83d\\ude00"}').encode())
    event = decode(line.strip(), FILE_TIME)
    assert isinstance(event, Event)
    assert (event.id, event.payload["message"]) == ("e-1", "slow \ufffd")
    (tmp_path / "log.jsonl").write_bytes(line)
    result = memory.ingest([str(tmp_path)])
    assert (result.total.events, result.total.quarantined, result.total.mended) == (1, 0, 1)
    asked = "select payload->>'message' as message, payload->>'x' as x from events"
    assert memory.sql(asked).row(0) == ("slow \ufffd", "😀")


@pytest.mark.parametrize("packed", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
@pytest.mark.parametrize("own", [True, False], ids=["own log", "transcript"])
def test_an_error_with_half_of_an_emoji_is_an_event(
    memory: Store, native: Callable[..., bytes], tmp_path: Path, packed: Callable[[bytes], bytes], own: bool
) -> None:
    """Of three errors that end in one, three are there; lines that were mended are counted, others are not."""
    texts = [f"API Error: 529 Overloaded {text}" for text in ("a" + HALF, HALF, "\ude00 b", "whole 😀")]
    first = json.dumps({**claude(9, ""), "type": "user", "parentUuid": None, "isApiErrorMessage": False}) + "\n"
    envelope = {"type": "error.classified", "timestamp": "2026-11-03T10:00:00Z", "sessionId": "s"}
    lines = [
        json.dumps({**envelope, "payload": {"message": text}}) if own else json.dumps(claude(number, text))
        for number, text in enumerate(texts)
    ]
    data = ("" if own else first) + "\n".join(lines) + "\n"
    (tmp_path / f"log.jsonl{ {gzip.compress: '.gz', zstandard.compress: '.zst'}.get(packed, '') }").write_bytes(
        packed(data.encode())
    )
    result = memory.ingest([str(tmp_path)])
    assert (result.total.quarantined, result.to_dict()["mended"]) == (0, 3)
    found = memory.sql("select message from errors order by message")["message"].to_list()
    assert found == sorted(readable(text) for text in texts)
    assert memory.ingest([str(tmp_path)]).total.lines == 0


def test_a_document_with_half_of_an_emoji_is_read() -> None:
    """Records of an array in one file become lines as its own lines would."""
    assert unfolded(b'[\n{"a": "\\ud83d"},\n{"b": 1}\n]') == '{"a":"\ufffd"}\n{"b":1}\n'.encode()


def test_what_an_earlier_version_put_into_quarantine_is_read_by_a_retry(
    tmp_path: Path, native: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is where it was, and gives its event now."""
    (tmp_path / "log.jsonl").write_bytes(native("a") + LINE)
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        with monkeypatch.context() as before:
            before.setattr(codec, "mended", lambda line: line)
            assert store.ingest([str(tmp_path / "log.jsonl")]).total.quarantined == 1
        store.retry_quarantine()
        assert store.sql("select count(*) from errors").item() == 2
        assert store.sql("select count(*) from quarantine").item() == 0


def test_ingest_tells_how_many_lines_it_mended(run: Run, tmp_path: Path) -> None:
    """One sentence below the figures."""
    (tmp_path / "log.jsonl").write_bytes(LINE + LINE.replace(b"d83d", b"d83e"))
    done = run("ingest", "log.jsonl", "--store", "s.duckdb")
    assert "2 lines with half of an emoji or the like, which is kept as U+FFFD." in done.stdout


@pytest.mark.parametrize("name", ["message", "code", "provider", "model", "stderr", "exception_class"])
def test_a_classified_error_has_the_sign_in_its_place(run: Run, tmp_path: Path, name: str) -> None:
    """In facts, from an agent's own objects, from `classify -` and from `emit` alike."""
    assert HALF not in str(classify({name: f"slow {HALF}", "exit_code": 1}).facts.to_dict())
    done = run("classify", "-", stdin=json.dumps({name: f"slow {HALF}"}) + "\n")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert run("emit", "error.classified", f'{name}="slow \\ud83d"', "--log", "logs").returncode == 0
    (line,) = [line for path in (tmp_path / "logs").glob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert b"\xef\xbf\xbd" in line


def test_a_log_writes_the_sign(tmp_path: Path) -> None:
    """What a host passes as half of an emoji is no question mark."""
    with EventLog(tmp_path) as log:
        log.append("a.b", {"text": f"slow {HALF}", "whole": "\ud83d\ude00"}, session=HALF)
    (line,) = next(tmp_path.glob("*.jsonl")).read_text("utf-8").splitlines()
    assert json.loads(line)["payload"] == {"text": "slow \ufffd", "whole": "😀"}
    assert json.loads(line)["sessionId"] == "\ufffd"
