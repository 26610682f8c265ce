"""Write documents as the HTML part of a mail: a table of one column without style sheet, script or picture."""

from __future__ import annotations

from html import escape

from analyzer.report.document import Command, Document, FindingBlock, Heading, Items, Paragraph, Plain, TableBlock, flat
from analyzer.report.escape import one_line, unlinked

_EDGES = {"critical": "#b42318", "warning": "#b54708", "info": "#175cd3", "resolved": "#067647"}
_QUIET = "color:#475467"
_CODE = "font:13px ui-monospace,monospace;background:#f2f4f7;padding:6px 8px;margin:6px 0 0;white-space:pre-wrap"


def to_mail(document: Document) -> str:
    """Write the HTML part of a mail."""
    edge = ' style="border-left:4px solid {};padding:8px 12px"'
    cells = "".join(
        f"<tr><td{edge.format(_EDGES[block.level]) if isinstance(block, FindingBlock) else ''}>{inside}</td></tr>"
        for block in flat(document)
        if (inside := _mail(block))
    )
    return (
        '<!doctype html><html lang="en"><body style="font:15px/1.45 system-ui,sans-serif;color:#101828;margin:0">'
        '<table role="presentation" width="100%" style="max-width:720px;margin:0 auto;padding:16px">'
        f"{cells}</table></body></html>"
    )


def _mail(block: Plain) -> str:
    match block:
        case Heading():
            return "" if block.repeats else f'<h1 style="font-size:20px">{_text(block.text)}</h1>'
        case Paragraph():
            return f'<p style="{_QUIET}">{_text(block.text)}</p>'
        case Command():
            return _command(block)
        case Items():
            name = " ".join(filter(None, (block.word, block.name)))
            items = "".join(f"<li>{_item(text)}</li>" for text in block.shown)
            return f"{f'<strong>{_text(name)}</strong>' if name else ''}{f'<ul>{items}</ul>' if items else ''}"
        case TableBlock():
            return "" if block.repeats else _table(block)
        case FindingBlock():
            parts = [f"<strong>{escape(f'{block.severity}, {block.state}')}</strong>: "]
            parts.append(_text(f"{block.title}. {block.sentence}"))
            parts.append(f'<div style="{_QUIET}">{escape(block.trace)}</div>')
            parts += [f"<div>{_text(text)}</div>" for text in (*block.details, block.advice) if text]
            parts += [f'<pre style="{_CODE}">{escape(block.command)}</pre>'] if block.command else []
            return "".join(parts)


def _table(table: TableBlock) -> str:
    cell = '<td style="padding:2px 8px 2px 0{}">{}</td>'
    aligned = [";text-align:right" if flush else "" for flush in table.flush]
    lines = []
    for index, row in enumerate((table.names, *table.rows) if table.names else table.rows, -bool(table.names)):
        cells = "".join(cell.format(style, _text(text)) for style, text in zip(aligned, row, strict=True))
        lines.append(f"<tr>{f'<strong>{cells}</strong>' if index < 0 else cells}</tr>")
        notes = table.notes[index] if index >= 0 and table.notes else ()
        lines += (f'<tr><td colspan="{len(row)}" style="{_QUIET}">{_item(text)}</td></tr>' for text in notes)
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>{_text(table.more)}'


def _item(text: str | Command) -> str:
    return _command(text) if isinstance(text, Command) else _text(text)


def _command(command: Command) -> str:
    return f'{_text(command.purpose)}<pre style="{_CODE}">{escape(command.text)}</pre>'


def _text(text: str) -> str:
    return escape(unlinked(one_line(text)))
