"""One writer of the chaos: appends as fast as it may, and notes every id that it was given.

`python -m tests.chaos.writer FOLDER NOTES SEED DURABILITY [FILE_LIMIT_BYTES]`. The note is written after `append` has
returned, so a kill between the two leaves an event that is stored and not noted; the other way round would be a loss. A
forked child that does not come to its end is noted as `hung`.

It names its folder by a relative path and then wanders off, into folders that it removes under itself; its forks do the
same and fork again, past Python's hooks too; and some writers have a clock that jumps.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence

from analyzer import EventLog
from analyzer.events.appending import system

PART_BYTES = 400_000
"""Small parts, so that writers change files all the time."""
HUNG_AFTER_SECONDS = 20
DEEPEST = 2
"""Forks of forks of forks."""
DAY_SECONDS = 86_400
JUMPS_SECONDS = (0, 0.003, -0.003, -3_600, DAY_SECONDS, -DAY_SECONDS, 400 * DAY_SECONDS, -50 * 365 * DAY_SECONDS)
"""How far the wall clock is off. By a few milliseconds, the moments that ids begin with come again and again."""


def write(log: EventLog, notes: int, chance: random.Random, stopped: Sequence[int], limit: int = 10**9) -> None:
    """Append until stopped, or `limit` events; from a hundred bytes to some ten kilobytes, most of them small."""
    count = 0
    while not stopped and count < limit:
        size = chance.choice((20, 200, 200, 1_000, 1_000, 8_000, 8_000, 60_000))
        text = "".join(chance.choices('abcdefghij klmnop\n"\\é中', k=chance.randrange(size)))
        given = log.append("error.classified", {"caller": f"c{chance.randrange(5)}", "facts": {"message": text}})
        if given is not None:
            os.write(notes, f"{given}\n".encode())
        count += 1
        if chance.random() < 0.02:
            time.sleep(chance.random() / 50)


def jumping_clock(chance: random.Random) -> None:
    """From here on the wall clock of the log is set every few calls."""
    offset = 0.0

    def now() -> int:
        nonlocal offset
        if chance.random() < 0.05:
            offset = chance.choice(JUMPS_SECONDS)
        return time.time_ns() + int(offset * 1e9)

    system.time_ns = now


def wander(chance: random.Random) -> None:
    """Go somewhere else, as often as not into a folder that is gone at once."""
    with contextlib.suppress(OSError):  # a limit on files says nothing about folders, a full disk might
        place = tempfile.mkdtemp(prefix="chaos-place-")
        os.chdir(place)
        os.rmdir(place)
        if chance.random() < 0.5:
            os.chdir(tempfile.gettempdir())


def fork(log: EventLog, notes: int, chance: random.Random, depth: int = 0) -> None:
    """A child that appends a little, where it stands or elsewhere, and may have a child in turn."""
    # In a child no other thread is left, so that a C library's fork, of which Python hears nothing, is as good as any.
    child = ctypes.PyDLL(None).fork() if depth and chance.random() < 0.5 else os.fork()
    if not child:
        signal.alarm(HUNG_AFTER_SECONDS)
        if chance.random() < 0.5:
            wander(chance)
        write(log, notes, chance, (), limit=5)
        if depth < DEEPEST and chance.random() < 0.5:
            fork(log, notes, chance, depth + 1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        os.write(notes, b"hung\n")


def main() -> None:
    """Threads that append, forks that append, until a signal ends it."""
    folder, noted, seed, durability, *limit = sys.argv[1:]
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit[0]), int(limit[0])))
    chance = random.Random(int(seed))
    notes = os.open(noted, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    if chance.random() < 0.5:
        jumping_clock(random.Random(chance.random()))
    os.chdir(os.path.dirname(folder))
    log = EventLog(os.path.basename(folder), max_bytes=PART_BYTES, durability=durability)
    wander(chance)
    # No threading.Event: its set() in a handler waits for a lock that the interrupted wait() may hold, forever.
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    threads = [
        threading.Thread(target=write, args=(log, notes, random.Random(chance.random()), stopped)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    while not stopped:
        time.sleep(0.05 + chance.random() / 5)
        # A fork amid threads that append: the child must neither hang nor count where its parent counts.
        fork(log, notes, chance)
        if chance.random() < 0.2:
            wander(chance)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
