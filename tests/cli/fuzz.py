"""Random command lines over a folder of good, broken and strange files, with random signals; each follows from a seed.

`python -m tests.cli.fuzz --minutes 10` runs them for long; `--seed S --number N` runs one of them again. What a command
may answer with is what docs/reference/commands.md and docs/how-to/run.md list, in words of our own, and it ends.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import click

from analyzer.analysis.verdict.answer import EXIT_CODES
from analyzer.cli import COMMANDS, command_named
from tests import REPOSITORY
from tests.cli.forking import HUNG, Done, Forks, Line

CODES = {0, 1, 2, 3, 4, 75, 124, 130}
RUN_CODES = {7, 125, 127, 255}
"""Of `run` besides: its agent's own, a relay that was halted, a command that could not be started."""
NEVER = ("Traceback (most recent call last)", "internal error", "Exception ignored", "Warning:")
SECONDS = 45.0

FILES = [
    *("s.duckdb", "s.duckdb", "s.duckdb", "link.duckdb", "damaged.duckdb", "new.duckdb", ":memory:", "notes.txt"),
    *(
        "empty",
        "folder",
        "folder/new",
        "socket",
        "dangling",
        "circle",
        "binary",
        "huge",
        "name-\udcff.jsonl",
        "missing",
    ),
    *("log.jsonl", "log.jsonl", "logs", "torn.jsonl", "torn.gz", "torn.zst", "deep.json", "labels.jsonl", "rules.toml"),
    *("bad.toml", "deep.toml", "", "-", "/dev/null", "/dev/full", "/proc/self/mem", "log.jsonl/x", "x" * 300, "logs/*"),
    *("**", "[", "~nobody/x", "s.journal", "s.duckdb.lock", "..", "a\nb", "\u202e", "-x", "--store"),
]
PIPES = ["pipe"]
"""Only where nobody may wait for one: a pipe as an input is read, as a shell's `<(…)` makes them."""
TEXTS = [
    *(
        "",
        "x",
        "é",
        "\udcff",
        "a" * 20_000,
        "\x1b[31m",
        "\u202e",
        "a\nb",
        "'",
        '"',
        "--",
        "-",
        "*",
        "%s",
        "{}",
        "[",
        "nan",
    ),
    *(
        "Overloaded",
        "prompt is too long: 210000 tokens > 200000 maximum",
        '{"error":{"type":"overloaded_error"}}',
        "429",
    ),
    *(
        "unknown",
        "figma-probe",
        "errors-by-reason",
        "unknown-messages",
        "message=x",
        "=",
        "a=b=c",
        "status=x",
        "caller=\udcff",
    ),
    *("error.classified", "relay.triggered", "A b", "x" * 300, "user.parked", "9" * 400),
]
TIMES = [
    *(
        "7d",
        "36h",
        "2w",
        "0d",
        "-1d",
        "99999999d",
        "1e9d",
        "yesterday",
        "today",
        "now-7d",
        "2026-11-01",
        "2026-11-01T06:00",
    ),
    *("2026-13-45", "0001-01-01", "9999-12-31", "10000-01-01", "2026-11-01T06:00+99:99", "x", "", "\udcff", "9" * 400),
]
NUMBERS = ["0", "1", "-1", "3", "1e3", "0.5", "nan", "inf", "-inf", "1e309", "9" * 30, "x", "", "\u0663"]
SHORT = ["0", "0.1", "0.3", "1", "-1", "nan", "x"]
"""Seconds that a command would really wait."""
STATEMENTS = [
    *(
        "from errors",
        "select 1",
        "show tables",
        "describe errors",
        "select * from errors, events",
        "select",
        ";",
        "select 1;",
    ),
    *(
        "select '\udcff'",
        "explain analyze from errors",
        "copy errors to 'x'",
        "select interval 1 day",
        "select 'é' as \"é\"",
    ),
    *(
        "from range(100000)",
        "select repeat('x', 100000000)",
        "select unnest(range(1000000))",
        "select {'a': [1]} as s",
        "pivot",
    ),
]
WORDS = {
    "ZONE": ["UTC", "Europe/Berlin", "Asia/Kathmandu", "x/y", "../../etc/passwd", "", "\udcff"],
    "URL": ["http://127.0.0.1:9/x", "ftp://x", "x", "", "http://[", "file:///etc/passwd"],
    "SIZE": ["250MB", "1GB", "1KB", "x", "-1GB", "9" * 30 + "GB"],
    "PERCENT": ["70", "token_limit_70%", "0", "101", "x"],
    "CMD": ["true", "cat", "false", "'", "", "missing-command"],
    "REASON": ["unknown", "rate_limited", "x"],
    "SQL": STATEMENTS,
    "TIME": TIMES,
    "SPAN": TIMES,
    "SECONDS": [*SHORT, "2"],
    "S": SHORT,
    "N": ["0", "1", "-1", "x"],
}
AGENTS = [
    *(
        ["true"],
        ["false"],
        ["cat"],
        ["sh", "-c", "exit 7"],
        ["sleep", "0.3"],
        ["missing-command"],
        ["sh", "-c", "kill -9 $$"],
    ),
    *(
        ["cat", "result.json"],
        ["cat", "huge"],
        ["sh", "-c", "echo 'Overloaded' >&2; exit 1"],
        ["./folder"],
        [""],
        ["\udcff"],
    ),
    *(["sh", "-c", 'echo "You\'ve hit your limit · resets 3pm"; exit 1'], ["sh", "-c", "trap '' TERM; sleep 0.5"]),
]


