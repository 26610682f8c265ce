"""When to come back: every form of headers and texts, durations apart from moments, and no clock of ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from analyzer.classifier import classify
from tests import each_row, named

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def utc(*parts):
    """A moment in UTC."""
    return datetime(*parts, tzinfo=UTC)


HEADERS = [
    ("seconds", {"Retry-After": "30"}, 30.0, None),
    ("decimal", {"retry-after": "1.5"}, 1.5, None),
    ("http-date", {"retry-after": "Sat, 21 Nov 2026 12:05:00 GMT"}, None, utc(2026, 11, 21, 12, 5)),
    ("millis", {"retry-after-ms": "250", "retry-after": "1"}, 0.25, None),
    ("go-duration", {"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "20ms"}, 360.0, None),
    ("short", {"x-ratelimit-reset-tokens": "20ms"}, 0.02, None),
    ("epoch", {"x-ratelimit-reset": "1790000000"}, None, utc(2026, 9, 21, 14, 13, 20)),
    ("epoch-ms", {"x-ratelimit-reset": "1790000000000"}, None, utc(2026, 9, 21, 14, 13, 20)),
    ("few-seconds", {"x-ratelimit-reset": "3600"}, 3_600.0, None),
    (
        "iso",
        {
            "anthropic-ratelimit-tokens-reset": "2026-11-21T13:00:00Z",
            "anthropic-ratelimit-requests-reset": "2026-11-21T12:30:00Z",
        },
        None,
        utc(2026, 11, 21, 13),
    ),
    ("after-wins", {"retry-after": "9", "anthropic-ratelimit-tokens-reset": "2026-11-21T13:00:00Z"}, 9.0, None),
    ("nonsense", {"retry-after": "soon"}, None, None),
    ("negative", {"retry-after": "-5"}, None, None),
    ("infinite", {"retry-after": "inf"}, None, None),
]


@each_row("headers, seconds, moment", [row[1:] for row in HEADERS])
def test_header(headers, seconds, moment):
    """Each form of header gives a duration or a moment."""
    found = classify({"status": 429, "headers": headers})
    assert (found.retry_after_seconds, found.reset_at) == (seconds, moment)


@pytest.mark.parametrize(
    ("error", "believed"),
    named(
        {
            "a-month": ("Claude AI usage limit reached|1798416000", utc(2026, 12, 28)),
            "seven-years": ("Claude AI usage limit reached|1999999999", None),
            "header": ({"status": 429, "headers": {"x-ratelimit-reset": "1999999999"}}, None),
            "next-october": ("You've hit your session limit · resets Oct 2, 9am (UTC)", None),
            "past": ("Claude AI usage limit reached|1700000000", utc(2023, 11, 14, 22, 13, 20)),
        }
    ),
)
def test_a_reset_far_behind_the_error_is_not_believed(error, believed):
    """Limits are counted over a month at most: a reset more than 35 days after the error is none; the reason stays."""
    found = classify(error, at=AT - timedelta(seconds=1) if believed is None else AT + timedelta(days=2))
    assert found.reason == "rate_limited"
    assert found.reset_at == believed
    naive = classify(error, at=AT.replace(tzinfo=None) + timedelta(days=2))
    assert naive.reset_at == believed


def test_nobody_waits_longer_than_35_days():
    """The same holds for durations."""
    assert classify({"status": 429, "headers": {"retry-after": "3024000"}}).retry_after_seconds == 3_024_000
    assert classify({"status": 429, "headers": {"retry-after": "3024001"}}).retry_after_seconds is None


def test_reset_headers_need_a_limit():
    """Reset headers stand on every answer, so they say nothing about an error that is no limit."""
    headers = {"x-ratelimit-reset-tokens": "6m0s"}
    assert classify({"status": 500, "headers": headers}).retry_after_seconds is None
    assert classify({"status": 503, "headers": {"retry-after": "4"}}).retry_after_seconds == 4.0
    assert classify({"status": 400, "headers": {"retry-after": "4"}}).retry_after_seconds is None


TEXTS = [
    ("Please try again in 11.054s. Visit the site", 11.054, None),
    ("Rate limit exceeded. Try again in 35 seconds.", 35.0, None),
    ("rate limit exceeded, try again in 28ms", 0.028, None),
    ("Please retry in 44.5s", 44.5, None),
    ("rate limit exceeded, retry after 30", 30.0, None),
    ("Your quota will reset after 8h44m7s.", 31_447.0, None),
    ("usage limit reached, reset after 3600s", 3_600.0, None),
    ("usage limit reached, available in 42 minutes", 2_520.0, None),
    ("Weekly usage limit reached. Resets in 6hr 29min.", 23_340.0, None),
    ("Please try again in 9m38.016s.", 578.016, None),
    ("cooling down [retrying in ~5 days attempt #1]", 432_000.0, None),
    ("quota exceeded, resets at midnight UTC", None, utc(2026, 11, 22)),
    ("usage limit reached. It will reset at 2026-11-25 01:20:12 +0800 CST.", None, utc(2026, 11, 24, 17, 20, 12)),
    ("usage limit reached, reset at 2026-11-25 10:30:00", None, None),
    ("usage limit reached, reset at 2026-11-25T10:30:00", None, utc(2026, 11, 25, 10, 30)),
    ("5-hour limit reached ∙ resets 9pm", None, utc(2026, 11, 21, 21)),
    ("You've hit your limit · resets 2:30pm (America/Bogota)", None, utc(2026, 11, 21, 19, 30)),
    ("You've hit your limit · resets 6am (America/Bogota)", None, utc(2026, 11, 22, 11)),
    ("You've hit your limit - resets Dec 7, 11am (Asia/Seoul)", None, utc(2026, 12, 7, 2)),
    ("rate limit exceeded. Reset at 9:30 AM.", None, utc(2026, 11, 22, 9, 30)),
    ("rate limit exceeded. Reset at 10:01", None, utc(2026, 11, 22, 10, 1)),
    ("You've hit your limit · resets 3pm (Nowhere/Land)", None, None),
    ("You've hit your limit · resets Feb 31, 3pm (UTC)", None, None),
    ("rate limit exceeded for 3 seconds of fame", None, None),
]


@each_row("text, seconds, moment", TEXTS)
def test_text(text, seconds, moment):
    """Each form of text gives a duration, or a moment against the event's own time."""
    found = classify({"status": 429, "message": text}, at=AT)
    assert (found.retry_after_seconds, found.reset_at) == (seconds, moment)


