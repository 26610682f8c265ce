"""What a hostile log becomes in everything that the commands print, refuse or write."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.cli import call
from analyzer.store import catalogue, views
from tests import sampled
from tests.cli.conftest import UNSET, forks
from tests.cli.forking import Forks, Line
from tests.security.hostile import TERMINAL, attack, write_logs

__all__ = ["forks"]

Run = Callable[..., subprocess.CompletedProcess[bytes]]
STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hostile logs and a store of them."""
    folder = tmp_path_factory.mktemp("hostile")
    write_logs(folder / "logs")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run("report", "logs")` in that folder."""
    given, printed = (tmp_path_factory.mktemp("streams") / name for name in ("in", "out"))

    def call(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        given.write_bytes(stdin)
        printed.write_bytes(b"")
        home = {"HOME": str(folder)}
        done = forks.run(Line(arguments, str(folder), str(given), str(printed), home, UNSET, seconds=120))
        assert isinstance(done.code, int), f"{done.code}: {arguments}"
        return subprocess.CompletedProcess(arguments, done.code, printed.read_bytes(), done.stderr.encode())

    done = call("ingest", "logs", "--store", "s.duckdb", "--json")
    assert json.loads(done.stdout)["events"] > 100, done.stderr
    return call


def assert_harmless(done: subprocess.CompletedProcess[bytes], keep: str = "\n") -> str:
    """Nothing on either stream steers a terminal or the runner of a job, or hides, without a traceback; stdout."""
    for stream in (done.stdout, done.stderr):
        text = stream.decode("utf-8")
        found = {
            character for character in text if unicodedata.category(character) in STEERING and character not in keep
        }
        assert found == set(), text[:2000]
        assert re.findall(r"(?m)^[ \t]*::.*::.*|##[\w.-]*\[.*", text) == []
        assert "Traceback" not in text
        assert "internal error" not in text
    return done.stdout.decode("utf-8")


COMMANDS = [
    ["ingest", "logs", "--store", "new.duckdb"],
    ["ingest", "logs", "--store", "s.duckdb", "--json"],
    ["ingest", "\x1b[31mnone\u202e", "--store", "s.duckdb"],
    ["ingest", "logs", "--store", "x\x1b]0;pwned\x07\u202e.duckdb"],
    ["report", "--store", "s.duckdb"],
    ["report", "--store", "s.duckdb", "--json"],
    ["report", "logs", "-o", "\x1b[31mx\u202e.html"],
    ["report", "--store", "\x1b[31mnone\u202e"],
    ["report", "logs", "--since", "\x1b[31m\u202e"],
    ["report", "logs", "--timezone", "\x1b[31m\u202e"],
    ["reclassify", "--store", "s.duckdb"],
    ["reclassify", "--store", "s.duckdb", "--json"],
    ["query", "\x1b[31mx\u202e"],
    ["query", "errors-by-reason", "-p", "\x1b[31m\u202e=1"],
    ["query", "unknown-messages", "--store", "s.duckdb", "-p", "limit=\x1b[31m\u202e"],
    ["sql", "select '\x1b[31m\u202e' as \"\x1b[31m\u202e\"", "--store", "s.duckdb"],
    ["sql", "selec '\x1b[31m\u202e'", "--store", "s.duckdb"],
    ["sql", 'select "\x1b[31m\u202e" from errors', "--store", "s.duckdb"],
    ["sql", "select message::int from errors", "--store", "s.duckdb"],
    ["sql", "select error(message) from errors", "--store", "s.duckdb"],
    ["classify", attack("text")],
    [
        "sql",
        "select '::error::pwned ##[error]x ##vso[y]z' as x, message as \"::error::y\" from errors",
        "-f",
        "csv",
        "--store",
        "s.duckdb",
    ],
    ["sql", "select error('::error::pwned ##[error]x ##vso[y]z')", "--store", "s.duckdb"],
    ["unknowns", "--store", "s.duckdb"],
    ["unknowns", "--store", "s.duckdb", "--suggest"],
    ["check", "--store", "s.duckdb"],
    ["quarantine", "list", "--store", "s.duckdb"],
    ["findings", "list", "--store", "s.duckdb"],
    ["show", f"1 {attack('session')}", "--store", "s.duckdb"],
    ["verdict", "logs/run.ndjson"],
    ["verdict", "logs/run.ndjson", "--json"],
    ["verdict", "logs/run.txt", "--agent", "claude"],
    ["classify", "x", "--at", "\x1b[31m\u202e"],
    ["classify", "x", "--rules", "\x1b[31m\u202e"],
    ["rules", "explain", attack("text")],
    ["rules", "explain", attack("text"), "--json"],
    ["rules", "list", "--reason", "\x1b[31m\u202e"],
    ["rules", "backtest", "--labels", "\x1b[31m\u202e"],
    ["emit", "\x1b[31mtype\u202e", f"key={attack('value')}", "--session", attack("session")],
    ["emit", "a.b", "\x1b[31m\u202e"],
    ["\x1b[31m\u202e"],
    ["report", "--\x1b[31m\u202e"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda value: " ".join(map(ascii, value))[:60])
def test_no_command_lets_a_text_steer_the_terminal(run: Run, arguments: list[str]) -> None:
    """Content, names of files, arguments and the database's own messages, on both streams, with no terminal there."""
    assert_harmless(run(*arguments))


SPEAKING = {"errors", "retries", "relays", "exhaustions", "sessions", "quarantine", "sources", "events"}
"""Views that have rows of these logs, with texts of theirs."""
VIEWS = [name for name, header in views().items() if not header.params]
FORMATS = ("table", "json", "jsonl", "csv", "markdown")


@pytest.mark.parametrize("row_format", FORMATS)
def test_no_view_lets_a_text_steer_the_terminal(run: Run, row_format: str) -> None:
    """Every column of the views, in each format of text by turns a third of them; in long runs all."""
    shown = sampled(VIEWS, FORMATS.index(row_format) % 3)
    statement = " union all by name ".join(f"(select '{view}' as shown_view, * from {view})" for view in shown)
    out = assert_harmless(run("sql", statement, "--store", "s.duckdb", "-f", row_format), keep="\n\t")
    hostile = [line for line in out.splitlines() if "u202e" in line]
    assert {view for view in SPEAKING & {*shown} if not any(view in line for line in hostile)} == set()


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_no_query_lets_a_text_steer_the_terminal(
    run: Run, folder: Path, capfdbinary: pytest.CaptureFixture[bytes], name: str
) -> None:
    """The whole catalogue by turns as a table and as JSON, which other programs can read; as both in long runs."""
    for options in sampled(([], ["--json"]), sorted(catalogue()).index(name) % 2, step=2):
        code = call(["query", name, "--store", str(folder / "s.duckdb"), *options])
        shown = assert_harmless(subprocess.CompletedProcess(name, code, *capfdbinary.readouterr()))
        if options:
            json.loads(shown, parse_constant=pytest.fail)


@pytest.mark.parametrize("view", ["errors", "quarantine", "sources", "relays"])
def test_no_cell_starts_a_formula(run: Run, view: str) -> None:
    """Texts are disarmed by an apostrophe, numbers stay numbers."""
    out = run(
        "sql", f"select *, -5 as less, -0.5 as part from {view}", "--store", "s.duckdb", "-f", "csv"
    ).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows
    for row in rows:
        assert (row.pop("less"), row.pop("part")) == ("-5", "-0.5")
        cells = [cell.lstrip(" \t\r\n\"'") if not cell.startswith("'") else "" for cell in row.values()]
        assert [cell for cell in cells if cell[:1] in {"=", "+", "-", "@"}] == []
    assert "'=HYPERLINK" in out or view == "sources"


def test_markdown_holds_no_markup_of_the_log(run: Run) -> None:
    """No tag, no link, no image, no row that a text has begun."""
    out = assert_harmless(run("report", "--store", "s.duckdb", "-f", "markdown"))
    for sign in ("<script", "<img", "<b>", "http://", "](", 'javascript:alert(1)">'):
        assert sign not in out
    columns: int | None = None
    for line in out.splitlines():
        if line.startswith("|"):
            cells = line.replace("\\|", "").count("|")
            columns = columns if columns is not None else cells
            assert cells == columns
        else:
            columns = None


WATCHED = """
import json, sys

TOUCHING = ("open", "os.", "shutil.", "tempfile.", "glob.", "subprocess.", "sqlite3.")
lines, *marks = json.loads(sys.argv[1])
seen = set()


def watch(event, given):
    if event.startswith(TOUCHING):
        seen.update(mark for mark in marks if mark in ascii(given))


sys.addaudithook(watch)
from analyzer.cli import call
for line in lines:
    call(line)
print(json.dumps(sorted(seen)))
"""


@pytest.mark.slow
def test_no_path_is_made_of_what_a_log_holds(run: Run, folder: Path, tmp_path: Path) -> None:
    """No call to the system names a file, a folder or a program by a text that stands in an event."""
    store = ["--store", str(tmp_path / "s.duckdb")]
    lines = [
        ["ingest", str(folder / "logs"), *store],
        ["reclassify", "--apply", *store],
        ["report", *store],
        ["nightly", str(folder / "logs"), "--until", "2026-11-11", *store],
        ["export", "--to", "days", *store],
        ["export", "--to", "slice.duckdb", *store],
        ["unknowns", "--suggest", *store],
        ["quarantine", "retry", *store],
        ["rebuild", *store],
    ]
    named, said = "=cmd", "HYPERLINK"  # of a log's own name, which is opened, and of every text in it
    command = [sys.executable, "-c", WATCHED, json.dumps([lines, named, said])]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True)
    *shown, seen = done.stdout.decode().splitlines()
    assert said in "".join(shown), done.stderr
    assert (tmp_path / "report.html").exists() and (tmp_path / "slice.duckdb").exists()
    assert json.loads(seen) == [named]


def test_a_rules_file_of_a_stranger_is_data(run: Run, folder: Path) -> None:
    """Its texts are shown harmless; a pattern that RE2 does not take is an error, and one that it takes is linear."""
    text = json.dumps(TERMINAL.replace("\x7f", ""))
    (folder / "bad.toml").write_text(
        '[[rule]]\nid = "own"\nreason = "validation"\nmessage = ["(a+)+$"]\n'
        f"source = {text}\nexamples = [{{ message = {json.dumps('a' * 40)} }}, {{ message = {text} }}]\n"
        "counter_examples = [{ message = 'b' }]\n",
        "utf-8",
    )
    (folder / "worse.toml").write_text(f'[[rule]]\nid = {text}\nreason = {text}\nmessage = ["(?=x)"]\n', "utf-8")
    long = json.dumps({"message": "a" * 1_000_000 + "!"}).encode()
    for rules in ("bad.toml", "worse.toml"):
        for command in (["list"], ["list", "--json"], ["test"], ["test", "--json"], ["explain", "-"]):
            assert_harmless(run("rules", *command, "--rules", rules, stdin=long))


def test_labels_and_lines_of_errors_are_data(run: Run, folder: Path) -> None:
    """What backtest and classify show of their inputs is harmless, line for line."""
    labels = [{"id": attack("id"), "input": attack("input"), "reason": reason} for reason in ("unknown", "validation")]
    (folder / "labels.jsonl").write_text("".join(json.dumps(line) + "\n" for line in labels), "utf-8")
    for options in ([], ["--json"]):
        assert_harmless(run("rules", "backtest", "--labels", "labels.jsonl", *options))
    facts = {key: attack(key) for key in ("message", "code", "type", "provider", "model", "stdout", "timestamp")}
    out = assert_harmless(run("classify", "-", stdin=json.dumps(facts).encode() + b"\n\xff\x1b\n"))
    assert len(out.splitlines()) == 2
