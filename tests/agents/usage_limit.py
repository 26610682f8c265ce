"""Prints a line (default: a usage limit with its reset) and exits with a code (default 1)."""

import sys

print(sys.argv[1] if len(sys.argv) > 1 else "Claude AI usage limit reached|1770843600")
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
