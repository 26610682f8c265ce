"""Everyday sentences: two ordinary words of a rule decide nothing with confidence."""

from __future__ import annotations

import pytest

from analyzer.classifier import classify
from analyzer.recovery import is_token_limit_error
from tests import each_row

EVERYDAY = """\
maximum context of the meeting
She gave the maximum context she could before the vote.
We ran out of time to give more context.
The messages were too long, so grandmother stopped reading them.
The speech is too long, cut the middle part.
Slow down, the children are crossing the street.
Milk came too fast and the calf coughed.
The soup is cooling down on the windowsill.
The engine was throttled back before landing.
The forbidden garden lay behind the wall.
Unauthorized biographies sell better than authorized ones.
The museum requires extra usage fees for photographs.
There is high demand for tickets to the opera.
The lift is at full capacity, take the stairs.
The contract was terminated
The broken pipe flooded the cellar.
An unknown host welcomed us at the door.
We failed to resolve our differences at the retreat.
She was unable to resolve the riddle.
No such tool, he said, had been seen in the workshop.
Smoking is not permitted in the theatre.
The shoes are too small for the boy.
The committee does not support the proposal.
Something valuable is missing"""

COMPLAINTS_OF_OTHERS = """\
shard 4 of the corpus lost its manifest, rebuild it first
The process lost two weeks to reviews.
Our host lost the keys to the meeting room.
The container was lost at sea.
The pod of whales died near the harbour.
Node 4 of the outline lost its heading.
The server at the restaurant stopped taking orders.
The stream dropped ten feet over the rocks.
The socket wrench set lost two pieces.
The connection between the two essays was dropped from the draft.
The band was swamped with requests for an encore.
The soil is degraded by decades of grazing.
Bread is in high demand at the fair.
The kettle is warming up.
The stage is at full capacity with forty chairs.
The choir is having trouble with the second verse.
The class queued for 20 s at the door.
The contract was terminated
The maximum context of the meeting was 12 people and 30 slides
The queue was longer than in any other context."""
COMPLAINTS = """\
Worker 7 died
worker process 12 was terminated by the scheduler
shard 3 was lost, retrying
The connection to the host was lost
host lost its connection
The backend is swamped
Swamped right now, come back later
Error: currently overwhelmed
The model is warming up
Queued for 20 s"""


@each_row("sentence", EVERYDAY.splitlines())
def test_two_ordinary_words_decide_nothing_strongly(sentence: str) -> None:
    """A sentence from a meeting, a novel or a notice is unknown, or a weak verdict that says so."""
    assert classify(sentence).confidence != "strong"


@each_row("sentence", COMPLAINTS_OF_OTHERS.splitlines())
def test_a_complaint_needs_its_subject(sentence: str) -> None:
    """What a sentence says of another thing than a service, or of what a service lost, decides nothing."""
    assert classify(sentence).reason == "unknown"


@pytest.mark.parametrize("sentence", COMPLAINTS.splitlines())
def test_a_complaint_with_its_subject_is_a_passing_failure(sentence: str) -> None:
    """The same words about a server or a line, or alone at the start of a text, are an error that passes."""
    assert classify(sentence).reason == "network_transient"


@pytest.mark.parametrize("sentence", ["The maximum context of 12 people and 30 slides", *EVERYDAY.splitlines()[:3]])
def test_a_context_is_full_by_its_numbers_or_its_code(sentence: str) -> None:
    """The words of providers count with a number beside them, alone, or as a code."""
    assert not is_token_limit_error(sentence)
    assert is_token_limit_error("maximum context length is 8192 tokens, but 9000 were sent")
    assert is_token_limit_error("9000 tokens are more than the maximum context length")
    assert is_token_limit_error("Maximum context length")
    assert is_token_limit_error({"code": "context_length_exceeded", "message": sentence})


@each_row(
    "mark", ["// ", "/* ", " * @throws ", "- [ ] ", "- ", "* ", "3. ", "2) ", "If ", "When ", "e.g. ", "For example, "]
)
def test_words_behind_a_mark_of_lists_and_comments_are_about_errors(mark):
    """A comment, an item of a list or a condition mentions an error; an item labelled as an error is one."""
    assert classify(f"{mark}the rate limit is exceeded, wait and retry").reason == "unknown"
    if mark in ("- ", "* ", "3. ", "2) "):
        assert classify(f"{mark}Error: rate limit exceeded").reason == "rate_limited"
        assert classify(f"{mark}Failed to connect: connection refused").reason == "network_transient"


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("context_overflow", "Stream failed: the prompt has 210000 tokens and the model takes 200000"),
        ("context_overflow", "Connection error: input is too long for requested model"),
        ("validation", {"status": 500, "message": "Provider returned 400: temperature must be between 0 and 2"}),
        ("validation", {"status": 502, "message": "upstream returned 400 Bad Request: unknown field 'foo'"}),
        ("rate_limited", {"status": 500, "message": "Internal error, caused by: 429 Too Many Requests"}),
        ("auth_error", {"status": 500, "message": "request failed due to 401 Unauthorized"}),
        ("tool_not_found", "MCP error -32602: Tool list_rows not found"),
        ("tool_not_found", "npm error code ENOENT\nnpm error syscall spawn git\nMCP server closed: connection closed"),
        ("network_transient", {"status": 503, "message": "upstream returned 500: internal error"}),
    ],
)
def test_the_inner_cause_decides(reason, error):
    """A wrapper's words and its 5xx give way to the cause that the text states."""
    assert classify(error).reason == reason


@pytest.mark.parametrize(
    "error",
    [
        "token budget exceeded: this run may use 50000 tokens",
        "Budget exceeded: the task is limited to 20 steps",
        "thinking budget exhausted",
    ],
)
def test_a_budget_of_the_run_is_the_callers(error):
    """Only a budget of an account is a matter of billing."""
    assert classify(error).detail == "max_budget"
    assert classify("Your organization's budget has been exceeded").detail == "billing"


@pytest.mark.parametrize("text", ["credentials refreshed", "session renewed", "connection restored"])
def test_the_opposite_of_a_complaint_is_none(text):
    """What is well again is no error."""
    assert classify(text).reason == "unknown"


@pytest.mark.parametrize(
    "place",
    ["POST https://api.test/v1/messages - {}", "({}) no answer", "upstream {}, gave up", "the call ended with {}"],
)
def test_a_status_counts_where_it_stands_for_the_answer(place):
    """A status behind an address, in brackets at the beginning, or behind who answered is the status."""
    assert classify(place.format(404)).reason == "network_permanent"
    assert classify(place.format(503)).reason == "network_transient"
