"""The second opinion: what it is made of, what it proposes, and how often it is right about texts it has not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.classifier import REASONS, Facts, classify_facts, extract
from analyzer.classifier.suggestion import Model, suggest
from analyzer.classifier.suggestion.model import LEAST_PROBABILITY, NONE, WEIGHTS, features, probability
from analyzer.classifier.suggestion.training import FeatureCounts, Scored, fitted, scored_apart
from benchmarks.suggestion import Asked, ablation, calibration_error, table
from tests.labelled_texts import labelled_texts


@pytest.fixture(scope="module")
def counts() -> FeatureCounts:
    """What the model is made of."""
    return FeatureCounts(labelled_texts())


@pytest.fixture(scope="module")
def apart(counts: FeatureCounts) -> list[Scored]:
    """Each text as a model judges it that has seen nothing of its rule."""
    return scored_apart(counts)


def test_the_weights_are_those_of_the_labelled_texts(counts: FeatureCounts, apart: list[Scored]) -> None:
    """`python -m tests.reference` would change nothing."""
    made = Model(counts.reasons, counts.weights(), *fitted(apart))
    assert made.dumped() == Path(WEIGHTS).read_text("utf-8")
    assert set(made.reasons) == set(REASONS)


def test_opinions_on_families_of_errors_that_were_never_seen(apart: list[Scored], counts: FeatureCounts) -> None:
    """At least four of five are right, for at least a third of the texts."""
    curve = fitted(apart)
    failures = [each for each in apart if each.labelled.reason != NONE]
    proposed = [
        each for each in failures if each.reason != NONE and probability(each.lead, *curve) >= LEAST_PROBABILITY
    ]
    assert len(proposed) >= len(failures) / 3
    assert sum(each.reason == each.labelled.reason for each in proposed) >= 0.8 * len(proposed)


def test_stated_probabilities_are_found(apart: list[Scored]) -> None:
    """The mean of what is stated is the share that is right."""
    curve = fitted(apart)
    proposed = [each for each in apart if each.reason != NONE]
    stated = sum(probability(each.lead, *curve) for each in proposed) / len(proposed)
    right = sum(each.reason == each.labelled.reason for each in proposed) / len(proposed)
    assert stated == pytest.approx(right, abs=0.01)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gateway hiccup, upstream went away", "network_transient"),
        ("the budget of this account is spent, please top up", "auth_error"),
        ("the conversation has grown beyond the tokens that the context of the model can hold", "context_overflow"),
        ("the login for this account is no longer good, sign in once more", "auth_error"),
    ],
)
def test_a_wording_that_no_rule_knows(text: str, reason: str) -> None:
    """A reason is proposed where no rule decides, with the words that speak for it."""
    facts = extract(text)
    assert classify_facts(facts).reason == NONE
    found = suggest(facts)
    assert found is not None
    assert found.reason == reason
    assert LEAST_PROBABILITY <= found.probability < 1
    assert found.words
    assert all(part in text for word in found.words for part in word.split())


@pytest.mark.parametrize(
    "given",
    [
        "foo.bar is not a function",
        "AttributeError: 'int' object has no attribute 'append'",
        "error: unknown type name 'uint'",
        "3 tests failed, 12 passed",
        "No such file or directory: 'report.pdf'",
        "fatal: ambiguous argument 'HEAD~3'",
        "the moon is full tonight",
        "",
        {"exit_code": 0, "stdout": "upstream connect error, rate limit reached"},
        {},
    ],
    ids=str,
)
def test_nothing_is_proposed_for_what_is_no_api_error(given: object) -> None:
    """Faults of programs, tests and files, plain words, nothing at all, and a run that went well."""
    assert suggest(extract(given)) is None


def test_numbers_ids_and_addresses_make_no_difference() -> None:
    """Two errors that differ in these alone have the same features."""
    one = Facts(message="Shard 17 of req_8f3a9c1d77 at https://a.example/x gave up after 3.5s")
    other = Facts(message="Shard 4 of req_11112222ab at https://b.example/y gave up after 9.0s")
    assert features(one) == features(other)
    assert {"w:shard", "b:gave up", " gav"} <= features(one)
    assert {"s:429", "s:4xx", "w:limit"} <= features(Facts(status=429, code="RateLimit"))


def test_the_calibration_error_is_the_mean_distance_of_bins() -> None:
    """Weighed by their answers; who proposes nothing is in none."""
    right, wrong = frozenset({"validation"}), frozenset({"auth_error"})
    sure = [Asked(right, "validation", 0.95)] * 3 + [Asked(wrong, "validation", 0.95)]
    torn = [Asked(right, "validation", 0.65)] * 4
    assert calibration_error([*sure, *torn, Asked(right, NONE, 0.9)]) == pytest.approx((0.2 * 4 + 0.35 * 4) / 8)
    assert "expected calibration error 27.5%" in table([*sure, *torn])
    assert calibration_error([]) == 0


def test_an_ablation_counts_each_text_once() -> None:
    """What a rule decides, weakly and wrongly so, and what the second opinion proposes for the rest."""
    texts = [
        (extract({"status": 500, "message": "x"}), frozenset({"auth_error"})),
        (extract("the heron is late"), frozenset({"validation"})),
        (extract({"code": "rate_limit_exceeded"}), frozenset({"rate_limited"})),
    ]
    rows = [line.rsplit(maxsplit=6)[1:] for line in ablation(texts).splitlines()[1:]]
    assert rows == [["1", "1", "0", "1", "0", "0"], ["1", "1", "1", "0", "0", "0"], ["1", "1", "1", "0", "0", "0"]]
