"""How sure a verdict is: what it rests on, wherever it is told."""

from __future__ import annotations

import copy
import json

import pytest

from analyzer.classifier import classify, default_ruleset
from analyzer.classifier.batch import judge_json
from analyzer.classifier.rules.explain import explain
from analyzer.report.rules import explained, explanation_document
from analyzer.report.writers.text import to_text


@pytest.mark.parametrize(
    ("error", "confidence", "evidence"),
    [
        ({"status": 500, "message": "the heron sat on the mains"}, "weak", "status"),
        ({"status": 401}, "weak", "status"),
        ({"exit_code": 127, "stderr": "the heron left"}, "weak", "exit_code"),
        ("API Error: 529", "weak", "status"),
        ("the licence on file is no longer valid: licence mismatch", "weak", "text"),
        ({"status": 529, "type": "overloaded_error"}, "strong", "type"),
        ({"status": 429, "message": "Too Many Requests, slow down"}, "strong", "text"),
        ({"code": "ECONNRESET"}, "strong", "code"),
        ("Too many concurrent requests for this key", "weak", "text"),
        ("The docs of the gateway speak of too many requests", "weak", "text"),
        ("Error: Too many concurrent requests for this key", "strong", "text"),
        ("HTTP 429: too many concurrent requests", "strong", "text"),
        ("heron.RateError: too many concurrent requests", "strong", "text"),
        ("call failed: too many concurrent requests", "strong", "text"),
        ({"exit_code": 1, "stderr": "too many concurrent requests"}, "strong", "text"),
        ({"is_error": True, "message": "too many concurrent requests"}, "strong", "text"),
        ("Error: the bucket is empty", "weak", "text"),
        (ConnectionResetError(), "strong", "exception_class"),
        ("the quota heron is asleep", None, None),
        ({"exit_code": 1}, None, None),
    ],
    ids=str,
)
def test_a_verdict_is_strong_if_a_machine_reports_it(
    error: object, confidence: str | None, evidence: str | None
) -> None:
    """A code, a type or a name is strong, and so are a rule's own words if a field or a mark says that it happened."""
    found = classify(error)
    assert (found.confidence, found.evidence) == (confidence, evidence)
    assert found.to_dict()["confidence"] == confidence
    assert (confidence is None) == (found.rule == "none")


def test_the_level_that_decides_is_the_one_whose_evidence_counts() -> None:
    """A symptom above a cause adds nothing to it."""
    assert classify({"message": "fetch failed", "cause": {"status": 500}}).confidence in {"strong", "weak"}
    assert classify({"message": "x", "cause": {"status": 500}}).confidence == "weak"
    assert classify({"message": "x", "cause": {"code": "ENOTFOUND"}}).confidence == "strong"


@pytest.mark.parametrize("text", ['{"status": 500}', '{"type": "overloaded_error"}', '{"message": "the heron"}'])
def test_a_batch_says_the_same(text: str) -> None:
    """History is judged as it would have been live."""
    (found,) = judge_json([text], default_ruleset())
    assert found[5] == classify(json.loads(text)).confidence


def test_copies_are_as_sure() -> None:
    """And name the same kind of evidence."""
    found = classify({"status": 500})
    assert (copy.copy(found).confidence, copy.copy(found).evidence) == ("weak", "status")


def test_an_explanation_says_how_sure_it_is() -> None:
    """In words, and as JSON."""
    found = explain({"status": 500, "message": "the heron sat on the mains"})
    assert "confidence" in to_text(explanation_document(found))
    assert "weak, by its status" in to_text(explanation_document(found))
    assert (explained(found)["confidence"], explained(found)["evidence"]) == ("weak", "status")
    assert "none" in to_text(explanation_document(explain("the quota heron is asleep")))
