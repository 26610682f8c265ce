"""Fast decoding of many lines into columns of their events, for lines that need no repair.

Both functions take a run of lines as a whole or return None, and their result is that of decoding each line by itself.
The bytes of a line show that it needs repair: possible secrets and numbers without a place in 64 bits are searched for
first (`suspect`), and repeated keys show in the number of keys before and after decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any, Literal
from zlib import crc32

import msgspec
from msgspec import UNSET, UnsetType

from analyzer.events.codec import CRC_MARK, line_id
from analyzer.events.model import STANDS_IN, Origin
from analyzer.events.sanitize import MAX_ITEMS, MAX_LEVELS, MAX_TEXT
from analyzer.events.times import EPOCH, LAST, format_time, parse_time
from analyzer.redaction import prefilter_with
from analyzer.redaction.automata import kept_until_fork

SECRET, BIG_NUMBER, SPACED = range(3)
"""The results of `suspect`: a secret or a number that may need repair; a key with a space before its colon."""
_BIG_NUMBER = r"[:\[,]\s*-?[0-9](?:[0-9]{18}|[0-9.]*[eE][+\-]?[0-9]{3})"
"""A number that may not fit into 64 bits; a match inside a text only costs time."""
_SPACED = r"\"\s+:"
_SHORT = 2 * MAX_ITEMS
"""Bytes of the longest line that cannot have an object or list with too many items."""
_OPEN, _CLOSE = b"{}"
_FACTS = '"facts"'
_MOST_BRACES = 8
"""Closing braces that are tried as the end of facts."""
_COLON = b'":'
"""The end of each key. In a text it is the same before and after decoding,
because a quote in it is escaped.
"""
CRC_BYTES = len(CRC_MARK) + 10
"""The bytes of the checksum at the end of a line that our appender has written."""
_STAMP = b"0000-00-00T00:00:00.000Z"
"""The form of a time as `format_time` writes it, with zeros for its digits."""
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(slots=True)
class Columns:
    """Events as columns of equal length."""

    ids: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    """Times as `format_time` writes them."""
    sessions: list[str | None] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    writers: list[str | None] = field(default_factory=list)
    seqs: list[int | None] = field(default_factory=list)
    dropped: list[int | None] = field(default_factory=list)
    time_sources: list[str] = field(default_factory=list)
    payloads: list[str] = field(default_factory=list)
    """JSON objects, without their facts."""
    facts: list[str | None] = field(default_factory=list)
    """JSON objects that are not empty."""
    origins: dict[int, Origin] = field(default_factory=dict)
    """The origin of derived events, by their position."""

    def extend(self, more: Columns) -> None:
        """Append events to these."""
        height = len(self.payloads)
        for column in _LISTS:
            getattr(self, column).extend(getattr(more, column))
        self.origins.update((height + position, origin) for position, origin in more.origins.items())


_LISTS = tuple(column.name for column in fields(Columns) if column.default_factory is list)


@kept_until_fork
def suspect() -> Callable[[bytes], list[int]]:
    """Return a search of lines for `SECRET`, `BIG_NUMBER` and `SPACED`,
    which fast decoding cannot take.
    """
    return prefilter_with(_BIG_NUMBER, _SPACED)


class _Origin(msgspec.Struct, gc=False):
    format: str
    path: str
    line: int | None = None
    host: str | None = None


class _Own(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line as our appender writes it, with all its keys."""

    v: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    id: Annotated[str, msgspec.Meta(min_length=1)]
    type: Annotated[str, msgspec.Meta(min_length=1)]
    timestamp: str
    payload: msgspec.Raw = msgspec.Raw()
    sessionId: str | None = None  # noqa: N815 - the key's own spelling
    writer: str | None = None
    seq: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None
    dropped_before: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | None = None
    time_source: Literal["event", "log", "file"] = "event"
    origin: _Origin | None = None
    crc: str = ""


