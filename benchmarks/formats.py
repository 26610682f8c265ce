"""What a byte of each agent's log costs beside one of Claude Code's: `python -m benchmarks.formats`, `--help` for more.

Every agent does the same made-up work: calls of a command, outputs as long as real ones, of which seven in a thousand
failed, and tokens of each reply, in its own format. A run is a process of its own that has read a small log of the kind
before, so that neither the start of the program nor its imports count; runs of all kinds take turns, forwards and
backwards. Measured is the processor time of the whole ingest, from the file to the tables of a store in memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import analyzer
from benchmarks.transcripts import rollout, transcript

Lines = Iterator[Mapping[str, Any]]
_FAILED = 0.007
_DAY = "2026-11-{:02}T{:02}:{:02}:{:02}.000Z"
_MS = 1_793_491_200_000
_WORDS = ("the", "build", "fails", "because", "shop/cart.py", "total()", "returns", "None", "in", "line", "a", "list,")
_SMALL = 50_000
"""Bytes of the log that is read before."""


class Step(NamedTuple):
    """One call of a tool with its output."""

    number: int
    at: str
    ms: int
    command: str
    output: str
    failed: bool


def steps(dice: random.Random) -> Iterator[Step]:
    """Calls without an end, twenty seconds after each other."""
    for number in range(10_000_000):
        second = number * 20
        at = _DAY.format(1 + second // 86_400 % 28, second // 3600 % 24, second // 60 % 60, second % 60)
        command, output = _prose(dice, 30), _prose(dice, dice.choice((60, 300, 2_500)))
        yield Step(number, at, _MS + second * 1_000, command, output, dice.random() < _FAILED)


def pi(dice: random.Random) -> Lines:
    """A session of pi's, or of OpenClaw's."""
    yield {"type": "session", "version": 3, "id": "s", "timestamp": _DAY.format(1, 0, 0, 0), "cwd": "/work/shop"}
    for step in steps(dice):
        call = {"type": "toolCall", "id": f"t{step.number}", "name": "bash", "arguments": {"command": step.command}}
        usage = {"input": 9_000, "output": 99, "cacheRead": 8_000, "cacheWrite": 0, "cost": {"total": 0.01}}
        made = {"provider": "anthropic", "model": "claude-opus-4-6", "usage": usage, "stopReason": "toolUse"}
        told = {"toolCallId": f"t{step.number}", "toolName": "bash", "isError": step.failed}
        text = [{"type": "text", "text": step.output}]
        for kind, said in (
            ("a", {"role": "assistant", "content": [call], **made}),
            ("r", {"role": "toolResult", **told, "content": text}),
        ):
            yield {"type": "message", "id": f"{kind}{step.number}", "timestamp": step.at, "message": said}


def gemini(dice: random.Random) -> Lines:
    """A chat of Gemini CLI's: a reply holds its calls and their results, once for the model and once for the eye."""
    yield {"sessionId": "s", "projectHash": "p", "startTime": _DAY.format(1, 0, 0, 0), "kind": "main"}
    for step in steps(dice):
        answer = [{"functionResponse": {"name": "shell", "response": {"output": step.output}}}]
        status = "error" if step.failed else "success"
        call = {"id": f"t{step.number}", "name": "shell", "args": {"command": step.command}, "result": answer}
        call |= {"status": status, "timestamp": step.at, "resultDisplay": step.output[:500]}
        tokens = {"input": 9_000, "output": 99, "cached": 8_000, "thoughts": 9, "tool": 0, "total": 9_108}
        reply = {"id": f"m{step.number}", "timestamp": step.at, "type": "gemini", "content": "", "tokens": tokens}
        yield {**reply, "model": "gemini-3-pro", "toolCalls": [call]}


def qwen(dice: random.Random) -> Lines:
    """A chat of Qwen Code's."""
    for step in steps(dice):
        call = {"functionCall": {"id": f"t{step.number}", "name": "shell", "args": {"command": step.command}}}
        answer = {"functionResponse": {"name": "shell", "response": {"output": step.output}}}
        tokens = {"promptTokenCount": 9_000, "candidatesTokenCount": 99, "totalTokenCount": 9_099}
        for kind, role, part, more in (
            ("assistant", "model", call, {"usageMetadata": tokens}),
            ("tool_result", "user", answer, {"toolCallResult": {"status": "error" if step.failed else "success"}}),
        ):
            named = {"uuid": f"{kind}{step.number}", "sessionId": "s", "timestamp": step.at, "type": kind}
            known = {"cwd": "/work/shop", "version": "0.9.0", "gitBranch": "main", "model": "qwen3-coder"}
            yield {**named, **known, "message": {"role": role, "parts": [part]}, **more}


