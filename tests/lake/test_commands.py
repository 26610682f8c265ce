"""The commands on a lake: what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.cli import call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x.jsonl", "--master", "local[2]"], "--master is for a lake alone"),
        (["--store", "delta:/nowhere", "--master", "local[2]"], "name the PATHs to read"),
        (["x.jsonl", "--store", "delta:"], "names no lake"),
        (["x.jsonl", "--store", "delta:/nowhere", "--master", "head:7077"], "no master of Spark"),
    ],
)
def test_what_does_not_go_with_a_lake_is_refused_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its reason."""
    for command in ("ingest", "nightly"):
        assert call([command, *arguments]) == 2
        assert said in capsys.readouterr().err


def test_mistakes_are_told_before_the_lake_is_looked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """There is no lake either, which would be the next thing to say."""
    for line, said in (
        (["query", "errors-by-reason", "-p", "foo=1"], "unknown parameter"),
        (["check", "--rules", "nix.toml"], "cannot read rules"),
    ):
        assert call([*line, "--store", f"delta:{tmp_path}/none"]) == 2
        assert said in capsys.readouterr().err


def test_where_no_lake_is_the_hint_makes_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """By the command that makes it of logs; a folder in the place of a file may be one."""
    assert call(["query", "errors-by-reason", "--store", f"delta:{tmp_path}/none"]) == 3
    assert f"analyzer ingest PATH --store delta:{tmp_path}/none" in capsys.readouterr().err
    assert call(["query", "errors-by-reason", "--store", str(tmp_path)]) == 3
    assert "delta:PATH" in capsys.readouterr().err
