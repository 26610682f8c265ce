"""Turn signals that ask us to end into exceptions, which arrive whatever code is running."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

_AGAIN_SECONDS = 0.02


class SignalledError(KeyboardInterrupt):
    """A signal asked us to end.

    It is no `Exception`, so that code which swallows those cannot swallow it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raising(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Raise `SignalledError` out of the block once one of the signals has come.

    A library may turn the exception into an error of its own, or a panic; a callback cannot raise
    at all, and a half-imported library may end the process. So any error that leaves the block
    after a signal becomes `SignalledError`, and a signal that was lost, or that came during an
    import, is sent to us again. Ignored signals stay ignored. A click exit passes, because the
    command has ended. Python calls handlers only in the main thread; in other threads the block
    runs as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if _importing(frame):
            _send_again(number)
        else:
            raise SignalledError(number)

    def lost(args: sys.UnraisableHookArgs) -> None:
        if isinstance(args.exc_value, SignalledError):
            _send_again(args.exc_value.number)
        else:
            hook(args)

    hook = sys.unraisablehook
    before = {number: signal.getsignal(number) for number in signals}
    before = {number: handler for number, handler in before.items() if handler not in {signal.SIG_IGN, None}}
    for number in before:
        signal.signal(number, note)
    sys.unraisablehook = lost
    try:
        yield
    except click.exceptions.Exit:
        raise
    except BaseException as error:
        if came:
            raise SignalledError(came[0]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


@contextmanager
def ending_on(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Let these signals end the command's group, then us, with the exit code that a shell shows."""
    # A parent that ignores SIGCHLD hands that down, and then we cannot learn how the command ended.
    before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        with raising(signals):
            yield
    except SignalledError as ended:
        if ended.number == signal.SIGINT:
            raise
        raise click.exceptions.Exit(128 + ended.number) from None
    finally:
        signal.signal(signal.SIGCHLD, before)


def _send_again(number: int) -> None:
    threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib."):
            return True
        frame = frame.f_back
    return False
