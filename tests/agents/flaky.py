"""Loses its connection until it has been started `times` times; counts its starts in a file, and repeats its stdin."""

import sys
from pathlib import Path

path, times = Path(sys.argv[1]), int(sys.argv[2])
starts = int(path.read_text()) + 1 if path.exists() else 1
path.write_text(str(starts))
prompt = sys.stdin.read()
if starts < times:
    print("Error: read ECONNRESET", file=sys.stderr)
    sys.exit(1)
print(f"start {starts} read {prompt!r}")
