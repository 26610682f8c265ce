"""The labelled texts that the repository itself holds, which make the model of `analyzer/classifier/suggestion`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from analyzer.classifier import classify, default_ruleset, extract
from analyzer.classifier.suggestion.training import Labelled
from tests import REPOSITORY

PROBES = REPOSITORY / "tests" / "classifier" / "rules" / "probes.jsonl"
STRANGERS = PROBES.with_name("strangers.jsonl")
NO_API_ERRORS = REPOSITORY / "tests" / "classifier" / "suggestion" / "no_api_errors.txt"
"""A text a line: what compilers, shells, tests and editors say, which is no failure of a model's API."""


def labelled_texts() -> list[Labelled]:
    """The examples of the rules, each in the group of its rule, and the probes, in that of the rule that decides them.

    A text that is no API error is a group of its own.
    """
    return [*_examples(), *_probes(), *_no_api_errors()]


def _examples() -> Iterator[Labelled]:
    for rule in default_ruleset().rules:
        for example in rule.examples:
            yield Labelled(extract(example), rule.reason, rule.id, example=True)


def _probes() -> Iterator[Labelled]:
    for line in PROBES.read_text("utf-8").splitlines():
        probe = json.loads(line)
        yield Labelled(extract(probe["input"]), probe["reason"], classify(probe["input"]).rule or probe["id"])
    for line in STRANGERS.read_text("utf-8").splitlines():
        stranger = json.loads(line)
        reason = stranger.pop("reason")
        yield Labelled(extract(stranger), reason, classify(stranger).rule)


def _no_api_errors() -> Iterator[Labelled]:
    for number, text in enumerate(NO_API_ERRORS.read_text("utf-8").splitlines(), 1):
        yield Labelled(extract(text), "unknown", f"no API error: {number}")
