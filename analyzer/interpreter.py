"""Other Python processes of this package: they find the same modules, but none in the working directory.

A file there that is named like a library would be run in its place.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def start(*arguments: str, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """Start `python ARGUMENTS…` and return its process.

    `environment` holds the child's variables, by default those of this process; `PYTHONPATH` is always set here.
    `options` are those of `subprocess.Popen`.

    Raises:
        OSError: no process can be started.
    """
    variables = os.environ if environment is None else environment
    # -P: the interpreter itself would put the working directory before all else.
    command = [path(), "-P", *arguments]
    return subprocess.Popen(command, env={**variables, "PYTHONPATH": os.pathsep.join(_module_folders())}, **options)  # noqa: S603


def path() -> str:
    """Return the path of this interpreter, for those who start it later:
    the unit of the nightly job, workers of Spark.
    """
    return os.path.abspath(sys.executable)


def _module_folders() -> list[str]:
    """Return the folders with modules: absolute ones,
    without the working directory unless this package lies in it.
    """
    working = None
    with suppress(OSError):  # it may have been removed
        working = os.path.realpath(os.getcwd())
    folders = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) != working]
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return folders if home in folders else [home, *folders]
