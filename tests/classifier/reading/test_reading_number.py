"""How texts are read is a part of what a ruleset is: the digest covers `READING`, and this pins what it stands for."""

from __future__ import annotations

from hashlib import sha256

from analyzer.classifier import default_ruleset
from analyzer.classifier.reading import flattening
from analyzer.classifier.rules import ruleset
from tests.classifier.wardrobe import PLAIN_TEXT

TEXTS = (
    "Rate limit exceeded, try again in 20 seconds",
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "You've reached your weekly limit. It resets on Monday at 09:00, or buy more credits to go on at once.",
    "prompt is too long: 210000 tokens > 200000 maximum\nRun /compact and try again",
)
"""Made up, so that no change of the rules or of the probes changes them."""
READ = dict.fromkeys((1, 2, 3), "32ae9d9edf1c")
"""What each number stands for: of flattened messages, output and words of names. With 2, what stands before an error on
its line is ASCII. With 3, a prefix such as `subtask failed:` goes from a text of one line, too, ids of long texts
are one word, and fields that say no go."""


def test_a_change_of_reading_has_a_new_number():
    """Where this fails, texts are read in another way: count `READING` up, and write down what it now stands for."""
    read = []
    for dress in PLAIN_TEXT.values():
        for text in TEXTS:
            read += [flattening.flat(dress(text)), flattening.flat_output(dress(text))]
    read += [flattening.words_of(name).encode() for name in ("OPENAI_RATE_LIMIT", "OpenaiRateLimit", "HTTPError2")]
    assert READ.get(flattening.READING) == sha256(b"\0".join(read)).hexdigest()[:12]


def test_another_reading_is_another_ruleset(monkeypatch):
    """The digest changes with the number, and a replay shows which verdicts do."""
    rules = default_ruleset()
    parts = (rules.rules, rules.status_patterns, rules.prose_patterns, rules.places)
    assert ruleset.make(*parts, codes=rules.codes).digest == rules.digest
    monkeypatch.setattr(ruleset, "READING", flattening.READING + 1)
    assert ruleset.make(*parts, codes=rules.codes).digest != rules.digest
