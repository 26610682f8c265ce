"""Paths without the homes that they lie in; values are made up."""

from __future__ import annotations

import pytest

from analyzer.redaction.walk import without_home
from analyzer.report.rows import shown


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/home/mira/code/shop", "~/code/shop"),
        ("/Users/mira", "~"),
        ("/var/home/mira/shop", "~/shop"),
        ("/root/shop", "~/shop"),
        (r"C:\Users\Mira\code\shop", r"~\code\shop"),
        ("/mnt/c/Users/mira/shop", "~/shop"),
        ("/srv/home/shop", "/srv/home/shop"),
        ("/rooted/shop", "/rooted/shop"),
        ("/homeless", "/homeless"),
    ],
)
def test_no_path_names_a_home(path: str, kept: str) -> None:
    """Whatever machine it was written on."""
    assert without_home(path) == kept


def test_reports_show_no_home() -> None:
    """Where a cell is a path; any other text stays as it is."""
    assert shown("source_path", "/home/mira/logs/a.jsonl") == "~/logs/a.jsonl"
    assert shown("message", "/home/mira/logs/a.jsonl") == "/home/mira/logs/a.jsonl"
