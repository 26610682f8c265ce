"""The blocks of a page: a table, a chart over its numbers, a legend. Everything from a log goes through `html_text`."""

from __future__ import annotations

from analyzer.report.cells import counted, heading, shown
from analyzer.report.escape import html_text
from analyzer.report.page.figures import Drawing
from analyzer.report.page.section_parts import Part

_LONG_TEXT = 240
"""Characters of a cell that stand open; the rest is a click away."""


def plain_part(part: Part) -> str:
    """A table under its title."""
    return f'<div class="part"><h3>{html_text(part.title)}</h3>{about(part)}{table(part)}</div>'


def folded_part(part: Part) -> str:
    """A table a click away: a list to look things up in."""
    summary = f"<summary>{html_text(part.title)}: {counted(part.frame.height, 'row')}</summary>"
    return f"<details>{summary}{about(part)}{table(part)}</details>"


def empty_part(part: Part) -> str:
    """A title without any row."""
    return f'<div class="part"><h3>{html_text(part.title)}</h3>{about(part)}<p class="none">None.</p></div>'


def chart_part(part: Part, drawing: Drawing, script: str) -> str:
    """A chart under its title, and its numbers a click away."""
    note = f'<p class="note">{html_text(drawing.note)}</p>' if drawing.note else ""
    # What no query gives is told with its numbers: the chart of a finding stands closer to its sentence.
    above, below = (about(part), "") if part.query else ("", about(part))
    caption = f"<h3>{html_text(drawing.title)}</h3>{above}{note}{legend(drawing)}"
    numbers = f"<summary>The numbers: {counted(part.frame.height, 'row')}</summary>{below}{table(part)}"
    return (
        f'<div class="part"><figure><figcaption>{caption}</figcaption>'
        f'<div class="chart" style="min-height:{drawing.height}px">{drawing.place}</div>'
        f"{script}</figure><details>{numbers}</details></div>"
    )


def about(part: Part) -> str:
    """What a table says, and the query that gives it."""
    query = f" <code>analyzer query {html_text(part.query)}</code>" if part.query else ""
    return f'<p class="about">{html_text(part.description)}{query}</p>'


def legend(drawing: Drawing) -> str:
    """The keys of a chart, on the page itself, where they wrap."""
    keys = "".join(
        f'<li><i class="{key.look}" style="--key:{key.colour}" aria-hidden="true">{key.symbol}</i>'
        f"{html_text(key.name)}</li>"
        for key in drawing.keys
    )
    return f'<ul class="legend">{keys}</ul>'


def table(part: Part) -> str:
    """The rows of a part, in a box that scrolls."""
    frame = part.rows.select(list(part.columns))
    rows, right = frame.rows(), [kind.is_numeric() for kind in frame.dtypes]
    head = "".join(
        f'<th scope="col"{_class(flush)} title="{html_text(meaning)}">{html_text(heading(name))}</th>'
        for (name, meaning), flush in zip(part.columns.items(), right, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(_cell(name, value, flush) for name, value, flush in zip(part.columns, row, right, strict=True))
        + "</tr>"
        for row in rows
    )
    cut = f'<p class="note">{html_text(part.cut)}</p>' if part.cut else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html_text(part.title)}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{cut}"
    )


def _cell(column: str, value: object, flush: bool) -> str:
    text = shown(column, value)
    if len(text) > _LONG_TEXT:
        inside = f"<details><summary>{html_text(text[:_LONG_TEXT])}…</summary>{html_text(text[_LONG_TEXT:])}</details>"
        return f"<td>{inside}</td>"
    return f"<td{_class(flush, text)}>{html_text(text)}</td>"


def _class(flush: bool, text: str = "") -> str:
    names = [name for name, wanted in (("number", flush), ("long", len(text) > 28)) if wanted]
    return f' class="{" ".join(names)}"' if names else ""
