"""Write documents as Markdown, for pull requests, job summaries and chats."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.report.document import Command, Document, FindingBlock, Heading, Items, Paragraph, Plain, TableBlock, flat
from analyzer.report.escape import markdown_text, terminal_safe


def to_markdown(document: Document) -> str:
    """Write a document as Markdown, with a newline at its end."""
    return "\n\n".join(text for block in flat(document, details=True) if (text := _markdown(block))) + "\n"


def markdown_table(names: Iterable[str], rows: Iterable[Iterable[str]], right: Iterable[bool]) -> str:
    """Write a table as Markdown, without a newline at its end.

    `right` says which columns are flush right.
    """
    lines = [map(markdown_text, names), ("---:" if flush else "---" for flush in right)]
    lines += (map(markdown_text, row) for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown(block: Plain) -> str:
    match block:
        case Heading():
            text = markdown_text(block.text)
            return f"{'#' * block.rank} {text}" if block.rank <= 3 else f"**{text}**"
        case Paragraph():
            return markdown_text(block.text)
        case Command():
            return _todo(block.purpose, block.text)
        case Items():
            name = ": ".join(filter(None, (block.word, block.name)))
            is_sentence = len(block.shown) == 1 and not name
            listed = _listed(block.shown).removeprefix("- " if is_sentence else "")
            parts = (f"**{markdown_text(name)}**" if name else "", listed)
            return "\n\n".join(filter(None, parts))
        case TableBlock():
            return _table(block)
        case FindingBlock():
            todo = _todo(block.advice, block.command_in_chats)
            items = [*map(markdown_text, (block.trace, *block.details)), *([f"next: {todo}"] if todo else [])]
            listed = "\n".join(f"- {item}" for item in items)
            return f"### {block.word}: {markdown_text(block.title)}\n\n{markdown_text(block.sentence)}\n\n{listed}"


def _table(table: TableBlock) -> str:
    below = _todo(table.more, table.command)
    if not any(table.notes):
        names = table.names or ("",) * len(table.flush)
        return "\n\n".join(filter(None, (markdown_table(names, table.rows, table.flush), below)))
    # A row of a table has no room for lists: each row is a bold line with its notes below it.
    rows = zip(table.rows, table.notes, strict=True)
    entries = [
        f"**{markdown_text(' · '.join(filter(None, row)))}**\n\n{_listed(notes)}".rstrip() for row, notes in rows
    ]
    return "\n\n".join(filter(None, (*entries, below)))


def _listed(texts: Iterable[str | Command]) -> str:
    words = (_todo(text.purpose, text.text) if isinstance(text, Command) else markdown_text(text) for text in texts)
    return "\n".join(f"- {text}" for text in words)


def _todo(advice: str, command: str) -> str:
    shown = terminal_safe(command)
    # A backtick would end the code.
    code = markdown_text(shown) if "`" in shown else shown and f"`{shown}`"
    return ": ".join(filter(None, (markdown_text(advice), code)))
