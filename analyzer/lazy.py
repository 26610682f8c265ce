"""Names of a package that are loaded on first use, so that nobody pays for names that they do not use."""

import os
from collections.abc import Callable
from importlib import import_module
from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def face(package: str) -> "tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]":
    """Return the `__getattr__`, `__dir__` and `__all__` of a package whose stub, `__init__.pyi`, imports all its names.

    So each name stands once, where type checkers look for it; each line of the stub has the form
    `from module import name as name`, or declares a name that the package has anyway.
    """
    stub = vars(modules[package])["__loader__"].get_data(os.path.join(modules[package].__path__[0], "__init__.pyi"))
    imports = (line.split() for line in stub.decode().splitlines() if line.startswith("from "))
    homes = {words[3]: words[1] for words in imports}

    def load(name: str) -> "Any":
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        # Kept: from now on it is found without this function.
        value = vars(modules[package])[name] = getattr(import_module(homes[name]), name)
        return value

    return load, lambda: sorted(homes), sorted(name for name, module in homes.items() if module != package)
