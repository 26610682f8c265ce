"""The tests of Spark, whose executors push logs to a shared table, as `python -m tests.spark [PATH]...`.

It is installed into `.venv-spark`, and needs Java 17. The test command runs them where `.venv-spark` is there, and says
so where it is not: the libraries of Spark are half a gigabyte, which no other test needs.
"""

from __future__ import annotations

import sys

from tests import REPOSITORY, apart

VENV = REPOSITORY / ".venv-spark"

if __name__ == "__main__":
    sys.exit(apart.run(VENV, "constraints-spark.txt", ["tests/spark"]))
