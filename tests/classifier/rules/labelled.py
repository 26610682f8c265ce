"""Labelled texts beside these tests, in sets, and how a set is judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from analyzer.classifier import classify

Row = dict[str, Any]


class Judged(NamedTuple):
    """How many texts of a set got which verdict."""

    texts: int
    right: int
    """With a reason that is acceptable."""
    wrong: int
    """With another reason; those that are judged unknown without being so are neither."""
    retried: int
    """Tried again, or not, as they should be."""


def labelled(name: str, *sets: str) -> dict[str, list[Row]]:
    """The rows of a file of JSON lines by the set that their ids begin with."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    rows: list[Row] = [json.loads(line) for line in lines]
    found = {each: [row for row in rows if row["id"].startswith(each)] for each in sets}
    assert sum(map(len, found.values())) == len(rows)
    return found


def judged(rows: Sequence[Row]) -> Judged:
    """Classify the texts of a set by the built-in rules."""
    found = [(row, classify(row["input"])) for row in rows]
    right = sum(each.reason in row["acceptable"] for row, each in found)
    unknown = sum(each.reason == "unknown" and "unknown" not in row["acceptable"] for row, each in found)
    retried = sum(each.retryable == row["retryable"] for row, each in found)
    return Judged(len(found), right, len(found) - right - unknown, retried)
