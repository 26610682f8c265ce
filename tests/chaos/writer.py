"""One writer of the chaos: appends as fast as it may, and notes every id that it was given.

`python -m tests.chaos.writer FOLDER NOTES SEED DURABILITY [FILE_LIMIT_BYTES]`. The note is written after `append` has
returned, so a kill between the two leaves an event that is stored and not noted; the other way round would be a loss. A
forked child that does not come to its end is noted as `hung`.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import threading
import time

from analyzer import EventLog

PART_BYTES = 400_000
"""Small parts, so that writers change files all the time."""
HUNG_AFTER_SECONDS = 20


def write(log: EventLog, notes: int, chance: random.Random, stopped: threading.Event, limit: int = 10**9) -> None:
    """Append until stopped, or `limit` events; from a hundred bytes to some ten kilobytes, most of them small."""
    count = 0
    while not stopped.is_set() and count < limit:
        size = chance.choice((20, 200, 200, 1_000, 1_000, 8_000, 8_000, 60_000))
        text = "".join(chance.choices('abcdefghij klmnop\n"\\é中', k=chance.randrange(size)))
        given = log.append("error.classified", {"caller": f"c{chance.randrange(5)}", "facts": {"message": text}})
        if given is not None:
            os.write(notes, f"{given}\n".encode())
        count += 1
        if chance.random() < 0.02:
            time.sleep(chance.random() / 50)


def main() -> None:
    """Threads that append, forks that append, until a signal ends it."""
    folder, noted, seed, durability, *limit = sys.argv[1:]
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), int(limit[0])))
    chance = random.Random(int(seed))
    notes = os.open(noted, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    log = EventLog(folder, max_bytes=PART_BYTES, durability=durability)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    threads = [
        threading.Thread(target=write, args=(log, notes, random.Random(chance.random()), stopped)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    while not stopped.wait(0.05 + chance.random() / 5):
        # A fork amid threads that append: the child must neither hang nor count where its parent counts.
        child = os.fork()
        if not child:
            signal.alarm(HUNG_AFTER_SECONDS)
            write(log, notes, chance, threading.Event(), limit=5)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            os.write(notes, b"hung\n")
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
