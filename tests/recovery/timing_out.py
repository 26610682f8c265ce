"""The analyzer's command line, in which the time of a run is over once a file is there: `python -m
tests.recovery.timing_out FILE …`."""

from __future__ import annotations

import sys
from pathlib import Path

from analyzer.cli import main
from tests.recovery.supervised import time_over_once

if __name__ == "__main__":
    time_over_once(setattr, Path(sys.argv.pop(1)).exists)
    main()
