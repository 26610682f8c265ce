"""Many lines at once → the columns of their events: the fast roads of `rows`, for lines that need no repair.

Each takes a run of lines as a whole or not at all, and says of none anything else than decoding it by itself does.
Whether a line needs repair is told by its bytes: what may be a secret, or a number that fits nowhere, is searched for
beforehand (`suspect`); that no key stands twice follows from counting them before and after.
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
"""What `suspect` finds: a secret or a number that may need repair; a key with a space before its colon."""
_BIG_NUMBER = r"[:\[,]\s*-?[0-9](?:[0-9]{18}|[0-9.]*[eE][+\-]?[0-9]{3})"
"""A number that may not fit into 64 bits; in texts it may stand for nothing, which only costs time."""
_SPACED = r"\"\s+:"
_SHORT = 2 * MAX_ITEMS
"""Bytes; a shorter line has no object or list with too many items."""
_OPEN, _CLOSE = b"{}"
_FACTS = '"facts"'
_MOST_BRACES = 8
"""Of facts, that are tried for their end."""
_COLON = b'":'
"""Stands behind each key, and in texts where it does before and behind decoding: a quote in them is escaped."""
CRC_BYTES = len(CRC_MARK) + 10
"""At the end of a line that our appender has written."""
_STAMP = b"0000-00-00T00:00:00.000Z"
"""The form of a time as `format_time` writes it, with zeros for its digits."""
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(slots=True)
class Columns:
    """Events as columns of equal length."""

    ids: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    """As `format_time` writes them."""
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
        self.origins.update((height + place, origin) for place, origin in more.origins.items())


_LISTS = tuple(each.name for each in fields(Columns) if each.default_factory is list)


@kept_until_fork
def suspect() -> Callable[[bytes], list[int]]:
    """A search of some lines for what a fast road cannot take: what it finds is `SECRET`, `BIG_NUMBER`, `SPACED`."""
    return prefilter_with(_BIG_NUMBER, _SPACED)


class _Origin(msgspec.Struct, gc=False):
    format: str
    path: str
    line: int | None = None


class _Own(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line as our appender writes it: all its keys."""

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
    """A line of any program: the keys that are looked at."""

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
    """The events of lines that our appender could have written; None where one of them is anything else.

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
        found = _decode_own(joined)
        for one in found:
            kept = split_payload(str(one.payload, "utf-8"))
            if kept is None:
                return None
            payloads.append(kept[0])
            facts.append(kept[1])
    except (ValueError, RecursionError):
        return None
    moments, versions = [one.timestamp for one in found], [one.v for one in found]
    if len(found) != len(texts) or not canonical(moments) or min(versions) < version:
        return None
    origins = {
        place: Origin(one.origin.format, one.origin.path, one.origin.line)
        for place, one in enumerate(found)
        if one.origin
    }
    if origins and not journal:
        return None
    return Columns(
        [one.id for one in found],
        [one.type for one in found],
        moments,
        [one.sessionId for one in found],
        versions,
        [one.writer for one in found],
        [one.seq for one in found],
        [one.dropped_before for one in found],
        [one.time_source for one in found],
        payloads,
        facts,
        origins,
    )


def plain_lines(
    texts: Sequence[bytes], joined: bytes, version: int, file_time: datetime, *, journal: bool, spaced: bool
) -> Columns | None:
    """The events of lines without a checksum; None where one of them is no event, or needs repair.

    `file_time` stands in where a line names no time; `spaced` says that there may be spaces before colons.
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
    found = _decode_plain(joined)
    count = len(texts)
    if len(found) != count:
        return None
    keys = _count_keys(texts, joined, spaced=spaced)
    payloads, facts, inner = _payloads([one.payload for one in found])
    timestamps, ids, sessions = (
        [one.timestamp for one in found],
        [one.id for one in found],
        [one.sessionId for one in found],
    )
    versions, writers, seqs = [one.v for one in found], [one.writer for one in found], [one.seq for one in found]
    outer = count + sum(count - each.count(UNSET) for each in (timestamps, ids, sessions, versions, writers, seqs))
    moments, time_sources = _moments(timestamps, file_time)
    dropped: list[Any] = [None] * count
    if inner + outer != keys:
        # There are other keys than these, or one that stands twice.
        if _encode_lines(_decode_any(joined)).count(_COLON) != keys:
            return None
        if any(one.crc is not UNSET or one.meta is not UNSET or (journal and one.origin is not UNSET) for one in found):
            return None
        dropped = _nulls_for_absent([one.dropped_before for one in found])
        time_sources = [
            told if told == "file" or one.time_source not in STANDS_IN else one.time_source
            for one, told in zip(found, time_sources, strict=True)
        ]
    known = [version if one is UNSET else one for one in versions]
    if min(known) < version:
        return None
    return Columns(
        [one if one.__class__ is str and one else line_id(text) for one, text in zip(ids, texts, strict=True)],
        [one.type for one in found],
        moments,
        _nulls_for_absent(sessions),
        known,
        _nulls_for_absent(writers),
        _nulls_for_absent(seqs),
        dropped,
        time_sources,
        payloads,
        facts,
    )


