"""This project's own log, and logs that share its envelope: `type`, `timestamp`, `sessionId`, `payload`.

Every line is a row or a reject, or both where an intact event is glued to a torn one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzer.events.rows import Decoded, RowDecoder
from analyzer.importers.base import Hit, RowReader, Source
from analyzer.importers.lines import Block


class EventLogReader(RowReader):
    """Reads native lines; lines of other producers with the same envelope are events too."""

    def __init__(self, source: Source, _state: Mapping[str, Any]) -> None:
        self._decoder = RowDecoder(source.file_time, journal=source.journal)

    def decode(self, data: bytes) -> Decoded:
        """All events of a block at once, its blank and its broken lines."""
        return self._decoder.decode(data)

    def read(self, block: Block) -> Iterator[Hit]:
        """A hit without events for every broken line; whole ones are rows."""
        for _, offset, text, reject in self.decode(block.data).rejects:
            yield Hit(offset, len(text), (), reject.why, reject.detail)
