"""Hangs, and writes its result record when it is asked to end."""

import signal
import sys
import time

from stream import init, reply, result


def end(*_: object) -> None:
    """Flushes the last record."""
    result("s-polite", sys.argv[1], subtype="error_during_execution", is_error=True)
    sys.exit(1)


signal.signal(signal.SIGTERM, end)
init("s-polite")
reply("s-polite", 1, 60_000, {"type": "text", "text": "Working."})
time.sleep(600)
