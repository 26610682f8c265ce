"""Documents: a result as a list of blocks, which the modules of `writers/` write for a medium.

A document holds the texts of logs as they are; each writer escapes them for its medium. Words that
people read are in the modules that make documents, and none are in writers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBER = re.compile(
    r"[-+$]{0,2}\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?[%kMGT]?(?: [a-zA-Z]+)?"
    r"(?: to [-+$]{0,2}\d[\d,]*(?:\.\d+)?[%kMGT]?(?: [a-zA-Z]+)?)?|none [a-z]+|[–-]"
)
"""A figure, perhaps with its unit, a range of figures, or the sign for no value."""
_HAS_DIGIT = re.compile(r"\d").search


class OneLine(str):
    """A text that a terminal cuts to one line."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a document or of the blocks below it."""

    text: str
    rank: int = 1
    """1 to 3 are headings of Markdown; a higher rank is a bold line."""
    repeats: bool = False
    """True if it only repeats the blocks above it: text and mail leave it out."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is pasted into a shell, and its purpose; either may be empty.

    No writer folds or cuts the command.
    """

    text: str
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A list of texts and commands, below a name if there is one."""

    texts: Sequence[str | Command]
    """An empty text is left out."""
    name: str = ""
    word: str = ""
    """The verdict in capitals, before the name."""
    level: str = ""
    """The level of the verdict, which a terminal colours."""

    @property
    def shown(self) -> list[str | Command]:
        """The texts that are not empty."""
        return list(filter(None, self.texts))


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table of texts; without names it has no heading line, as for labels and their values.

    Columns of numbers are flush right.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[Sequence[str | Command]] = ()
    """The texts below each row; empty if no row has any."""
    more: str = ""
    """The words about rows that are not in the table."""
    apart: bool = False
    """True if its rows with their notes are entries of their own, apart from each other."""
    repeats: bool = False
    """True if the table only repeats the blocks below it: text and mail, which have no room for
    it, leave it out."""

    @property
    def flush(self) -> list[bool]:
        """True for each column of numbers, which is flush right."""
        columns = ([cell for cell in column if cell] for column in zip(*self.rows, strict=True))
        return [any(map(_HAS_DIGIT, column)) and all(map(_NUMBER.fullmatch, column)) for column in columns]


@dataclass(frozen=True, slots=True)
class FindingBlock:
    """A finding with its severity, state, sentence, advice and command."""

    level: str
    """`critical`, `warning` or `info`; `resolved` for a resolved finding."""
    severity: str
    state: str
    title: str
    sentence: str
    notes: tuple[str, ...] = ()
    """Further sentences: the parts of the finding, and what somebody decided."""
    draft: str = ""
    """The draft of a rule that comes with the finding."""
    course: str = ""
    """The dates: since when it is open, or from when to when it was."""
    id: str = ""
    advice: str = ""
    command: str = ""
    """The command that shows more, as it is pasted into a shell."""
    command_in_chats: str = ""
    """The command for chats, where a name in `command` could mention somebody or become a link."""

    @property
    def word(self) -> str:
        """The level in capitals, which says how bad it is without any colour."""
        return self.level.upper()

    @property
    def details(self) -> tuple[str, ...]:
        """The notes, then the draft if there is one."""
        return tuple(filter(None, (*self.notes, self.draft)))

    @property
    def trace(self) -> str:
        """The dates and the id of the finding."""
        return "; ".join(filter(None, (self.course, self.id and f"id {self.id}")))


Block = Heading | Paragraph | Command | Items | TableBlock | FindingBlock
Document = Sequence[Block]


MAX_QUOTE = 240
"""The most characters of a text of a log that a document quotes."""


def quote(text: str, most: int = MAX_QUOTE) -> str:
    """Return a text of a log on one line; `…` replaces the end of a long one."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def shortened(texts: Sequence[str], most: int, more: str = "--json lists them") -> tuple[str, ...]:
    """Return at most `most` texts; a last one says how many there are more, and `more` where."""
    hidden = len(texts) - most
    return (*texts[:most], f"{hidden:,} more: {more}") if hidden > 0 else tuple(texts)
