"""The two roads from lines to rows: one meaning, whatever the line."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.events import Event, Origin, encode, model
from analyzer.events.appending.writer import event_line
from analyzer.events.rows import Decoded, RowDecoder
from tests import each_row
from tests.growth import assert_linear

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
    return {
        "rows": asdict(decoded.rows),
        "rejects": [(line, offset, text, reject.why) for line, offset, text, reject in decoded.rejects],
        "counts": (decoded.lines, decoded.blank, decoded.blank_bytes),
    }


def both(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """A block over either road."""
    return told(RowDecoder(FILE_TIME).decode(data)), told(RowDecoder(FILE_TIME, fast=False).decode(data))


PAYLOADS = [
    '{"reason":"unknown","facts":{"message":"m } {"}}',
    '{"facts":{"message":"m"}}',
    '{"facts":{"message":"m"},"z":1}',
    '{"facts":{}}',
    '{"facts":{ "a":1}}',
    '{ "facts":{"a":1}}',
    '{"facts":null}',
    '{"x":{"facts":{"a":{}}}}',
    '{"x":"facts","facts":{"a":{"b":"}"}}}',
    '{"facts":{"a":1},"facts":{"b":2}}',
    '{"a":1,"a":2}',
    '{"\\u0066acts":{"a":1}}',
    '{"a":1},"payload":{"b":2}',
    '{"a":"x,\\"payload\\":{"}',
    '{"a":1e400}',
    '{"a":[1, 1e400]}',
    '{"a":12345678901234567890}',
    '{"a":-1.5E3,"b":"1e400"}',
    '{"a":NaN}',
    '{"a":"\\ud800"}',
    '{"a":"\\ud83d\\ude00 · é"}',
    '{"api_key":"correct-horse-battery"}',
    '{"message":"sk-ant-api03-Ab3dEf6hIjAb3dEf6hIj"}',
    '{"a":' + "[" * 40 + "]" * 40 + "}",
    '{"a":' + "[" * 70 + "]" * 70 + "}",
    '{"a":[' + "1," * 1_200 + "1]}",
    '{"a":"' + "x" * 20_000 + '"}',
    '{"a":"\udcff"}',
]
"""Texts in the place of a payload."""
ENVELOPES: list[dict[str, str | None]] = [
    {"v": "2"},
    {"v": "0"},
    {"v": "-1"},
    {"v": None},
    {"id": '""'},
    {"id": "7"},
    {"type": '""'},
    {"type": "null"},
    {"timestamp": '"2026-11-02T08:00:00Z"'},
    {"timestamp": '"2026-W44-7T00:00:00.137Z"'},
    {"timestamp": '"2026-11-02T08:00:61.000Z"'},
    {"timestamp": '"2026-02-30T08:00:00.000Z"'},
    {"timestamp": '"1969-12-31T08:00:00.000Z"'},
    {"timestamp": '"2200-01-01T00:00:00.000Z"'},
    {"timestamp": '"2026-11-02T08:00:00,123Z"'},
    {"timestamp": '"2026-11-02T08:00:00.1+1Z"'},
    {"timestamp": "1762070400"},
    {"timestamp": None},
    {"sessionId": "null"},
    {"sessionId": "7"},
    {"seq": "-1"},
    {"seq": "1.0"},
    {"seq": str(2**63)},
    {"writer": "null", "seq": "null"},
    {"dropped_before": "3"},
    {"time_source": '"file"'},
    {"time_source": '"moon"'},
    {"unknown": "{}"},
    {"_meta": '{"host":"h"}'},
    {"origin": '{"format":"wave","path":"w","line":3}'},
    {"origin": '{"format":"wave","path":"w","payload":{"a":1}}'},
    {"origin": "null"},
]
"""Keys of an envelope that are otherwise than our appender writes them."""
HOSTILE = [
    *(sealed(envelope(payload)) for payload in PAYLOADS),
    *(sealed(envelope(**keys)) for keys in ENVELOPES),
    sealed(envelope()),
    sealed(envelope("{}", payload2='{"a":1}')),
    sealed(envelope()).upper(),
    sealed(envelope()).replace(b"\n", b" \n"),
    b" " + sealed(envelope()),
    sealed(envelope())[:-1] + b"\r\n",
    sealed(envelope())[:-1] + b"\f\n",
    b"\v" + sealed(envelope()),
    sealed(envelope())[:50] + sealed(envelope()),
    sealed(envelope())[:-1] + sealed(envelope(id='"e-2"')),
    sealed(envelope())[:-5] + b'0"}\n',
    b'{"type":"a.b","payload":{"x":1}}\n',
    b'{"type":"a.b","type":"c"}\n',
    b"\xef\xbb\xbf" + sealed(envelope()),
    b"\n",
    b" \r\n",
    b"\0\0\n",
    b"[1]\n",
    b"null\n",
    b"{\n",
]


@each_row("number", range(len(HOSTILE)))
def test_both_roads_say_the_same_of_every_kind_of_line(number: int) -> None:
    """Good lines between them stay good."""
    data = sealed(envelope(id='"before"')) + HOSTILE[number] + sealed(envelope(id='"behind"'))
    fast, slow = both(data)
    assert fast == slow
    names = fast["rows"]["ids"]
    assert (names[0], names[-1]) == ("before", "behind")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6) | st.just("facts"), inner, max_size=4)
    ),
    max_leaves=12,
)


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


OTHER_PROGRAMS = [
    b'{"type":"a.b"}\n',
    b'{"type":"a.b","payload":{"x":1}}\r\n',
    b'  {"type":"a.b","payload":{"x":1}}  \n',
    b'{"payload":{"x" : 1.50, "y":"\\u00e9\\/"}, "type" : "a.b"}\n',
    b'{"type":"a.b","payload":{"x":1,"x" :1}}\n',
    b'{"type":"a.b","payload":{"x" :1,"x":1}}\n',
    b'{"type":"a.b","payload":{"x":{"y":1,"y":2}}}\n',
    b'{"type":"a.b","payload":{"x":[{"y":1},{"y":2}]}}\n',
    b'{"type":"a.b","payload":{"x":"a\\":b","y":":c"}}\n',
    b'{"type":":a","payload":{"x":1},"id":"\\":"}\n',
    b'{"type":"a.b","payload":{"x":1},"payload":{"x":1}}\n',
    b'{"type":"a.b","payload":null}\n',
    b'{"type":"a.b","payload":[]}\n',
    b'{"type":"a.b","payload":{"facts":{"a":1},"z":{"facts":{"b":1}}}}\n',
    b'{"type":"a.b","payload":{"facts":[],"z":1}}\n',
    b'{"type":"a.b","payload":{"facts":{},"z":1}}\n',
    b'{"type":"a.b","payload":{"facts":"x"}}\n',
    b'{"type":"a.b","extra":{"y":1,"y":2}}\n',
    b'{"type":"a.b","extra":{"y":1,"z":[{"y":2}]},"level":"info"}\n',
    b'{"type":"a.b","extra":"\xff"}\n',
    b'{"type":"a.b","extra":"\\ud800"}\n',
    b'{"type":"a.b","extra":1e999}\n',
    b'{"type":"a.b","payload":{"n" : 1e999}}\n',
    b'{"type":"a.b","payload":{"n":12345678901234567890123}}\n',
    b'{"type":"a.b","payload":{"n":[-9223372036854775809,18446744073709551616]}}\n',
    b'{"type":"a.b","payload":{"n":[-0,-0.0,1e-05,1E+16,0.30000000000000004]}}\n',
    b'{"type":"a.b","payload":{"n":NaN}}\n',
    b'{"type":"a.b","payload":{"password":"hunter2x"}}\n',
    b'{"type":"a.b","payload":{"\\u0070assword":"hunter2x"}}\n',
    b'{"type":"a.b","payload":{"a":"\0"}}\n',
    b'{"type":"a.b","payload":{"a":"\\u0000\\u001b"}}\n',
    b'{"type":"a.b","crc":"00000000"}\n',
    b'{"crc":null,"type":"a.b"}\n',
    b'{"type":"a.b","_meta":{"host":"h"},"writer":"w"}\n',
    b'{"type":"a.b","writer":"h:1:a","seq":3,"v":1}\n',
    b'{"type":"a.b","writer":7,"seq":true,"v":"1"}\n',
    b'{"type":"a.b","seq":1.0,"v":1.0}\n',
    b'{"type":"a.b","seq":null,"v":null,"id":null,"sessionId":null,"writer":null,"timestamp":null}\n',
    b'{"type":"a.b","v":0}\n',
    b'{"type":"a.b","v":9}\n',
    b'{"type":"a.b","id":7}\n',
    b'{"type":"a.b","id":{"a":1,"a":2}}\n',
    b'{"type":"a.b","time_source":"file","timestamp":"2026-11-02T08:00:00Z"}\n',
    b'{"type":"a.b","time_source":{"file":1},"dropped_before":4}\n',
    b'{"type":"a.b","dropped_before":true}\n',
    b'{"type":"a.b","origin":{"format":"wave","path":"w"}}\n',
    b'{"type":"a.b"}{"type":"a.c"}\n{"type":\n"a.b"}\n',
    b'{"type":"a.b"} {"type":"a.c"}\n\n',
    b'{"type":"a.b","payload":{"x":' + b'[{"a":1}],' * 20 + b'"y":1}}\n',
    b'{"type":"a.b","payload":{"x":' + b"[" * 31 + b"]" * 31 + b"}}\n",
    b'{"type":"a.b","payload":{"x":' + b"[" * 32 + b"]" * 32 + b"}}\n",
    b'{"type":"a.b","payload":{"x":[' + b"1," * 1_001 + b"1]}}\n",
    b'{"type":"a.b","payload":{"x":"' + b"x" * 17_000 + b'"}}\n',
]


@each_row("journal", [False, True])
@each_row("number", range(len(OTHER_PROGRAMS)))
def test_both_roads_say_the_same_of_lines_of_other_programs(number: int, journal: bool) -> None:
    """Alone, many times, and between lines that need nothing."""
    line, good = OTHER_PROGRAMS[number], b'{"type": "a.b", "id": "%d", "payload": {"n": 1.5, "m": "x"}}\n'
    for data in (line, line * 5, (good % 1) * 3 + line + (good % 2) * 4 + line, sealed(envelope()) + line):
        fast = told(RowDecoder(FILE_TIME, journal=journal).decode(data))
        assert fast == told(RowDecoder(FILE_TIME, fast=False, journal=journal).decode(data))


class _Spelled(str):
    """JSON that is written as it is."""

    __slots__ = ()


def spelled(value: Any, comma: str, colon: str, *, ascii_only: bool) -> str:
    """A value as JSON with these separators; objects are lists of pairs, so that keys may stand twice."""
    if isinstance(value, _Spelled):
        return str(value)
    if isinstance(value, tuple):
        members = (
            f"{json.dumps(key, ensure_ascii=ascii_only)}{colon}{spelled(item, comma, colon, ascii_only=ascii_only)}"
            for key, item in value
        )
        return "{" + comma.join(members) + "}"
    if isinstance(value, list):
        return "[" + comma.join(spelled(item, comma, colon, ascii_only=ascii_only) for item in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


odd_texts = st.sampled_from(
    [
        'x":y',
        ":",
        '"',
        "password: hunter2x",
        "sk-ant-api03-Ab3dEf6hIjAb3dEf6hIj",
        "é\u2028",
        "\x1b[0m",
        "}\n{",
        "facts",
        "",
    ]
)
odd_numbers = st.sampled_from(
    ["-0", "1.50", "1e5", "1E-7", "1e400", "12345678901234567890", "-1e-400", "01", "NaN", "1."]
)
odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | odd_texts
    | odd_numbers.map(_Spelled),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(["a", "b", "facts", "token", "name", "value"]), inner), max_size=3).map(
            tuple
        )
    ),
    max_leaves=8,
)
times = (
    st.datetimes(datetime(1969, 6, 1), datetime(2201, 1, 1)).map(datetime.isoformat)
    | st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.timezones()).map(datetime.isoformat)
    | st.datetimes(datetime(1969, 6, 1), datetime(2201, 1, 1)).map(
        lambda at: at.isoformat(timespec="milliseconds") + "Z"
    )
    | st.integers(-1, 2**45)
    | st.floats(0, 4e9)
    | st.sampled_from(["…", "2026-11-02", "2026-02-30T00:00:00.000Z", "2026-11-02T24:00:00.000Z", "20261102T080000Z"])
)
objects = st.lists(st.tuples(st.sampled_from(["a", "b", "facts", "attempt", "é"]), odd_values), max_size=4).map(tuple)
envelopes = st.fixed_dictionaries(
    {"type": st.just("a.b") | odd_values, "payload": objects | objects | odd_values},
    optional={
        "id": st.text(max_size=6) | odd_values,
        "timestamp": times | times | odd_values,
        "sessionId": st.none() | st.text(max_size=6) | odd_values,
        "v": st.just(1) | odd_values,
        "writer": st.just("h:1:a") | odd_values,
        "seq": st.integers(0, 2**63) | odd_values,
        "time_source": st.sampled_from(["file", "event"]) | odd_values,
        "dropped_before": st.integers(0, 9) | odd_values,
        "origin": st.just((("format", "wave"), ("path", "w"))) | odd_values,
        "_meta": st.just((("host", "h"),)) | odd_values,
        "crc": st.just("00000000") | odd_values,
        "level": odd_values,
    },
)


@given(
    lines=st.lists(
        st.tuples(
            envelopes.flatmap(lambda keys: st.permutations(list(keys.items()))),
            st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : "), (",", "\t:")]),
            st.booleans(),
            st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n", ""]),
            st.sampled_from(["", "", "", "", " ", "x"]),
        ),
        max_size=6,
    ),
    flip=st.integers(0, 6_000),
    journal=st.booleans(),
)
def test_both_roads_say_the_same_of_whatever_other_programs_write(lines: list[Any], flip: int, journal: bool) -> None:
    """Keys in any order, twice, missing or unknown; any spacing, escapes, times, line ends; with a byte changed."""
    data = b""
    for keys, (comma, colon), ascii_only, end, before in lines:
        text = spelled(tuple(keys), comma, colon, ascii_only=ascii_only)
        data += (before + text + end).encode("utf-8", "surrogatepass")
    if data and flip % 3 == 0:
        place = flip % len(data)
        data = data[:place] + bytes([data[place] ^ 1 << flip % 8]) + data[place + 1 :]
    fast = told(RowDecoder(FILE_TIME, journal=journal).decode(data))
    assert fast == told(RowDecoder(FILE_TIME, fast=False, journal=journal).decode(data))


@given(
    payload=st.dictionaries(st.sampled_from(["a", "facts", "token", "é"]), json_values),
    session=st.none() | st.text(max_size=20),
    host=st.none() | st.just("build-7"),
)
def test_the_line_of_an_event_gives_the_row_that_a_journal_gives_back(
    payload: Any, session: str | None, host: str | None
) -> None:
    """A checksum, a writer and a number change nothing of a translated event, and nothing is left to clean."""
    extra = {} if host is None else {"_meta": {"host": host}}
    event = Event("a.b", FILE_TIME, session, payload, "id-1", origin=Origin("gdd", "/x?token=abc", 3), extra=extra)
    line = event_line(event)
    read = RowDecoder(FILE_TIME, journal=True).decode(line)
    written = sealed(str(line[:-1] + b',"writer":"w:1:aa","seq":4', "utf-8"))
    kept = RowDecoder(FILE_TIME, journal=True).decode(written)
    kept.rows.lengths = read.rows.lengths
    assert told(kept) == told(read)
    assert (read.rows.hosts, read.rows.writers, read.rows.seqs) == ([host], [None], [None])


def test_our_own_lines_take_the_fast_road(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the encoder writes is never decoded into a dictionary."""
    monkeypatch.setattr("analyzer.events.rows.decode", lambda *_: pytest.fail("the slow road"))
    facts = {"status": 429, "message": "Rate limit of {x} · 5 min", "cause": {"message": "inner"}}
    payload = {"caller": "c", "reason": "rate_limited", "retry_after_seconds": 1.5, "facts": facts}
    line = encode(Event("error.classified", FILE_TIME, "s", payload, "e", writer="h:1:a", seq=0))
    decoded = RowDecoder(FILE_TIME).decode(line * 3)
    assert decoded.rows.payloads == ['{"caller":"c","reason":"rate_limited","retry_after_seconds":1.5}'] * 3
    assert [json.loads(text or "") for text in decoded.rows.facts] == [facts] * 3