class _Line(msgspec.Struct, gc=False, rename={"meta": "_meta"}):
    """A line of any program, with the keys that are used."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    timestamp: Any = UNSET
    payload: dict[str, Any] | UnsetType = UNSET
    id: Any = UNSET
    sessionId: str | UnsetType | None = UNSET  # noqa: N815 - the key's own spelling
    v: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] | UnsetType = UNSET
    writer: str | UnsetType | None = UNSET
    seq: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | UnsetType | None = UNSET
    dropped_before: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | UnsetType | None = UNSET
    time_source: Any = UNSET
    origin: Any = UNSET
    meta: Any = UNSET
    crc: Any = UNSET


_decode_own = msgspec.json.Decoder(_Own).decode_lines
_decode_plain = msgspec.json.Decoder(_Line).decode_lines
_decode_any = msgspec.json.Decoder().decode_lines
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_encode_lines = msgspec.json.Encoder().encode_lines


def own_lines(texts: Sequence[bytes], joined: bytes, version: int, *, journal: bool) -> Columns | None:
    """Decode lines that our appender could have written; None if one of them is any other line.

    Their checksums prove them whole, a typed decoder checks their syntax, and their payloads are kept byte for byte.
    """
    for text in texts:
        if not text.endswith(b',"crc":"%08x"}' % crc32(text[:-CRC_BYTES])):
            return None
    if not _bounded(texts, joined):
        return None
    payloads: list[str] = []
    facts: list[str | None] = []
    try:
        records = _decode_own(joined)
        for record in records:
            kept = split_payload(str(record.payload, "utf-8"))
            if kept is None:
                return None
            payloads.append(kept[0])
            facts.append(kept[1])
    except (ValueError, RecursionError):
        return None
    moments, versions = [record.timestamp for record in records], [record.v for record in records]
    if len(records) != len(texts) or not canonical(moments) or min(versions) < version:
        return None
    origins = {
        position: Origin(record.origin.format, record.origin.path, record.origin.line, record.origin.host)
        for position, record in enumerate(records)
        if record.origin
    }
    if origins and not journal:
        return None
    return Columns(
        [record.id for record in records],
        [record.type for record in records],
        moments,
        [record.sessionId for record in records],
        versions,
        [record.writer for record in records],
        [record.seq for record in records],
        [record.dropped_before for record in records],
        [record.time_source for record in records],
        payloads,
        facts,
        origins,
    )


def plain_lines(
    texts: Sequence[bytes], joined: bytes, version: int, file_time: datetime, *, journal: bool, spaced: bool
) -> Columns | None:
    """Decode lines without a checksum; None if one of them is no event, or needs repair.

    `file_time` is used if a line names no time; `spaced` is true if there may be spaces before colons.
    """
    bare = texts
    if texts[0][0] != _OPEN or texts[0][-1] != _CLOSE:
        # Other programs end their lines in other ways.
        bare = [text.strip() for text in texts]
        joined = b"\n".join(bare)
    if b"" in bare or not _bounded(bare, joined):
        return None
    try:
        return _plain(texts, joined, version, file_time, journal=journal, spaced=spaced)
    except (ValueError, RecursionError):
        return None


def _plain(
    texts: Sequence[bytes], joined: bytes, version: int, file_time: datetime, *, journal: bool, spaced: bool
) -> Columns | None:
    records = _decode_plain(joined)
    count = len(texts)
    if len(records) != count:
        return None
    keys = _count_keys(texts, joined, spaced=spaced)
    payloads, facts, inner = _payloads([record.payload for record in records])
    timestamps = [record.timestamp for record in records]
    ids = [record.id for record in records]
    sessions = [record.sessionId for record in records]
    versions = [record.v for record in records]
    writers = [record.writer for record in records]
    seqs = [record.seq for record in records]
    columns = (timestamps, ids, sessions, versions, writers, seqs)
    outer = count + sum(count - column.count(UNSET) for column in columns)
    moments, time_sources = _moments(timestamps, file_time)
    dropped: list[Any] = [None] * count
    if inner + outer != keys:
        # There are other keys than these, or a repeated one.
        if _encode_lines(_decode_any(joined)).count(_COLON) != keys:
            return None
        for record in records:
            if record.crc is not UNSET or record.meta is not UNSET or (journal and record.origin is not UNSET):
                return None
        dropped = _nulls_for_absent([record.dropped_before for record in records])
        time_sources = [
            source if source == "file" or record.time_source not in STANDS_IN else record.time_source
            for record, source in zip(records, time_sources, strict=True)
        ]
    stated_versions = [version if stated is UNSET else stated for stated in versions]
    if min(stated_versions) < version:
        return None
    return Columns(
        [name if name.__class__ is str and name else line_id(text) for name, text in zip(ids, texts, strict=True)],
        [record.type for record in records],
        moments,
        _nulls_for_absent(sessions),
        stated_versions,
        _nulls_for_absent(writers),
        _nulls_for_absent(seqs),
        dropped,
        time_sources,
        payloads,
        facts,
    )


def _bounded(texts: Sequence[bytes], joined: bytes) -> bool:
    """Return true if the lines can only be whole objects, of bounded length, depth and number of items.

    They begin and end with a brace: within an object no closing and opening brace have only a newline between them.
    """
    count = len(texts)
    if [text[0] for text in texts].count(_OPEN) < count or [text[-1] for text in texts].count(_CLOSE) < count:
        return False
    longest = max(map(len, texts))
    if longest > MAX_TEXT:
        return False
    if longest > _SHORT and any(len(text) > _SHORT and text.count(b",") >= MAX_ITEMS for text in texts):
        return False
    objects = [text.count(_OPEN) for text in texts]
    lists, at = 0, joined.find(b"[")
    while at >= 0 and lists <= MAX_LEVELS:  # most logs have few, and finding them costs less than counting
        lists, at = lists + 1, joined.find(b"[", at + 1)
    if max(objects) + lists <= MAX_LEVELS:
        return True
    return all(some + text.count(b"[") <= MAX_LEVELS for some, text in zip(objects, texts, strict=True))


def canonical(moments: Sequence[str]) -> bool:
    """Return true if all of these are times as `format_time` writes them."""
    if set(map(len, moments)) != {len(_STAMP)}:
        return False
    digits = "".join(moments).encode("ascii", "replace")
    # The tens of minutes and of seconds.
    if digits.translate(_AS_ZEROS) != _STAMP * len(moments) or (digits[14::24] + digits[17::24]).strip(b"012345"):
        return False
    try:
        return all(EPOCH <= datetime.fromisoformat(hour) < LAST for hour in {moment[:13] for moment in moments})
    except ValueError:
        return False


def _moments(timestamps: list[Any], file_time: datetime) -> tuple[list[str], list[str]]:
    """Return times as `format_time` writes them, and the source of each: `event` or `file`.

    Raises:
        ValueError: a timestamp is no time.
    """
    count = len(timestamps)
    if set(map(type, timestamps)) == {str} and canonical(timestamps):
        return timestamps, ["event"] * count
    moments = [parse_time(None if timestamp is UNSET else timestamp) for timestamp in timestamps]
    return (
        [format_time(moment or file_time) for moment in moments],
        ["file" if moment is None else "event" for moment in moments],
    )


def _payloads(payloads: list[dict[str, Any] | UnsetType]) -> tuple[list[str], list[str | None], int]:
    """Return the payloads without their facts, and the facts, as JSON; and the number of keys in both."""
    count = len(payloads)
    objects = [{} if isinstance(payload, UnsetType) else payload for payload in payloads]
    absent = payloads.count(UNSET)
    positions: list[int] = []
    cut: list[dict[str, Any]] = []
    for position, payload in enumerate(objects):
        if "facts" in payload:
            value = payload["facts"]
            if value.__class__ is dict and value:
                del payload["facts"]
                positions.append(position)
                cut.append(value)
    encoded, encoded_facts = _encode_lines(objects), _encode_lines(cut)
    facts: list[str | None] = [None] * count
    for position, text in zip(positions, encoded_facts.decode().split("\n"), strict=False):
        facts[position] = text
    texts = encoded.decode().split("\n")
    texts.pop()
    keys = encoded.count(_COLON) + encoded_facts.count(_COLON) + len(positions) + count - absent
    return texts, facts, keys


def _count_keys(texts: Sequence[bytes], joined: bytes, *, spaced: bool) -> int:
    """Count how often a quote and a colon follow each other: after each key, and in some texts.

    Raises:
        msgspec.DecodeError: a line is no JSON.
    """
    if not spaced:
        return joined.count(_COLON)
    return sum(msgspec.json.format(text, indent=-1).count(_COLON) for text in texts)


def _nulls_for_absent(values: list[Any]) -> list[Any]:
    return [None if value is UNSET else value for value in values] if UNSET in values else values


def split_payload(body: str) -> tuple[str, str | None] | None:
    """Return the text of a valid JSON object without its facts, and the facts; None if they cannot be cut out.

    The characters `"facts"` are a key or a whole text, never a part of a text, because a quote in a text is escaped.
    """
    at = body.find(_FACTS)
    if at < 0:
        return (body, None) if body[:1] == "{" else None
    before = body[at - 1]
    if body[at + 7 : at + 10] != ':{"' or before not in "{,":
        return None
    # They end with the first closing brace or a later one. If it is the last but one, only the end of the payload
    # follows, and they are a member of the payload itself; otherwise a parser must decide.
    end = body.find("}", at)
    if end != len(body) - 2:
        for _ in range(_MOST_BRACES):
            if _parses(body[at + 8 : end + 1]):
                break
            end = body.find("}", end + 1)
        else:
            return None
        # Without another opening brace before them, they are a member of the payload itself.
        nested = body.find("{", 1, at - 1) > 0 and not _parses(body[: at - 1] + "}")
        if _FACTS in body[end:] or nested:
            return None
    facts, rest = body[at + 8 : end + 1], body[end + 1 :]
    if before == ",":
        return body[: at - 1] + rest, facts
    return ("{" + rest.removeprefix(","), facts) if at == 1 else None


def _parses(text: str) -> bool:
    try:
        _skip(text)
    except msgspec.DecodeError:
        return False
    return True
