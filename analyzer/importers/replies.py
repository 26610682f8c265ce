"""The tokens of replies as rows, without events: most of a session's log are replies.

The fields that many replies share are encoded once. Invariant: the rows are those that events would
give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from analyzer.events.fast_decode import canonical
from analyzer.events.model import SCHEMA_VERSION, derived_id
from analyzer.events.rows import Rows
from analyzer.events.sanitize import MAX_TEXT, payload_json, sanitize
from analyzer.events.times import format_time
from analyzer.importers.base import Block, Hit
from analyzer.importers.records import RecordReader, dressed, moment_of
from analyzer.redaction import may_hold_secret

_KIND = "usage.recorded"
_PLAIN_NAME = re.compile(
    r'"(?:msg_(?:bdrk_|vrtx_)?01[0-9A-Za-z]{22}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"'
    r'(?:,"request_id":"req_(?:bdrk_|vrtx_)?01[0-9A-Za-z]{22}")?'
)
"""Names of replies in which there is no secret.

A search for secrets takes 17 µs for each, as random letters are new to its automaton.
"""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class ReplyReader(RecordReader):
    """A reader of logs with mostly tokens of replies, which `apart` gives as rows."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield the hits of the block, those of replies too, in order."""
        hits, rows = self.apart(block)
        spans = enumerate(zip(rows.offsets, rows.lengths, strict=True))
        replies = [Hit(offset, length, (rows.event(row),)) for row, (offset, length) in spans]
        yield from sorted([*hits, *replies], key=attrgetter("offset"))


class Shared(NamedTuple):
    """The parts that the events of some replies share."""

    session: str | None
    names: str
    """The first parts of their ids."""
    before: str
    """The JSON of their payloads before the reply's name."""
    after: str
    """The JSON of their payloads after it, without the closing brace."""


def shared(
    session: str | None,
    names: Sequence[str],
    facts: Mapping[str, Any],
    **payload: str | None,
) -> Shared:
    """Encode what replies of a session share: facts about it, and fields of the payload."""
    text = _encode(dressed(_KIND, {"request": "", **payload}, facts)).decode()
    before, key, after = text.partition('"request":')
    return Shared(sanitize(session), "\x1f".join(names), before + key, after[len('""') : -len("}")])


class Replies:
    """Collects the replies of a block."""

    def __init__(self, *counts: str) -> None:
        """Take the names of the counts, in the order of the payload."""
        self._counts = [f',"{name}":' for name in counts]
        self._replies: list[tuple[Shared, str, str, str, str | None, int, int]] = []

    def add(
        self,
        common: Shared,
        request: str,
        output: int | None,
        counts: Sequence[int | None],
        stamp: str | None,
        offset: int,
        length: int,
        request_id: str | None = None,
    ) -> None:
        """Add a reply with its tokens.

        `request` is its name, `output` its output tokens, which are a part of its id, `counts` all
        its tokens, `stamp` its time as the line has it; `offset` and `length` are those of the
        line; `request_id` is the id by which the provider finds the request.
        """
        quoted = _encode(request).decode()
        if request_id:
            quoted += f',"request_id":{_encode(request_id).decode()}'
        pairs = zip(self._counts, counts, strict=True)
        tokens = "".join([f"{name}{count}" for name, count in pairs if count is not None])
        payload = f"{common.before}{quoted}{common.after}{tokens}}}"
        reply_id = derived_id(common.names, request, output)
        self._replies.append((common, quoted, reply_id, payload, stamp, offset, length))

    def rows(self, stands_in: datetime, dated: str) -> Rows:
        """Return the rows of all replies; those without a time get `stands_in` and `dated`."""
        if not self._replies:
            return Rows()
        columns = map(list[Any], zip(*self._replies, strict=True))
        common, names, ids, payloads, stamps, offsets, lengths = columns
        others = [name for name in names if not _PLAIN_NAME.fullmatch(name)]
        suspects = _suspects([*dict.fromkeys(common), *others])
        for row, payload in enumerate(payloads):
            if common[row] in suspects or names[row] in suspects or len(payload) > MAX_TEXT // 4:
                payloads[row] = payload_json(_decode(payload)).decode()
        count, sessions = len(ids), [parts.session for parts in common]
        nothing: list[Any] = [None] * count
        moments, time_sources = _dated(stamps, stands_in, dated)
        return Rows(
            ids, [_KIND] * count, moments, sessions, [SCHEMA_VERSION] * count, nothing, nothing, nothing, time_sources,
            payloads, nothing, lines=nothing, offsets=offsets, lengths=lengths,
        )  # fmt: skip


def _suspects(parts: Sequence[Shared | str]) -> set[Shared | str]:
    """Return the parts of payloads that may hold a secret; mostly none, which one search shows."""
    texts = [f'{{"request":{part}}}' if isinstance(part, str) else f'{part.before}""{part.after}}}' for part in parts]
    if not may_hold_secret("\n".join(texts).encode()):
        return set()
    return {part for part, text in zip(parts, texts, strict=True) if may_hold_secret(text.encode())}


def _dated(stamps: list[str | None], stands_in: datetime, dated: str) -> tuple[list[str], list[str]]:
    """Return the times of records as texts, and their `time_source`."""
    written = [stamp for stamp in stamps if stamp is not None]
    if len(written) == len(stamps) and canonical(written):
        return written, ["event"] * len(stamps)
    moments = [moment_of(stamp) for stamp in stamps]
    return (
        [format_time(moment or stands_in) for moment in moments],
        ["event" if moment else dated for moment in moments],
    )
