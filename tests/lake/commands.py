"""Command lines of the analyzer in one process, so that Spark starts once: `python -m tests.lake.commands FILE`.

The file holds them as JSON, a list of lists; what is printed is, as JSON, the exit code and stdout of each.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from analyzer.cli import call

if __name__ == "__main__":
    told: list[tuple[int, str]] = []
    terminal = sys.stdout
    for line in json.loads(Path(sys.argv[1]).read_text("utf-8")):
        kept = io.BytesIO()
        sys.stdout = io.TextIOWrapper(kept, "utf-8", write_through=True)
        told.append((call(line), kept.getvalue().decode()))
    sys.stdout = terminal
    print(json.dumps(told))