def _bounded(texts: Sequence[bytes], joined: bytes) -> bool:
    """Whether each line is one whole object, or none, of bounded length, depth and number of items.

    They begin and end with a brace: two braces with nothing but a newline between them stand nowhere within an object.
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
    while at >= 0 and lists <= MAX_LEVELS:  # most logs have few, and to find them costs less than to count them
        lists, at = lists + 1, joined.find(b"[", at + 1)
    if max(objects) + lists <= MAX_LEVELS:
        return True
    return all(some + text.count(b"[") <= MAX_LEVELS for some, text in zip(objects, texts, strict=True))


def canonical(moments: Sequence[str]) -> bool:
    """Whether all of these are times as `format_time` writes them."""
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
    """Times as `format_time` writes them, and where each comes from.

    Raises:
        ValueError: one is no time.
    """
    count = len(timestamps)
    if set(map(type, timestamps)) == {str} and canonical(timestamps):
        return timestamps, ["event"] * count
    parsed = [parse_time(None if one is UNSET else one) for one in timestamps]
    return (
        [format_time(one or file_time) for one in parsed],
        ["file" if one is None else "event" for one in parsed],
    )


def _payloads(payloads: list[dict[str, Any] | UnsetType]) -> tuple[list[str], list[str | None], int]:
    """The payloads without their facts, and the facts, as JSON; and how many keys there are in both."""
    count = len(payloads)
    given = [{} if isinstance(one, UnsetType) else one for one in payloads]
    absent = [one.__class__ for one in payloads].count(UnsetType)
    places: list[int] = []
    taken: list[dict[str, Any]] = []
    for place, payload in enumerate(given):
        if "facts" in payload:
            found = payload["facts"]
            if found.__class__ is dict and found:
                del payload["facts"]
                places.append(place)
                taken.append(found)
    encoded, cut = _encode_lines(given), _encode_lines(taken)
    facts: list[str | None] = [None] * count
    for place, text in zip(places, cut.decode().split("\n"), strict=False):
        facts[place] = text
    texts = encoded.decode().split("\n")
    texts.pop()
    keys = encoded.count(_COLON) + cut.count(_COLON) + len(places) + count - absent
    return texts, facts, keys


def _count_keys(texts: Sequence[bytes], joined: bytes, *, spaced: bool) -> int:
    """How often a quote and a colon follow each other: behind each key, and in some texts.

    Raises:
        msgspec.DecodeError: a line is no JSON.
    """
    if not spaced:
        return joined.count(_COLON)
    return sum(msgspec.json.format(text, indent=-1).count(_COLON) for text in texts)


def _nulls_for_absent(values: list[Any]) -> list[Any]:
    return [None if one is UNSET else one for one in values] if UNSET in values else values


def split_payload(body: str) -> tuple[str, str | None] | None:
    """The text of a valid JSON object and the facts in it; None where they cannot be cut out.

    The characters `"facts"` are a key or a whole text, never a part of one: a quote in a text is escaped.
    """
    at = body.find(_FACTS)
    if at < 0:
        return (body, None) if body[:1] == "{" else None
    before = body[at - 1]
    if body[at + 7 : at + 10] != ':{"' or before not in "{,":
        return None
    # They end with the first brace behind their beginning, or with a later one. Where that is the last but one, only
    # the end of the payload is behind them, and they are a member of the payload itself; else a parser must tell.
    end = body.find("}", at)
    if end != len(body) - 2:
        for _ in range(_MOST_BRACES):
            if _parses(body[at + 8 : end + 1]):
                break
            end = body.find("}", end + 1)
        else:
            return None
        # With no brace but the first one before them, they are a member of nothing else.
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
