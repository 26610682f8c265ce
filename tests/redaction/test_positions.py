"""A password in every context and every position: none reaches facts, log, store, journal, report or stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzer.classifier import classify
from analyzer.events import EventLog, error_payload
from analyzer.importers import HEAD_BYTES, detect, head_of
from analyzer.recovery.process.step_error import Observer, step_error
from analyzer.recovery.process.streams import TAIL_BYTES, Tail
from analyzer.redaction import redact
from tests import each_row, sampled
from tests.redaction.contexts import PASSWORD, STRUCTURES, texts
from tests.redaction.foreign_logs import imported, wave
from tests.security.test_prose import whole

TEXTS = texts()


class Remote(Exception):
    """An error of a client library, with what the server said."""

    def __init__(self, said: Any) -> None:
        super().__init__("the server said no")
        self.body = said
        self.response = {"Error": {"Message": said}} if isinstance(said, str) else said


def _caused(said: Any) -> Exception:
    error = RuntimeError("it failed")
    error.__cause__ = ConnectionError(said)
    return error


POSITIONS: dict[str, Callable[[Any], object]] = {
    "alone": lambda said: said,
    "message": lambda said: {"message": said},
    "error": lambda said: {"error": {"type": "api_error", "message": said}},
    "body": lambda said: {"status": 401, "body": said},
    "unknown keys": lambda said: {"a": {"b": said}},
    "list": lambda said: {"errors": [{"message": said}, said]},
    "cause": lambda said: {"message": "it failed", "cause": {"message": said}},
    "JSON in a text": lambda said: {"message": "400 " + json.dumps({"error": {"message": said}})},
    "JSON in JSON": lambda said: {"message": json.dumps({"raw": json.dumps({"error": said})})},
    "stdout": lambda said: {"exit_code": 1, "stdout": said if isinstance(said, str) else json.dumps(said)},
    "stderr": lambda said: {"exit_code": 1, "stderr": said if isinstance(said, str) else repr(said)},
    "result": lambda said: {"exit_code": 1, "stdout": json.dumps({"type": "result", "is_error": True, "result": said})},
    "exception": lambda said: ConnectionError(said),
    "arguments of an exception": lambda said: ValueError("login failed", {"detail": said}),
    "body of an exception": Remote,
    "cause of an exception": _caused,
}


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("position", POSITIONS)
def test_no_text_with_a_password_brings_it_into_facts(position: str) -> None:
    """Whatever the words around it are, the classifier's facts do not hold it."""
    chosen = sampled(TEXTS, [*POSITIONS].index(position) % 3)
    found = [said for said in chosen if PASSWORD in json.dumps(classify(POSITIONS[position](said)).facts.to_dict())]
    assert found == []


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("position", POSITIONS)
@each_row("value", STRUCTURES)
def test_no_value_with_a_password_brings_it_into_facts(position: str, value: Any) -> None:
    """Neither do mappings, pairs, objects of name and value, and arguments: what extraction drops hid nothing."""
    assert PASSWORD not in json.dumps(classify(POSITIONS[position](value)).facts.to_dict())


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
def test_no_payload_brings_a_password_into_a_log(tmp_path: Path) -> None:
    """What a program appends by itself is cleaned on its way, in every position of a payload."""
    with EventLog(tmp_path) as log:
        for said in (*TEXTS, *STRUCTURES):
            assert log.append("note.taken", {"note": said, "list": [said], "deep": {"a": [{"b": said}]}})
            if isinstance(said, dict):
                assert log.append("note.taken", said)
    assert _holding(tmp_path) == []


def _gdd(said: Any) -> dict[str, Any]:
    return {
        "type": "error",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "sessionId": "s-1",
        "payload": {"message": said, "code": "E1", "stage": "x"},
        "_meta": {"pid": 1, "host": "h", "source": "gdd"},
    }


def _claude(said: Any) -> dict[str, Any]:
    return {
        "parentUuid": "a",
        "type": "assistant",
        "uuid": "b",
        "sessionId": "s-1",
        "version": "2.0.1",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "isApiErrorMessage": True,
        "message": {"id": "msg_1", "model": "<synthetic>", "content": [{"type": "text", "text": said}]},
    }


def _claude_print(said: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "session_id": "s-1",
        "uuid": "u-1",
        "result": said if isinstance(said, str) else None,
        "errors": [said],
    }


def _native(said: Any) -> dict[str, Any]:
    return {
        "type": "error.classified",
        "timestamp": "2026-11-01T10:00:00.000Z",
        "sessionId": "s-1",
        "payload": {"caller": "a", "reason": "unknown", "facts": {"message": said}, "note": said},
    }


