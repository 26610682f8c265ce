"""The two roads from lines to rows: one meaning, whatever the line."""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.events import Event, Origin, encode, upcast
from analyzer.events.recorded import recorded
from analyzer.events.rows import Decoded, RowDecoder, Rows

FILE_TIME = datetime(2026, 11, 1)
GOLDEN = Path(__file__).parent / "golden"


def sealed(body: str) -> bytes:
    """A line with the right checksum, whatever else is wrong with it."""
    raw = body.encode("utf-8", "surrogatepass")
    return b'%s,"crc":"%08x"}\n' % (raw, zlib.crc32(raw))


def envelope(payload: str = '{"a":1}', **changed: str | None) -> str:
    """The envelope as our appender writes it, without its end; None leaves a key out."""
    keys: dict[str, str | None] = {
        "v": "1",
        "id": '"e-1"',
        "type": '"relay.triggered"',
        "timestamp": '"2026-11-02T08:00:00.123Z"',
        "sessionId": '"s"',
        "writer": '"host:1:aa"',
        "seq": "7",
        "payload": payload,
        **changed,
    }
    return "{" + ",".join(f'"{key}":{value}' for key, value in keys.items() if value is not None)


def told(decoded: Decoded) -> dict[str, Any]:
    """Everything that a store makes of a block."""
    rows = decoded.rows
    found = [
        (
            one.v,
            one.id,
            one.type,
            one.timestamp,
            one.sessionId,
            one.writer,
            one.seq,
            one.dropped_before,
            one.time_source,
        )
        for one in rows.envelopes
    ]
    hosts = [
        rows.hosts.get(
            place, None if one.origin or not one.writer or ":" not in one.writer else one.writer.split(":")[0]
        )
        for place, one in enumerate(rows.envelopes)
    ]
    origins = [(one.origin.format, one.origin.path, one.origin.line) if one.origin else None for one in rows.envelopes]
    return {
        "rows": list(zip(found, hosts, origins, rows.payloads, rows.facts, strict=True)),
        "places": list(zip(rows.lines, rows.offsets, rows.lengths, strict=True)),
        "rejects": [(line, offset, text, reject.why) for line, offset, text, reject in decoded.rejects],
        "counts": (decoded.lines, decoded.blank, decoded.blank_bytes),
    }


