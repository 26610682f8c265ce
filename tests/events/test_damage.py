"""A log that was damaged at any place: whole lines are kept, and nothing is made up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import Event, EventLog, encode
from analyzer.events.appending import system
from analyzer.events.rows import RowDecoder
from analyzer.events.times import EPOCH

DAY = 86_400 * 10**9
MOMENT = datetime(2026, 11, 2, 8)
LINES = [
    encode(Event("a.b", MOMENT, "s", {"text": text}, f"id-{number}", writer="h:1:a", seq=number))
    for number, text in enumerate(("plain", "é 中 🙂", ""))
]
WHOLE = b"".join(LINES)
LOST_NEWLINES = [place for place, byte in enumerate(WHOLE) if byte == ord("\n")]
"""Where a log breaks off that loses the newline of a line and nothing else of it."""


def ids(data: bytes) -> list[str]:
    """What is read of a block."""
    return RowDecoder(MOMENT).decode(data).rows.ids


def whole_before(cut: int) -> list[str]:
    """Lines that end before the place, with or without their newline."""
    ends = [sum(map(len, LINES[: number + 1])) for number in range(len(LINES))]
    return [f"id-{number}" for number, end in enumerate(ends) if end - 1 <= cut]


@pytest.mark.parametrize(
    "damage",
    [
        lambda cut: WHOLE[:cut] + b"\n",
        lambda cut: WHOLE[:cut] + bytes(len(WHOLE) - cut) + b"\n",
        lambda cut: WHOLE[:cut] + bytes(4_096) + b"\n",
    ],
    ids=["cut", "zeros to the end", "a page of zeros"],
)
def test_a_log_that_breaks_off_anywhere_keeps_its_whole_lines(damage: Callable[[int], bytes]) -> None:
    """At every byte: lines before it are events, what is left of the others is rejected, and later lines are kept."""
    later = encode(Event("a.b", MOMENT, "s", {}, "later"))
    for cut in range(len(WHOLE) + 1):
        expected = whole_before(cut)
        found = ids(damage(cut) + later)
        assert found[-1] == "later"
        if b"\0" in damage(cut) and cut in LOST_NEWLINES:
            expected.pop()  # its checksum holds, but zeros stand where its newline was: the line is not whole
        assert found[:-1] == expected, cut
        decoded = RowDecoder(MOMENT).decode(damage(cut))
        accounted = len(set(decoded.rows.lines) | {line for line, *_ in decoded.rejects})
        assert accounted + decoded.blank == decoded.lines, cut


def test_a_clock_that_jumps_costs_no_event_and_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour back, a year on, 1970: every event is in some file of the folder, and `seq` keeps their order."""
    now = 20_758 * DAY + 5
    clock = iter([now, now - 3_600 * 10**9, now + 365 * DAY, 0, now, now - DAY, now])
    monkeypatch.setattr(system, "time_ns", lambda: next(clock))
    with EventLog(tmp_path) as writer:
        given = [writer.append("a.b", {"n": n}) for n in range(6)]
    found = [
        named
        for path in tmp_path.iterdir()
        for rows in [RowDecoder(MOMENT).decode(path.read_bytes()).rows]
        for named in zip(rows.seqs, rows.ids, strict=True)
    ]
    assert [event_id for _, event_id in sorted(found)] == given
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("year", [1969, 2200, 2261])
def test_a_clock_out_of_all_years_costs_the_time_and_not_the_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], year: int
) -> None:
    """What is appended is read, its time as if the line named none; that the clock is wrong is told once."""
    now = int((datetime(year, 6, 1) - EPOCH).total_seconds()) * 10**9
    monkeypatch.setattr(system, "time_ns", lambda: now)
    with EventLog(tmp_path) as writer:
        given = [writer.append("a.b"), writer.append("a.b"), writer.append("a.b", at=MOMENT)]
    (path,) = tmp_path.iterdir()
    decoded = RowDecoder(MOMENT).decode(path.read_bytes())
    assert decoded.rejects == []
    assert decoded.rows.ids == given
    assert decoded.rows.time_sources == ["file", "file", "event"]
    assert capsys.readouterr().err.count("without a time") == 1
    assert writer.dropped == 0
