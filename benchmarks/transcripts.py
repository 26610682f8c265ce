"""Transcripts of Claude Code into a store, beside ccusage on the same files: `python -m benchmarks.transcripts`.

Both read every file: ours for what failed, ccusage for what was spent. Files are made up, with lines as long as real
ones; each run is a process of its own, ours and its in turns, and medians are compared. ccusage is fetched by npm, a
program of its own for each platform, and is told to reach for nothing; without npm ours are measured alone, and the
rows say so. Then a second time, with nothing new, and rollouts of Codex.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import ANALYZER

CCUSAGE = "ccusage@20.0.11"
"""The version whose programs for single platforms are known to be there."""
OURS, AGAIN, CODEX = "analyzer ingest", "analyzer ingest, nothing new", "analyzer ingest of Codex rollouts"
_DAY = "2026-11-{:02}T{:02}:{:02}:{:02}.000Z"
_FILE_BYTES = 2_700_000
_FAILED = 0.007
"""Of the results of tools: as often as in real transcripts."""
_WORDS = ("the", "build", "fails", "because", "shop/cart.py", "total()", "returns", "None", "in", "line", "a", "list,")


class Taken(NamedTuple):
    """Medians of the runs of one program, in seconds."""

    wall: float
    cpu: float
    """Of all its processes and threads."""


def main(megabytes: int = 540, runs: int = 3) -> None:
    """Make the files, read them in turns, print the table."""
    taken, without = measured(megabytes, runs)
    print(f"{megabytes} MB, {cores()} cores, medians of {runs} runs; {without or CCUSAGE}\n")
    print(f"{'':36} {'seconds':>8} {'CPU s':>8} {'ratio':>6}")
    for name, each in taken.items():
        peer = taken.get(CCUSAGE)
        ratio = f"{each.wall / peer.wall:6.2f}" if peer is not None and name != CODEX else ""
        print(f"{name:36} {each.wall:8.2f} {each.cpu:8.2f} {ratio}")


def measured(megabytes: int, runs: int) -> tuple[Mapping[str, Taken], str]:
    """What each program took; and why ccusage is not among them, or nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "claude" / "projects", megabytes, transcript)
        write(folder / "codex" / "sessions", megabytes, rollout)
        command, without = _fetched(folder)
        turns: dict[str, list[Taken]] = {}
        for turn in range(runs):
            store = str(folder / f"{turn}.duckdb")
            ours = (*ANALYZER, "ingest", "-q", str(folder / "claude"), "--store")
            named: dict[str, Sequence[str]] = {OURS: (*ours, store), AGAIN: (*ours, store)}
            if command:
                named[CCUSAGE] = command
            named[CODEX] = (*ANALYZER, "ingest", "-q", str(folder / "codex"), "--store", f"{store}.codex")
            for title, line in named.items():
                turns.setdefault(title, []).append(_timed(line, folder))
        middle = {title: Taken(*map(statistics.median, zip(*each, strict=True))) for title, each in turns.items()}
    return middle, without


def write(folder: Path, megabytes: int, lines: Callable[[random.Random, int], Iterator[Mapping[str, Any]]]) -> None:
    """Files of one kind, in folders of ten, up to so many megabytes in all."""
    dice, left, number = random.Random(7), megabytes * 1_000_000, 0  # noqa: S311 - no secret
    while left > 0:
        path = folder / f"-work-{number // 10}" / f"rollout-{number:05}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = 0
        with path.open("wb") as handle:
            for record in lines(dice, number):
                size += handle.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
                if size >= min(_FILE_BYTES, left):
                    break
        left -= size
        number += 1


