"""`analyzer watch`: what goes wrong, a line each, as it is written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis.timeline import happening_of, is_about
from analyzer.cli.commands import watch
from analyzer.cli.commands.watch import Hourly
from analyzer.events import Event, EventLog, Origin
from analyzer.report.timeline import watched_finding, watched_line
from analyzer.report.writers.monospace import width_of
from analyzer.store import Selection
from tests.cli.conftest import Run
from tests.cli.test_hours import TODAY, hours

AT = datetime(2026, 11, 10, 7, 45, 3)


def event(kind: str = "error.classified", **payload: Any) -> Event:
    """An event of one caller."""
    return Event(kind, AT, "s-1", {"caller": "figma-probe", **payload}, "e-1", origin=Origin("analyzer", "a.jsonl", 7))


def test_errors_are_told_as_they_are_written(tmp_path: Path) -> None:
    """Those of the part that was asked for, not what was there before, as JSON lines; Ctrl-C ends it with 130."""
    log = EventLog(tmp_path / "telemetry")
    log.append("error.classified", {"caller": "shop", "reason": "unknown"})
    (tmp_path / "empty").mkdir()
    command = (
        "from analyzer.cli import main; from analyzer.cli.commands import watch; "
        "watch.SHORTEST_PAUSE = watch.LONGEST_PAUSE = 0.05; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", command, "watch", "telemetry", "empty", "--caller", "shop", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    told = [process.stderr.readline() for _ in range(3)]
    assert told[0] == "analyzer: empty: nothing to read in this folder\n"
    assert "watching 1 file since" in told[2]
    log.append("error.classified", {"caller": "other", "reason": "unknown"})
    log.append("error.classified", {"caller": "shop", "reason": "rate_limited", "facts": {"message": "slow down"}})
    log.append("retry.scheduled", {"caller": "shop", "delay_seconds": 2.0, "attempt": 1})
    error, retry = (json.loads(process.stdout.readline()) for _ in range(2))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err.strip(), process.returncode) == ("", "analyzer: interrupted", 130)
    assert (error["schema"], error["type"], error["message"]) == ("analyzer.watch/1", "error.classified", "slow down")
    assert (retry["type"], retry["delay_seconds"], retry["source_line"]) == ("retry.scheduled", 2.0, 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "telemetry"]


def test_a_folder_may_get_its_first_log_later(tmp_path: Path) -> None:
    """It is watched from the start."""
    (tmp_path / "empty").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", "from analyzer.cli import main; main()", "watch", "empty", "--no-findings"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = [process.stderr.readline() for _ in range(3)]
    assert "watching 0 files since" in told[2]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-"], 2, "standard input cannot be watched"),
        (["none"], 3, "none: no such file or folder"),
        (["--reason", "rate_limit"], 2, "rate_limited"),
    ],
)
def test_what_cannot_be_watched_is_said(run: Run, arguments: list[str], code: int, said: str) -> None:
    """With the usual exit codes."""
    done = run("watch", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_line_fits_and_no_text_of_a_log_moves_the_cursor() -> None:
    """Whatever the log says, at 80 columns; the word for what it is, and no other, has a colour."""
    hostile = "error \x1b[2J\x1b[1A\r\n\u202egone " * 10
    one = happening_of(event(reason="unknown", caller=hostile, facts={"message": hostile}))
    line = watched_line(one, 80)
    assert line.startswith("07:45:03  error \\x1b[2J\\x1b[1…  error  unknown  error \\x1b[2J")
    assert width_of(line) == 80
    assert line.isprintable()
    painted = watched_line(one, 80, colour=True)
    assert painted.count("\x1b") == 2
    assert painted.replace("\x1b[1;31m", "").replace("\x1b[0m", "") == line
    assert "\x1b[1;31merror\x1b[0m  unknown" in painted


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (event(reason="rate_limited", message="slow down"), "error  rate_limited  slow down"),
        (event("retry.scheduled", attempt=2, delay_seconds=1.5), "retry  in 1.5 s, after call 2"),
        (
            event("retry.settled", outcome="recovered", attempts=2),
            "retries ended  recovered after 2 calls  0.0 s waited",
        ),
        (event("relay.resumed", pre_tokens=9000, post_tokens=100), "handed off  from 9,000 to 100 tokens"),
        (event("agent.exhausted", reset_at="2026-11-10T12:00:00Z"), "usage limit  until 2026-11-10 12:00 UTC"),
        (event(reason=["x"], attempt="many", facts="none", reset_at={}, delay_seconds=1e999), "error"),
    ],
)
def test_each_kind_has_its_words(one: Event, said: str) -> None:
    """Also of a payload in which nothing has its shape."""
    assert watched_line(happening_of(one)) == f"07:45:03  figma-probe           {said}"


def test_a_compaction_is_no_hand_off() -> None:
    """Its first event says that it is one, and the later ones go by its name; a checkpoint of a relay is a hand-off."""
    begun: set[str] = set()
    said = [
        watched_line(happening_of(event(f"relay.{kind}", relay=relay, strategy=strategy), begun)).rpartition("  ")[2]
        for kind, relay, strategy in (
            ("triggered", "r-1", "compact"),
            ("triggered", "r-2", "summarize_to_checkpoint"),
            ("resumed", "r-1", None),
            ("halted", "r-1", None),
            ("resumed", "r-2", None),
        )
    ]
    assert said == ["compaction began", "hand-off began", "compacted", "compaction failed", "handed off"]


def test_a_part_is_what_says_so_itself() -> None:
    """As in a store: what does not say is in no part, but what has no caller is that of `(none)`."""
    one = event(reason="unknown", project="shop")
    assert is_about(one, Selection())
    assert is_about(one, Selection(project="shop", caller="figma-probe", reason="unknown"))
    assert not is_about(one, Selection(project="shop", agent="codex"))
    assert is_about(Event("relay.halted", AT, None, {}, "e-2"), Selection(caller="(none)"))


def test_findings_of_an_hour_are_told_once_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `check` in a process of its own, from a store that goes with the watch; of the part that was asked for."""
    (tmp_path / "x.jsonl").write_bytes(b"".join(hours()))
    clock = [datetime.fromisoformat(f"{TODAY}T10:30:00")]
    monkeypatch.setattr(watch, "now", lambda: clock[0])
    with Hourly([str(tmp_path / "x.jsonl")], Selection(caller="bot")) as watched:
        assert watched.findings() == []
        assert watched._folder is None
        clock[0] = datetime.fromisoformat(f"{TODAY}T11:02:01")
        found = watched.findings()
        ends = time.monotonic() + 60
        while not found and watched._running is not None and time.monotonic() < ends:
            time.sleep(0.02)
            found = watched.findings()
        assert watched._folder is not None
        folder = Path(watched._folder.name)
        assert folder.is_dir()
        assert [(one.scope.caller, one.state) for one in found] == [("bot", "new")]
        line = watched_finding(found[0], clock[0], 80)
        assert line.startswith("11:02:01  bot                   finding  ")
        assert width_of(line) == 80
        assert watched.findings() == []
    assert not folder.exists()