def copilot(dice: random.Random) -> Lines:
    """A session of Copilot CLI's."""
    began = {"sessionId": "s", "copilotVersion": "1.0.0", "context": {"cwd": "/work/shop"}}
    yield {"type": "session.start", "data": began, "id": "e", "timestamp": _DAY.format(1, 0, 0, 0), "parentId": None}
    for step in steps(dice):
        call, failure = {"toolCallId": f"t{step.number}"}, {"error": {"message": step.output[:200]}}
        asked = {**call, "name": "bash", "arguments": {"command": step.command}}
        answer = failure if step.failed else {"result": {"content": step.output}}
        for kind, data in (
            ("assistant.message", {"messageId": f"m{step.number}", "content": "", "toolRequests": [asked]}),
            ("tool.execution_start", {**call, "toolName": "bash", "arguments": {"command": step.command}}),
            ("tool.execution_complete", {**call, "success": not step.failed, **answer}),
        ):
            yield {"type": kind, "data": data, "id": f"{kind}{step.number}", "timestamp": step.at, "parentId": "e"}


def kimi(dice: random.Random) -> Lines:
    """The wire of Kimi Code."""
    yield {"type": "metadata", "protocol_version": "1.5", "created_at": _MS}
    for step in steps(dice):
        call, usage = {"toolCallId": f"t{step.number}"}, {"inputOther": 1_000, "output": 99, "inputCacheRead": 8_000}
        yield {"type": "llm.request", "provider": "kimi", "model": "k2", "attempt": "1/3", "time": step.ms}
        yield {"type": "usage.record", "model": "k2", "usage": usage, "time": step.ms}
        for event in (
            {"type": "tool.call", "name": "Shell", **call, "args": {"command": step.command}},
            {"type": "tool.result", **call, "result": {"output": step.output, "isError": step.failed}},
            {"type": "step.end", "uuid": f"u{step.number}", "turnId": "t", "step": step.number},
        ):
            yield {"type": "context.append_loop_event", "event": event, "time": step.ms}


def opencode(dice: random.Random) -> Lines:
    """Rows of opencode's database: of each call its message and its parts."""
    for step in steps(dice):
        time, tokens = {"created": step.ms, "completed": step.ms + 900}, {"read": 8_000, "write": 0}
        said: dict[str, Any] = {
            "role": "assistant",
            "time": time,
            "modelID": "k2",
            "providerID": "kimi",
            "finish": "tool-calls",
        }
        said |= {"tokens": {"input": 1_000, "output": 99, "reasoning": 0, "cache": tokens}, "path": {"cwd": "/work"}}
        result = {"error": step.output[:200]} if step.failed else {"output": step.output}
        state: dict[str, Any] = {"status": "error" if step.failed else "completed", "input": {"command": step.command}}
        called = {"type": "tool", "tool": "bash", "callID": f"t{step.number}"}
        state |= {"time": {"start": step.ms, "end": step.ms + 800}, **result}
        parts = ({"type": "step-start"}, {**called, "state": state}, {"type": "step-finish", "reason": "tool-calls"})
        yield {"id": f"msg_{step.number:09}", "time": step.ms, "data": said, "parts": parts}


def _prose(dice: random.Random, words: int) -> str:
    return "".join(
        f"{word}\n" if place % 17 == 0 else f"{word} " for place, word in enumerate(dice.choices(_WORDS, k=words))
    )


def _lines(records: Callable[[random.Random], Lines]) -> Callable[[Path, int], int]:
    def write(path: Path, most: int) -> int:
        size = 0
        with path.open("wb") as handle:
            for record in records(random.Random(7)):  # noqa: S311 - no secret
                size += handle.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
                if size >= most:
                    return size
        return size

    return write


