"""Names of a package that are loaded on first use, so that nobody pays for names that they do not use."""

import os
import re
from collections.abc import Callable
from importlib import import_module
from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_IMPORT = re.compile(r"^from (\S+) import (\([^)]*\)|.+)", re.MULTILINE)
_NAME = re.compile(r"\b(\w+) as \1\b")


def face(package: str) -> "tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]":
    """Return the `__getattr__`, `__dir__` and `__all__` of a package whose stub, `__init__.pyi`, imports all its names.

    So each name stands once, where type checkers look for it; each import has the form
    `from module import name as name`.
    """
    stub = vars(modules[package])["__loader__"].get_data(os.path.join(modules[package].__path__[0], "__init__.pyi"))
    homes = {name: module for module, names in _IMPORT.findall(stub.decode()) for name in _NAME.findall(names)}

    def load(name: str) -> "Any":
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        # Kept: from now on it is found without this function.
        value = vars(modules[package])[name] = getattr(import_module(homes[name]), name)
        return value

    return load, lambda: sorted(homes), sorted(name for name, module in homes.items() if module != package)