LOGS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "gdd": _gdd,
    "wave": wave,
    "claude_code": _claude,
    "claude_print": _claude_print,
    "analyzer": _native,
}


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("name", [name for name in LOGS if name != "analyzer"])
def test_no_importer_brings_a_password_into_an_event(name: str) -> None:
    """Of a foreign log, what goes to store and journal holds none."""
    log = b"".join(json.dumps(LOGS[name](said)).encode() + b"\n" for said in TEXTS)
    assert detect(head_of(log[:HEAD_BYTES])).name == name
    events = imported(log)
    assert len(events) >= len(TEXTS)
    assert [event for event in events if PASSWORD in repr(event)] == []


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
def test_no_stream_of_a_command_brings_a_password_into_a_failure() -> None:
    """What `run` says of a failed command, and logs of it, holds none, wherever the command has printed it."""
    found = []
    for said in TEXTS:
        for stdout, stderr in (
            (said, ""),
            ("", said),
            (json.dumps(_claude_print(said)), ""),
            ("x" * 70_000 + "\n" + said, ""),
        ):
            observer = Observer()
            observer.stdout(stdout.encode() + b"\n")
            observer.stderr(stderr.encode() + b"\n")
            error = step_error(observer.observed(), 1)
            assert error is not None
            told = error.message + error.hint + json.dumps(error_payload(error.classification))
            if PASSWORD in told:
                found.append((said, stdout[:20], stderr[:20]))
    assert found == []


def test_an_endless_line_is_not_cut_between_a_name_and_its_secret() -> None:
    """Of a line that is longer than what is kept of it, no secret comes through without its name."""
    said = f'{{"user": "app", "password": "{PASSWORD}", "rest": "'
    for behind in range(len(said)):
        tail = Tail()
        tail.feed((said + "y " * TAIL_BYTES)[: TAIL_BYTES + behind].encode())
        assert PASSWORD[-6:] not in redact(tail.text())


def _holding(folder: Path) -> list[str]:
    """Files that hold the password; of a store, whose file is compressed, what stands in its tables counts, too."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    found = [path.name for path in files if PASSWORD.encode() in path.read_bytes()]
    return found + [path.name for path in files if path.suffix == ".duckdb" and PASSWORD in whole(path)]


def _command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from analyzer.cli import main; main()", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_logs_of_every_format_leave_no_password_in_store_journal_report_or_output(tmp_path: Path) -> None:
    """From the reading of all formats, torn lines among them, to the report: no file and no stream holds it."""
    logs, kept = tmp_path / "logs", tmp_path / "kept"
    logs.mkdir()
    kept.mkdir()
    for name, record in LOGS.items():
        lines = [json.dumps(record(said)) for said in (*TEXTS[:150], *STRUCTURES)]
        torn = [line[: line.rindex(PASSWORD) + len(PASSWORD)] for line in lines[:40]]
        (logs / f"{name}.jsonl").write_text("\n".join([*lines, *torn]) + "\n")
    done = [
        _command(kept, "ingest", str(logs), "--store", "a.duckdb"),
        _command(kept, "report", "--store", "a.duckdb"),
        _command(kept, "unknowns", "--suggest", "--store", "a.duckdb"),
        _command(kept, "query", "quarantine-lines", "--store", "a.duckdb", "--format", "json"),
    ]
    assert [each.returncode for each in done] == [0, 0, 0, 0], [each.stderr for each in done]
    assert not any(PASSWORD in each.stdout + each.stderr for each in done)
    assert len(json.loads(done[3].stdout)["rows"]) > 30
    assert _holding(kept) == []


def test_a_shell_that_emits_or_runs_leaves_no_password(tmp_path: Path) -> None:
    """`emit` and `run` write none to their log, and say none on stderr."""
    said = f'login failed: {{"user":"app","password":"{PASSWORD}"}}'
    script = f"import sys; print({said!r}); print({said!r}, file=sys.stderr); sys.exit(1)"
    done = [
        _command(tmp_path, "emit", "error.classified", "caller=a", f"message={said}"),
        _command(tmp_path, "emit", "error.classified", "caller=a", f'body={{"x-api-key":"{PASSWORD}"}}'),
        _command(tmp_path, "emit", "note.taken", f"client_secret={PASSWORD}"),
        _command(tmp_path, "emit", "note.taken", f"--password={PASSWORD}"),
        _command(tmp_path, "run", "--", "./missing", "--password", PASSWORD),
    ]
    run = _command(tmp_path, "run", "--", sys.executable, "-c", script)
    assert not any(PASSWORD in each.stdout + each.stderr for each in done)
    # The command's own streams pass through; ours is the line behind them.
    assert PASSWORD not in run.stderr.split("analyzer:", 1)[1]
    assert _holding(tmp_path / "telemetry") == []
