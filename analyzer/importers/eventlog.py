"""This project's own log, and logs that share its envelope: `type`, `timestamp`, `sessionId`, `payload`.

Every line is a row or a reject, or both where an intact event is glued to a torn one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.events import Event
from analyzer.events.rows import RowDecoder, Rows
from analyzer.importers.base import Hit, Source
from analyzer.importers.lines import Block


class EventLogReader:
    """Reads native lines; lines of other producers with the same envelope are events too."""

    def __init__(self, source: Source, _state: Mapping[str, Any]) -> None:
        self._decoder = RowDecoder(source.file_time)

    def rows(self, block: Block) -> tuple[Rows, list[Hit]]:
        """All events of a block at once, and a hit without events for every line that is broken."""
        rows, rejects = self._decoder.decode(block.data)
        return rows, [Hit(offset, len(text), (), reject.why, reject.detail) for _, offset, text, reject in rejects]

    def read(self, block: Block) -> Iterator[Hit]:
        """The broken lines; whole ones are rows."""
        yield from self.rows(block)[1]

    def finish(self) -> Sequence[Event]:
        """Nothing beyond the lines."""
        return ()

    def state(self) -> Mapping[str, Any]:
        """Nothing to remember."""
        return {}
