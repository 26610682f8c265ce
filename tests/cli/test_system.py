"""What a system does to a command: damage, full disks, a folder that goes. It is told with exit code 3 and a hint."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

import analyzer.cli
from analyzer.cli import call, cli
from analyzer.errors import INTERRUPTED, UNREADABLE, USAGE, AnalyzerError
from tests import REPOSITORY, sampled
from tests.cli.forking import Done, Forks, Line

STORE = ("--store", "s.duckdb")
READING = [
    ("report", "-q", *STORE),
    ("check", "--until", "2026-11-10", *STORE),
    ("sql", "from errors", *STORE),
    ("query", "errors-by-reason", *STORE),
    ("unknowns", *STORE),
    ("reclassify", *STORE),
    ("rules", "backtest", "--rules", "rules.toml", *STORE),
    ("show", "s-41", *STORE),
    ("findings", "list", *STORE),
    ("compare", "--before", "2026-11-01..2026-11-05", "--after", "2026-11-05..2026-11-12", *STORE),
    ("quarantine", "list", *STORE),
    ("sources", *STORE),
]
WRITING = [
    ("ingest", "more.jsonl", *STORE),
    ("reclassify", "--apply", "--rules", "rules.toml", *STORE),
    ("prune", "--older-than", "1d", *STORE),
    ("quarantine", "retry", *STORE),
    ("rebuild", "--quiet", *STORE),
]
RULES = """
[[rule]]
id = "user.parked"
reason = "network_transient"
detail = "overloaded"
text = ["is parked"]
source = "seen in our own logs"
examples = ["Canvas shard 4 is parked, 5 readers ahead of you", "the shard is parked"]
counter_examples = ["the design file is missing"]
"""


@pytest.fixture(scope="module")
def made(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of the samples, rules, and a log that it has not read."""
    folder = tmp_path_factory.mktemp("made")
    assert forks.run(Line(["ingest", str(REPOSITORY / "sample_events"), *STORE], str(folder))).code == 0
    (folder / "rules.toml").write_text(RULES)
    line = (
        '{{"type":"relay.triggered","timestamp":"2026-11-12T08:00:00Z","sessionId":"{}","payload":{{"text":"{}"}}}}\n'
    )
    (folder / "more.jsonl").write_text("".join(line.format(number, "x" * 2000) for number in range(2000)))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def in_our_words(done: Done, code: int = UNREADABLE) -> bool:
    """Whether it failed with this code, one line, and a hint."""
    lines = done.stderr.splitlines()
    told = [line for line in lines if line.startswith("analyzer: ")]
    return (
        done.code == code
        and len(told) == 1
        and lines[-1].startswith("  hint: ")
        and "internal error" not in done.stderr
        and "Traceback" not in done.stderr
    )


@pytest.mark.parametrize(
    ("command", "from_block"),
    [*((each, 3) for each in (*sampled(READING), *WRITING)), (READING[2], 1), (WRITING[0], 1)],
    ids=lambda words: " ".join(words[:2]) if isinstance(words, tuple) else str(words),
)
def test_damaged_blocks_are_told_as_such(forks: Forks, folder: Path, command: tuple[str, ...], from_block: int) -> None:
    """All blocks from one on: the store does not open, or fails where it is read. No query is to blame for that."""
    store = folder / "s.duckdb"
    data = bytearray(store.read_bytes())
    begin = 12288 + 262144 * (from_block - 1)
    data[begin:] = bytes(byte ^ 0x55 for byte in data[begin:])
    store.write_bytes(bytes(data))
    done = forks.run(Line(command, str(folder)))
    assert in_our_words(done), done
    assert "rebuild" in done.stderr


@pytest.mark.parametrize("command", WRITING, ids=lambda words: " ".join(words[:2]))
def test_a_full_disk_is_told_as_such(forks: Forks, folder: Path, command: tuple[str, ...]) -> None:
    """A limit of the kernel stands in for it; who only takes rows away may get by with what there is."""
    limit = (folder / "s.duckdb").stat().st_size // 20
    done = forks.run(Line(command, str(folder), file_limit=limit))
    assert in_our_words(done) or (done.code == 0 and command[0] in {"prune", "quarantine"}), done
    assert forks.run(Line(command, str(folder))).code == 0


@pytest.mark.parametrize("limit", [1_000, 40_000, 200_000])
def test_a_rebuild_on_a_full_disk_says_to_free_space(forks: Forks, folder: Path, limit: int) -> None:
    """Wherever it stops, the hint names no file that is gone with the rebuild."""
    done = forks.run(Line(("rebuild", "-q", *STORE), str(folder), file_limit=limit))
    assert in_our_words(done), done
    hint = done.stderr.rpartition("hint: ")[2]
    assert hint.startswith("free space") or "the store before is untouched" in hint, done


