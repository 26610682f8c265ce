"""Lines of logs, read where the logs still are: a store keeps what was understood of a line, not its text.

Invariant: a line is given only out of a file that still begins with what was read of it, and without its secrets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from analyzer.errors import InputError
from analyzer.redaction import redact
from analyzer.store.ingest.identity import SourceCheckpoint
from analyzer.store.ingest.inputs import Input

SHOWN = 300
"""Characters of a line that are given."""
_REDACTED = 256 * 1024
"""Bytes of a line in which secrets are looked for before it is cut, so that none is cut in two and then shown."""


def excerpts(
    read: Callable[[Collection[str]], Iterable[SourceCheckpoint]], places: Iterable[tuple[str, int]]
) -> dict[tuple[str, int], str]:
    """The beginnings of lines (path and 1-based number) that are still there; `read` tells how far paths were read."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for path, line in places:
        wanted[path].add(line)
    known: dict[str, list[SourceCheckpoint]] = defaultdict(list)
    for one in read(wanted.keys()) if wanted else ():
        known[one.path].append(one)
    found: dict[tuple[str, int], str] = {}
    for path, lines in wanted.items():
        try:
            with Input(path) as source:
                if any(one.fits(source) for one in known[path]):
                    texts = _lines(source, lines)
                    found.update({(path, line): _shown(data) for line, data in texts.items()})
        except InputError:
            continue  # whoever asked says that it has gone
    return found


def _lines(source: Input, wanted: set[int]) -> Mapping[int, bytes]:
    """The first bytes of these lines."""
    found: dict[int, bytearray] = {line: bytearray() for line in wanted}
    last, number, met = max(wanted), 1, set()
    for chunk in source.chunks(0):
        start = 0
        while number <= last and start < len(chunk):
            end = chunk.find(b"\n", start)
            stop = len(chunk) if end < 0 else end
            if number in found:
                met.add(number)
                piece = found[number]
                piece += chunk[start : min(stop, start + _REDACTED - len(piece))]
            if end < 0:
                break
            number, start = number + 1, end + 1
        if number > last:
            break
    return {line: bytes(found[line]) for line in met}


def _shown(data: bytes) -> str:
    text = redact(data.decode("utf-8", "replace"))
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
