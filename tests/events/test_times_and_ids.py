"""Times and ids."""

from __future__ import annotations

from datetime import datetime

import pytest

from analyzer.events.model import derived_id, new_id
from analyzer.events.times import format_time, parse_time
from tests import each_row, named


@pytest.mark.parametrize(
    ("value", "expected"),
    named(
        {
            "ISO with Z": ("2026-11-21T08:15:30.123Z", datetime(2026, 11, 21, 8, 15, 30, 123000)),
            "nanoseconds": ("2026-11-21T08:15:30.123456789+02:00", datetime(2026, 11, 21, 6, 15, 30, 123000)),
            "a date": ("2026-11-21", datetime(2026, 11, 21)),
            "epoch seconds": (1_770_843_600, datetime(2026, 2, 11, 21)),
            "epoch milliseconds": (1_770_843_600_500, datetime(2026, 2, 11, 21, 0, 0, 500000)),
            "absent": (None, None),
            "an ellipsis": ("…", None),
            "three dots": ("...", None),
        }
    ),
)
def test_parse_time_reads_what_logs_hold(value: object, expected: datetime | None) -> None:
    """Moments become naive UTC, placeholders become None."""
    assert expected == parse_time(value)


@each_row(
    "value",
    ["21st of May 2026", "2026-02-30T00:00:00Z", True, 1e30, [], 10**400, -1, "1969-12-31T23:59:59Z", "2200-01-01"],
)
def test_parse_time_refuses_what_is_no_moment(value: object) -> None:
    """A value that is there and is no time is an error, not a guess."""
    with pytest.raises(ValueError):
        parse_time(value)


def test_format_time_is_read_back() -> None:
    """Formatting keeps milliseconds and parses to the same moment."""
    moment = datetime(2026, 11, 21, 8, 15, 30, 123000)
    assert moment == parse_time(format_time(moment))


def test_new_ids_sort_by_time_and_never_repeat() -> None:
    """The first 48 bits are milliseconds; the rest is random."""
    ids = [new_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert [identity[:13] for identity in ids] == sorted(identity[:13] for identity in ids)
    assert {identity[14] for identity in ids} == {"7"}


def test_derived_ids_follow_from_their_parts_alone() -> None:
    """The same on every machine and run, and different where the parts differ in their borders."""
    assert derived_id("claude", "u-1", 2) == "64f1969b-ec63-83f2-bf4b-ffbd547b5fe8"
    assert derived_id("a", "bc") != derived_id("ab", "c")
