"""Starts a process that leaves its group and ignores SIGTERM, writes its id to the file it is given, and hangs or ends.

`beside` stays below this one, `orphaned` is a daemon; a third argument is the exit code to end with at once.
"""

import os
import signal
import sys
import time

path, how, *ending = sys.argv[1:]
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if how == "orphaned" and os.fork():
        os._exit(0)
    with open(f"{path}.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{path}.new", path)
    time.sleep(600)
while not os.path.exists(path):
    time.sleep(0.01)
print("left", flush=True)
if ending:
    sys.exit(int(ending[0]))
time.sleep(600)