def both(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """A block over either road."""
    return told(RowDecoder(FILE_TIME).decode(data)), told(RowDecoder(FILE_TIME, fast=False).decode(data))


HOSTILE = [
    sealed(envelope()),
    sealed(envelope('{"reason":"unknown","facts":{"message":"m } {"}}')),
    sealed(envelope('{"facts":{"message":"m"}}')),
    sealed(envelope('{"facts":{"message":"m"},"z":1}')),
    sealed(envelope('{"facts":{}}')),
    sealed(envelope('{"facts":{ "a":1}}')),
    sealed(envelope('{ "facts":{"a":1}}')),
    sealed(envelope('{"facts":null}')),
    sealed(envelope('{"x":{"facts":{"a":{}}}}')),
    sealed(envelope('{"x":"facts","facts":{"a":{"b":"}"}}}')),
    sealed(envelope('{"facts":{"a":1},"facts":{"b":2}}')),
    sealed(envelope('{"a":1,"a":2}')),
    sealed(envelope('{"\\u0066acts":{"a":1}}')),
    sealed(envelope("{}", payload2='{"a":1}')),
    sealed(envelope('{"a":1},"payload":{"b":2}')),
    sealed(envelope('{"a":"x,\\"payload\\":{"}')),
    sealed(envelope('{"a":1e400}')),
    sealed(envelope('{"a":[1, 1e400]}')),
    sealed(envelope('{"a":12345678901234567890}')),
    sealed(envelope('{"a":-1.5E3,"b":"1e400"}')),
    sealed(envelope('{"a":NaN}')),
    sealed(envelope('{"a":"\\ud800"}')),
    sealed(envelope('{"a":"\\ud83d\\ude00 · é"}')),
    sealed(envelope('{"api_key":"correct-horse-battery"}')),
    sealed(envelope('{"message":"sk-ant-api03-Ab3dEf6hIjAb3dEf6hIj"}')),
    sealed(envelope('{"a":' + "[" * 40 + "]" * 40 + "}")),
    sealed(envelope('{"a":' + "[" * 70 + "]" * 70 + "}")),
    sealed(envelope('{"a":[' + "1," * 1_200 + "1]}")),
    sealed(envelope('{"a":"' + "x" * 20_000 + '"}')),
    sealed(envelope(v="2")),
    sealed(envelope(v="0")),
    sealed(envelope(v="-1")),
    sealed(envelope(v=None)),
    sealed(envelope(id='""')),
    sealed(envelope(id="7")),
    sealed(envelope(type='""')),
    sealed(envelope(type="null")),
    sealed(envelope(timestamp='"2026-11-02T08:00:00Z"')),
    sealed(envelope(timestamp='"2026-W44-7T00:00:00.137Z"')),
    sealed(envelope(timestamp='"2026-11-02T08:00:61.000Z"')),
    sealed(envelope(timestamp='"2026-02-30T08:00:00.000Z"')),
    sealed(envelope(timestamp='"1969-12-31T08:00:00.000Z"')),
    sealed(envelope(timestamp='"2200-01-01T00:00:00.000Z"')),
    sealed(envelope(timestamp='"2026-11-02T08:00:00,123Z"')),
    sealed(envelope(timestamp='"2026-11-02T08:00:00.1+1Z"')),
    sealed(envelope(timestamp="1762070400")),
    sealed(envelope(timestamp=None)),
    sealed(envelope(sessionId="null")),
    sealed(envelope(sessionId="7")),
    sealed(envelope(seq="-1")),
    sealed(envelope(seq="1.0")),
    sealed(envelope(seq=str(2**63))),
    sealed(envelope(writer="null", seq="null")),
    sealed(envelope(dropped_before="3")),
    sealed(envelope(time_source='"file"')),
    sealed(envelope(time_source='"moon"')),
    sealed(envelope(unknown="{}")),
    sealed(envelope(_meta='{"host":"h"}')),
    sealed(envelope(origin='{"format":"wave","path":"w","line":3}')),
    sealed(envelope(origin='{"format":"wave","path":"w","payload":{"a":1}}')),
    sealed(envelope(origin="null")),
    sealed(envelope()).upper(),
    sealed(envelope()).replace(b"\n", b" \n"),
    b" " + sealed(envelope()),
    sealed(envelope())[:-1] + b"\r\n",
    sealed(envelope())[:50] + sealed(envelope()),
    sealed(envelope())[:-1] + sealed(envelope(id='"e-2"')),
    sealed(envelope())[:-5] + b'0"}\n',
    b'{"type":"a.b","payload":{"x":1}}\n',
    b'{"type":"a.b","type":"c"}\n',
    b"\xef\xbb\xbf" + sealed(envelope()),
    sealed(envelope('{"a":"\udcff"}')),
    b"\n",
    b" \r\n",
    b"\0\0\n",
    b"[1]\n",
    b"null\n",
    b"{\n",
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_both_roads_say_the_same_of_every_kind_of_line(number: int) -> None:
    """Good lines between them stay good."""
    data = sealed(envelope(id='"before"')) + HOSTILE[number] + sealed(envelope(id='"behind"'))
    fast, slow = both(data)
    assert fast == slow
    names = [row[0][1] for row in fast["rows"]]
    assert (names[0], names[-1]) == ("before", "behind")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6) | st.just("facts"), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    payloads=st.lists(st.dictionaries(st.sampled_from(["a", "facts", "token", "é"]), json_values), max_size=5),
    spaced=st.booleans(),
    cut=st.integers(0, 400),
    flip=st.integers(0, 3_000),
)
def test_both_roads_say_the_same_of_any_payload(payloads: list[Any], spaced: bool, cut: int, flip: int) -> None:
    """Whatever it holds, in whatever spelling, whole, cut off or with a byte changed."""
    separators = (", ", ": ") if spaced else (",", ":")
    data = b"".join(sealed(envelope(json.dumps(payload, separators=separators))) for payload in payloads)
    data = data[: len(data) - cut] if cut % 2 else data
    if data and flip % 2:
        place = flip % len(data)
        data = data[:place] + bytes([data[place] ^ 1 + flip % 7]) + data[place + 1 :]
    fast, slow = both(data)
    assert fast == slow


