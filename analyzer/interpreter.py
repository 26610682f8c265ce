"""Another Python interpreter for this package: it finds what this one finds, but nothing in the working directory.

A file there that is called like a library would be run in its place. A pool of `multiprocessing` is no alternative: it
imports the main module of its host again, and runs a script without a guard twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def start(*arguments: str, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """Starts `python ARGUMENTS…` and gives its process.

    `environment` holds the child's variables, by default those of this process; `PYTHONPATH` is always set here.
    `options` are those of `subprocess.Popen`.

    Raises:
        OSError: no process can be started.
    """
    given = os.environ if environment is None else environment
    # -P: the interpreter itself would put the working directory before all else.
    command = [path(), "-P", *arguments]
    return subprocess.Popen(command, env={**given, "PYTHONPATH": os.pathsep.join(_places())}, **options)  # noqa: S603


def path() -> str:
    """Where this interpreter lies, for whoever starts it later: a unit of the night's job, the workers of Spark."""
    return os.path.abspath(sys.executable)


def _places() -> list[str]:
    """Where modules are found: nowhere relative, and in the working directory only where this package lies in it."""
    working = None
    with suppress(OSError):  # it may have been removed
        working = os.path.realpath(os.getcwd())
    found = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) != working]
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return found if home in found else [home, *found]