def _rows(path: Path, most: int) -> int:
    """A database of opencode's; a size is that of what its columns hold."""
    size = 0
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            create table session (id text primary key, directory text, version text, time_updated integer);
            create table message (id text primary key, session_id text, time_updated integer, data text);
            create table part (id text primary key, message_id text, session_id text, time_created integer,
                time_updated integer, data text);
            insert into session values ('ses_1', '/work', '1.2.0', 1793491200000);
        """)
        for row in opencode(random.Random(7)):  # noqa: S311 - no secret
            if size >= most:
                break
            said = json.dumps(row["data"])
            connection.execute("insert into message values (?, 'ses_1', ?, ?)", (row["id"], row["time"], said))
            texts = [json.dumps(part) for part in row["parts"]]
            connection.executemany(
                "insert into part values (?, ?, 'ses_1', ?, ?, ?)",
                [
                    (f"prt_{row['id']}{place}", row["id"], row["time"], row["time"], text)
                    for place, text in enumerate(texts)
                ],
            )
            size += len(said) + sum(map(len, texts))
        connection.commit()
    return size


BASE = "claude"
KINDS: Mapping[str, tuple[str, Callable[[Path, int], int]]] = {
    BASE: ("s.jsonl", _lines(lambda dice: transcript(dice, 0))),
    "codex": ("rollout-s.jsonl", _lines(lambda dice: rollout(dice, 0))),
    "opencode": ("opencode.db", _rows),
    "pi": ("s.jsonl", _lines(pi)),
    "gemini": ("session-s.jsonl", _lines(gemini)),
    "copilot": ("events.jsonl", _lines(copilot)),
    "qwen": ("s.jsonl", _lines(qwen)),
    "kimi": ("wire.jsonl", _lines(kimi)),
}
"""The name of a log of each kind, and what writes one of so many bytes and returns its size."""


def measured(kinds: Sequence[str], megabytes: int, runs: int) -> Mapping[str, tuple[float, list[float]]]:
    """Of each kind the megabytes of its log, and the processor seconds of its runs, which take turns."""
    with tempfile.TemporaryDirectory() as name:
        sizes = {}
        for kind in kinds:
            file, write = KINDS[kind]
            for folder, most in (("small", _SMALL), ("large", megabytes * 1_000_000)):
                path = Path(name, kind, folder, "main", file)
                path.parent.mkdir(parents=True)
                sizes[kind] = write(path, most) / 1_000_000
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        for turn in range(runs):
            for kind in [*kinds][:: 1 if turn % 2 == 0 else -1]:
                command = (sys.executable, "-m", "benchmarks.formats", "--read", str(Path(name, kind)))
                done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
                taken[kind].append(float(done.stdout))
    return {kind: (sizes[kind], taken[kind]) for kind in kinds}


def _read(folder: Path) -> float:
    """The processor seconds that the ingest of a large log takes, once a small one was read."""
    gc.set_threshold(20_000, 50, 50)  # as the command line sets it
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(folder / "small")])
        began = _used()
        found = store.ingest([str(folder / "large")])
        seconds = _used() - began
    assert found.total.events and not found.total.quarantined, folder
    return seconds


def _used() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row for each kind: its processor time by megabyte, and its speed over that of Claude Code's logs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"only these beside {BASE}: {', '.join(KINDS)}")
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--read", type=Path, metavar="FOLDER", help="one run: the processor time of reading it")
    given = parser.parse_args(argv)
    if given.read is not None:
        print(_read(given.read))
        return
    if unknown := sorted(set(given.kinds) - KINDS.keys()):
        parser.error(f"no kind is called {unknown[0]!r}; known: {', '.join(KINDS)}")
    found = measured([BASE, *(kind for kind in given.kinds or KINDS if kind != BASE)], given.megabytes, given.runs)
    size, base = found[BASE]
    print(f"{'':10} {'MB':>5} {'CPU ms a MB':>12} {'of the speed of ' + BASE:>24}   its range")
    for kind, (megabytes, seconds) in found.items():
        ratios = sorted(theirs / size / (own / megabytes) for own, theirs in zip(seconds, base, strict=True))
        middle = statistics.median(seconds) / megabytes * 1_000
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"{kind:10} {megabytes:5.0f} {middle:12.2f} {statistics.median(ratios):24.2f}   {spread}")


if __name__ == "__main__":
    main()
