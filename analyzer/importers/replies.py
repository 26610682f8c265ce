"""The tokens of replies as rows, without an event of its own for each: a session's log is made of replies.

What is the same for many of them is encoded once. Invariant: the rows are those that the events would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import re2

from analyzer.events.fast_decode import canonical
from analyzer.events.model import SCHEMA_VERSION, derived_id
from analyzer.events.rows import Rows
from analyzer.events.sanitize import MAX_TEXT, payload_json, sanitize
from analyzer.events.times import format_time
from analyzer.importers.base import Block, Hit
from analyzer.importers.records import RecordReader, dressed, moment_of
from analyzer.redaction import may_hold_secret

_LONG_NUMBER = re2.compile(rb"[0-9]{19}")
"""What may be larger than what is encoded as it is."""
_KIND = "usage.recorded"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class ReplyReader(RecordReader):
    """A reader of logs most of whose events are the tokens of replies: `apart` gives those of a block as rows."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits of the block, in order, those of the replies among them."""
        hits, rows = self.apart(block)
        places = enumerate(zip(rows.offsets, rows.lengths, strict=True))
        spent = [Hit(offset, length, (rows.event(place),)) for place, (offset, length) in places]
        yield from sorted([*hits, *spent], key=attrgetter("offset"))


class Shared(NamedTuple):
    """What the events of some replies share."""

    session: str | None
    names: str
    """The first parts of their ids."""
    before: str
    """What stands before the reply's name in their payloads."""
    behind: str


def shared(session: str | None, names: Sequence[str], known: Mapping[str, Any], **payload: str | None) -> Shared:
    """What is shared by replies of a session, of which this is `known`, with the same of some fields of the payload."""
    text = _encode(dressed(_KIND, {"request": "", **payload}, known)).decode()
    before, key, behind = text.partition('"request":')
    return Shared(sanitize(session), "\x1f".join(names), before + key, behind[len('""') : -len("}")])


class Replies:
    """Collects the replies of a block."""

    def __init__(self, *counts: str) -> None:
        """`counts` are the kinds of tokens, in the order of the payload."""
        self._counts = [f',"{name}_tokens":' for name in counts]
        self._found: list[tuple[Shared, str, str, str | None, int, int]] = []

    def add(
        self,
        common: Shared,
        request: str,
        output: int | None,
        counts: Sequence[int | None],
        stamp: str | None,
        offset: int,
        length: int,
    ) -> None:
        """Add a reply by its name: its tokens, those of the `output` once more for its id, its time as its line has it,
        and where that stands.
        """
        quoted = f'"{request}"' if request.isascii() and request.isprintable() else _encode(request).decode()
        pairs = zip(self._counts, counts, strict=True)
        told = "".join([f"{name}{count}" for name, count in pairs if count is not None])
        payload = f"{common.before}{quoted}{common.behind}{told}}}"
        self._found.append((common, derived_id(common.names, request, output), payload, stamp, offset, length))

    def rows(self, stands_in: datetime, dated: str) -> Rows:
        """The rows of all of them, and a time with its `time_source` for those without one."""
        if not self._found:
            return Rows()
        common, ids, payloads, stamps, offsets, lengths = map(list[Any], zip(*self._found, strict=True))
        # What is in none of them together is in none of them: nothing has to be cleaned.
        joined = "\n".join(payloads).encode()
        if max(map(len, payloads)) > MAX_TEXT // 4 or _LONG_NUMBER.search(joined) or may_hold_secret(joined):
            payloads = [payload_json(_decode(payload)).decode() for payload in payloads]
        count, sessions = len(ids), [each.session for each in common]
        nothing: list[Any] = [None] * count
        moments, time_sources = _dated(stamps, stands_in, dated)
        return Rows(
            ids, [_KIND] * count, moments, sessions, [SCHEMA_VERSION] * count, nothing, nothing, nothing, time_sources,
            payloads, nothing, lines=nothing, offsets=offsets, lengths=lengths,
        )  # fmt: skip


def _dated(stamps: list[str | None], stands_in: datetime, dated: str) -> tuple[list[str], list[str]]:
    """The moments of some records as a log writes them, and where each comes from."""
    written = [stamp for stamp in stamps if stamp is not None]
    if len(written) == len(stamps) and canonical(written):
        return written, ["event"] * len(stamps)
    found = [moment_of(stamp) for stamp in stamps]
    return (
        [format_time(moment or stands_in) for moment in found],
        ["event" if moment else dated for moment in found],
    )