def make_world(folder: Path, forks: Forks) -> None:
    """Files of every kind, and a store of the samples."""
    shutil.copytree(REPOSITORY / "sample_events", folder / "logs")
    log = sorted((folder / "logs").glob("**/*.jsonl"))[0].read_bytes()
    plain = {
        "log.jsonl": log,
        "torn.jsonl": log[:-7],
        "name-\udcff.jsonl": log,
        "notes.txt": b"shopping list\n",
        "empty": b"",
        "binary": random.Random(0).randbytes(100_000),
        "huge": b"x" * 3_000_000,
        "deep.json": b"[" * 100_000 + b"]" * 100_000,
        "deep.toml": b"x = " + b"[" * 3000 + b"]" * 3000,
        "bad.toml": b"x = [",
        "labels.jsonl": b'{"input": "Overloaded", "reason": "network_transient"}\n{"input": 1}\n[]\n',
        "torn.gz": gzip.compress(log)[:-9],
        "torn.zst": b"\x28\xb5\x2f\xfd" + log[:50],
        "result.json": b'{"type":"result","subtype":"error_during_execution","is_error":true,"result":"Overloaded"}\n',
        "rules.toml": (
            b'[[rule]]\nid = "user.parked"\nreason = "network_transient"\ndetail = "overloaded"\ntext = ["is parked"]\n'
            b'source = "our own"\nexamples = ["it is parked", "shard 4 is parked"]\ncounter_examples = ["missing"]\n'
        ),
    }
    for name, content in plain.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with chdir(folder), socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    for name, target in (("dangling", "nowhere"), ("circle", "circle"), ("link.duckdb", "s.duckdb")):
        (folder / name).symlink_to(target)
    assert forks.run(Line(["ingest", "logs", "--store", "s.duckdb", "-q"], str(folder))).code == 0
    data = (folder / "s.duckdb").read_bytes()
    (folder / "damaged.duckdb").write_bytes(data[:400_000] + bytes(byte ^ 0x55 for byte in data[400_000:]))


def copy_world(world: Path, folder: Path) -> None:
    """The same again, its pipes and sockets included."""

    def copied(source: str, target: str) -> None:
        if os.path.isfile(source):
            shutil.copy2(source, target)
        elif Path(source).is_fifo():
            os.mkfifo(target)

    shutil.copytree(world, folder, symlinks=True, copy_function=copied)


def line_of(seed: int, number: int, folder: str) -> Line:
    """The command line of that number."""
    dice = random.Random(f"{seed}/{number}")
    path, command = dice.choice(_commands())
    arguments = [*path, *_arguments(dice, path, command)]
    if dice.random() < 0.03:
        arguments.insert(dice.randrange(len(arguments) + 1), dice.choice(["--nonsense", "-Z", "--store", *TEXTS]))
    environment = {
        name: dice.choice(values)
        for name, values in (
            ("ANALYZER_STORE", FILES + PIPES),
            ("ANALYZER_RULES", FILES),
            ("GITHUB_STEP_SUMMARY", FILES),
            ("COLUMNS", NUMBERS),
            ("TZ", WORDS["ZONE"]),
        )
        if dice.random() < 0.1
    }
    signals = []
    if dice.random() < 0.25:
        signals = [
            (dice.uniform(0.0, 1.0), int(dice.choice([signal.SIGINT, signal.SIGTERM, signal.SIGINT])))
            for _ in range(dice.choice([1, 1, 2]))
        ]
    if "--follow" in arguments or arguments[:1] in (["watch"], ["receive"]):
        signals.append((1.5, int(signal.SIGINT)))
    readable = [name for name in FILES if name in {"log.jsonl", "huge", "binary", "empty", "deep.json", "labels.jsonl"}]
    return Line(
        [_argument(each) for each in arguments],
        folder,
        stdin=os.path.join(folder, dice.choice(readable)) if dice.random() < 0.4 else None,
        environment={"HOME": folder, "BROWSER": "true"} | {name: _argument(at) for name, at in environment.items()},
        signals=signals,
        file_limit=dice.choice([0, 1000, 100_000, 1_000_000]) if dice.random() < 0.05 else None,
        seconds=SECONDS,
    )


