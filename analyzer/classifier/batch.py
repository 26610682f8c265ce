"""Many stored facts at a time, for replay, in this process or in one of their own.

Stored facts were normalised and redacted when they were stored, and are judged as they are. A process of its own reads
chunks of facts on stdin and writes their answers to stdout.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from queue import SimpleQueue
from typing import Self, cast

import msgspec

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.deciding import judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.loading import Rules, parse_ruleset, ruleset_for
from analyzer.classifier.rules.ruleset import Ruleset, ruleset_text
from analyzer.interpreter import start

__all__ = ["Verdict", "classify_batch", "judge_json"]

Verdict = tuple[str, str | None, bool, str, str, str | None]
"""`(reason, detail, retryable, action, rule, confidence)`."""


def classify_batch(facts: Iterable[Facts] | Iterable[Mapping[str, object]], *, rules: Rules = None) -> list[Verdict]:
    """The verdict of each, in order; a mapping is what `Facts.to_dict` gives."""
    index = index_of(ruleset_for(rules))
    read = (each if isinstance(each, Facts) else Facts.from_dict(each) for each in facts)
    return [_verdict(each, index) for each in read]


def judge_json(chunk: Sequence[str], ruleset: Ruleset) -> list[Verdict]:
    """Judge facts that are given as JSON texts, in order."""
    index = index_of(ruleset)
    decode = _decoder()
    return [_verdict(decode(text), index) for text in chunk]


def _verdict(facts: Facts, index: Index) -> Verdict:
    decision, _, _, confidence = judge(facts, index)
    return (*decision.answer, confidence)


_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeError)
"""What the strict decoder raises for texts that are no well-formed facts."""


class _Stored(msgspec.Struct, gc=False):
    """The fields of `Facts` that a verdict looks at."""

    status: int | None = None
    code: str | None = None
    type: str | None = None
    subtype: str | None = None
    terminal_reason: str | None = None
    failure_reason: str | None = None
    is_error: bool | None = None
    message: str | None = None
    provider: str | None = None
    exception_class: str | None = None
    exit_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    cause: _Stored | None = None


@cache
def _decoder() -> Callable[[str], Facts]:
    """A function from JSON text to facts, or to an object with the same fields."""
    strict = msgspec.json.Decoder(_Stored).decode

    def decode(text: str) -> Facts:
        try:
            return cast("Facts", strict(text))
        except _ERRORS:
            return _decode(text)

    return decode


def _decode(text: str) -> Facts:
    """Decode a text that the strict decoder refuses; what are no facts becomes empty facts."""
    try:
        return Facts.from_dict(json.loads(text))
    except (ValueError, RecursionError, AttributeError):
        return Facts()


_AHEAD = 2
"""Chunks a process that are held in memory, so that none of them waits."""


class Judge:
    """A process that judges. Use as a context manager."""

    def __init__(self, ruleset: Ruleset) -> None:
        served = "from analyzer.classifier.batch import serve; serve()"
        self._process = start("-c", served, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send(json.dumps([ruleset.digest, ruleset_text(ruleset)]))

    def answers(self, chunk: Sequence[str]) -> list[Verdict]:
        """The verdicts of facts as JSON texts, in order.

        Raises:
            OSError: the process has gone.
        """
        self._send(str(len(chunk)), *chunk)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OSError(f"a judging process ended with {self._process.wait()}")
        return [tuple(answer) for answer in json.loads(line)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):  # it may have gone already
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _send(self, *lines: str) -> None:
        assert self._process.stdin is not None
        # No JSON text holds a raw newline.
        self._process.stdin.write("".join(line + "\n" for line in lines).encode("utf-8"))
        self._process.stdin.flush()


def judge_in_parallel(chunks: Iterable[Sequence[str]], ruleset: Ruleset, processes: int) -> Iterator[list[Verdict]]:
    """The answers of each chunk, in order, by so many processes. Chunks are asked for as they are needed.

    Raises:
        OSError: one of them has gone.
    """
    with ExitStack() as stack:
        idle: SimpleQueue[Judge] = SimpleQueue()
        for _ in range(processes):
            idle.put(stack.enter_context(Judge(ruleset)))
        threads = stack.enter_context(ThreadPoolExecutor(processes))

        def work(chunk: Sequence[str]) -> list[Verdict]:
            judge = idle.get()
            try:
                return judge.answers(chunk)
            finally:
                idle.put(judge)

        waiting: deque[Future[list[Verdict]]] = deque()
        for chunk in chunks:
            waiting.append(threads.submit(work, chunk))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def serve() -> None:
    """Run the judging process: answer chunks until stdin ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    digest, text = json.loads(source.readline())
    ruleset = parse_ruleset(text)
    if ruleset.digest != digest:
        sys.exit(f"these are the rules of {ruleset.digest}, not of {digest}")
    while line := source.readline():
        chunk = [source.readline().decode("utf-8") for _ in range(int(line))]
        sink.write(json.dumps(judge_json(chunk, ruleset)).encode("utf-8") + b"\n")
        sink.flush()
