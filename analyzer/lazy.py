"""Names of a package that are loaded on first use,
so that nobody pays for names that they do not use.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROGRAM = "analyzer."


def face(package: str, homes: Mapping[str, str]) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Return the `__getattr__` and the `__dir__` of a package.

    `homes` maps each module, by its name below the package or in full, to its names, separated by
    spaces.

    `homes` has its names, with spaces between them, by their module, as it is called below the package or in full.
    """
    home_of = {
        name: module if module.startswith(_PROGRAM) else f"{package}.{module}"
        for module, names in homes.items()
        for name in names.split()
    }

    def load(name: str) -> "Any":
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # Kept: from now on it is found without this function.
        value = vars(modules[package])[name] = getattr(import_module(home_of[name]), name)
        return value

    return load, lambda: sorted(home_of)
