"""Fast decoding of many lines into rows, for lines that need no repair.

A run of lines is taken as a whole or not at all, and the result is that of decoding each line by itself.
The bytes of a line show that it needs repair: possible secrets and numbers without a place in 64 bits are searched for
first (`suspect`), and repeated keys show in the number of keys before and after decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any
from zlib import crc32

import msgspec
from msgspec import UNSET, UnsetType

from analyzer.events.codec import CRC_MARK, SPACE, line_id
from analyzer.events.model import STANDS_IN, Event
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
_COLON = b'":'
"""The end of each key. In a text it is the same before and after decoding,
because a quote in it is escaped.
"""
_FACTS = '"facts"'
_MOST_BRACES = 8
"""Closing braces that are tried as the end of facts."""
_CRC_BYTES = len(CRC_MARK) + 10
"""The bytes of the checksum at the end of a line that our appender has written."""
_STAMP = b"0000-00-00T00:00:00.000Z"
"""The form of a time as `format_time` writes it, with zeros for its digits."""
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@dataclass(slots=True)
class Rows:
    """Events as columns of equal length, in the order of their lines."""

    ids: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    moments: list[str] = field(default_factory=list)
    """Times as `format_time` writes them."""
    sessions: list[str | None] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    writers: list[str | None] = field(default_factory=list)
    """Null for a translated event, as `seqs` and `dropped`: they belong to the journal that it was read from."""
    seqs: list[int | None] = field(default_factory=list)
    dropped: list[int | None] = field(default_factory=list)
    time_sources: list[str] = field(default_factory=list)
    payloads: list[str] = field(default_factory=list)
    """JSON objects, without their facts."""
    facts: list[str | None] = field(default_factory=list)
    """JSON objects that are not empty."""
    hosts: list[str | None] = field(default_factory=list)
    source_formats: list[str | None] = field(default_factory=list)
    """The origin of a translated event; null for an event that its producer wrote itself."""
    source_paths: list[str | None] = field(default_factory=list)
    source_lines: list[int | None] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)
    """1-based within the block, null for events of a file as a whole."""
    offsets: list[int] = field(default_factory=list)
    """Bytes from the start of the block."""
    lengths: list[int] = field(default_factory=list)
    """Bytes of the line, its newline not included."""

    def extend(self, more: Rows) -> None:
        """Append events to these."""
        for column in _COLUMNS:
            getattr(self, column).extend(getattr(more, column))

    def event(self, position: int) -> Event:
        """Return the event of a row, without writer, version and origin."""
        payload, facts = _decode(self.payloads[position]), self.facts[position]
        return Event(
            type=self.types[position],
            occurred_at=parse_time(self.moments[position]) or EPOCH,
            session_id=self.sessions[position],
            payload=payload | {"facts": _decode(facts)} if facts else payload,
            id=self.ids[position],
            time_source=self.time_sources[position],
        )


_COLUMNS = tuple(column.name for column in fields(Rows))


@kept_until_fork
def suspect() -> Callable[[bytes], list[int]]:
    """Return a search of lines for `SECRET`, `BIG_NUMBER` and `SPACED`,
    which fast decoding cannot take.
    """
    return prefilter_with(_BIG_NUMBER, _SPACED)


class _Origin(msgspec.Struct, gc=False, omit_defaults=True):
    format: str
    path: str
    line: int | None = None
    host: str | None = None


class _Line(msgspec.Struct, gc=False, rename={"session": "sessionId", "meta": "_meta"}):
    """A line of any program, with the keys that are used."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    timestamp: Any = UNSET
    payload: dict[str, Any] | UnsetType = UNSET
    id: Any = UNSET
    session: str | UnsetType | None = UNSET
    v: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] | UnsetType = UNSET
    writer: str | UnsetType | None = UNSET
    seq: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | UnsetType | None = UNSET
    dropped_before: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] | UnsetType | None = UNSET
    time_source: Any = UNSET
    origin: _Origin | UnsetType | None = UNSET
    meta: Any = UNSET
    crc: Any = UNSET


class _SealedLine(_Line, gc=False):
    """A line with a checksum, which proves it whole: its payload is kept byte for byte."""

    payload: msgspec.Raw | UnsetType = UNSET  # type: ignore[assignment]


_decode = msgspec.json.Decoder().decode
_decode_lines = msgspec.json.Decoder(_Line).decode_lines
_decode_sealed = msgspec.json.Decoder(_SealedLine).decode_lines
_decode_any = msgspec.json.Decoder().decode_lines
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_encode_lines = msgspec.json.Encoder().encode_lines


