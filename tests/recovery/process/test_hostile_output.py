"""What a command prints and what others leave in folders may be made to harm: it costs neither time nor control."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from analyzer.recovery import StateError, StateFile, Transcript, Turn
from analyzer.recovery.process.step_error import Observer, StepError, step_error
from analyzer.recovery.relay.checkpoint import CheckpointError, parse, write
from analyzer.recovery.relay.summarizers import summarize
from tests.growth import assert_linear, assert_takes
from tests.recovery.process.test_run import Place
from tests.recovery.process.test_supervise import python
from tests.recovery.relay.test_relay_checkpoint import DOCUMENT

LONG = 80_000


def observed(data: bytes, stderr: bytes = b"") -> Observer:
    """An observer that has seen these bytes."""
    observer = Observer()
    observer.stdout(data)
    observer.stderr(stderr)
    return observer


@pytest.mark.parametrize("words", ["a ", "\n", " ", "- [ ] ", "decided ", "[x]", "a. "])
def test_a_long_odd_session_is_summarized_at_once(words: str) -> None:
    """No text makes the summarizer look at the same characters over and over."""
    assert_linear(
        lambda times: parse(summarize(Transcript("t", (Turn("assistant", words * times),)), 8_000)), LONG // 4, LONG
    )


@pytest.mark.parametrize(("begin", "middle", "end"), [("## a", " #", " x"), ("## a", " ", "x"), ("-", " ", "")])
def test_a_long_odd_checkpoint_is_parsed_at_once(begin: str, middle: str, end: str) -> None:
    """Nor do lines of a checkpoint."""

    def parsed(times: int) -> None:
        assert parse(f"{DOCUMENT}\n{begin}{middle * times}{end}").remaining_work

    assert_linear(parsed, LONG // 4, LONG)


@pytest.mark.parametrize("errors", [b"[" * 3_000_000 + b"]" * 3_000_000, b"[" + b"1," * 3_000_000 + b"1]"])
def test_a_record_of_megabytes_is_judged_all_the_same(errors: bytes) -> None:
    """Deep nesting is no record, wide lists are cut to what the classifier keeps."""

    def judged() -> None:
        seen = observed(b'{"type":"result","is_error":true,"errors":' + errors + b"}\n").observed()
        error = step_error(seen, 1)
        assert isinstance(error, StepError)
        assert len(json.dumps(error.classification.facts.to_dict())) < 100_000

    assert_takes(judged, 10)


def test_a_session_is_a_name() -> None:
    """A text of megabytes in its place is let go, and the run has a name of its own."""
    assert observed(json.dumps({"session_id": "s" * 1_000_000}).encode() + b"\n").session() is None


def test_nothing_that_a_command_says_moves_the_cursor(tmp_path: Path) -> None:
    """Escapes and bytes that are no text reach stderr from the command alone; what we say of them is plain."""
    said = b"\x1b]0;title\x07\x1b[2J\x9b1m\xff fatal \r\x08\n"
    command = python(f"import os; os.write(1, {said!r}); raise SystemExit(3)")
    running = Place(tmp_path).begin("run", "--", *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = running.communicate(timeout=60)
    assert (out, running.returncode) == (said, 3)
    assert err.startswith(b"analyzer: ")
    assert not set(err.decode()) & {"\x1b", "\x07", "\x9b", "\r", "\x08"}


def test_a_state_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that all may write to, anybody could say that our agents are at their limits."""
    file = StateFile(tmp_path / "pool.json")
    file.update(lambda state: {"agents": {}})
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    for use in (file.read, lambda: file.update(lambda state: state)):
        with pytest.raises(StateError, match="belongs to another user"):
            use()


@pytest.mark.parametrize("name", ["pool.json", "pool.json.lock", "pool.json.{lock}.tmp"])
def test_a_planted_link_leads_nowhere(tmp_path: Path, name: str) -> None:
    """A symbolic link in the place of the state, its lock or its draft is not followed: its target stays as it was."""
    target = tmp_path / "target"
    target.write_text("precious")
    if name.endswith(".tmp"):
        (tmp_path / "pool.json.lock").touch()
        name = name.format(lock=(tmp_path / "pool.json.lock").stat().st_ino)
    (tmp_path / name).symlink_to(target)
    try:
        StateFile(tmp_path / "pool.json").update(lambda state: {"agents": {}})
    except StateError:
        assert not name.endswith(".tmp")
    else:
        assert not (tmp_path / name).is_symlink()
    assert target.read_text() == "precious"


def test_checkpoints_go_to_no_folder_of_everybody(tmp_path: Path) -> None:
    """Who could exchange a checkpoint could tell the fresh instance what to do."""
    folder = tmp_path / "telemetry.checkpoints"
    folder.mkdir()
    (folder / "others").touch()
    folder.chmod(0o777)
    with pytest.raises(CheckpointError, match="others may write"):
        write(parse(DOCUMENT), folder, "implement")
