"""Retries on weak evidence: fewer calls, a longer first wait, none where a strong rule objects."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from analyzer.classifier import classify
from analyzer.recovery import Policy, RateGuard, Retry
from analyzer.recovery.retry.policy import Care, care_of
from tests import each_row
from tests.recovery.simulated import STEADY, FakeClock, Flaky, HttpError, Log, settled

WEAK_WORDS = "the gateway crashed"
REFUSED = "messages: field required"


@each_row(
    "error, care",
    [
        ({"status": 500}, Care()),
        ({"status": 503, "message": "the heron sat on the mains"}, Care()),
        ({"status": 429}, Care()),
        ({"code": "ECONNRESET"}, Care()),
        ({"status": 401}, Care()),
        (WEAK_WORDS, Care(2, 3)),
        ("sent too many of them", Care(2, 3)),
        ({"status": 500, "message": REFUSED}, Care(1, 0, "request_text")),
        ({"status": 402, "message": "HTTP 402 Payment Required: rate limit exceeded"}, Care(2, 3)),
        ({"status": 429, "message": "Daily calls for this heron: invalid API key"}, Care(2, 3, "auth_text")),
    ],
)
def test_care_follows_from_the_evidence(error: object, care: Care) -> None:
    """A bare status keeps its three calls; weak words leave two, and a strong objection to a repeated call none."""
    assert care_of(classify(error)) == care


def test_a_copy_of_a_verdict_knows_no_objection() -> None:
    """It has left behind the rules that it could ask."""
    assert copy.copy(classify({"status": 500, "message": REFUSED})).objections == (None, False)


def test_weak_words_are_tried_once_more_after_a_longer_wait(
    settings: dict[str, Any], clock: FakeClock, log: Log
) -> None:
    """Eight times the first wait of a strong verdict, and two calls in all."""
    call = Flaky(RuntimeError(WEAK_WORDS), RuntimeError(WEAK_WORDS), "never")
    with pytest.raises(RuntimeError):
        Retry("planner", **settings).call(call)
    assert clock.slept == pytest.approx([0.8])
    assert [each["max_attempts"] for each in log.payloads("error.classified")] == [2, 2]
    assert (settled(log)["attempts"], settled(log)["outcome"]) == (2, "exhausted")


def test_a_strong_objection_is_not_retried(settings: dict[str, Any], clock: FakeClock, log: Log) -> None:
    """A 500 that names what the request lacks surfaces at once, as what its status says."""
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(HttpError(500, REFUSED), "never"))
    (event,) = log.payloads("error.classified")
    assert (event["reason"], event["action"], event["outcome"]) == ("network_transient", "surface", "surfaced")
    assert clock.slept == []


def test_weak_words_hold_back_nobody_else(settings: dict[str, Any], clock: FakeClock) -> None:
    """Who heard them waits for the time that they name; another caller of the guard is let through meanwhile."""
    guard = RateGuard(clock=clock)
    call = Flaky(RuntimeError("sent too many of them, try again in 500 seconds"), "fine")
    clock.at_sleep = lambda _: waits.append(guard.state("anthropic").ready)
    waits: list[bool] = []
    assert Retry("planner", guard=guard, **settings).call(call) == "fine"
    assert sum(clock.slept) >= 500
    assert waits == [True]


def test_what_a_caller_allows_stands(settings: dict[str, Any]) -> None:
    """Care bounds the table, not the number of calls that somebody set."""
    settings["policy"] = Policy(backoff=STEADY.backoff, max_attempts={"network_transient": 4})
    call = Flaky(*[RuntimeError(WEAK_WORDS)] * 3, "fine")
    assert Retry("planner", **settings).call(call) == "fine"
