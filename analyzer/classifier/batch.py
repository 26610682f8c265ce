"""Classification of many stored facts, for replay, in this process or in helpers.

Stored facts were normalised and redacted when they were stored, and are judged as they are. A helper reads chunks of
facts on stdin and writes their verdicts to stdout.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import IO, cast

import msgspec

from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.deciding import judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.loading import Rules, parse_ruleset, ruleset_for
from analyzer.classifier.rules.ruleset import Ruleset, ruleset_text
from analyzer.interpreter import Errand, Pool, start

__all__ = ["Verdict", "classify_batch", "judge_json"]

Verdict = tuple[str, str | None, bool, str, str, str | None]
"""`(reason, detail, retryable, action, rule, confidence)`."""


def classify_batch(facts: Iterable[Facts] | Iterable[Mapping[str, object]], *, rules: Rules = None) -> list[Verdict]:
    """Judge facts, in order; a mapping is what `Facts.to_dict` gives."""
    index = index_of(ruleset_for(rules))
    return [_verdict(item if isinstance(item, Facts) else Facts.from_dict(item), index) for item in facts]


def judge_json(chunk: Sequence[str], ruleset: Ruleset) -> list[Verdict]:
    """Judge facts that are JSON texts, in order."""
    index = index_of(ruleset)
    decode = _decoder()
    return [_verdict(decode(text), index) for text in chunk]


def _verdict(facts: Facts, index: Index) -> Verdict:
    decision, _, _, confidence = judge(facts, index)
    return (*decision.answer, confidence)


_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeError)
"""The errors of the strict decoder for texts that are not well-formed facts."""


class _Stored(msgspec.Struct, gc=False):
    """The fields of `Facts` that a verdict depends on."""

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
    """Return a function from JSON text to facts, or to an object with the same fields."""
    strict = msgspec.json.Decoder(_Stored).decode

    def decode(text: str) -> Facts:
        try:
            return cast("Facts", strict(text))
        except _ERRORS:
            return _decode(text)

    return decode


def _decode(text: str) -> Facts:
    """Decode a text that the strict decoder refuses; one that holds no facts becomes empty facts."""
    try:
        return Facts.from_dict(json.loads(text))
    except (ValueError, RecursionError, AttributeError):
        return Facts()


_AHEAD = 2
"""Chunks per process that are held in memory, so that no process waits."""


class Chunk(Errand[list[Verdict]]):
    """Facts as JSON texts that are judged in order."""

    def __init__(self, texts: Sequence[str], ruleset: Ruleset) -> None:
        super().__init__()
        self._texts, self._ruleset = texts, ruleset

    def here(self) -> list[Verdict]:
        """Judge the facts in this process."""
        return judge_json(self._texts, self._ruleset)

    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> list[Verdict]:
        """Get the verdicts from a helper that `serve` runs in."""
        # No JSON text holds a raw newline.
        requests.write("".join(f"{line}\n" for line in (len(self._texts), *self._texts)).encode("utf-8"))
        requests.flush()
        return [tuple(answer) for answer in json.loads(answers.readline())]


def started(ruleset: Ruleset) -> subprocess.Popen[bytes]:
    """Start a helper that judges by a ruleset."""
    served = "from analyzer.classifier.batch import serve; serve()"
    process = start("-c", served, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps([ruleset.digest, ruleset_text(ruleset)]).encode() + b"\n")
    return process


def judge_in_parallel(chunks: Iterable[Sequence[str]], ruleset: Ruleset, processes: int) -> Iterator[list[Verdict]]:
    """Yield the verdicts of each chunk, in order, from so many processes, this one included.

    A chunk is taken from the iterable when it is needed.
    """
    with Pool(lambda: started(ruleset), processes - 1) as pool:
        pool.begin(processes - 1)
        waiting: deque[Chunk] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(Chunk(chunk, ruleset)))
            if len(waiting) > _AHEAD * processes:
                yield pool.settled(waiting.popleft())
        while waiting:
            yield pool.settled(waiting.popleft())


def serve() -> None:
    """Run the helper process: answer chunks until stdin ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    digest, text = json.loads(source.readline())
    ruleset = parse_ruleset(text)
    if ruleset.digest != digest:
        sys.exit(f"these are the rules of {ruleset.digest}, not of {digest}")
    while line := source.readline():
        chunk = [source.readline().decode("utf-8") for _ in range(int(line))]
        sink.write(json.dumps(judge_json(chunk, ruleset)).encode("utf-8") + b"\n")
        sink.flush()
