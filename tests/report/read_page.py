"""The page as what a person reads of it: texts, tables and pictures, each with its section, finding and title."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_BLOCKS = frozenset({"p", "h1", "h2", "h3", "li", "dt", "dd", "summary", "a", "figcaption"})
_APART = frozenset({"span", "small", "strong", "code"})
"""Elements whose texts stand apart from what is beside them."""
_UNREAD = frozenset({"script", "style", "text"})
"""What no sentence stands in: the numbers on the axes of a chart are its scale."""


@dataclass
class Piece:
    """A text, the rows of a table, or what a picture says of its marks."""

    kind: str
    """`text`, `table` or `mark`."""
    section: str
    finding: str
    title: str
    text: str = ""
    header: list[str] = field(default_factory=list)
    """Names of columns."""
    body: list[list[str]] = field(default_factory=list)


class Page(HTMLParser):
    """Takes a page apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pieces: list[Piece] = []
        self.section = self.finding = self.title = ""
        self._texts: list[str] = []
        self._unread = self._picture = 0
        self._table: Piece | None = None
        self._in_cell = self._in_head = self._in_summary = self._in_legend = False
        self.feed(page)
        self._end_of_block()

    def __iter__(self) -> Iterator[Piece]:
        return iter(self.pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, a table or a cell."""
        given = {name: value or "" for name, value in attrs}
        self._unread += tag in _UNREAD
        self._picture += tag == "svg"
        if tag == "section":
            self.section = given.get("id", "")
        elif tag == "article":
            self.finding = given.get("id", "").removeprefix("finding-")
        elif "aria-label" in given and tag in {"div", "table"}:
            self.title = given["aria-label"]
        if tag in _APART:
            self._texts.append(" ")
        self._in_legend |= given.get("class") == "legend"
        if tag == "table":
            self._end_of_block()
            self._table = Piece("table", self.section, self.finding, self.title)
        elif self._table is not None:
            if tag == "th" and given["scope"] == "col":
                self._table.header.append(given.get("data-column", ""))
                self._in_head = "data-column" not in given
            elif tag == "tr" and self._table.header:
                self._table.body.append([])
            elif tag in {"td", "th"}:
                self._table.body[-1].append("")
                self._in_cell = True
            elif tag == "summary":
                self._in_summary = True
        elif tag in _BLOCKS or (tag == "title" and self._picture) or tag in {"title", "tr"}:
            self._end_of_block()

    def handle_endtag(self, tag: str) -> None:
        """End a block, a table or a cell."""
        self._unread -= tag in _UNREAD
        if self._table is not None:
            self._in_cell &= tag not in {"td", "th"}
            self._in_head &= tag != "th"
            self._in_summary &= tag != "summary"
            if tag == "table":
                self.pieces.append(self._table)
                self._table = None
        elif tag in _BLOCKS | {"title", "tr", "header", "section", "svg"}:
            self._end_of_block()
        elif tag in _APART:
            self._texts.append(" ")
        self._in_legend &= tag != "ul"
        self._picture -= tag == "svg"
        if tag == "article":
            self.finding = ""

    def handle_data(self, data: str) -> None:
        """Take a text."""
        if self._unread:
            return
        if self._table is None:
            self._texts.append(data)
        elif self._in_head:
            self._table.header[-1] += data
        elif self._in_cell and not self._in_summary:
            self._table.body[-1][-1] += data

    def _end_of_block(self) -> None:
        text = " ".join("".join(self._texts).split())
        self._texts.clear()
        if text:
            kind = "mark" if self._picture or self._in_legend else "text"
            self.pieces.append(Piece(kind, self.section, self.finding, self.title, text))
