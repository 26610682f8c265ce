"""Very many small files, made to cost more than their bytes: `python -m benchmarks.hostile_files [NAME…]`.

Every input is a folder that `analyzer ingest` reads; a store knows the files that are renamed, or joined by others.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from benchmarks.measure import ANALYZER, Hostile, print_rows

LINE = (
    b'{"v":1,"id":"%s","type":"relay.triggered","timestamp":"2026-11-03T10:00:00.000Z","sessionId":"s","payload":%s}\n'
)
GDD = b'{"type":"error","sessionId":"s%d","timestamp":"2026-11-03T10:00:00Z","payload":{"message":"Overloaded"}}\n'
HEAD = LINE % (b"head", b'{"a":"%s"}' % (b"x" * 1_100))
INGEST = ("ingest", "logs", "--store", "s.duckdb", "--quiet")
FEW, MANY = 8_000, 50_000


def native(number: int) -> bytes:
    """A log of one event."""
    return LINE % (b"e-%d" % number, b"{}")


def same_length(number: int) -> bytes:
    """A log that begins like all others, and is as long as they are."""
    return HEAD + LINE % (b"e-%07d" % number, b"{}")


def other_length(number: int) -> bytes:
    """A log that begins like all others, and ends at a place of its own."""
    return HEAD + LINE % (b"e-%07d" % number, b'{"a":"%s"}' % (b"x" * (number % FEW)))


def written(folder: Path, files: int, content: Callable[[int], bytes], *, first: int = 0) -> None:
    """So many files, numbered from `first` on."""
    folder.mkdir(exist_ok=True)
    for number in range(first, first + files):
        (folder / f"{number:07}.jsonl").write_bytes(content(number))


def fresh(name: str, files: int, content: Callable[[int], bytes]) -> Hostile:
    """Files that no store has seen yet."""

    def make(folder: Path, scale: int) -> Sequence[str]:
        written(folder / "logs", files * scale, content)
        return INGEST

    return Hostile(name, make)


def known(name: str, content: Callable[[int], bytes], change: Callable[[Path, int], None]) -> Hostile:
    """Files that the store has read, then a change of them."""

    def make(folder: Path, scale: int) -> Sequence[str]:
        written(folder / "logs", FEW * scale, content)
        subprocess.run([*ANALYZER, *INGEST], cwd=folder, check=True, capture_output=True)  # noqa: S603 - our own
        change(folder / "logs", FEW * scale)
        return INGEST

    return Hostile(name, make)


def renamed(folder: Path, _files: int) -> None:
    """All of them, by one rename."""
    folder.rename(folder.with_name("former"))
    folder.mkdir()
    (folder.with_name("former")).rename(folder / "moved")


def grown(folder: Path, files: int) -> None:
    """Renamed, and each with a line more."""
    renamed(folder, files)
    for path, number in zip(sorted((folder / "moved").iterdir()), count(files)):
        with path.open("ab") as handle:
            handle.write(native(number))


def inputs() -> Iterator[Hostile]:
    """All of them."""
    yield fresh("one-line logs", MANY, native)
    yield fresh("one-line logs of another tool", MANY // 5, lambda number: GDD % number)
    yield fresh("one-line texts", MANY // 5, lambda number: b"no log %d\n" % number)
    yield fresh("empty files", MANY // 5, lambda _: b"")
    for name, content in {"of one length": same_length, "of all lengths": other_length}.items():
        yield fresh(f"logs that begin alike, {name}", FEW, content)

        def joined(folder: Path, files: int, content: Callable[[int], bytes] = content) -> None:
            written(folder, files, content, first=files)

        yield known(f"as many join them, {name}", content, joined)
        yield known(f"all are renamed, {name}", content, renamed)
        yield known(f"all are renamed and grow, {name}", content, grown)
    yield fresh("copies of one log", FEW, lambda _: other_length(0))


def main(names: Sequence[str]) -> int:
    """Print the rows whose name contains one of the words, or all."""
    chosen = [item for item in inputs() if not names or any(word in item.name for word in names)]
    return 0 if print_rows(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
