"""Counts what became of each line and byte of a source: event, duplicate, quarantined, blank or skipped."""

from __future__ import annotations

from dataclasses import dataclass


class AccountingError(AssertionError):
    """Lines or bytes do not add up: a bug of this program, found before anything was stored."""


@dataclass(slots=True)
class Tally:
    """Figures of one source, in one run. `lines` is the sum of the next five, `bytes` of those that end in it."""

    lines: int = 0
    event_lines: int = 0
    duplicates: int = 0
    quarantined: int = 0
    blank: int = 0
    skipped: int = 0
    events: int = 0
    bytes: int = 0
    event_bytes: int = 0
    duplicate_bytes: int = 0
    quarantined_bytes: int = 0
    blank_bytes: int = 0
    skipped_bytes: int = 0
    mended: int = 0
    """Lines whose events have U+FFFD in the place of half of a UTF-16 pair; these lines are among the others."""

    def add(self, other: Tally) -> None:
        """Add the figures of another tally to this one."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def settle(self, path: str, *, native: bool) -> None:
        """Count as skipped what is nothing else, and see that everything adds up.

        Raises:
            AccountingError: it does not. In a log of ours nothing is ever skipped.
        """
        self.skipped = self.lines - self.event_lines - self.duplicates - self.quarantined - self.blank
        self.skipped_bytes = (
            self.bytes - self.event_bytes - self.duplicate_bytes - self.quarantined_bytes - self.blank_bytes
        )
        wrong = min(self.to_dict().values()) < 0 or (self.skipped == 0) is not (self.skipped_bytes == 0)
        if wrong or (native and self.skipped):
            raise AccountingError(f"{path}: lines or bytes do not add up: {self.to_dict()}")

    def to_dict(self) -> dict[str, int]:
        """The figures by name."""
        return {name: getattr(self, name) for name in self.__slots__}


STORED = tuple(name for name in Tally.__slots__ if name != "mended")
"""The figures that a store keeps of each source."""
