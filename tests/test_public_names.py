"""What `import analyzer` offers: few names at the top, and rooms that need no import of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from inspect import isfunction
from typing import Any, get_type_hints

import pytest

import analyzer
from tests import REPOSITORY

INNER = {
    *(
        "ShownErrors",
        "CallChain",
        "ChartForm",
        "Compiled",
        "Decision",
        "Evidence",
        "Identity",
        "Index",
        "Remains",
        "Runner",
        "Setting",
    ),
    "SourceCheckpoint",
    "Chart",  # Public in `analysis.charts`.
}
"""Classes that parts of the program hand to each other, though a public thing holds or takes one."""
ROOMS = {name for name in dir(analyzer) if name not in analyzer.__all__ and not name.startswith("__")}


def test_the_top_is_short_and_every_name_leads_somewhere() -> None:
    """Sixteen names, all of them there, and no other name is made up."""
    assert len(analyzer.__all__) == 16
    assert all(getattr(analyzer, name) is not None for name in analyzer.__all__)
    with pytest.raises(AttributeError, match="Policy"):
        _ = analyzer.Policy  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_needs_no_import_of_its_own(room: str) -> None:
    """`import analyzer` is enough to reach everything that a room offers."""
    program = f"import analyzer\nroom = analyzer.{room}\nassert all(hasattr(room, name) for name in dir(room))"
    subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=REPOSITORY, check=True)


def own(hint: object, room: str) -> set[type[Any]]:
    """The classes of a room that an annotation names."""
    inside = {found for part in getattr(hint, "__args__", ()) for found in own(part, room)}
    return inside | ({hint} if isinstance(hint, type) and hint.__module__.startswith(f"analyzer.{room}.") else set())


def annotated(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """What of a function or a class has annotations that its users meet: itself, methods, properties, fields."""
    if isfunction(thing):
        yield name, thing
    elif isinstance(thing, type):
        yield name, thing
        for part, item in vars(thing).items():
            function = item.fget if isinstance(item, property) else getattr(item, "__func__", item)
            if isfunction(function) and (part == "__init__" or not part.startswith("_")):
                yield f"{name}.{part}", function


def hints(thing: Any) -> dict[str, Any]:
    """Its annotations; none where they name what only a type checker imports."""
    try:
        return get_type_hints(thing)
    except NameError:
        return {}


@pytest.mark.parametrize("room", sorted(ROOMS - {"errors"}))
def test_what_public_things_are_made_of_can_be_named(room: str) -> None:
    """The class of whatever a public function takes or gives, and a public class holds, is public as well."""
    offered = getattr(analyzer, room)
    public = {id(getattr(offered, name)) for name in offered.__all__}
    hidden = {
        f"{owner}.{name}: {part.__name__}"
        for public_name in offered.__all__
        for owner, thing in annotated(public_name, getattr(offered, public_name))
        for name, hint in hints(thing).items()
        for part in own(hint, room)
        if id(part) not in public and part.__name__ not in INNER and not name.startswith("_")
    }
    assert hidden == set()
