"""Everyday sentences: two ordinary words of a rule decide nothing with confidence."""

from __future__ import annotations

import pytest

from analyzer.classifier import classify
from analyzer.recovery import is_token_limit_error

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


@pytest.mark.parametrize("sentence", EVERYDAY.splitlines())
def test_two_ordinary_words_decide_nothing_strongly(sentence: str) -> None:
    """A sentence from a meeting, a novel or a notice is unknown, or a weak verdict that says so."""
    assert classify(sentence).confidence != "strong"


@pytest.mark.parametrize("sentence", COMPLAINTS_OF_OTHERS.splitlines())
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
