"""Processes that a command has started outside its group, by the kernel's list of processes: on Linux alone.

Invariant: whatever is found was started by a command of ours, by itself or through others.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h; since Linux 3.4."""
_ZOMBIE = "Z"
_adopts = False


class Stray(NamedTuple):
    """A process, which its number alone does not name for good."""

    pid: int
    started: str
    """Clock ticks since the machine started."""


def adopt_orphans() -> None:
    """Become the parent of whatever our children leave behind; it is ours for good, so a program of its own calls this.

    Who has children already, as a shell that has become this program, leaves it: theirs are none of ours.
    """
    global _adopts
    if sys.platform != "linux":
        return
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return
    import ctypes  # 8 ms, for whoever runs a command

    _adopts = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def strays(group: int, others: Collection[int], known: Collection[Stray] = ()) -> set[Stray]:
    """The living processes below a command that have left its group, and those that were orphaned where we adopt them.

    `others` are commands of ours that run beside it, whose processes are not its own. Of those that were `known`
    before the living ones are among them, wherever they are now.
    """
    try:
        names = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return set()
    children: dict[int, list[tuple[Stray, int]]] = {}
    living: set[Stray] = set()
    for name in names:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
            state, parent, its_group, *more = file.read().decode("ascii", "replace").rpartition(") ")[2].split()
            stray = Stray(int(name), more[16])
            children.setdefault(int(parent), []).append((stray, int(its_group)))
            if state != _ZOMBIE:
                living.add(stray)
    found = set(known)
    parents = [os.getpid() if _adopts else group]
    while parents:
        for stray, of_group in children.pop(parents.pop(), ()):
            if stray.pid not in others:
                parents.append(stray.pid)
                if of_group != group:
                    found.add(stray)
    return found & living


def bury(commands: Collection[int]) -> None:
    """Forget the orphans that have ended. Of `commands` somebody else waits for the end."""
    if not _adopts:
        return
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in commands:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)
