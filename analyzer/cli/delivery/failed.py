"""A delivery that nobody took, and the patience that is had before it counts as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

from analyzer.errors import UNREADABLE, AnalyzerError

MAX_WAIT_SECONDS = 30.0
"""A limit that holds longer is not waited for: the nightly job is to end."""
ATTEMPT_SECONDS = 30.0
"""A call that takes longer is given up: a socket's own timeout begins anew with every byte of a slow answer."""


class UndeliveredError(Exception):
    """Its text says what the other side answered, and neither an address nor a password."""


def patiently(send: Callable[..., None], *arguments: Any) -> None:
    """Call again as the recovery table says: three calls in all where network or server fail.

    Raises:
        UndeliveredError: a limit holds too long, or a call takes too long; that one may have arrived.
        Exception: whatever the last call raised.
    """
    from analyzer.recovery import Backoff, Policy, Retry
    from analyzer.recovery.limits.guard import RateLimitedError

    policy = Policy(backoff=Backoff(base_seconds=0.5), max_wait_seconds=MAX_WAIT_SECONDS)
    try:
        # No log: what becomes of our own retries is no telemetry of anybody's agents.
        Retry("delivery", policy=policy).call(_within, send, *arguments)
    except RateLimitedError as error:
        raise UndeliveredError(type(error).__name__) from None


def _within(send: Callable[..., None], *arguments: Any) -> None:
    """One call. One that takes too long goes on by itself, and ends with the process at the latest."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            send(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            failed.append(error)

    thread = Thread(target=run, name="delivery", daemon=True)
    thread.start()
    thread.join(ATTEMPT_SECONDS)
    if thread.is_alive():
        raise UndeliveredError(f"no whole answer within {ATTEMPT_SECONDS:g} s")
    if failed:
        raise failed[0]


def untaken(failures: Iterable[tuple[str, str]]) -> AnalyzerError:
    """What to raise where targets took nothing: their names, and what each of them answered."""
    said = "; ".join(f"{name} did not take the result: {why}" for name, why in failures)
    failure = AnalyzerError(said, "the night is written down: mend what is wrong there and run the same command again")
    failure.exit_code = UNREADABLE
    return failure
