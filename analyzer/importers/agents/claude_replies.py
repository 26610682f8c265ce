"""Replies in transcripts of Claude Code: the model and the provider that gave them, and the tokens that they took.

Of a line that has them no more is decoded than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec

from analyzer.agent_stream import MOST, mapping, text
from analyzer.events.rows import Rows
from analyzer.importers.base import Hit, objects_in
from analyzer.importers.replies import Replies, Shared, shared

PROVIDERS = {None: "anthropic", b"bdrk_": "aws", b"vrtx_": "google"}
"""Who answered, by the ids of replies and requests; as seen in public logs of 2024 to August 2026.

Others who speak Anthropic's protocol give ids of other forms, and are not named.
"""
TIMESTAMP = re.compile(rb'"timestamp": ?"([0-9T:.Z+-]{19,35})"')
_SERVED = re.compile(rb"(?:msg|req)_(bdrk_|vrtx_)?01")
_MODEL = re.compile(rb'"model": ?"([^"\\\\<]{1,100})"')
_NEAR = 400
"""Bytes before and behind the id of a reply among which its model stands."""
OPENINGS = (b'{"parentUuid"', b'{"type"', b'{"uuid"')
_LONGEST_NAME = 100


_Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST)] | None


class _Cache(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: _Count = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: _Count = None
    output_tokens: _Count = None
    cache_read_input_tokens: _Count = None
    cache_creation_input_tokens: _Count = None
    cache_creation: _Cache | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    message: _Message | None = None
    """Of what a sub-agent said, where that is repeated."""


class _Repeated(msgspec.Struct, gc=False):
    message: _Message | None = None


class _Record(msgspec.Struct, gc=False):
    type: Any = None
    timestamp: Any = None
    sidechain: Any = msgspec.field(default=None, name="isSidechain")
    message: _Message | None = None
    data: _Repeated | None = None


_record = msgspec.json.Decoder(_Record).decode


def _records(line: bytes) -> tuple[list[_Record], str]:
    """The record of a line, of one that is torn or holds several all that can be read; and what is wrong with a usage
    of them."""
    try:
        return [_record(line)], ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found, wrong = [], ""
        for each in objects_in(line, OPENINGS)[0]:
            try:
                found.append(msgspec.convert(each, _Record))
            except msgspec.ValidationError as error:
                message = mapping(each.get("message")) or mapping(mapping(mapping(each.get("data")).get("message")))
                wrong = str(error) if each.get("type") == "assistant" or "usage" in message else wrong
        return found, wrong


def served(name: bytes, at: int = 0) -> str | None:
    """Who gave a reply or a request the id that stands there; None where none stands, or one of another form."""
    given = _SERVED.match(name, at)
    return PROVIDERS[given[1]] if given else None


def model_at(data: bytes, reply: int) -> str | None:
    """The model of the reply whose id stands there: before it or behind it, by the version of the program."""
    begins = max(0, reply - _NEAR, data.rfind(b"\n", 0, reply) + 1)
    found = _MODEL.search(data, begins, reply + _NEAR)
    return found[1].decode("utf-8", "replace") if found else None


def replies(
    data: bytes,
    places: Iterable[int],
    last: tuple[str, int],
    session: str | None,
    caller: str,
    known: Mapping[str, Any],
    stands_in: datetime,
    dated: str,
) -> tuple[Rows, tuple[str, int], list[Hit]]:
    """The tokens of the replies of a block, by line; the last reply that a row names, with its output tokens; and the
    lines whose tokens cannot be read.

    `places` are those of `"usage":`, `last` is what the lines before told, and `known` what is known of the session. A
    reply is split over neighbouring lines, which repeat its tokens so far: a line with no more output tokens than the
    line before it gives no row.
    """
    found = Replies("input", "output", "cache_read", "cache_write", "cache_write_hour")
    heads: dict[tuple[str, str, str | None], Shared] = {}
    ends, refused = 0, list[Hit]()
    for place in places:
        if place < ends:
            continue
        begins, ends = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
        records, wrong = _records(data[begins:ends])
        if wrong:
            refused.append(Hit(begins, ends - begins, (), "bad_count", wrong))
        for record in records:
            reply = record.message or (record.data and record.data.message and record.data.message.message)
            if not reply or not reply.id or not reply.usage or not reply.model or reply.model[0] == "<":
                continue
            request, usage = reply.id, reply.usage
            output = usage.output_tokens or 0
            if (request == last[0] and output <= last[1]) or len(request) > _LONGEST_NAME:
                continue
            counts = (
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
                usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else None,
            )
            if not any(counts):
                continue
            last = request, output
            part = "/subagent" if record.sidechain is True or record.data else ""
            key = part, reply.model, served(request.encode())
            common = heads.get(key)
            if common is None:
                by, more = caller + part, {**known, "provider": key[2]}
                common = heads[key] = shared(session, ("claude", "usage", by), more, caller=by, model=reply.model)
            found.add(common, request, output, counts, text(record.timestamp), begins, ends - begins)
    return found.rows(stands_in, dated), last, refused
