"""Starts a child, ignores SIGTERM as its child does, and hangs; writes the ids of both to the file it is given."""

import os
import signal
import sys
import time

from stream import init, reply

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if not child:
    time.sleep(600)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {child}")
init("s-hang")
reply("s-hang", 1, 50_000, {"type": "text", "text": "Waiting for a lock."})
time.sleep(600)
