"""The exception tree: every expected failure is an `AnalyzerError` with a hint.

The message says what is wrong, the hint what to do. `exit_code` is what the command line returns for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

OK = 0
FINDINGS = 1
USAGE = 2
UNREADABLE = 3
PARTIAL = 4
FAILED = 10
RETRY = 11
WAIT = 12
BLOCKED = 13
HOLLOW = 14
BUSY = 75
LIMIT = 124
TIMED_OUT = 124
HALTED = 125
NOT_STARTED = 127
INTERRUPTED = 130

FREE_SPACE = "free space, then run the same command again"
"""The hint where a disk is full: whatever was being done goes on from where it stands."""


_NUMBER = re.compile(r"\[(?:Errno|WinError) -?\d+\] ")
"""What Python puts before the words of an error of the system."""


class AnalyzerError(Exception):
    """Something a person can mend; `hint` says how."""

    exit_code = USAGE

    def __init__(self, message: str, hint: str = "", *, exit_code: int | None = None) -> None:
        """`exit_code` stands in the place of that of the class."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    @classmethod
    def unknown_value(cls, thing: str, value: str, known: Iterable[str], listing: str = "") -> AnalyzerError:
        """Make an error that names the closest legal values, and all of them where they are few.

        `listing` is the command that lists them.
        """
        names = sorted(known)
        few = len(names) <= 12  # more are no line that anybody reads
        close = [repr(name) for name in nearest(value, names, 1 if few else 3)]
        said = [f"did you mean {' or '.join(filter(None, (', '.join(close[:-1]), close[-1])))}?"] if close else []
        if listing and not few:
            said.append(f"all {len(names)}: {listing}")
        elif few or not close:
            said.append(f"known: {', '.join(names)}")
        return cls(f"unknown {thing} {value!r}", " ".join(said))


def system_text(error: Exception) -> str:
    """The words of an error of the operating system, without its number and its path; of another error, its text.

    Every error of the system that a person sees is worded here.
    """
    words = error.strerror if isinstance(error, OSError) and isinstance(error.strerror, str) else str(error)
    return _NUMBER.sub("", words) or type(error).__name__


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The names that are most like one, the most like it first; none that is not like it at all."""
    from difflib import get_close_matches  # 1 ms that only a mistake should cost

    return get_close_matches(name, list(known), n=most, cutoff=0.5)


class RulesError(AnalyzerError):
    """A rules file that cannot be used."""


class QueryError(AnalyzerError):
    """A query that the catalogue or the database refuses."""


class LimitError(QueryError):
    """A query that was stopped at a limit of time, memory or size."""

    exit_code = LIMIT

    @classmethod
    def of_time(cls, seconds: float, option: str = "--timeout") -> Self:
        """The error of a query that would have taken longer than so many seconds; `option` is what allows more."""
        return cls(f"stopped after {seconds:g} s", f"ask for less, as one day or one caller; or allow more: {option}")


class StoreError(AnalyzerError):
    """A store that cannot be opened or written."""

    exit_code = UNREADABLE


class StoreBusyError(StoreError):
    """Another process holds the store; trying again later makes sense."""

    exit_code = BUSY


class InputError(AnalyzerError):
    """An input that cannot be read."""

    exit_code = UNREADABLE
