"""Lines onto a log on disk: parts, places, syncs, and the system calls behind them."""

DEFAULT_MAX_BYTES = 128 * 1024 * 1024
"""Size at which a new part is begun. A reader can finish a part that no one writes to any more."""