@pytest.mark.parametrize("payload", ['{"a":{"b":1},"facts":{"m":"{x}","c":{"d":1}},"e":2}', '{"facts":{"m":1},"e":2}'])
def test_facts_are_cut_out_of_where_they_stand(monkeypatch: pytest.MonkeyPatch, payload: str) -> None:
    """The typed methods put the caller's own keys behind them."""
    slow = RowDecoder(FILE_TIME, fast=False).decode(sealed(envelope(payload)))
    monkeypatch.setattr("analyzer.events.rows.decode", lambda *_: pytest.fail("the slow road"))
    fast = RowDecoder(FILE_TIME).decode(sealed(envelope(payload)))
    assert told(fast) == told(slow)
    assert fast.rows.payloads == [
        json.dumps({k: v for k, v in json.loads(payload).items() if k != "facts"}, separators=(",", ":"))
    ]


@pytest.mark.parametrize(
    "line",
    [
        {"type": "a.b", "payload": {"facts": {"message": 'it said: "x": 1'}, "n": 0.1 + 0.2, "é": "é"}},
        {"timestamp": "2026-11-02T08:00:00.123456+01:00", "type": "a.b", "sessionId": None, "id": "a"},
        {
            "timestamp": 1_790_000_000.25,
            "type": "a.b",
            "id": 7,
            "level": "info",
            "context": {"a": [{"b": 1}, {"b": 2}]},
        },
    ],
)
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (", ", " : ")])
def test_lines_of_other_programs_take_a_fast_road(
    monkeypatch: pytest.MonkeyPatch, line: dict[str, Any], separators: tuple[str, str]
) -> None:
    """What needs no repair is never decoded by itself."""
    monkeypatch.setattr("analyzer.events.rows.decode", lambda *_: pytest.fail("the slow road"))
    data = (json.dumps(line, separators=separators) + "\n").encode()
    assert len(RowDecoder(FILE_TIME).decode(data * 3).rows.ids) == 3


