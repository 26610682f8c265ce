"""Who caused an error: labelled by hand before a line of it was written, and the same in Python as in SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from analyzer.classifier import REASONS, classify, default_ruleset
from analyzer.classifier.recovery_table import PARTIES, party
from analyzer.store import Store, open_store

LABELLED = [json.loads(line) for line in Path(__file__).with_name("parties.jsonl").read_text("utf-8").splitlines()]
FLOOR = 115
"""Of 120; the first run named 113."""


def test_labelled_errors_are_laid_at_the_right_door() -> None:
    """The labels name every party, and at least the floor of them is met."""
    assert {each["party"] for each in LABELLED} == set(PARTIES)
    wrong = [each for each in LABELLED if classify(each["error"]).party != each["party"]]
    assert len(LABELLED) - len(wrong) >= FLOOR, wrong


@pytest.mark.parametrize(
    ("error", "named"),
    [
        ({"status": 504, "message": "upstream request timed out"}, "provider"),
        ("the read operation timed out", "network"),
        ({"status": 408, "message": "the read operation timed out"}, "network"),
    ],
)
def test_an_answer_of_a_server_was_not_lost_on_the_way(error: object, named: str) -> None:
    """A broken connection is the network's fault, unless a server said with a 5xx that it broke on its side."""
    assert classify(error).party == named


def test_queries_name_the_party_that_the_classifier_names(memory: Store) -> None:
    """The macro agrees with Python for every reason, detail and kind of status."""
    details = sorted({rule.detail for rule in default_ruleset().rules if rule.detail})
    cases = list(product(REASONS, (None, "no_detail", *details), (None, 200, 408, 429, 500, 529)))
    columns = zip(("reason", "detail", "status"), map(list, zip(*cases, strict=True)), strict=True)
    memory.register("cases", {"place": list(range(len(cases))), **dict(columns)})
    named = memory.sql("select party_of(reason, detail, status) from cases order by place").to_series().to_list()
    assert dict(zip(cases, named, strict=True)) == {case: party(*case) for case in cases}


@pytest.fixture
def memory() -> Iterator[Store]:
    """An empty store."""
    with open_store(":memory:") as opened:
        yield opened
