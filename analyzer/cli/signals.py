"""A signal that asks us to end becomes an exception, which arrives whatever code it comes into."""

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
    """A signal asked us to end. As Ctrl-C, it is no `Exception`: what never raises into its host would swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raising(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Raises `SignalledError` out of the block once one of the signals has come.

    A library may make an error of its own of it, or a panic; a callback cannot raise at all, and a library that is half
    imported may end the process. So what leaves the block is told by what came, and a signal that was lost, or that
    came during an import, is sent to us again. What is ignored stays ignored. A click exit passes: it was decided
    already. In other threads than the main one, Python calls no handlers, and the block is run as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if _importing(frame):
            _again(number)
        else:
            raise SignalledError(number)

    def lost(args: sys.UnraisableHookArgs) -> None:
        if isinstance(args.exc_value, SignalledError):
            _again(args.exc_value.number)
        else:
            hook(args)

    hook = sys.unraisablehook
    before = {each: signal.getsignal(each) for each in signals}
    before = {each: handler for each, handler in before.items() if handler not in {signal.SIG_IGN, None}}
    for each in before:
        signal.signal(each, note)
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
        for each, handler in before.items():
            signal.signal(each, handler)
        sys.unraisablehook = hook


@contextmanager
def ending_on(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """These signals end the command's group, then us, with the exit code that a shell would show."""

    # A parent that ignores its children hands that down, and nobody would learn how the command ended.
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


def _again(number: int) -> None:
    threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), number)).start()


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib."):
            return True
        frame = frame.f_back
    return False
