"""Usage limits as Claude Code prints them: only a failed run's own line counts, and its reset is read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from analyzer.classifier import classify
from analyzer.classifier.rules.explain import explain
from tests import each_row, named

LINE = "Claude AI usage limit reached|1790000000"
RESET = datetime.fromtimestamp(1790000000, UTC)


def exhausted(found):
    """Whether a classification removes the agent from its pool."""
    return (found.reason, found.detail) == ("rate_limited", "usage_limit")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_actual_exhaustion(stream):
    """The signature as a line of a run with exit code 1 is exhaustion."""
    assert exhausted(classify({"exit_code": 1, stream: LINE}))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_exit_code_guard(stream):
    """The same text of a run with exit code 0 is not exhaustion."""
    assert not exhausted(classify({"exit_code": 0, stream: LINE}))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_no_exit_code_no_exhaustion(stream):
    """Without an exit code a stream says nothing about exhaustion."""
    assert not exhausted(classify({stream: LINE}))


@pytest.mark.parametrize(
    "text",
    named(
        {
            "unrelated": "error: cannot open notes.md",
            "loose-words": "usage limit reached",
            "no-epoch": "Claude AI usage limit reached",
            "mentioned-in-prose": f"The prompt says: print {LINE} when done",
            "talk": "We talked about the usage limit and when it resets.",
            "quoted-dialect": 'The test asserts "You\'ve hit your limit" is shown',
        }
    ),
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_no_signature(stream, text):
    """A failed run without the signature as a line of its own is not exhaustion."""
    assert not exhausted(classify({"exit_code": 1, stream: text}))


def test_reset_parsing():
    """The epoch after the bar is the moment of the reset."""
    found = classify({"exit_code": 1, "stdout": LINE})
    assert found.reset_at == RESET
    assert found.to_dict()["reset_at"] == "2026-09-21T14:13:20Z"


def test_reset_in_milliseconds():
    """An epoch in milliseconds is read as such."""
    assert classify({"exit_code": 1, "stdout": LINE + "000"}).reset_at == RESET


def test_signature_among_other_lines():
    """The signature counts as one line of a longer output."""
    found = classify({"exit_code": 1, "stdout": f"reading files\n{LINE}\n", "stderr": "bye"})
    assert exhausted(found)
    assert found.reset_at == RESET


def test_record_flagged_as_error():
    """In a record that is flagged as an error the text counts as it is."""
    assert exhausted(classify({"type": "result", "subtype": "success", "is_error": True, "result": LINE}))
    assert not exhausted(classify({"type": "result", "subtype": "success", "is_error": False, "result": LINE}))


@pytest.mark.parametrize(
    "text",
    [
        "You've hit your session limit · resets 2:40pm (America/Chicago)",
        "You’ve hit your limit ∙ resets 2:40pm (America/Chicago)",
        "5-hour limit reached ∙ resets 2:40pm (America/Chicago)",
        "Opus weekly limit reached - resets Nov 21, 2:40pm (America/Chicago)",
        "Claude usage limit reached. Your limit will reset at 2:40pm (America/Chicago).",
    ],
)
def test_dialects_of_today(text):
    """The dialects with a wall-clock time are exhaustion, and resolve against the event's own time."""
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    found = classify({"exit_code": 1, "stdout": text}, at=at)
    assert exhausted(found)
    assert found.reset_at == datetime(2026, 11, 21, 20, 40, tzinfo=UTC)
    assert classify({"exit_code": 1, "stdout": text}).reset_at is None


@each_row("text", [LINE, "You've hit your session limit · resets 2:40pm (America/Chicago)"])
@each_row(
    "output",
    [
        "{0}\nreading files\nError: connect ECONNREFUSED",
        "Error: {0}\nreading files",
        "the log\n```\n{0}\n```",
        "the log\n```\n{0}",
        "> {0}",
        "The prompt was as follows:\n{0}",
        "$ cat notes\n{0}",
        '{0}\n{{"type":"assistant","message":{{}}}}',
    ],
)
@each_row("stream", ["stdout", "stderr"])
def test_a_quoted_line_is_no_exhaustion(stream, output, text):
    """A line that an agent read, echoed or wrote about is followed by its work, or marked as somebody else's words."""
    assert not exhausted(classify({"exit_code": 1, stream: output.format(text)}))


def test_the_last_line_gives_the_reset():
    """Neither a limit that was quoted before nor a time on the other stream is when this one resets."""
    output = f"Claude AI usage limit reached|1780000000\nworking\n{LINE}\n"
    found = classify({"exit_code": 1, "stdout": output, "stderr": "retrying in 5 s"})
    assert exhausted(found)
    assert (found.reset_at, found.retry_after_seconds) == (RESET, None)
    assert found.matched == f"text '{LINE}'"
    assert classify(found.facts).reset_at == RESET


@pytest.mark.parametrize(
    "ending", ["\n\n", "\n\x1b[0m\n", "\n─────\nBye!\n", "\nTotal cost: $0.10\n", "\nexit status 1\n"]
)
def test_a_farewell_may_follow(ending):
    """Blank lines, codes of the terminal, borders, costs and goodbyes are no work."""
    assert exhausted(classify({"exit_code": 1, "stdout": f"working\n{LINE}{ending}"}))


@pytest.mark.parametrize("output", ["> {0}", "log.txt:3:{0}", "the log said: {0}", '  "content": "{0}",', "+{0}"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_mention_is_no_verdict_and_names_no_time(stream, output):
    """Nothing of it is heard: alone it is an unknown failure, and beside another error, that one is heard."""
    alone = classify({"exit_code": 1, stream: output.format(LINE)})
    assert (alone.reason, alone.reset_at) == ("unknown", None)
    beside = classify({"exit_code": 1, stream: f"{output.format(LINE)}\nError: connect ECONNREFUSED"})
    assert (beside.reason, beside.reset_at) == ("network_transient", None)
    assert any("mention" in sentence for sentence in explain({"exit_code": 1, stream: output.format(LINE)}).why)


def test_what_stands_beside_a_mention_counts():
    """A status and the name of an error in front of the words are heard as before."""
    found = classify({"exit_code": 1, "stderr": f"litellm.RateLimitError: 429 - {LINE}"})
    assert (found.reason, found.detail, found.reset_at) == ("rate_limited", None, None)
