"""Documents: a result as a list of blocks, which the modules of `writers/` write for a medium.

A document holds the texts of logs as they are; each writer escapes them for its medium. Words that
people read are in the modules that make documents, and none are in writers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from analyzer.frozen import frozen
from analyzer.readable import cut

if TYPE_CHECKING:
    from analyzer.analysis.charts import Chart

_NUMBER = re.compile(
    r"[-+$]{0,2}\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?[%kMGT]?(?: [a-zA-Z]+)?"
    r"(?: to [-+$]{0,2}\d[\d,]*(?:\.\d+)?[%kMGT]?(?: [a-zA-Z]+)?)?|none [a-z]+|[–-]"
)
"""A figure, perhaps with its unit, a range of figures, or the sign for no value."""
_HAS_DIGIT = re.compile(r"\d").search


class OneLine(str):
    """A text that a terminal cuts to one line."""

    __slots__ = ()


class Code(str):
    """A text that is pasted into a shell, in a cell of a table."""

    __slots__ = ()


@frozen
class Heading:
    """The title of a document or of the blocks below it."""

    text: str
    rank: int = 1
    """1 to 3 are headings of Markdown; a higher rank is a bold line."""
    repeats: bool = False
    """True if it only repeats the blocks above it: text and mail leave it out."""


@frozen
class Paragraph:
    """Sentences."""

    text: str


@frozen
class Command:
    """A command as it is pasted into a shell, and its purpose; either may be empty.

    No writer folds or cuts the command.
    """

    text: str
    purpose: str = ""


@frozen
class Items:
    """A list of texts and commands, below a name if there is one."""

    texts: Sequence[str | Command]
    """An empty text is left out."""
    name: str = ""
    word: str = ""
    """The verdict in capitals, before the name."""
    level: str = ""
    """The level of the verdict, which a terminal colours."""
    anchor: str = ""
    """The id on a page that the name leads to."""

    @property
    def shown(self) -> list[str | Command]:
        """The texts that are not empty."""
        return list(filter(None, self.texts))


@frozen
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
    title: str = ""
    about: str = ""
    """What is counted, for pages."""
    command: str = ""
    """The command that gives all of its rows; empty if none does."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns by their names for programs, each with what it means; empty for a table of words."""
    shades: Sequence[Sequence[int]] = ()
    """How dark the cells of each row are on a page, in percent; empty without shades."""

    @property
    def flush(self) -> list[bool]:
        """True for each column of numbers, which is flush right."""
        columns = ([cell for cell in column if cell] for column in zip(*self.rows, strict=True))
        return [any(map(_HAS_DIGIT, column)) and all(map(_NUMBER.fullmatch, column)) for column in columns]


def advised(advice: str, command: str) -> str | Command:
    """Return advice with the command that follows it, else only the advice, empty without both."""
    advice = f"{advice[:1].upper()}{advice[1:]}"
    return Command(command, advice) if command else advice and f"→ {advice}"


@frozen
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
    steps: tuple[Command, ...] = ()
    """Further commands, for pages."""
    blocks: Sequence[Block] = ()
    """The evidence: its chart, messages, lines of logs and sessions."""
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names by which the filters of a page select it, as `caller`."""

    @property
    def word(self) -> str:
        """The level in capitals, which says how bad it is without any colour."""
        return self.level.upper()

    @property
    def advised(self) -> str | Command:
        """What to do: the command after its advice, else only the advice; empty without both."""
        return advised(self.advice, self.command)

    @property
    def details(self) -> tuple[str, ...]:
        """The notes, then the draft if there is one."""
        return tuple(filter(None, (*self.notes, self.draft)))

    @property
    def trace(self) -> str:
        """The dates and the id of the finding."""
        return "; ".join(filter(None, (self.course, self.id and f"id {self.id}")))


@frozen
class ChartBlock:
    """A chart, which only pages draw."""

    draw: Callable[[], Chart]
    name: str
    """The id of its picture."""
    height: int | None = None
    """In pixels; None is the chart's own height."""

    @property
    def chart(self) -> Chart:
        """The chart, which is made when it is asked for."""
        return self.draw()


@frozen
class Figure:
    """A key figure, with what it was before."""

    name: str
    value: str
    before: str = ""
    """What it was before; empty without anything to compare with."""
    course: tuple[float | None, ...] = ()
    """Its values by day, the oldest first; None for a day without data."""
    is_share: bool = False
    anchor: str = ""
    """The name of the section that has more."""

    @property
    def sentence(self) -> str:
        """The figure in words."""
        return f"{self.name}: {self.value}{f' ({self.before} before)' if self.before else ''}"


@frozen
class Figures:
    """Some key figures beside each other."""

    figures: Sequence[Figure]
    days: str
    """Which days they are of, and which days are called before."""


@frozen
class Fold:
    """Details that a page shows after a click."""

    summary: str
    blocks: Sequence[Block]


@frozen
class Section:
    """A part of a long document, which links lead to."""

    name: str
    """The id: lower case letters and hyphens."""
    title: str
    blocks: Sequence[Block]
    level: str = ""
    """The level of the verdict, of the section that a page begins with; its name is not shown."""


Plain = Heading | Paragraph | Command | Items | TableBlock | FindingBlock
Block = Plain | ChartBlock | Figures | Fold | Section
Document = Sequence[Block]


def flat(document: Iterable[Block], *, details: bool = False) -> Iterator[Plain]:
    """Yield the blocks for a medium that neither draws nor folds.

    With `details` folded blocks and the evidence of findings follow under bold lines, else they are left out.
    """
    for block in document:
        match block:
            case Section():
                yield from [] if block.level else [Heading(block.title, 2)]
                yield from flat(_titled(block.blocks) if block.level and details else block.blocks, details=details)
            case Fold():
                # A table has a title of its own.
                named = [] if isinstance(block.blocks[0], TableBlock) else [Heading(block.summary, 4)]
                yield from (*named, *flat(block.blocks, details=True)) if details else ()
            case Figures():
                yield Items([figure.sentence for figure in block.figures], block.days)
            case ChartBlock():
                yield from [Heading(block.chart.title, 4)] if details else []
            case FindingBlock():
                yield from (block, *(flat(block.blocks, details=True) if details else ()))
            case TableBlock() if block.title:
                yield from (Heading(block.title, 4), block)
            case _:
                yield block


def _titled(blocks: Document) -> Iterator[Block]:
    """Yield the blocks of a first screen with its verdicts as headings, the first one as the title of all."""
    for index, block in enumerate(blocks):
        if isinstance(block, Items) and block.word:
            yield Heading(f"{block.word}: {block.name}", 1 if index == 0 else 3)
            block = Items(block.texts)
        yield block


def walk(document: Document) -> Iterator[Block]:
    """Yield all blocks, those in others too."""
    for block in document:
        yield block
        if isinstance(block, FindingBlock | Fold | Section):
            yield from walk(block.blocks)


MAX_QUOTE = 240
"""The most characters of a text of a log that a document quotes."""


def quote(text: str, most: int = MAX_QUOTE) -> str:
    """Return a text of a log on one line; `…` replaces the end of a long one."""
    return cut(" ".join(text.split()), most)


def shortened(texts: Sequence[str], most: int, more: str = "--json lists them") -> tuple[str, ...]:
    """Return at most `most` texts; a last one says how many there are more, and `more` where."""
    hidden = len(texts) - most
    return (*texts[:most], f"{hidden:,} more: {more}") if hidden > 0 else tuple(texts)
