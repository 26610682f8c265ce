"""What `import analyzer` offers: few names at the top, and rooms that need no import of their own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import pytest

import analyzer
from tests import REPOSITORY

ROOMS = {name for name in dir(analyzer) if name not in analyzer.__all__ and not name.startswith("__")}


def test_the_top_is_short_and_every_name_leads_somewhere() -> None:
    """Fourteen names, all of them there, and no other name is made up."""
    assert len(analyzer.__all__) == 14
    assert sorted(analyzer._HOMES) == sorted(analyzer.__all__)
    assert all(getattr(analyzer, name) is not None for name in analyzer.__all__)
    with pytest.raises(AttributeError, match="Policy"):
        _ = analyzer.Policy  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_needs_no_import_of_its_own(room: str) -> None:
    """`import analyzer` is enough to reach everything that a room offers."""
    program = f"import analyzer\nroom = analyzer.{room}\nassert all(hasattr(room, name) for name in dir(room))"
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=REPOSITORY, check=True)


def named(hint: object) -> set[type[Any]]:
    """The classes of the analysis that an annotation names."""
    inside = {found for part in getattr(hint, "__args__", ()) for found in named(part)}
    own = isinstance(hint, type) and hint.__module__.startswith("analyzer.analysis")
    return inside | ({hint} if own and isinstance(hint, type) else set())


def test_what_results_are_made_of_can_be_named() -> None:
    """The class of every field of a public result of the analysis is public as well."""
    results = [item for name in analyzer.analysis.__all__ if is_dataclass(item := getattr(analyzer.analysis, name))]
    assert results
    for result in results:
        hints = get_type_hints(result)
        parts = {part for field in fields(result) for part in named(hints[field.name])}
        assert {part for part in parts if getattr(analyzer.analysis, part.__name__, None) is not part} == set(), result
