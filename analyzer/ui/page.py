"""A page: a document with links in it, the fields above it, and how it becomes HTML.

Invariant: every text is escaped by the templates of documents; links and pictures are made by
`Link` and `report.charts.elements`, which escape what they are given.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from analyzer.analysis import WindowWords
from analyzer.frozen import frozen
from analyzer.report.charts.picture import Drawing, draw, figure_data
from analyzer.report.document import Block, ChartBlock, Document, Fold, TableBlock, quote, walk
from analyzer.report.escape import terminal_safe
from analyzer.report.rows import NOTHING, plain_heading, shown
from analyzer.report.writers.html import environment

if TYPE_CHECKING:
    import polars as pl
    from jinja2 import Environment

NAVIGATION = {
    "/now": "Now",
    "/incidents": "Incidents",
    "/errors": "Errors",
    "/sessions": "Sessions",
    "/report": "Report",
    "/ask": "Ask",
}
"""Paths of pages, and what they are called."""
WINDOW_NAMES = ("last", "since", "until", "timezone")


class Link(str):
    """A text of a document that leads to an address."""

    __slots__ = ("href",)
    href: str

    def __new__(cls, text: str, path: str, /, **values: object) -> Self:
        """Make a link to a path of this server, with values in its address."""
        link = super().__new__(cls, text)
        named = urlencode({name: str(value) for name, value in values.items() if value not in (None, "")})
        link.href = f"{path}?{named}" if named else path
        return link

    def __html__(self) -> str:
        """Return the element."""
        return f'<a href="{html.escape(self.href)}">{html.escape(terminal_safe(str(self)))}</a>'


@frozen
class Field:
    """A field of a form."""

    name: str
    label: str
    value: str = ""
    choices: Mapping[str, str] | None = None
    """The values to choose from, each with its words; None for a text."""
    kind: str = "text"
    """`text`, `search`, `area` or `hidden`."""


@frozen
class Page:
    """One page."""

    title: str
    document: Document
    fields: Sequence[Field] = ()
    """The fields of its form, whose values are the state in the address."""
    buttons: Mapping[str, str] = field(default_factory=dict)
    """Decisions that the page offers, each with the label of its button."""
    decision: Sequence[Field] = ()
    """The fields that go with any of the buttons."""
    links: Sequence[str] = ()
    """Links above the document: parts of the page, and files."""
    is_live: bool = False
    """Whether its document comes again while something happens."""
    status: int = 200


@lru_cache(maxsize=1)
def _templates() -> Environment:
    from jinja2 import ChoiceLoader, PackageLoader

    templates = environment()
    writers = templates.loader
    assert writers is not None  # the writers' own
    templates.loader = ChoiceLoader([PackageLoader("analyzer.ui"), writers])
    dated = templates.filters["dated"]
    templates.filters["dated"] = lambda text: text if hasattr(text, "__html__") else dated(text)
    return templates


def to_page(page: Page, path: str, token: str, notice: str = "") -> str:
    """Write a page; `path` is its own, `notice` a sentence above it."""
    values = {"navigation": NAVIGATION, "path": path, "token": token, "notice": notice, "page": page}
    values["live"] = "/live" if page.is_live else ""
    return _render("live.html.jinja", page, values)


def to_part(page: Page) -> str:
    """Write only the document of a page."""
    return _render("part.html.jinja", page, {})


def _render(frame: str, page: Page, values: Mapping[str, Any]) -> str:
    charts = [block for block in walk(page.document) if isinstance(block, ChartBlock)]
    drawings = {block.name: _drawing(block) for block in charts}
    template = _templates().get_template(frame)
    return template.render(shown=page.document, title=page.title, drawings=drawings, **values)


def _drawing(block: ChartBlock) -> Drawing:
    chart = block.chart
    drawing = draw(chart, block.name, block.height)
    return replace(drawing, data=figure_data(chart, drawing))


def table_of(
    frame: pl.DataFrame, links: Mapping[str, Callable[[dict[str, Any]], Link | None]] | None = None, most: int = 100
) -> TableBlock:
    """Return rows as a table; `links` makes the cells of some columns of the row."""
    rows = []
    for row in frame.head(most).iter_rows(named=True):
        cells = {name: shown(name, value) for name, value in row.items()}
        for name, link in (links or {}).items():
            cells[name] = link(row) or cells[name]
        rows.append(tuple(cells.values()))
    more = f"{most} of {frame.height:,} rows." if frame.height > most else ""
    return TableBlock([*map(plain_heading, frame.columns)], rows, more=more)


def session_link(row: Mapping[str, Any]) -> Link | None:
    """Return the link to the session of a row; None if it names none."""
    name = row["session_id"]
    return Link(name if len(name) <= 13 else f"{name[:12]}…", "/session", id=name) if name else None


def error_link(row: Mapping[str, Any]) -> Link | None:
    """Return the link to the group of errors of a row, by its text; None for errors without a text."""
    name = row["fingerprint"]
    return Link(quote(row.get("message") or name, 120), "/error", fingerprint=name) if name != "(no text)" else None


def finding_link(name: str) -> Link:
    """Return the link to an incident by its id."""
    return Link(name[:8], "/incident", id=name)


def window_fields(values: Mapping[str, str], last: str = "30d") -> list[Field]:
    """Return the fields of a window, which begins so long ago unless the address says otherwise."""
    words = words_of(values, last)
    return [Field(name, name.capitalize(), str(words.get(name) or "")) for name in WINDOW_NAMES]


def words_of(values: Mapping[str, str], last: str = "30d") -> WindowWords:
    """Return the window of an address in the words of the command line."""
    words = {name: values[name] for name in WINDOW_NAMES if values.get(name)}
    if "since" not in words and "last" not in words and "until" not in words:
        words["last"] = last
    return words  # type: ignore[return-value]


_LINKS = {"session_id": "/session", "session": "/session", "fingerprint": "/error"}
"""Columns of the report with ids, and the pages of these."""


def linked(block: Block) -> Block:
    """Return a block of the report whose ids of sessions and of groups of errors are links."""
    if isinstance(block, Fold):
        return replace(block, blocks=[*map(linked, block.blocks)])
    if not isinstance(block, TableBlock) or not _LINKS.keys() & {*block.columns}:
        return block
    names = [*block.columns]
    rows = [[_cell_link(name, text) for name, text in zip(names, row, strict=True)] for row in block.rows]
    return replace(block, rows=rows)


def _cell_link(name: str, text: str) -> str:
    path = _LINKS.get(name)
    if path is None or text in {NOTHING, "(no text)"}:
        return text
    return Link(text, path, **{"fingerprint" if path == "/error" else "id": text})
