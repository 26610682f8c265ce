"""Documents: a result as a list of blocks, and the writers of documents as text, Markdown and mail.

A document holds the texts of logs as they are; each writer escapes them for its medium. In text
only a command may be wider than the width that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from analyzer.report.escape import markdown_text, one_line, terminal_safe, unlinked
from analyzer.report.monospace import columns, fit, fold, indented, painted, step

_EDGES = {"critical": "#b42318", "warning": "#b54708", "info": "#175cd3", "resolved": "#067647"}
_QUIET = "color:#475467"
_CODE = "font:13px ui-monospace,monospace;background:#f2f4f7;padding:6px 8px;margin:6px 0 0;white-space:pre-wrap"


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a document or of the blocks below it."""

    text: str
    rank: int = 1
    """1 to 3 are headings of Markdown; a higher rank is a bold line."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is pasted into a shell, and its purpose; either may be empty."""

    text: str
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A list of texts, under a name if there is one."""

    texts: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts; without names it has two columns, a label and its value."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]
    """Which columns are flush right."""
    repeats: bool = False
    """True if the table only repeats the blocks below it: text and mail, which have no room for
    it, leave it out."""


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


Block = Heading | Paragraph | Command | Items | TextTable | FindingBlock
Document = Sequence[Block]


def to_text(document: Document, width: int, *, colour: bool = False) -> str:
    """Write a document for a terminal in lines of at most `width` cells.

    The text ends with a newline.
    """
    blocks = (_text_lines(block, width, colour) for block in document)
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _text_lines(block: Block, width: int, colour: bool) -> list[str]:
    match block:
        case Heading():
            lines = fold(terminal_safe(block.text), width)
            return [painted(line, line) for line in lines] if colour else lines
        case Paragraph():
            return fold(terminal_safe(block.text), width)
        case Command():
            return step(block.text, block.purpose, width, 0)
        case Items():
            lines = [line for text in block.texts for line in indented(terminal_safe(text), width)]
            return [block.name, *lines] if block.name else lines
        case TextTable():
            rows = [
                [terminal_safe(cell) for cell in row] for row in ((block.names,) if block.names else ()) + block.rows
            ]
            return [] if block.repeats else [fit(line, width) for line in columns(rows, block.right)]
        case FindingBlock():
            return _finding_lines(block, width, colour)


def _finding_lines(entry: FindingBlock, width: int, colour: bool) -> list[str]:
    state = f"{entry.state}  " if entry.level != "resolved" else ""
    first, *more = fold(f"{entry.word}  {state}{terminal_safe(entry.title)}", width)
    if colour:
        first = painted(first, entry.word, entry.level)
    lines = [first, *more]
    for text in (entry.sentence, *entry.details):
        lines += indented(terminal_safe(text), width)
    lines += step(entry.command, entry.advice, width)
    # The sentence of a new finding says since when it is there.
    lines += indented(entry.course, width) if entry.course and entry.state != "new" else []
    return [*lines, f"  id {entry.id}"]


def to_markdown(document: Document) -> str:
    """Write a document as Markdown, with a newline at its end."""
    return "\n\n".join(text for block in document if (text := _markdown(block))) + "\n"


def markdown_table(names: Iterable[str], rows: Iterable[Iterable[str]], right: Iterable[bool]) -> str:
    """Write a table as Markdown, without a newline at its end.

    `right` says which columns are flush right.
    """
    lines = [map(markdown_text, names), ("---:" if flush else "---" for flush in right)]
    lines += (map(markdown_text, row) for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            text = markdown_text(block.text)
            return f"{'#' * block.rank} {text}" if block.rank <= 3 else f"**{text}**"
        case Paragraph():
            return markdown_text(block.text)
        case Command():
            return _todo(block.purpose, block.text)
        case Items():
            listed = "\n".join(f"- {markdown_text(text)}" for text in block.texts)
            return f"**{markdown_text(block.name)}**\n\n{listed}" if block.name else listed
        case TextTable():
            return markdown_table(block.names, block.rows, block.right)
        case FindingBlock():
            todo = _todo(block.advice, block.command_in_chats)
            items = [*map(markdown_text, (block.trace, *block.details)), *([f"next: {todo}"] if todo else [])]
            listed = "\n".join(f"- {item}" for item in items)
            return f"### {block.word}: {markdown_text(block.title)}\n\n{markdown_text(block.sentence)}\n\n{listed}"


def _todo(advice: str, command: str) -> str:
    return ": ".join(filter(None, (markdown_text(advice), command and f"`{command}`")))


def to_mail(document: Document) -> str:
    """Write the HTML part of a mail.

    It is a table of one column, without a style sheet, script or picture.
    """
    edge = ' style="border-left:4px solid {};padding:8px 12px"'
    cells = "".join(
        f"<tr><td{edge.format(_EDGES[block.level]) if isinstance(block, FindingBlock) else ''}>{inside}</td></tr>"
        for block in document
        if (inside := _mail(block))
    )
    return (
        '<!doctype html><html lang="en"><body style="font:15px/1.45 system-ui,sans-serif;color:#101828;margin:0">'
        '<table role="presentation" width="100%" style="max-width:720px;margin:0 auto;padding:16px">'
        f"{cells}</table></body></html>"
    )


def _mail(block: Block) -> str:
    match block:
        case Heading():
            return f'<h1 style="font-size:20px">{_mail_text(block.text)}</h1>'
        case Paragraph():
            return f'<p style="{_QUIET}">{_mail_text(block.text)}</p>'
        case Command():
            return f'{_mail_text(block.purpose)}<pre style="{_CODE}">{escape(block.text)}</pre>'
        case Items():
            return f"<ul>{''.join(f'<li>{_mail_text(text)}</li>' for text in block.texts)}</ul>"
        case TextTable():
            return ""
        case FindingBlock():
            parts = [f"<strong>{escape(f'{block.severity}, {block.state}')}</strong>: {_mail_text(block.sentence)}"]
            parts.append(f'<div style="{_QUIET}">{escape(block.trace)}</div>')
            parts += [f"<div>{_mail_text(text)}</div>" for text in (*block.details, block.advice) if text]
            parts += [f'<pre style="{_CODE}">{escape(block.command)}</pre>'] if block.command else []
            return "".join(parts)


def _mail_text(text: str) -> str:
    return escape(unlinked(one_line(text)))
