"""The commands on a lake: what they refuse before any Spark starts."""

from __future__ import annotations

import pytest

from analyzer.cli import call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x.jsonl", "--master", "local[2]"], "--master is for a lake alone"),
        (["--store", "delta:/nowhere"], "no logs of this one are looked for"),
        (["x.jsonl", "--store", "delta:"], "names no lake"),
        (["x.jsonl", "--store", "delta:/nowhere", "--master", "head:7077"], "no master of Spark"),
    ],
)
def test_what_does_not_go_with_a_lake_is_refused_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its reason."""
    assert call(["ingest", *arguments]) == 2
    assert said in capsys.readouterr().err
