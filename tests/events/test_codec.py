"""The codec: lines and events, both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.events import Event, Origin, Reject, decode, encode
from analyzer.events.codec import crc_holds
from analyzer.events.rows import RowDecoder
from tests import named

FILE_TIME = datetime(2026, 11, 1, 12)
SEED_LINE = (
    '{ "type": "error.classified", "timestamp": "…", "sessionId": "…", '
    '"payload": { "reason": "rate_limited", "retryable": true, "caller": "figma-probe" } }'
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(
    kind=texts.filter(bool),
    at=st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 31)).map(
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    ),
    session=st.none() | texts,
    payload=st.dictionaries(texts, values, max_size=4),
    event_id=texts.filter(bool),
    seq=st.integers(0, 2**40),
)
def test_decode_gives_back_what_was_encoded(
    kind: str, at: datetime, session: str | None, payload: dict[str, object], event_id: str, seq: int
) -> None:
    """Every event comes back from its line as it was, checksum included."""
    event = Event(kind, at, session, payload, event_id, writer="h:1:a", seq=seq, origin=Origin("gdd", "/a\nb", 3))
    line = encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert crc_holds(line)
    assert decode(line[:-1], FILE_TIME) == event


@given(st.binary(max_size=200))
def test_decode_never_raises(line: bytes) -> None:
    """Any bytes give an event or a reject."""
    assert isinstance(decode(line, FILE_TIME), Event | Reject)


def test_keys_stand_in_the_contracts_order_with_the_checksum_last() -> None:
    """A line shows its envelope first and ends in the checksum."""
    line = encode(Event("a.b", datetime(2026, 11, 21, 8, 15, 30, 123000), "s", {}, "i", writer="w", seq=17))
    assert list(json.loads(line)) == ["v", "id", "type", "timestamp", "sessionId", "writer", "seq", "payload", "crc"]
    assert json.loads(line)["timestamp"] == "2026-11-21T08:15:30.123Z"


def test_the_literal_line_of_the_error_recovery_document_is_an_event() -> None:
    """A line without any of the added keys is accepted, even with ellipses for its values."""
    event = decode(SEED_LINE.encode(), FILE_TIME)
    assert isinstance(event, Event)
    assert event.type == "error.classified"
    assert event.payload == {"reason": "rate_limited", "retryable": True, "caller": "figma-probe"}
    assert (event.occurred_at, event.time_source) == (FILE_TIME, "file")
    assert event.id == decode(SEED_LINE.encode(), FILE_TIME).id


def test_unknown_keys_and_types_are_kept() -> None:
    """An older reader loses nothing of a newer line."""
    event = decode(b'{"type":"moon.landed","timestamp":"2026-01-01T00:00:00Z","crew":3,"payload":{"x":[1]}}', FILE_TIME)
    assert isinstance(event, Event)
    assert (event.type, event.extra, event.payload) == ("moon.landed", {"crew": 3}, {"x": [1]})


def test_an_offset_is_turned_into_utc() -> None:
    """Two o'clock at +02:00 is midnight."""
    event = decode(b'{"type":"a","timestamp":"2026-01-01T02:00:00+02:00","payload":{}}', FILE_TIME)
    assert isinstance(event, Event)
    assert event.occurred_at == datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("line", "why"),
    named(
        {
            "NUL bytes": (b"\0\0\0", "nul_bytes"),
            "bytes that are no UTF-8": (b'{"type":"a\xff"}', "invalid_utf8"),
            "torn": (b'{"type":"a"', "torn"),
            "NaN": (b'{"type":NaN}', "bad_number"),
            "Infinity": (b'{"type":-Infinity}', "bad_number"),
            "a number beyond all bounds": (b'{"type":1e400}', "bad_number"),
            "5,000 digits": (b'{"type":' + b"9" * 5_000 + b"}", "bad_number"),
            "two objects": (b'{"type":"a"}{"type":"b"}', "glued"),
            "a comma behind it": (b'{"type":"a"},', "trailing_garbage"),
            "a note behind it": (b'{"type":"a"} # note', "trailing_garbage"),
            "byte order mark": (b'\xef\xbb\xbf{"type":"a"}', "byte_order_mark"),
            "a key twice": (b'{"type":"a","type":"b"}', "duplicate_key"),
            "a key twice further down": (b'{"type":"a","payload":{"x":1,"x":1}}', "duplicate_key"),
            "boolean": (b"true", "not_an_object"),
            "text": (b'"a"', "not_an_object"),
            "trailing comma": (b'{"type":"a",}', "not_json"),
            "array": (b"[1]", "not_an_object"),
            "null": (b"null", "not_an_object"),
            "no type": (b"{}", "missing_type"),
            "payload is a list": (b'{"type":"a","payload":[]}', "bad_payload"),
            "session is a number": (b'{"type":"a","sessionId":7}', "bad_session"),
            "another calendar": (b'{"type":"a","timestamp":"31.12.2026"}', "bad_timestamp"),
            "month 13": (b'{"type":"a","timestamp":"2026-13-01T00:00:00Z"}', "bad_timestamp"),
            "boolean time": (b'{"type":"a","timestamp":true}', "bad_timestamp"),
            "before year 1": (b'{"type":"a","timestamp":"0001-01-01T00:00:00+10:00"}', "bad_timestamp"),
            "wrong checksum": (b'{"type":"a","payload":{},"crc":"00000000"}', "crc_mismatch"),
            "100 levels": (b'{"type":' + b"[" * 100 + b"]" * 100 + b"}", "too_deep"),
            "10,000 levels": (b'{"type":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "too_deep"),
        }
    ),
)
def test_a_bad_line_says_why(line: bytes, why: str) -> None:
    """Each kind of damage has its own code."""
    rejected = decode(line, FILE_TIME)
    assert isinstance(rejected, Reject)
    assert why == rejected.why


def test_every_flipped_bit_of_a_line_with_checksum_is_noticed() -> None:
    """The line is refused, except where only the name of the checksum changed, which leaves the event whole."""
    line = encode(Event("error.classified", FILE_TIME, "s-1", {"reason": "unknown", "attempt": 2}, "id-1"))[:-1]
    original = decode(line, FILE_TIME)
    assert isinstance(original, Event)
    name = line.rindex(b"crc")
    for position in range(len(line) * 8):
        changed = bytearray(line)
        changed[position // 8] ^= 1 << position % 8
        got = decode(bytes(changed), FILE_TIME)
        rows = RowDecoder(FILE_TIME).decode(bytes(changed) + b"\n").rows
        if name <= position // 8 < name + 3 and isinstance(got, Event):
            assert replace(got, extra={}) == original
            assert (rows.ids, rows.payloads) == (["id-1"], ['{"reason":"unknown","attempt":2}'])
        else:
            assert isinstance(got, Reject), changed
            assert rows.ids == [], changed
