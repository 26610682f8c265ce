"""A store is a file: whatever else stands in its place is refused at once, by every command."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.cli import COMMANDS as ALL_COMMANDS
from analyzer.cli import call
from analyzer.command_lines import STORELESS
from analyzer.errors import UNREADABLE, StoreError
from analyzer.store import examine, open_store, rebuild
from analyzer.store.db.location import OWN, location

Made = Callable[[Path], object]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


PLACES: dict[str, tuple[str, Made]] = {
    "pipe": ("a pipe", os.mkfifo),
    "folder": ("a folder", os.mkdir),
    "socket": ("a socket", _socket),
    "circle": ("a link", _circle),
    "device": ("a device", lambda path: path.symlink_to("/dev/null")),
    "terminal": ("a device", lambda path: path.symlink_to("/dev/tty")),
    "linked": ("a pipe", lambda path: (os.mkfifo(f"{path}.target"), path.symlink_to(f"{path}.target"))),
}
COMMANDS = [
    ["report", "log.jsonl"],
    ["report"],
    ["ingest", "log.jsonl"],
    ["push", "log.jsonl", "--to", "delta:table"],
    ["check"],
    ["unknowns"],
    ["reclassify"],
    ["reclassify", "--apply"],
    ["query", "errors-by-reason"],
    ["rules", "backtest"],
    ["quarantine", "list"],
    ["quarantine", "retry"],
    ["rebuild", "log.jsonl"],
    ["prune", "--older-than", "30d"],
    ["prune", "--older-than", "30d", "--dry-run"],
    ["nightly", "log.jsonl"],
    ["findings", "list"],
    ["findings", "close", "f-1"],
    ["show", "s-1"],
    ["compare", "--before", "7d", "--after", "3d"],
    ["claim", "anthropic"],
    ["whatif", "retry", "--attempts", "3"],
    ["change", "retries 5 to 3"],
    ["objectives"],
    ["budget", "--daily", "20"],
    ["export", "--to", "days"],
    ["sources"],
    ["sql", "select 1"],
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text(
        '{"type":"x","timestamp":"2026-11-02T08:00:00Z","sessionId":"s","payload":{}}\n'
    )
    return tmp_path


REACHED_BY_A_LINK = {"device", "terminal", "linked"}
"""Places that a companion of a store is never looked for at."""


@pytest.mark.parametrize(
    ("ending", "place"),
    [(ending, place) for ending in OWN for place in PLACES if not (ending and place in REACHED_BY_A_LINK)],
)
def test_what_is_no_file_is_no_store_and_nothing_waits_for_it(folder: Path, place: str, ending: str) -> None:
    """For reading, for writing, to be made again, to be looked at: refused in our words, and nothing is made."""
    said, make = PLACES[place]
    make(folder / f"s.duckdb{ending}")
    before = sorted(os.listdir())
    attempts: list[Callable[[], object]] = [
        lambda: open_store("s.duckdb"),
        lambda: open_store("s.duckdb", writable=True),
        lambda: rebuild("s.duckdb", ["log.jsonl"]),
    ]
    for attempt in attempts:
        with pytest.raises(StoreError, match=said) as caught:
            attempt()
        assert caught.value.hint
    (check,) = examine("s.duckdb")
    assert (check.state, said in check.said) == ("problem", True)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_refuses_a_pipe_for_a_store(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, instead of waiting for somebody to write to it."""
    os.mkfifo("pipe")
    assert call([*command, "--store", "pipe"]) == UNREADABLE
    assert "pipe is a pipe, not a file" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["log.jsonl", "pipe"]


def test_every_command_that_asks_a_store_is_tried_on_a_pipe() -> None:
    """But `doctor`, whose answer is what it finds, and `mcp`, which opens a store when it is asked."""
    tried = {command[0] for command in COMMANDS}
    assert ALL_COMMANDS.keys() - STORELESS - tried == {"doctor", "mcp", "ui"}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x" * 300, "File name too long"),
        ("log.jsonl/s.duckdb", "Not a directory"),
        ("a\0b", "no name of a file"),
        ("\udcff.duckdb", "not UTF-8"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(path: str, said: str) -> None:
    """In our words, for every way to open it."""
    for writable in (False, True):
        with pytest.raises(StoreError, match=said):
            open_store(path, writable=writable)


def test_a_dangling_link_leads_to_a_store_that_is_to_be_made(folder: Path) -> None:
    """It is made where the link leads, and the link stays."""
    (folder / "link.duckdb").symlink_to("there.duckdb")
    open_store("link.duckdb", writable=True).close()
    assert location("link.duckdb") == str(folder / "there.duckdb")
    assert (folder / "link.duckdb").is_symlink()
    assert (folder / "there.duckdb").is_file()
