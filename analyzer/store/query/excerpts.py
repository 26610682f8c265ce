"""Show lines of logs that are still there: a store keeps the meaning of a line, not its text.

Invariant: a line is shown only out of a file that still begins with what was read, and without its
secrets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from analyzer.errors import InputError
from analyzer.readable import cut
from analyzer.redaction import redact
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input

SHOWN = 300
"""Characters of a line that are shown."""
_REDACTED = 256 * 1024
"""Bytes of a line that are searched for secrets before it is cut, so that none is cut in two."""


def excerpts(
    read: Callable[[Collection[str]], Iterable[SourceCheckpoint]], places: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], str]:
    """Return the beginnings of lines that are still there, by path and 1-based number.

    `read` gives the checkpoints of paths: how far they were read.
    """
    wanted: dict[str, set[int]] = defaultdict(set)
    for path, line in places:
        wanted[path].add(line)
    checkpoints: dict[str, list[SourceCheckpoint]] = defaultdict(list)
    for checkpoint in read(wanted.keys()) if wanted else ():
        checkpoints[checkpoint.path].append(checkpoint)
    texts: dict[tuple[str, int], str] = {}
    for path, lines in wanted.items():
        try:
            with Input(path) as source:
                if any(checkpoint.fits(source) for checkpoint in checkpoints[path]):
                    lines_read = _lines(source, lines)
                    texts.update(
                        ((path, line), cut(redact(data.decode("utf-8", "replace")), SHOWN))
                        for line, data in lines_read.items()
                    )
        except InputError:
            continue  # the caller reports that it is gone
    return texts


def _lines(source: Input, wanted: set[int]) -> Mapping[int, bytes]:
    """Return the first bytes of these lines."""
    pieces: dict[int, bytearray] = {line: bytearray() for line in wanted}
    last, number, seen = max(wanted), 1, set()
    for chunk in source.chunks(0):
        start = 0
        while number <= last and start < len(chunk):
            end = chunk.find(b"\n", start)
            stop = len(chunk) if end < 0 else end
            if number in pieces:
                seen.add(number)
                piece = pieces[number]
                piece += chunk[start : min(stop, start + _REDACTED - len(piece))]
            if end < 0:
                break
            number, start = number + 1, end + 1
        if number > last:
            break
    return {line: bytes(pieces[line]) for line in seen}