def transcript(dice: random.Random, number: int) -> Iterator[Mapping[str, Any]]:
    """Records of Claude Code without an end: calls of tools and their results, some of them failed, and errors."""
    session = f"{number:08x}-0000-4000-8000-000000000000"
    before = None
    for step in range(10_000_000):
        moment = _DAY.format(1 + number % 20, step // 3600 % 24, step // 60 % 60, step % 60)
        name = f"{number:08x}-{step:04x}-4000-8000-{step:012x}"
        known = {"parentUuid": before, "cwd": f"/work/{number // 10}", "sessionId": session, "version": "2.1.42"}
        known |= {"gitBranch": "main", "uuid": name, "timestamp": moment, "isSidechain": False, "userType": "external"}
        call = f"toolu_{number:06}{step // 2:08}"
        if step % 2 == 0:
            content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": _prose(dice, 30)}}]
            usage = {"input_tokens": 9, "output_tokens": 99, "cache_read_input_tokens": 9_000}
            said = {"model": "claude-opus-4-6", "id": f"msg_{number:06}{step:08}", "role": "assistant", "usage": usage}
            yield {**known, "type": "assistant", "message": {**said, "content": content}, "requestId": f"req_{name}"}
        else:
            failed = dice.random() < _FAILED
            result = {
                "tool_use_id": call,
                "type": "tool_result",
                "content": _prose(dice, dice.choice((60, 300, 2_500))),
            }
            yield {**known, "type": "user", "message": {"role": "user", "content": [result | {"is_error": failed}]}}
            if dice.random() < _FAILED / 10:
                error = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}
                tried = {"retryInMs": 500, "retryAttempt": 1, "maxRetries": 10, "error": error}
                yield {**known, "type": "system", "subtype": "api_error", "level": "error", **tried}
        before = name


def rollout(dice: random.Random, number: int) -> Iterator[Mapping[str, Any]]:
    """Records of Codex without an end: calls of commands, their output, and counts of tokens."""
    session = f"{number:08x}-0000-7000-8000-000000000000"
    yield {
        "timestamp": _DAY.format(1, 0, 0, 0),
        "type": "session_meta",
        "payload": {"id": session, "cwd": f"/work/{number // 10}", "cli_version": "0.142.0"},
    }
    for step in range(10_000_000):
        moment = _DAY.format(1 + number % 20, step // 3600 % 24, step // 60 % 60, step % 60)
        call = f"call_{number:06}{step:08}"
        asked = {"type": "function_call", "name": "shell", "arguments": _prose(dice, 30), "call_id": call}
        code = 2 if dice.random() < _FAILED else 0
        output = f"Exit code: {code}\nOutput:\n{_prose(dice, dice.choice((60, 300, 2_500)))}"
        told = {"type": "function_call_output", "call_id": call, "output": output}
        last = {"input_tokens": 9_000, "output_tokens": 99, "total_tokens": 9_099}
        usage = {"total_token_usage": {"total_tokens": 9_099 * (step + 1)}, "last_token_usage": last}
        count = {"type": "token_count", "info": {**usage, "model_context_window": 200_000}, "rate_limits": None}
        for kind, payload in (("response_item", asked), ("response_item", told), ("event_msg", count)):
            yield {"timestamp": moment, "type": kind, "payload": payload}


def _prose(dice: random.Random, words: int) -> str:
    """So many words, with the quotes and newlines that outputs of tools have."""
    return "".join(
        f'{word}"\n' if place % 17 == 0 else f"{word} " for place, word in enumerate(dice.choices(_WORDS, k=words))
    )


def _fetched(folder: Path) -> tuple[Sequence[str], str]:
    """The command line of ccusage; or none, and why."""
    npm = shutil.which("npm")
    if npm is None:
        return (), "SKIPPED: no npm, so no ccusage to compare with"
    words = (npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", CCUSAGE)
    program = folder / "node_modules" / ".bin" / "ccusage"
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=120, check=False)  # noqa: S603 - ours
        works = program.exists() and subprocess.run([program, "--version"], capture_output=True, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return (), f"SKIPPED: npm fetched no ccusage: {error}"
    if done.returncode or not works or works.returncode:
        return (), f"SKIPPED: npm fetched no {CCUSAGE} that runs here"
    return (str(program), "claude", "daily", "--offline", "--json"), ""


def _timed(command: Sequence[str], folder: Path) -> Taken:
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "claude")}
    environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own command lines
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[-1]}: exit code {process.returncode}")
    return Taken(time.perf_counter() - began, used.ru_utime + used.ru_stime)


def cores() -> int:
    """How many this process may use, and those that it starts."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