def test_wall_clock_needs_the_events_time():
    """Without the event's time a wall-clock text gives nothing."""
    assert classify("You've hit your limit · resets 3pm (Europe/Oslo)").reset_at is None


def test_wall_clock_without_zone_is_the_events():
    """A wall-clock text without a zone is read on the event's own clock."""
    at = datetime(2026, 11, 21, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    assert classify("5-hour limit reached ∙ resets 9pm", at=at).reset_at == utc(2026, 11, 21, 15, 15)


def test_naive_time_is_utc():
    """An event's time without a zone is UTC."""
    assert classify("5-hour limit reached ∙ resets 9pm", at=datetime(2026, 11, 21, 12)).reset_at == utc(
        2026, 11, 21, 21
    )


def test_body_moment():
    """A moment in a body is read as an epoch."""
    body = {
        "error": {"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_at": 1790000000}
    }
    assert classify({"status": 429, "body": body}).reset_at == utc(2026, 9, 21, 14, 13, 20)


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)], ids=["min", "max"])
def test_ends_of_time(at):
    """The first and the last moment of the calendar do not raise."""
    assert classify("You've hit your limit · resets 11pm (Asia/Tokyo)", at=at).reason == "rate_limited"


def test_retry_duration_on_a_symptoms_cause():
    """A duration on a deeper level of the chain is found."""
    found = classify({"message": "request failed", "cause": {"status": 429, "headers": {"retry-after": "12"}}})
    assert (found.reason, found.retry_after_seconds) == ("rate_limited", 12.0)
