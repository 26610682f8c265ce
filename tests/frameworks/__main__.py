"""The recipes for frameworks of agents, as `python -m tests.frameworks [PATH]...`: they are in `.venv-frameworks`.

The test command runs them where `.venv-frameworks` is there, and says so where it is not: Claude's SDK brings Claude
Code along, which is 385 MiB.
"""

from __future__ import annotations

import sys

from tests import REPOSITORY, apart

VENV = REPOSITORY / ".venv-frameworks"

if __name__ == "__main__":
    sys.exit(apart.run(VENV, "constraints-frameworks.txt", ["tests/frameworks"]))
