"""The tests of what Spark does for a lake, as `python -m tests.lake [PATH]...`: it is installed into `.venv-lake`.

They need Java 17. The test command runs them where `.venv-lake` is there, and says so where it is not: the libraries of
Spark are half a gigabyte, which no other test needs. All else of a lake is tested by the test command itself.
"""

from __future__ import annotations

import subprocess
import sys

from tests import REPOSITORY

VENV = REPOSITORY / ".venv-lake"
PYTHON = VENV / "bin" / "python"


def main() -> int:
    """Make the environment where it is not there, and run the tests; the exit code is pytest's."""
    if not PYTHON.exists():
        install = [str(PYTHON), "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run([*install, "--require-hashes", "-r", "constraints-spark.txt"], cwd=REPOSITORY, check=True)
        subprocess.run([*install, "--no-build-isolation", "-e", "."], cwd=REPOSITORY, check=True)
    asked = sys.argv[1:]
    if all(word.startswith("-") for word in asked):
        asked += ["tests/lake/test_spark.py", "tests/lake/test_location.py"]
    return subprocess.run(
        [str(PYTHON), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *asked],
        cwd=REPOSITORY,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
