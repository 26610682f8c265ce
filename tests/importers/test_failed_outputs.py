"""What failed commands print: the kind of failure, and the line that tells why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.importers.failures import KINDS, failure

OUTPUTS = [
    json.loads(line) for line in Path(__file__).with_name("failed_outputs.jsonl").read_text("utf-8").splitlines()
]
"""Made-up outputs in two sets; of the unseen ones 23 of 24 were right when they were first tried."""


@pytest.mark.parametrize("name", ["seen", "unseen"])
def test_kind_and_line(name: str) -> None:
    """Each has the kind that it was labelled with, and the line that tells."""
    outputs = [output for output in OUTPUTS if output["set"] == name]
    found = [failure(output["said"]) for output in outputs]
    pairs = list(zip(outputs, found, strict=True))
    assert len(outputs) == 24
    assert [out for out, got in pairs if got["kind"] != out["kind"] or out["line"] not in got["message"]] == []
    assert {output["kind"] for output in outputs} <= set(KINDS)


def test_what_tells_nothing_is_not_kept() -> None:
    """A command's output is private; the exit code says that it failed."""
    found = failure("Exit code 3\nthe minutes of the board\nall of them", command="cat")
    assert found == {"kind": "exit_code", "message": "Exit code 3", "exit_code": 3, "command": "cat"}


def test_the_end_of_a_long_output_is_read() -> None:
    """Tests say at the end what failed."""
    said = "Exit code 1\n" + "passing line\n" * 5_000 + "FAILED tests/test_a.py::test_b - assert 0\n1 failed in 3 s"
    assert failure(said)["message"] == "Exit code 1: FAILED tests/test_a.py::test_b - assert 0"


def test_secrets_in_the_line_are_taken_out() -> None:
    """As of every text."""
    secret = "ghp_" + "a1B2" * 9
    assert secret not in str(failure(f"Exit code 1\nfatal: could not read from https://{secret}@example.org/x"))
