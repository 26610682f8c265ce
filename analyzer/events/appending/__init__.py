"""Lines onto a log on disk: parts, places, syncs, and the system calls behind them."""
