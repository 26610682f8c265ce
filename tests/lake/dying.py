"""The analyzer's command line, killed by SIGKILL just before its n-th commit: `python -m tests.lake.dying N …`."""

from __future__ import annotations

import os
import signal
import sys

from deltalake import CommitProperties

from analyzer.cli import main
from analyzer.lake.writing.ledger import Ledger

if __name__ == "__main__":
    last, marked, count = int(sys.argv.pop(1)), Ledger._marked, 0

    def dying(ledger: Ledger) -> CommitProperties:
        """As the ledger does, up to the last commit that is let through."""
        global count
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return marked(ledger)

    Ledger._marked = dying  # type: ignore[method-assign]
    main()