def test_two_whole_records_on_one_line_are_both_kept() -> None:
    """Each has its checksum; the line counts as broken."""
    data = sealed(envelope())[:-1] + sealed(envelope(id='"e-2"'))
    decoded = RowDecoder(FILE_TIME).decode(data)
    assert decoded.rows.ids == ["e-1", "e-2"]
    assert [reject.why for *_, reject in decoded.rejects] == ["glued"]


def test_a_line_full_of_openings_costs_bounded_time() -> None:
    """A hostile line of a megabyte is not searched for records for ever."""

    def decoded(times: int) -> None:
        data = b'{"v":1,' * times + b"\n"
        assert [reject.why for *_, reject in RowDecoder(FILE_TIME).decode(data).rejects] == ["not_json"]

    assert_linear(decoded, 37_500, 150_000)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v*.jsonl")), ids=lambda path: path.stem)
def test_lines_of_every_version_are_read_for_good(path: Path) -> None:
    """Each golden file holds lines of one version; none of them is ever rejected."""
    decoded = RowDecoder(FILE_TIME).decode(path.read_bytes())
    assert decoded.rejects == []
    assert len(decoded.rows.payloads) == decoded.lines >= 5
    assert set(decoded.rows.versions) == {int(path.stem.removeprefix("v"))}


