"""Write documents as text for a terminal: nothing is wider than asked for, except commands."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.report.document import (
    Command,
    Document,
    FindingBlock,
    Heading,
    Items,
    OneLine,
    Paragraph,
    Plain,
    TableBlock,
    flat,
)
from analyzer.report.escape import terminal_safe
from analyzer.report.writers.monospace import fit, fold, indented, pad, painted, width_of

NARROWEST = 60
"""The fewest cells of a line."""
LONGEST = 100
"""The most cells of a line of sentences, however wide the terminal is."""
_NO_LIMIT = 10_000
"""The width in cells if there is no terminal."""
NARROWEST_COLUMN = 12
"""The least width of a folded column, in cells."""


def to_text(document: Document, width: int | None = 80, *, colour: bool = False) -> str:
    """Write a document in lines of at most `width` cells, which are `NARROWEST` at least.

    Without a `width` nothing is folded. The text ends with a newline.
    """
    size = _NO_LIMIT if width is None else max(NARROWEST, width)
    blocks = (text_lines(block, size, colour) for block in flat(document))
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def text_lines(block: Plain, width: int, colour: bool = False) -> list[str]:
    """Return the lines of a block."""
    size = width if width == _NO_LIMIT else min(width, LONGEST)
    match block:
        case Heading():
            lines = [] if block.repeats else fold(terminal_safe(block.text), size)
            return [painted(line, line) for line in lines] if colour else lines
        case Paragraph():
            return fold(terminal_safe(block.text), size)
        case Command():
            return _command_lines(block, size, 0)
        case Items():
            return _item_lines(block, size, colour)
        case TableBlock():
            return [] if block.repeats or not block.rows else _table_lines(block, width)
        case FindingBlock():
            return _finding_lines(block, size, colour)


def _item_lines(block: Items, width: int, colour: bool) -> list[str]:
    head = terminal_safe(f"{block.word}  {block.name}" if block.word else block.name)
    lines = fold(head, width) if head else []
    if colour and block.word:
        lines[0] = painted(lines[0], block.word, block.level)
    for text in block.shown:
        is_step = isinstance(text, Command) and not text.purpose
        lines += note_lines(text, width, 2 if head or is_step else 0)
    return lines


def note_lines(text: str | Command, width: int, by: int) -> list[str]:
    """Return the lines of a text or a command, `by` cells to the right."""
    if isinstance(text, Command):
        return _command_lines(text, width, by)
    if isinstance(text, OneLine):
        return [fit(f"{' ' * by}{terminal_safe(text)}", width)]
    return indented(terminal_safe(text), width, by)


def _command_lines(command: Command, width: int, by: int) -> list[str]:
    purpose, text = terminal_safe(command.purpose), terminal_safe(command.text)
    if not purpose or not text:
        return indented(purpose, width, by) if purpose else [f"{' ' * by}→ {text}"]
    lines = indented(f"{purpose}:", width, by)
    if width_of(lines[-1]) + 1 + width_of(text) <= width:
        return [*lines[:-1], f"{lines[-1]} {text}"]
    return [*lines, f"{' ' * (by + 2)}{text}"]


def _table_lines(table: TableBlock, width: int) -> list[str]:
    rows = [list(map(terminal_safe, row)) for row in (table.names, *table.rows) if row]
    before = "" if table.names or table.notes else "  "
    sizes, room = column_sizes(rows), width - len(before)
    # A table that nearly fits is not folded: its columns move together.
    gap = " " if sum(sizes) + len(sizes) - 1 <= room < sum(sizes) + 2 * (len(sizes) - 1) else "  "
    sizes = narrowed(sizes, table.flush, room) if gap == "  " else sizes
    lines: list[str] = []
    for index, row in enumerate(rows, -bool(table.names)):
        lines += [""] if table.apart and lines else []
        lines += [fit(f"{before}{line}", width) for line in row_lines(row, sizes, table.flush, gap)]
        for text in table.notes[index] if index >= 0 and table.notes else ():
            lines += note_lines(text, width, 2 if table.apart else 4)
    return lines + fold(terminal_safe(table.more), width) if table.more else lines


def column_sizes(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the cells of the widest text of each column."""
    return [max(map(width_of, column)) for column in zip(*rows, strict=True)]


def row_lines(row: Sequence[str], sizes: Sequence[int], right: Sequence[bool], gap: str = "  ") -> list[str]:
    """Return the lines of a row of a table, whose cells are folded to the sizes of their columns."""
    cells = [[cell] if width_of(cell) <= size else fold(cell, size) for cell, size in zip(row, sizes, strict=True)]
    height = max(map(len, cells))
    full = ([*cell, *[""] * (height - len(cell))] for cell in cells)
    columns = zip(full, sizes, right, strict=True)
    padded = ([pad(part, size, right=flush) for part in cell] for cell, size, flush in columns)
    return [gap.join(parts).rstrip() for parts in zip(*padded, strict=True)]


def narrowed(sizes: Sequence[int], right: Sequence[bool], width: int) -> list[int]:
    """Narrow the widest columns of text together until the line fits; numbers are never folded."""
    sizes = list(sizes)
    excess = sum(sizes) + 2 * (len(sizes) - 1) - width
    while excess > 0:
        texts = [index for index, flush in enumerate(right) if not flush and sizes[index] > NARROWEST_COLUMN]
        if not texts:
            break
        widest = max(texts, key=lambda index: sizes[index])
        below = max((sizes[index] for index in texts if sizes[index] < sizes[widest]), default=NARROWEST_COLUMN)
        step = min(excess, max(1, sizes[widest] - below))
        sizes[widest] -= step
        excess -= step
    return sizes


def _finding_lines(entry: FindingBlock, width: int, colour: bool) -> list[str]:
    state = f"{entry.state}  " if entry.level != "resolved" else ""
    first, *more = fold(f"{entry.word}  {state}{terminal_safe(entry.title)}", width)
    if colour:
        first = painted(first, entry.word, entry.level)
    lines = [first, *more]
    for text in (entry.sentence, *entry.details):
        lines += indented(terminal_safe(text), width)
    if advised := entry.advised:
        lines += note_lines(advised, width, 2)
    # The sentence of a new finding says since when it is there.
    lines += indented(entry.course, width) if entry.course and entry.state != "new" else []
    return [*lines, f"  id {entry.id}"]
