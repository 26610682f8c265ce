"""The tests of what Spark does for a lake, as `python -m tests.lake [PATH]...`: it is installed into `.venv-lake`.

They need Java 17. The test command runs them where `.venv-lake` is there, and says so where it is not: the libraries of
Spark are half a gigabyte, which no other test needs. All else of a lake is tested by the test command itself.
"""

from __future__ import annotations

import sys

from tests import REPOSITORY, apart

VENV = REPOSITORY / ".venv-lake"

if __name__ == "__main__":
    sys.exit(apart.run(VENV, "constraints-spark.txt", ["tests/lake/test_spark.py", "tests/lake/test_location.py"]))