def test_older_versions_go_through_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step is a pure function of type and payload; facts come out of what the last one gives."""
    chain: dict[int, model.Upcaster] = {
        1: lambda kind, payload: {**payload, "step": kind},
        2: lambda _, payload: {"steps": [payload["step"]], "facts": {"message": payload["m"]}},
    }
    monkeypatch.setattr(model, "UPCASTERS", chain)
    for module in ("model", "rows"):
        monkeypatch.setattr(f"analyzer.events.{module}.SCHEMA_VERSION", 3)
    data = sealed(envelope('{"m":"x"}')) + sealed(envelope('{"m":"y"}', v="3")) + sealed(envelope('{"m":"z"}', v="4"))
    rows = RowDecoder(FILE_TIME).decode(data).rows
    assert rows.payloads == ['{"steps":["relay.triggered"]}', '{"m":"y"}', '{"m":"z"}']
    assert rows.facts == ['{"message":"x"}', None, None]


def test_an_upcaster_that_raises_costs_its_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is in quarantine, with what went wrong."""
    monkeypatch.setattr(model, "UPCASTERS", {1: lambda _, payload: {"m": payload["m"]}})
    for module in ("model", "rows"):
        monkeypatch.setattr(f"analyzer.events.{module}.SCHEMA_VERSION", 2)
    decoded = RowDecoder(FILE_TIME).decode(sealed(envelope('{"m":1}')) + sealed(envelope("{}")))
    assert decoded.rows.payloads == ['{"m":1}']
    ((line, _, _, reject),) = decoded.rejects
    assert (line, reject.why, reject.detail) == (2, "upcast_failed", "from version 1: KeyError: 'm'")
