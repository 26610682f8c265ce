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
"""The hint for a full disk: whatever was being done goes on from where it stands."""

_MOST_LISTED = 12
"""Names that one hint lists; nobody reads a longer line."""
_NUMBER = re.compile(r"\[(?:Errno|WinError) -?\d+\] ")
"""The prefix that Python puts before the text of an error of the operating system."""


class AnalyzerError(Exception):
    """A failure that a person can mend; `hint` says how."""

    exit_code = USAGE

    def __init__(self, message: str, hint: str = "", *, exit_code: int | None = None) -> None:
        """Keep message and hint; `exit_code` replaces that of the class."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    @classmethod
    def unknown_value(cls, thing: str, value: str, names: Iterable[str], listing: str = "") -> AnalyzerError:
        """Build the error for a value that is not among the legal `names`.

        The hint suggests the closest names and lists all of them; if there are more than
        `_MOST_LISTED`, it names the command `listing` instead.
        """
        legal = sorted(names)
        few = len(legal) <= _MOST_LISTED
        close = [repr(name) for name in nearest(value, legal, 1 if few else 3)]
        hints = []
        if close:
            choices = " or ".join(filter(None, (", ".join(close[:-1]), close[-1])))
            hints.append(f"did you mean {choices}?")
        if listing and not few:
            hints.append(f"all {len(legal)}: {listing}")
        elif legal and (few or not close):
            hints.append(f"known: {', '.join(legal)}")
        return cls(f"unknown {thing} {value!r}", " ".join(hints))


def system_text(error: Exception) -> str:
    """Return the words of an error of the operating system, without its number and path.

    The text of any other error is returned as it is. Every error of the system that a person sees
    is worded by this function.

    Every error of the system that a person sees is worded here.
    """
    words = error.strerror if isinstance(error, OSError) and isinstance(error.strerror, str) else str(error)
    return _NUMBER.sub("", words) or type(error).__name__


def nearest(name: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Return at most `most` of the names that resemble a name, the closest first."""
    from difflib import get_close_matches  # 1 ms that only a mistake should cost

    return get_close_matches(name, list(names), n=most, cutoff=0.5)


class RulesError(AnalyzerError):
    """A rules file that cannot be used."""


class QueryError(AnalyzerError):
    """A query that the catalogue or the database refuses."""


class LimitError(QueryError):
    """A query that was stopped at a limit of time, memory or size."""

    exit_code = LIMIT

    @classmethod
    def of_time(cls, seconds: float, option: str = "--timeout") -> Self:
        """Make the error of a query that ran longer than `seconds`.

        `option` is the option that allows more.
        """
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
