"""Replies in transcripts of Claude Code: their models, their providers and their tokens.

Only these fields of a line are decoded.
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
"""Providers by the prefix in ids of replies and requests.

Seen in public logs of 2024 to August 2026. Other servers of Anthropic's protocol give ids of other
forms; their replies name no provider.
"""
TIMESTAMP = re.compile(rb'"timestamp": ?"([0-9T:.Z+-]{19,35})"')
_SERVED = re.compile(rb"(?:msg|req)_(bdrk_|vrtx_)?01")
_MODEL = re.compile(rb'"model": ?"([^"\\\\<]{1,100})"')
_NEAR = 400
"""Bytes before and after the id of a reply in which its model is looked for."""
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
    """The message of a sub-agent, which its parent's line repeats."""


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
    """Return the records of a line, and the error of a usage that cannot be read ("" for none).

    Of a line that is torn or holds several records, all records that can be read are returned.
    """
    try:
        return [_record(line)], ""
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        records, wrong = [], ""
        for record in objects_in(line, OPENINGS)[0]:
            try:
                records.append(msgspec.convert(record, _Record))
            except msgspec.ValidationError as error:
                message = mapping(record.get("message")) or mapping(mapping(record.get("data")).get("message"))
                if record.get("type") == "assistant" or "usage" in message:
                    wrong = str(error)
        return records, wrong


def served(name: bytes, at: int = 0) -> str | None:
    """Return the provider that made the id at `at`; None for ids of other forms."""
    prefix = _SERVED.match(name, at)
    return PROVIDERS[prefix[1]] if prefix else None


def model_at(data: bytes, reply: int) -> str | None:
    """Return the model of the reply whose id is at the byte `reply`.

    It stands before or after the id, depending on the version of the program.
    """
    begins = max(0, reply - _NEAR, data.rfind(b"\n", 0, reply) + 1)
    match = _MODEL.search(data, begins, reply + _NEAR)
    return match[1].decode("utf-8", "replace") if match else None


def replies(
    data: bytes,
    places: Iterable[int],
    last: tuple[str, int],
    session: str | None,
    caller: str,
    dimensions: Mapping[str, Any],
    stands_in: datetime,
    dated: str,
) -> tuple[Rows, tuple[str, int], list[Hit]]:
    """Collect the tokens of the replies of a block.

    Returns one row a reply, the last reply's id with its output tokens, and the lines whose tokens
    cannot be read.

    `places` are the offsets of `"usage":`, `last` is the second result of the block before, and
    `dimensions` are the fields known of the session. A reply is split over neighbouring lines,
    which repeat its tokens so far: a line with no more output tokens than the line before it gives
    no row.
    """
    collected = Replies("input", "output", "cache_read", "cache_write", "cache_write_hour")
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
                by, fields = caller + part, {**dimensions, "provider": key[2]}
                names = ("claude", "usage", by)
                common = heads[key] = shared(session, names, fields, caller=by, model=reply.model)
            collected.add(common, request, output, counts, text(record.timestamp), begins, ends - begins)
    return collected.rows(stands_in, dated), last, refused