@pytest.mark.parametrize(
    "command",
    [*sampled(READING, 1), ("classify", "x"), ("--help",), ("doctor", *STORE)],
    ids=lambda words: " ".join(words[:2]),
)
def test_an_answer_that_cannot_be_written_is_none(forks: Forks, folder: Path, command: tuple[str, ...]) -> None:
    """Standard output on a full disk."""
    done = forks.run(Line(command, str(folder), stdout="/dev/full"))
    assert in_our_words(done), done
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    "command",
    [*sampled(READING, 2), *WRITING, ("rules", "backtest", "--rules", "rules.toml", *STORE), ("rules", "explain", "x")],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_working_directory_that_is_gone_is_told(forks: Forks, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Names lead nowhere then."""
    (tmp_path / "gone").mkdir()
    done = forks.run(Line(command, str(tmp_path / "gone"), without_folder=True))
    if command[:2] == ("rules", "backtest"):  # whose rules are read first, and cannot be read from anywhere
        assert in_our_words(done, USAGE), done
        return
    assert in_our_words(done), done
    assert "working directory is gone" in done.stderr


@pytest.mark.parametrize(
    "content",
    ["x = " + "[" * 3000 + "]" * 3000, "x = " + "1" * 5000, "x = [", "\udcff"],
    ids=["deep", "long", "open", "bytes"],
)
def test_bad_toml_is_a_mistake_in_the_settings(forks: Forks, folder: Path, content: str) -> None:
    """However it is bad, in analyzer.toml and in rules: exit code 2, as for every setting that cannot be understood."""
    for name, command in (("bad.toml", ("rules", "list", "--rules", "bad.toml")), ("analyzer.toml", ("rules", "list"))):
        (folder / name).write_text(content, "utf-8", "surrogateescape")
        done = forks.run(Line(command, str(folder)))
        assert in_our_words(done, USAGE), done
        assert "TOML" in done.stderr


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("command", [("run", "--grace", "{}", "--", "true"), ("sql", "--timeout", "{}", "select 1")])
def test_no_number_is_no_number_of_seconds(forks: Forks, folder: Path, command: tuple[str, ...], value: str) -> None:
    """It is refused as other values that make no sense."""
    done = forks.run(Line([word.format(value) for word in command], str(folder)))
    assert in_our_words(done, USAGE), done


@pytest.mark.parametrize(
    "command", [("rules", "test", "--corpus"), ("rules", "backtest", "--labels"), ("emit", "--from")]
)
def test_devices_are_no_files_of_lines(forks: Forks, folder: Path, command: tuple[str, ...]) -> None:
    """One that gives a line without an end is refused before it is read."""
    done = forks.run(Line([*command, "/dev/zero"], str(folder)))
    assert in_our_words(done), done
    assert "it is a device, not a file" in done.stderr


@pytest.mark.parametrize(
    "made_of_it", [RuntimeError("Query interrupted"), BaseException("a panic"), AnalyzerError("no")]
)
def test_ctrl_c_is_one_whatever_a_library_makes_of_it(
    made_of_it: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 130, and nothing of an internal error."""

    def interrupted(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise made_of_it from None

    monkeypatch.setattr(cli, "main", interrupted)
    assert call(["report"]) == INTERRUPTED
    assert capsys.readouterr().err == "analyzer: interrupted\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_an_interruption_is_told_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever presses it once more gets no page of traces."""

    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli, "main", interrupted)
    monkeypatch.setattr(analyzer.cli, "complain", interrupted)
    assert call(["report"]) == INTERRUPTED


def test_ctrl_c_waits_until_a_library_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is half loaded may end the process, with a page about itself."""
    body = "import os, signal\nsignal.raise_signal(signal.SIGINT)\nloaded = True\n"
    (tmp_path / "interrupted_module.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        assert import_module("interrupted_module").loaded
        time.sleep(20)

    monkeypatch.setattr(cli, "main", interrupted)
    assert call(["report"]) == INTERRUPTED
    assert capsys.readouterr().err == "analyzer: interrupted\n"


def test_ctrl_c_that_python_must_ignore_comes_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within a callback of the garbage collector, say, where nothing can be raised."""

    class Thing:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def interrupted(*_: object, **__: object) -> None:
        Thing()
        time.sleep(600)

    monkeypatch.setattr(cli, "main", interrupted)
    began, hook = time.monotonic(), sys.unraisablehook
    assert call(["report"]) == INTERRUPTED
    assert capsys.readouterr().err == "analyzer: interrupted\n"
    assert time.monotonic() - began < 300
    assert sys.unraisablehook is hook


def test_a_device_is_no_file_of_rules(forks: Forks, folder: Path) -> None:
    """One that gives bytes for ever is refused before it is read."""
    done = forks.run(Line(["rules", "list", "--rules", "/dev/zero"], str(folder)))
    assert in_our_words(done, USAGE), done
    assert "it is a device, not a file" in done.stderr


def test_ctrl_c_at_the_very_end_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the command has ended, and Python is about to be told to ignore what comes."""
    told: list[int] = []

    def tell(number: int, _: object) -> None:
        told.append(number)
        if len(told) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(analyzer.cli, "call", lambda _: 0)
    monkeypatch.setattr(analyzer.cli.signal, "signal", tell)
    for name in ("duckdb", "_duckdb"):  # with them the process ends without Python's own end
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(SystemExit) as ended:
        analyzer.cli.main()
    assert (ended.value.code, told) == (INTERRUPTED, [signal.SIGINT, signal.SIGINT])


@pytest.mark.parametrize("closed", [1, 2])
@pytest.mark.parametrize("words", [["ingest", "log.jsonl", "--store", "s.duckdb"], ["classify", "HTTP 529"]])
def test_a_command_without_stdout_or_stderr_does_its_work(words: list[str], closed: int, tmp_path: Path) -> None:
    """Whoever closed it wants no answer, or no narration."""
    (tmp_path / "log.jsonl").write_bytes((REPOSITORY / "sample_events" / "healthy-week.jsonl").read_bytes())
    line = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", sys.executable, "-m", "analyzer", *words]
    done = subprocess.run(line, cwd=tmp_path, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, b"internal error" in done.stderr) == (0, False)
