"""Replies in transcripts of Claude Code: the model and the provider that gave them, and the tokens that they took.

A transcript is made of replies, so their tokens become rows without an event of its own for each: what is the same for
many of them is encoded once. Invariant: the rows are those that the events would give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
import re2

from analyzer.events.fast_decode import canonical
from analyzer.events.model import derived_id
from analyzer.events.rows import Rows
from analyzer.events.sanitize import MAX_TEXT, payload_json
from analyzer.events.times import format_time
from analyzer.importers.records import dressed, moment_of
from analyzer.redaction import may_hold_secret

PROVIDERS = {None: "anthropic", b"bdrk_": "aws", b"vrtx_": "google"}
"""Who answered, by the ids of replies and requests; as seen in public logs of 2024 to August 2026.

Others who speak Anthropic's protocol give ids of other forms, and are not named.
"""
TIMESTAMP = re.compile(rb'"timestamp": ?"([0-9T:.Z+-]{19,35})"')
_SERVED = re.compile(rb"(?:msg|req)_(bdrk_|vrtx_)?01")
_MODEL = re.compile(rb'"model": ?"([^"\\\\<]{1,100})"')
_NEAR = 400
"""Bytes before and behind the id of a reply among which its model stands."""
_USAGE = re2.compile(rb'"usage":')
_TOKENS = re.compile(rb'"usage": ?(\{[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\})')
_REPLY = re.compile(rb'"message": ?\{(?:"(?:model|type|role)": ?"[^"\\]*", ?){0,3}"id": ?"([^"\\]{1,100})"')
_SUBAGENT = re.compile(rb'"isSidechain": ?true|"type": ?"(?:agent_)?progress"')
_COUNTED = tuple(f',"{name}_tokens":' for name in ("input", "output", "cache_read", "cache_write", "cache_write_hour"))
"""The fields of the payload, as JSON."""
_MOST = 2**63 - 1
"""The largest count that is encoded as it is."""
_KIND = "usage.recorded"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class _Cache(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _Cache | None = None


_usage = msgspec.json.Decoder(_Usage).decode


def served(name: bytes, at: int = 0) -> str | None:
    """Who gave a reply or a request the id that stands there; None where none stands, or one of another form."""
    given = _SERVED.match(name, at)
    return PROVIDERS[given[1]] if given else None


def model_at(data: bytes, reply: int) -> str | None:
    """The model of the reply whose id stands there: before it or behind it, by the version of the program."""
    begins = max(0, reply - _NEAR, data.rfind(b"\n", 0, reply) + 1)
    found = _MODEL.search(data, begins, reply + _NEAR)
    return found[1].decode("utf-8", "replace") if found else None


class Replies:
    """The replies of one transcript, in their order."""

    def __init__(self, last: tuple[str, int]) -> None:
        """`last` is what the lines before told."""
        self.last = last
        """The last reply that an event names, and its output tokens."""
        self._pair = b"", b""
        """The last reply and its tokens as they stand there: the next line mostly repeats them."""

    def rows(
        self, data: bytes, session: str | None, caller: str, known: Mapping[str, Any], file_time: datetime
    ) -> Rows:
        """The tokens of the replies of a block, by line; `known` is what is known of the session.

        A reply is split over neighbouring lines, which repeat its tokens so far: a line with no more output tokens than
        the line before it gives no row.
        """
        ids: list[str] = []
        stamps: list[str | None] = []
        payloads: list[str] = []
        offsets: list[int] = []
        lengths: list[int] = []
        heads: dict[tuple[str, str, str | None], tuple[str, str, str]] = {}
        largest = 0
        for at, ends in _usages(data):
            begins = data.rfind(b"\n", 0, at) + 1
            reply, used = _REPLY.search(data, begins, at), _TOKENS.match(data, at, ends)
            if reply is None or used is None or (pair := (reply[1], used[1])) == self._pair:
                continue
            self._pair = pair
            try:
                usage = _usage(pair[1])
            except msgspec.MsgspecError:
                continue
            request, output = pair[0].decode("utf-8", "replace"), usage.output_tokens or 0
            if request == self.last[0] and output <= self.last[1]:
                continue
            counts: tuple[int | None, ...] = (
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
                usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else None,
            )
            spent, model = [count for count in counts if count], model_at(data, reply.start(1))
            if model is None or not spent:
                continue
            self.last = request, output
            largest = max(largest, max(spent), -min(spent))
            key = "/subagent" if _beside(data[begins : reply.start()]) else "", model, served(pair[0])
            head = heads.get(key) or heads.setdefault(key, _head(caller, known, *key))
            ids.append(derived_id("claude", "usage", head[0], request, output))
            quoted = f'"{request}"' if request.isascii() and request.isprintable() else _encode(request).decode()
            told = "".join(f"{name}{count}" for name, count in zip(_COUNTED, counts, strict=True) if count is not None)
            payloads.append(f"{head[1]}{quoted}{head[2]}{told}}}")
            stamp = TIMESTAMP.search(data, used.end(), ends) or TIMESTAMP.search(data, begins, at)
            stamps.append(stamp[1].decode() if stamp else None)
            offsets.append(begins)
            lengths.append(ends - begins)
        if not ids:
            return Rows()
        # What is in none of them together is in none of them: nothing has to be cleaned.
        if largest > _MOST or max(map(len, payloads)) > MAX_TEXT // 4 or may_hold_secret("\n".join(payloads).encode()):
            payloads = [payload_json(_decode(payload)).decode() for payload in payloads]
        moments, time_sources = _dated(stamps, file_time)
        return Rows.alike(_KIND, session, ids, moments, time_sources, payloads, offsets, lengths)


def _usages(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the last mention of tokens stands in each line that has one: what a tool was called with stands before it;
    and where the line ends.
    """
    at, ends = -1, 0
    for found in _USAGE.finditer(data):
        place = found.start()
        if place >= ends:
            if at >= 0:
                yield at, ends
            ends = data.find(b"\n", place)
        at = place
    if at >= 0:
        yield at, ends


def _beside(head: bytes) -> bool:
    """Whether a line that begins so is a sub-agent's; few have any of the words."""
    return (b"true" in head or b"progress" in head) and _SUBAGENT.search(head) is not None


def _head(caller: str, known: Mapping[str, Any], part: str, model: str, provider: str | None) -> tuple[str, str, str]:
    """The caller of some replies, and what stands before and behind the reply's name in their payloads."""
    named = {"request": "", "caller": caller + part, "model": model}
    text = _encode(dressed(_KIND, named, {**known, "provider": provider})).decode()
    before, key, behind = text.partition('"request":')
    return caller + part, before + key, behind[len('""') : -len("}")]


def _dated(stamps: list[str | None], file_time: datetime) -> tuple[list[str], list[str]]:
    """The moments of some records as a log writes them, and where each comes from."""
    written = [stamp for stamp in stamps if stamp is not None]
    if len(written) == len(stamps) and canonical(written):
        return written, ["event"] * len(stamps)
    found = [moment_of(stamp) for stamp in stamps]
    return (
        [format_time(moment or file_time) for moment in found],
        ["event" if moment else "file" for moment in found],
    )
