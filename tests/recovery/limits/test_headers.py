"""Rate-limit headers in all the forms that providers send."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.recovery.limits.guard import MAX_SECONDS, RETRY_AFTER, Limit, read_limits, response_headers
from tests import each_row

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
EPOCH = int(NOW.timestamp())


@each_row(
    "headers, name, expected",
    [
        ({"retry-after": "7"}, RETRY_AFTER, Limit(0, 7)),
        ({"Retry-After": "1.5"}, RETRY_AFTER, Limit(0, 1.5)),
        ({"retry-after": "Mon, 02 Nov 2026 08:00:30 GMT"}, RETRY_AFTER, Limit(0, 30)),
        ({"retry-after-ms": "1250", "retry-after": "2"}, RETRY_AFTER, Limit(0, 1.25)),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(EPOCH + 40)}, "", Limit(0, 40)),
        ({"x-ratelimit-reset": f"{EPOCH + 40}000", "x-ratelimit-remaining": "3"}, "", Limit(3, 40)),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, "tokens", Limit(0, 360)),
        ({"x-ratelimit-remaining-requests": "59", "x-ratelimit-reset-requests": "20ms"}, "requests", Limit(59, 0.02)),
        (
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-11-02T08:01:00Z",
            },
            "input-tokens",
            Limit(0, 60),
        ),
        (
            {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": str(EPOCH + 3600),
            },
            "unified",
            Limit(0, 3600),
        ),
        ({"anthropic-ratelimit-unified-5h-status": "allowed"}, "unified-5h", None),
        ({"x-codex-primary-used-percent": "100", "x-codex-primary-reset-after-seconds": "90"}, "primary", Limit(0, 90)),
        (
            {"x-codex-primary-used-percent": "25.5", "x-codex-primary-reset-at": str(EPOCH + 9)},
            "primary",
            Limit(74.5, 9),
        ),
        ({"x-codex-primary-window-minutes": "300"}, "primary", None),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": str(EPOCH + 5)}, "", Limit(0, 5)),
        ({"x-ratelimit-reset-after": "0.75", "x-ratelimit-remaining": "0"}, "", Limit(0, 0.75)),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "50"}, "", Limit(0, 50)),
        ({"ratelimit": "limit=100, remaining=0, reset=30"}, "", Limit(0, 30)),
        ({"ratelimit": '"burst";r=5;t=9, "day";r=0;t=900'}, "day", Limit(0, 900)),
        ([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "3")], "", Limit(0, 3)),
        ([(b"x-ratelimit-remaining", b"0"), (b"x-ratelimit-reset", b"3")], "", Limit(0, 3)),
        ({"x-ratelimit-remaining": ["0"], "x-ratelimit-reset": 12}, "", Limit(0, 12)),
        ({"x-ratelimit-remaining": "40, 0", "x-ratelimit-reset": "12"}, "", Limit(0, 12)),
        ({"x-ratelimit-remaining": "-1"}, "", None),
        ({"x-ratelimit-reset": str(EPOCH - 100), "x-ratelimit-remaining": "0"}, "", Limit(0, 0)),
        ({"retry-after": "99999999999999999999999"}, RETRY_AFTER, None),
        ({"retry-after": "soon"}, RETRY_AFTER, None),
        ({"content-type": "application/json"}, "", None),
    ],
)
def test_a_header_says_what_is_left_and_when_it_resets(headers: Any, name: str, expected: Limit | None) -> None:
    """Seconds, decimals, milliseconds, dates, epochs, durations, percentages; mappings and pairs in any case."""
    found = read_limits(headers, NOW).get(name)
    assert found == expected or (found == Limit() and expected is None)


def test_of_two_values_of_one_limit_the_stricter_one_counts() -> None:
    """The smallest remainder and the latest reset."""
    pairs = [("x-ratelimit-remaining", "5"), ("x-ratelimit-reset", "9"), ("X-RateLimit-Remaining", "2")]
    assert read_limits([*pairs, ("x-ratelimit-reset", "4")], NOW) == {"": Limit(2, 9)}


def test_moments_are_measured_against_the_servers_clock() -> None:
    """A clock here that is an hour fast makes no limit an hour shorter; a cached answer's age is taken into account."""
    headers = {
        "date": "Mon, 02 Nov 2026 08:00:00 GMT",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-11-02T08:00:45Z",
    }
    assert read_limits(headers, NOW + timedelta(hours=1))["requests"] == Limit(0, 45)
    assert read_limits({**headers, "age": "15"}, NOW)["requests"] == Limit(0, 30)


@pytest.mark.parametrize(
    "odd",
    [
        {"age": "-1e18"},
        {"age": "-1e300"},
        {"age": "1e300"},
        {"date": "Fri, 31 Dec 9999 23:59:59 GMT", "age": "34560000"},
        {"date": "Mon, 01 Jan 0001 00:00:00 GMT"},
    ],
)
def test_a_response_from_no_time_leaves_the_limit(odd: dict[str, str]) -> None:
    """A date or an age that no calendar holds takes nothing from the wait that stands beside it, and raises nothing."""
    headers = {"date": "Mon, 02 Nov 2026 08:00:00 GMT", "retry-after": "7", **odd}
    assert read_limits(headers, NOW) == {RETRY_AFTER: Limit(0, 7)}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["retry-after", "retry-after-ms", "x-ratelimit-reset", "ratelimit", "x-codex-reset", "date"]
            )
            | st.text(max_size=30),
            st.text(max_size=40) | st.integers().map(str) | st.floats().map(str) | st.none() | st.binary(max_size=9),
        )
    )
    | st.dictionaries(st.text(), st.text())
    | st.none()
    | st.integers()
    | st.text()
)
def test_any_headers_give_sane_limits(headers: object) -> None:
    """Whatever comes in, remainders are not negative and waits lie between 0 and 400 days."""
    for limit in read_limits(headers, NOW).values():
        assert limit.remaining is None or limit.remaining >= 0
        assert limit.seconds is None or 0 <= limit.seconds <= MAX_SECONDS


def test_headers_are_found_where_client_libraries_put_them() -> None:
    """On the response, the error, in botocore's dict, on what an error was raised from; a hostile error has none."""

    class Response:
        headers: ClassVar = {"Retry-After": "3"}

    class WithResponse(Exception):
        response = Response()

    class WithHeaders(Exception):
        headers: ClassVar = [("Retry-After", "3")]

    class Botocore(Exception):
        response: ClassVar = {"ResponseMetadata": {"HTTPHeaders": {"retry-after": "3"}}}

    class Hostile(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError("not sent yet")

    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = WithResponse()
    for error in (WithResponse(), WithHeaders(), Botocore(), wrapped):
        assert response_headers(error) == [("retry-after", "3")]
    assert response_headers(Hostile()) == []
