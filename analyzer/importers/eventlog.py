"""This project's own log, and logs that share its envelope: `type`, `timestamp`, `sessionId`, `payload`.

Every line is decoded; a line that is no event is a reject, and an intact event glued to a torn one is salvaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzer.events import Event, Reject
from analyzer.events.codec import crc_holds, decode
from analyzer.importers.base import Hit, Source
from analyzer.importers.lines import Block, Line, all_lines

_OPENING = b'{"v":'


class EventLogReader:
    """Reads native lines; lines of other producers with the same envelope are events too."""

    def __init__(self, source: Source, _state: Mapping[str, Any]) -> None:
        self._source = source

    def read(self, block: Block) -> Iterator[Hit]:
        """A hit for every line that is not blank."""
        for line in all_lines(block):
            decoded = decode(line.text, self._source.file_time)
            if isinstance(decoded, Event):
                yield Hit(line.offset, len(line.text), (decoded,))
            else:
                yield self._salvage(line, decoded)

    def finish(self) -> Sequence[Event]:
        """Nothing beyond the lines."""
        return ()

    def state(self) -> Mapping[str, Any]:
        """Nothing to remember."""
        return {}

    def _salvage(self, line: Line, reject: Reject) -> Hit:
        at = line.text.find(_OPENING, 1)
        while at > 0:
            tail = line.text[at:]
            if crc_holds(tail):
                event = decode(tail, self._source.file_time)
                if isinstance(event, Event):
                    detail = f"{at} bytes of a torn record in front of an intact one"
                    return Hit(line.offset, len(line.text), (event,), "torn", detail)
            at = line.text.find(_OPENING, at + 1)
        return Hit(line.offset, len(line.text), (), reject.why, reject.detail)