def _argument(text: str) -> str:
    """A word of a command line holds no NUL, and few bytes enough for the system."""
    return text.replace("\0", "")[:100_000]


def _commands() -> list[tuple[list[str], click.Command]]:
    found: list[tuple[list[str], click.Command]] = []
    for name in COMMANDS:
        command = command_named(name)
        if isinstance(command, click.Group):
            found += [([name, each], command.commands[each]) for each in sorted(command.commands)]
        else:
            found.append(([name], command))
    return found


def _arguments(dice: random.Random, path: list[str], command: click.Command) -> Iterator[str]:
    positional: list[str] = []
    for param in command.params:
        if isinstance(param, click.Argument):
            count = dice.choice([1, 1, 2, 0, 3]) if param.nargs == -1 else int(dice.random() < 0.9)
            positional += [_value(dice, path, param) for _ in range(count)]
        elif dice.random() < (0.7 if param.required or "--store" in param.opts else 0.2):
            yield dice.choice(param.opts)
            if not getattr(param, "is_flag", False):
                yield _value(dice, path, param)
    if path == ["run"]:
        yield from ["--", *dice.choice(AGENTS)]
    else:
        yield from positional


def _value(dice: random.Random, path: list[str], param: click.Parameter) -> str:
    """A value that may fit, or one of any kind."""
    if dice.random() < 0.05:
        return dice.choice([*TEXTS, *NUMBERS])
    if isinstance(param.type, click.Choice):
        return str(dice.choice([*param.type.choices]))
    metavar = (param.metavar or "").strip("[].")
    if metavar in WORDS:
        return dice.choice(WORDS[metavar])
    if metavar in {"FILE", "DIR", "PATH", "FOLDER"}:
        waits = metavar in {"PATH"} or {
            "--rules",
            "--output",
            "--labels",
            "--corpus",
            "--stream",
            "--from",
            "--prometheus",
            "--page",
        } & {*param.opts}
        return dice.choice(FILES if waits else FILES + PIPES)
    if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType):
        return dice.choice(NUMBERS)
    return dice.choice(TEXTS)


def fault_of(line: Line, done: Done) -> str | None:
    """What it did that no command may; None where there is nothing."""
    if done.code == HUNG:
        return "it hung"
    for words in NEVER:
        if words in done.stderr:
            return f"it said {words!r}"
    sent = {number for _, number in line.signals}
    allowed = CODES | {-number for number in sent if number != signal.SIGINT}
    if line.arguments[:1] == ["run"]:
        allowed |= RUN_CODES | {128 + number for number in (*sent, signal.SIGKILL, signal.SIGTERM)}
    if line.arguments[:1] == ["verdict"]:
        allowed |= {*EXIT_CODES.values()}
    if done.code not in allowed:
        return f"it ended with {done.code}"
    return None


def told(seed: int, number: int, line: Line, done: Done, fault: str) -> str:
    """All that is needed to see it again."""
    words = shlex.join(["analyzer", *(each[:200] for each in line.arguments)])
    return (
        f"{fault}: python -m tests.cli.fuzz --seed {seed} --number {number}\n  {words!r}\n  environment"
        f" {dict(line.environment)}, stdin {line.stdin}, signals {line.signals}, files up to {line.file_limit}\n"
        f"  exit code {done.code}\n{done.stderr[-3000:]!r}"
    )


def run_lines(seed: int, numbers: Iterator[int]) -> Iterator[str]:
    """What was wrong with those command lines."""
    with tempfile.TemporaryDirectory(prefix="analyzer-fuzz-") as name, Forks() as forks:
        world, folder = Path(name) / "world", Path(name) / "here"
        world.mkdir()
        make_world(world, forks)
        for number in numbers:
            copy_world(world, folder)
            line = line_of(seed, number, str(folder))
            done = forks.run(line)
            if fault := fault_of(line, done):
                yield told(seed, number, replace(line), done, fault)
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Run for some minutes, or one command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--number", type=int)
    options = parser.parse_args()
    deadline = time.monotonic() + options.minutes * 60
    count = 0

    def numbers() -> Iterator[int]:
        nonlocal count
        while time.monotonic() < deadline:
            yield count
            count += 1

    print(f"seed {options.seed}", flush=True)
    wrong = 0
    for fault in run_lines(options.seed, iter([options.number]) if options.number is not None else numbers()):
        wrong += 1
        print(fault, flush=True)
    print(f"{count or 1:,} command lines, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
