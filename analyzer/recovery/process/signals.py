"""Signals held back while a process is being started: one that came before we know of it would leave it behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = "INT TERM HUP QUIT USR1 USR2 ALRM VTALRM PROF XCPU ABRT IO PWR STKFLT"
ENDING = tuple(signal.Signals[f"SIG{name}"] for name in _NAMES.split() if f"SIG{name}" in signal.Signals.__members__)
"""Signals that end a process that does not ask for them, and come from elsewhere than a fault of its own."""


@contextmanager
def held_back() -> Iterator[None]:
    """Delay the handlers of SIGINT, SIGTERM and the like until the end of the block.

    What is ignored stays ignored and what kills us still does, so that a child that is started inherits the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers are called in the main thread alone
        return
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {each: handler for each in ENDING if callable(handler := signal.getsignal(each))}
    for each in before:
        signal.signal(each, note)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])
