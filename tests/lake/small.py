"""The analyzer's command line with small batches and ranges, so that a few logs are as many steps as very many."""

from __future__ import annotations

from analyzer.cli import main
from analyzer.lake.reading import staged, tasks

BATCH, RANGE = 250, 80_000

if __name__ == "__main__":
    staged.MAX_EVENTS, tasks.GROUP_BYTES = BATCH, RANGE
    main()