def fast_rows(texts: Sequence[bytes], version: int, file_time: datetime, *, journal: bool, spaced: bool) -> Rows | None:
    """Decode whole lines into rows without positions; None if one of them is no event, or needs repair.

    `file_time` is used if a line names no time; `spaced` is true if there may be spaces before colons.
    The origin of a line is kept only for a `journal`.
    """
    bare = texts
    if texts[0][0] != _OPEN or texts[0][-1] != _CLOSE:
        # Other programs end their lines in other ways.
        bare = [text.strip(SPACE) for text in texts]
    joined = b"\n".join(bare)
    if b"" in bare or not _bounded(bare, joined):
        return None
    sealed = bare[0].startswith(CRC_MARK, -_CRC_BYTES)
    try:
        if sealed and not all(text.endswith(b',"crc":"%08x"}' % crc32(text[:-_CRC_BYTES])) for text in bare):
            return None
        if spaced and not sealed:
            joined = b"\n".join([msgspec.json.format(text, indent=-1) for text in bare])
        return _rows(texts, joined, version, file_time, sealed=sealed, journal=journal)
    except (ValueError, RecursionError):
        return None


def _rows(
    texts: Sequence[bytes], joined: bytes, version: int, file_time: datetime, *, sealed: bool, journal: bool
) -> Rows | None:
    records: list[Any] = _decode_sealed(joined) if sealed else _decode_lines(joined)
    count = len(texts)
    columns = {name: [getattr(record, name) for record in records] for name in _Line.__struct_fields__}
    absent = {name: column.count(UNSET) for name, column in columns.items()}
    versions = [version if number is UNSET else number for number in columns["v"]]
    if (
        len(records) != count
        or min(versions) < version
        or absent["crc"] != (0 if sealed else count)
        or absent["meta"] < count
    ):
        return None
    origins = [origin or None for origin in columns["origin"]]
    origin_keys = sum(2 + (origin.line is not None) + (origin.host is not None) for origin in origins if origin)
    outer_keys = len(columns) * count - sum(absent.values()) + origin_keys
    split = _cut(columns["payload"]) if sealed else _encoded(columns["payload"], outer_keys, joined)
    if split is None:
        return None
    moments, time_sources = _moments(columns["timestamp"], file_time)
    if absent["time_source"] < count:
        time_sources = [
            stated if source == "event" and stated in STANDS_IN else source
            for stated, source in zip(columns["time_source"], time_sources, strict=True)
        ]
    writers, seqs, dropped, sessions = (
        [None if value is UNSET else value for value in columns[name]] if absent[name] else columns[name]
        for name in ("writer", "seq", "dropped_before", "session")
    )
    hosts = hosts_of(writers)
    formats, paths, source_lines = (list[Any]([None]) * count for _ in range(3))
    if journal and origin_keys:
        for position, origin in enumerate(origins):
            if origin:
                formats[position], paths[position], source_lines[position] = origin.format, origin.path, origin.line
                hosts[position] = origin.host or None
                # Writer and number of a derived event belong to the journal, unless it was pushed to a shared table.
                if not origin.host:
                    writers[position] = seqs[position] = dropped[position] = None
    names = zip(columns["id"], texts, strict=True)
    return Rows(
        [name if name.__class__ is str and name else line_id(text) for name, text in names],
        columns["type"],
        moments,
        sessions,
        versions,
        writers,
        seqs,
        dropped,
        time_sources,
        *split,
        hosts,
        formats,
        paths,
        source_lines,
    )


def _cut(raw: Sequence[Any]) -> tuple[list[str], list[str | None]] | None:
    """Return payloads without their facts, and the facts, as they stand in the lines; None if one cannot be cut."""
    payloads: list[str] = []
    facts: list[str | None] = []
    for payload in raw:
        parts = split_payload(str(payload or b"{}", "utf-8"))
        if parts is None:
            return None
        payloads.append(parts[0])
        facts.append(parts[1])
    return payloads, facts


def _encoded(decoded: Sequence[Any], outer_keys: int, joined: bytes) -> tuple[list[str], list[str | None]] | None:
    """Return payloads without their facts, and the facts, encoded again; None if a key of a line stands twice.

    The lines have `outer_keys` of their known keys outside of the payloads.
    """
    payloads = [payload or {} for payload in decoded]
    facts: list[str | None] = [None] * len(payloads)
    cut: dict[int, Any] = {}
    for position, payload in enumerate(payloads):
        value = payload.get("facts")
        if value.__class__ is dict and value:
            cut[position] = payload.pop("facts")
    texts, fact_texts = (_encode_lines(objects).decode() for objects in (payloads, cut.values()))
    for position, text in zip(cut, fact_texts.split("\n"), strict=False):
        facts[position] = text
    keys = joined.count(_COLON)
    known = outer_keys + texts.count(_COLON.decode()) + fact_texts.count(_COLON.decode()) + len(cut)
    # A difference means that there are other keys than these, or a repeated one.
    if known != keys and _encode_lines(_decode_any(joined)).count(_COLON) != keys:
        return None
    return texts.split("\n")[:-1], facts


def hosts_of(writers: Sequence[str | None]) -> list[str | None]:
    """Return the host of each writer, whose name is `host:pid:random`; null where it names none."""
    if len(names := set(writers)) == 1 and None in names:
        return [None] * len(writers)
    hosts = {name: name.split(":", 1)[0] if name and ":" in name else None for name in names}
    return [hosts[name] for name in writers]


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
