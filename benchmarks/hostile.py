"""Small files that were made to cost much: `python -m benchmarks.hostile [NAME…]`. See README.md for the columns.

Every input is one file that `analyzer ingest` reads into a store; the generators write to a temporary folder.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import zstandard

from benchmarks.measure import Hostile, print_rows

MEGABYTE = 1_000_000
NATIVE = (
    b'{"v":1,"id":"a","type":"relay.triggered","timestamp":"2026-11-03T10:00:00.000Z","sessionId":"s","payload":{}}\n'
)
"""With one of these in front a file is a log of ours, whatever follows."""
CLAUDE = b'{"type":"user","sessionId":"s","uuid":"u-0","parentUuid":null,"timestamp":"2026-11-03T10:00:00Z"}\n'


GDD = b'{"type":"error","sessionId":"s","timestamp":"2026-11-03T10:00:00Z","payload":{"message":"x"}}\n'
WAVE = b'{"timestamp":"2026-11-03T10:00:00Z","state":"running","step_id":"a","pipeline_id":"p"}\n'
HEADS = {"ours": NATIVE, "claude": CLAUDE, "gdd": GDD, "wave": WAVE}


def log(name: str, content: Callable[[int], bytes | Iterator[bytes]], head: bytes = b"") -> Hostile:
    """A file that begins with `head` and goes on with so many bytes of this content, or twice as many."""

    def make(folder: Path, scale: int) -> Sequence[str]:
        with (folder / "log.jsonl").open("wb") as handle:
            handle.write(head)
            made = content(scale)
            handle.writelines([made] if isinstance(made, bytes) else made)
        return ("ingest", "log.jsonl", "--store", "s.duckdb", "--quiet")

    return Hostile(name, make)


def filled(line: bytes, size: int, end: bytes = b"") -> Callable[[int], bytes]:
    """The same bytes over and over, some `size` in all."""
    return lambda scale: line * (scale * size // len(line)) + end


def numbered(line: bytes, size: int) -> Callable[[int], bytes]:
    """Lines that differ in a number."""

    def content(scale: int) -> bytes:
        count = scale * size // len(line % 1_000_000)
        return b"".join(line % (1_000_000 + number) for number in range(count))

    return content


def of_every_format(name: str, content: Callable[[int], bytes | Iterator[bytes]]) -> Iterator[Hostile]:
    """The content behind a line that makes the file a log of each format that is read."""
    for kind, head in HEADS.items():
        yield log(f"{kind}: {name}", content, head)


def packed(pack: Callable[[bytes], bytes], content: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """The same content, compressed."""
    return lambda scale: pack(content(scale))


def member(begin: bytes, item: bytes, end: bytes) -> Callable[[int], bytes]:
    """One record with a member of many items."""
    return lambda scale: b'{"type":"a","payload":{"m":' + begin + item * (scale * LARGE // len(item)) + end + b"}}\n"


def escaped(levels: int) -> Callable[[int], bytes]:
    """JSON in JSON in JSON: the quotes of each level double the backslashes of the one within."""
    text = "x"
    for _ in range(levels):
        text = json.dumps({"message": text})
    return filled(b'{"type":"a","payload":{"message":%s}}\n' % json.dumps(text).encode(), LARGE)


SMALL, LARGE = 4 * MEGABYTE, 32 * MEGABYTE
STAMP = b'"timestamp":"2026-11-03T10:00:00.000Z"'
LINES = {
    "{}": b"{}\n",
    "null": b"null\n",
    "blank": b"\n",
    "blank with CR": b"\r\n",
    "NUL": b"\0\n",
    "a byte that is no UTF-8": b"\xff\n",
    "[": b"[\n",
    "torn": b'{"v":\n',
    "glued": b'{"v":1}{"v":1}\n',
    "a key twice": b'{"v":1,"v":1}\n',
    "NaN": b"[NaN]\n",
    "half a surrogate": b'{"a":"\\ud800"}\n',
    "no time": b'{"type":"a","timestamp":"x"}\n',
    "too deep": b"[" * 100 + b"]" * 100 + b"\n",
    "the same event": b'{"v":1,"id":"b","type":"a.b",' + STAMP + b',"payload":{}}\n',
}
NUMBERED = {
    "conflicts": b'{"v":1,"id":"a","type":"a.b",' + STAMP + b',"payload":{"n":%d}}\n',
    "events": b'{"v":1,"id":"%d","type":"a.b",' + STAMP + b',"payload":{}}\n',
    "a session each": b'{"v":1,"type":"a.b","sessionId":"s%d",' + STAMP + b',"payload":{}}\n',
    "a caller and a message each": b'{"v":1,"type":"error.classified",' + STAMP + b',"payload":{"caller":"c%d"}}\n',
}
FAILURE = b'{"type":"system","subtype":"api_error","sessionId":"s%d",' + STAMP + b',"retryAttempt":1}\n'
RECORDS = (b'{"a":1}' * 60_000).join((b'{"type":"result"}', b"\n"))
KEYS = b"{" + b",".join(b'"k%d":0' % number for number in range(100_000)) + b"}\n"
LONG = b'{"type":"a","payload":{"m":"' + b"x" * 60 * MEGABYTE + b'"}}\n'
FRAME = b"\x50\x2a\x4d\x18\0\0\0\0"
FROM_STDIN = ("ingest", "-", "--store", "s.duckdb", "--quiet")


def lines() -> Iterator[Hostile]:
    """Very many short ones."""
    yield log("text: x", filled(b"x\n", SMALL))
    yield from of_every_format("x", filled(b"x\n", SMALL))
    yield from of_every_format("x, all different", numbered(b"x%d\n", SMALL))
    for name, line in LINES.items():
        yield log(f"ours: {name}", filled(line, SMALL), NATIVE)
    for name, line in NUMBERED.items():
        yield log(f"ours: {name}", numbered(line, SMALL), NATIVE)
    yield log("claude: a failed session each", numbered(FAILURE, SMALL), CLAUDE)
    flood = log("", filled(b"x\n", SMALL), NATIVE).make
    yield Hostile("stdin: x", lambda folder, scale: flood(folder, scale) and FROM_STDIN, stdin="log.jsonl")


def long_lines() -> Iterator[Hostile]:
    """Few, or one."""
    for item in (b"[", b'{"a":', b"{}", b"0,", b'"', b"\\", b"\0", b" ", b'{"v":1,"type":'):
        name = item.decode().replace("\0", "NUL")
        yield log(f"alone: a line of {name}", filled(item, LARGE))
        yield log(f"ours: a line of {name}", filled(item, LARGE, b"\n"), NATIVE)
    yield from of_every_format("a long text", member(b'"', b"x", b'"'))
    yield from of_every_format("a long number", member(b"", b"7", b""))
    yield from of_every_format("a list of empty lists", member(b"[[]", b",[]", b"]"))
    yield from of_every_format("100,000 keys", filled(KEYS, LARGE))
    yield log("claude: records on one line", filled(RECORDS, SMALL), CLAUDE)
    yield log("ours: lines of 60 MB", lambda scale: LONG * 4 * scale, NATIVE)
    for levels in (5, 10, 15):
        yield log(f"ours: JSON in {levels} levels of texts", escaped(levels), NATIVE)


def archives() -> Iterator[Hostile]:
    """Compressed ones."""
    for name, pack in (("zstd", zstandard.compress), ("gzip", gzip.compress)):
        yield log(f"{name}: empty members", filled(pack(b""), SMALL))
        yield log(f"{name}: members of a blank line", filled(pack(b"\n"), SMALL))
        yield log(f"{name}: x", packed(pack, filled(b"x\n", SMALL)), pack(NATIVE))
        bomb = log(f"{name}: a bomb", packed(pack, filled(b"x\n", 10 * LARGE)))
        yield replace(bomb, exits=frozenset({3}))
    yield log("zstd: skippable frames", filled(FRAME, SMALL), zstandard.compress(NATIVE))


def main(names: Sequence[str]) -> int:
    """Print the rows whose name contains one of the words, or all."""
    chosen = [
        item for item in (*lines(), *long_lines(), *archives()) if not names or any(word in item.name for word in names)
    ]
    return 0 if print_rows(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
