"""Which of two readings of one text decides: each pair of a wrapper and a cause, of a wait and a sale."""

from __future__ import annotations

from itertools import product

import pytest

from analyzer.classifier import classify
from tests import each_row

WAITS = (
    "You've hit your usage limit. It resets at 4:10 PM.",
    "Weekly limit reached, try again in 3 days.",
    "Free quota used, resets tomorrow.",
    "The daily allowance is used up and renews at midnight.",
)
SALES = (
    "Upgrade for more.",
    "Purchase more credits to go on.",
    "Buy credits or change your plan.",
    "See the pricing page.",
)
CAUSES = {
    "prompt is too long: 210000 tokens > 200000 maximum": "context_overflow",
    "invalid x-api-key": "auth_error",
    "Your credit balance is too low": "auth_error",
    "The model `heron-9` does not exist": "network_permanent",
    "getaddrinfo ENOTFOUND api.heron.test": "network_permanent",
    "certificate has expired": "network_permanent",
    "Rate limit reached for requests": "rate_limited",
    "Unknown tool: fold": "tool_not_found",
    "spawn heron ENOENT": "tool_not_found",
    "messages.1: tool_use ids were found without tool_result blocks": "validation",
}
WRAPPERS = (
    "API Error: {}",
    "Upstream error: {}",
    "fetch failed: {}",
    "Connection error. {}",
    "stream disconnected before completion: {}",
    "Agent run failed: {}",
    "Provider returned error: {}",
    "{} (connection closed)",
    "The request failed: {}",
    "Error running remote compact task: {}",
)
MENTIONS = (
    "the log said: {}",
    "I wrote a test for the text `{}`",
    "grep found {} in three files",
    "- a line such as {} ends the run",
)
LIMITS = ("Claude AI usage limit reached|1790000000", "You've hit your limit · resets 6am (Asia/Tokyo)")


@each_row("wait, sale", list(product(WAITS, SALES)))
def test_a_stated_reset_comes_before_a_sale(wait, sale):
    """A limit that says when it ends is a wait, on whichever side of it something is for sale."""
    assert classify(f"{wait} {sale}").reason == "rate_limited"
    assert classify(f"{sale} {wait}").reason == "rate_limited"


@each_row("cause, wrapper", list(product(CAUSES, WRAPPERS)))
def test_an_inner_cause_comes_before_its_wrapper(cause, wrapper):
    """What a client says of its own failure does not hide what the provider said."""
    assert classify(wrapper.format(cause)).reason == CAUSES[cause]


@pytest.mark.parametrize("cause", CAUSES)
def test_a_body_comes_before_the_500_around_it(cause):
    """A gateway's 500 does not hide the error that it hands on, as text or as JSON in JSON."""
    body = {"error": {"message": f'{{"error": {{"message": "{cause}"}}}}', "code": 500}}
    if "`" not in cause:
        assert classify({"status": 500, "message": cause}).reason in (CAUSES[cause], "network_transient")
    assert classify({"body": body}).reason == classify({"status": 500, "message": cause}).reason


@pytest.mark.parametrize(("mention", "limit"), list(product(MENTIONS, LIMITS)))
def test_a_mention_is_no_verdict(mention, limit):
    """A limit in the middle of a failed command's output is something that the command speaks of."""
    assert classify({"exit_code": 1, "stdout": f"at work\n{mention.format(limit)}\nand on"}).reason == "unknown"
    assert classify({"exit_code": 0, "stdout": limit}).reason == "unknown"
