"""The tests; they mirror `analyzer/`."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LONG_RUNS = int(os.environ.get("ANALYZER_LONG_RUNS", "1"))
"""More than 1: faults at every moment where the test command takes a sample, and so many times the random histories."""