@settings(max_examples=150, deadline=None)
@given(
    payload=st.dictionaries(st.sampled_from(["a", "facts", "token", "é"]), json_values),
    session=st.none() | st.text(max_size=20),
    host=st.none() | st.just("build-7"),
)
def test_a_recorded_event_is_the_row_that_its_line_gives(payload: Any, session: str | None, host: str | None) -> None:
    """What an ingest keeps of another tool's event is what a journal gives back."""
    extra = {} if host is None else {"_meta": {"host": host}}
    event = Event("a.b", FILE_TIME, session, payload, "id-1", origin=Origin("gdd", "/x?token=abc", 3), extra=extra)
    found = recorded(event)
    line = encode(replace(found.event, writer="w:1:aa", seq=4), found.payload)
    rows = Rows()
    rows.add_recorded(found, 1, 0, len(line) - 1)
    for envelope in (read := RowDecoder(FILE_TIME, journal=True).decode(line)).rows.envelopes:
        envelope.writer = envelope.seq = None
    for place, known in [*rows.hosts.items(), *read.rows.hosts.items()]:
        assert (place, known) == (0, host)
    assert told(Decoded(rows))["rows"][0][0] == told(read)["rows"][0][0]
    assert told(Decoded(rows))["rows"][0][2:] == told(read)["rows"][0][2:]


def test_our_own_lines_take_the_fast_road(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the encoder writes is never decoded into a dictionary."""
    monkeypatch.setattr("analyzer.events.rows.decode", lambda *_: pytest.fail("the slow road"))
    facts = {"status": 429, "message": "Rate limit of {x} · 5 min", "cause": {"message": "inner"}}
    payload = {"caller": "c", "reason": "rate_limited", "retry_after_seconds": 1.5, "facts": facts}
    line = encode(Event("error.classified", FILE_TIME, "s", payload, "e", writer="h:1:a", seq=0))
    decoded = RowDecoder(FILE_TIME).decode(line * 3)
    assert decoded.rows.payloads == ['{"caller":"c","reason":"rate_limited","retry_after_seconds":1.5}'] * 3
    assert [json.loads(text or "") for text in decoded.rows.facts] == [facts] * 3


def test_two_whole_records_on_one_line_are_both_kept() -> None:
    """Each has its checksum; the line counts as broken."""
    data = sealed(envelope())[:-1] + sealed(envelope(id='"e-2"'))
    decoded = RowDecoder(FILE_TIME).decode(data)
    assert [one.id for one in decoded.rows.envelopes] == ["e-1", "e-2"]
    assert [reject.why for *_, reject in decoded.rejects] == ["glued"]


def test_a_line_full_of_openings_costs_bounded_time() -> None:
    """A hostile line of a megabyte is not searched for records for ever."""
    data = b'{"v":1,' * 150_000 + b"\n"
    began = time.process_time()
    assert [reject.why for *_, reject in RowDecoder(FILE_TIME).decode(data).rejects] == ["not_json"]
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v*.jsonl")), ids=lambda path: path.stem)
def test_lines_of_every_version_are_read_for_good(path: Path) -> None:
    """Each golden file holds lines of one version; none of them is ever rejected."""
    decoded = RowDecoder(FILE_TIME).decode(path.read_bytes())
    assert decoded.rejects == []
    assert len(decoded.rows.payloads) == decoded.lines >= 5
    assert {one.v for one in decoded.rows.envelopes} == {int(path.stem.removeprefix("v"))}


def test_older_versions_go_through_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is a pure function of type and payload; facts come out of what the last one gives."""
    chain: dict[int, upcast.Upcaster] = {
        1: lambda kind, payload: {**payload, "step": kind},
        2: lambda _, payload: {"steps": [payload["step"]], "facts": {"message": payload["m"]}},
    }
    monkeypatch.setattr(upcast, "UPCASTERS", chain)
    for module in ("upcast", "rows"):
        monkeypatch.setattr(f"analyzer.events.{module}.SCHEMA_VERSION", 3)
    data = sealed(envelope('{"m":"x"}')) + sealed(envelope('{"m":"y"}', v="3")) + sealed(envelope('{"m":"z"}', v="4"))
    rows = RowDecoder(FILE_TIME).decode(data).rows
    assert rows.payloads == ['{"steps":["relay.triggered"]}', '{"m":"y"}', '{"m":"z"}']
    assert rows.facts == ['{"message":"x"}', None, None]


def test_an_upcaster_that_raises_costs_its_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is in quarantine, with what went wrong."""
    monkeypatch.setattr(upcast, "UPCASTERS", {1: lambda _, payload: {"m": payload["m"]}})
    for module in ("upcast", "rows"):
        monkeypatch.setattr(f"analyzer.events.{module}.SCHEMA_VERSION", 2)
    decoded = RowDecoder(FILE_TIME).decode(sealed(envelope('{"m":1}')) + sealed(envelope("{}")))
    assert decoded.rows.payloads == ['{"m":1}']
    ((line, _, _, reject),) = decoded.rejects
    assert (line, reject.why, reject.detail) == (2, "upcast_failed", "from version 1: KeyError: 'm'")
