"""The terminal, lent to a command that asks for it.

A group in the background that reads its terminal is stopped by the kernel. It is then put in the foreground and goes
on; until then the terminal is ours, and so is Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal

_STDIN = 0
_ASKING = frozenset({signal.SIGTTIN, signal.SIGTTOU})


class Terminal:
    """The terminal on our stdin, as seen by one process group; does nothing where there is none."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._lent = False

    def stopped(self, by: int) -> None:
        """The command was stopped: lends it the terminal, or, after Ctrl-Z, stops us too until a shell goes on."""
        if not (by in _ASKING or (by == signal.SIGTSTP and self._lent)) or not os.isatty(_STDIN):
            return  # somebody stopped it on purpose
        self.take_back()
        if by not in _ASKING or not self._ours():
            # The whole job stops, as it would without us; whoever continues it brings us here again.
            with contextlib.suppress(OSError):
                os.killpg(os.getpgrp(), signal.SIGTSTP)
        if self._ours():
            self._give(self._group)
            self._lent = True
        with contextlib.suppress(OSError):
            os.killpg(self._group, signal.SIGCONT)

    def take_back(self) -> None:
        """Makes us the foreground again, where we had lent it."""
        if self._lent:
            self._lent = False
            self._give(os.getpgrp())

    def _ours(self) -> bool:
        try:
            return os.tcgetpgrp(_STDIN) == os.getpgrp()
        except OSError:
            return False

    def _give(self, group: int) -> None:
        # Who is in the background and does this is stopped by SIGTTOU, unless that is blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            with contextlib.suppress(OSError):
                os.tcsetpgrp(_STDIN, group)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
