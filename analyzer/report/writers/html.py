"""Write documents as HTML files that need no other file and no network.

Invariants: the templates escape every text, none is escaped by hand; a policy forbids the network and all
scripts except our own, by hash. Our own pictures and scripts are not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from analyzer.readable import counted, gist
from analyzer.report.charts.elements import Svg, palette
from analyzer.report.charts.picture import draw, plotly_script
from analyzer.report.charts.sparkline import sparkline
from analyzer.report.document import ChartBlock, Code, Command, Document, Figure, Section, walk
from analyzer.report.escape import terminal_safe

if TYPE_CHECKING:
    from jinja2 import Environment, Template

ICONS = {
    "critical": "▲",
    "warning": "▲",
    "info": "●",
    "resolved": "✓",
    "unjudged": "?",
    "quiet": "✓",
    "empty": "○",
}
LONGEST_WORD = 40
"""A longer word of a table breaks anywhere; shorter ones, as most names, never break."""
_LENGTH_OF_ID = 36
"""The characters of a UUID."""
_WHOLE = re.compile(
    r"(?P<date>\b\d{4}-\d\d-\d\d\b(?: \d\d:\d\d(?::\d\d)?(?: UTC)?)?)|(?<!\S)[\w@.:]+(?:[-–][\w@.:]+)+(?=[\s,;.)]|$)"
    r"|(?P<path>(?<!\S)\S*/\S{12,})"
)
"""A date, a name or a span of time with a hyphen, at which a line would end, and a path, where it may end."""


def to_html(
    document: Document, title: str, *, bar: str = "", foot: Command | None = None, interactive: bool = False
) -> str:
    """Write a document as a whole file; `title` is that of its tab.

    A document of sections has a bar with `bar`, links to them and filters. `interactive` puts plotly.js inside, which
    draws the charts again.
    """
    blocks = list(walk(document))
    drawings = {
        block.name: draw(block.chart, block.name, block.height, interactive=interactive)
        for block in blocks
        if isinstance(block, ChartBlock)
    }
    parts = [block for block in document if isinstance(block, Section)]
    plotly = [plotly_script()] if drawings and interactive else []
    last = [*([resource("print.js")] if plotly else []), *([resource("page.js")] if len(parts) > 1 else [])]
    return (
        _template()
        .render(
            document=document,
            parts=parts,
            title=title,
            bar=bar,
            foot=foot,
            drawings=drawings,
            style=palette() + resource("style.css"),
            plotly=plotly,
            last=last,
            scripts=[*plotly, *(drawing.script for drawing in drawings.values() if interactive), *last],
        )
        .lstrip()
    )


def load_template() -> None:
    """Compile the template ahead of its first use."""
    _template()


@lru_cache(maxsize=1)
def _template() -> Template:
    return environment().get_template("document.html.jinja")


def environment() -> Environment:
    """Return the environment of the template, which escapes every text and fails on a name without a value."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("analyzer.report.writers"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        attributes=_attributes,
        block_name=lambda block: type(block).__name__,
        counted=counted,
        dated=_dated,
        digest=lambda script: base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii"),
        drawn=_line,
        gist=gist,
        is_code=lambda text: isinstance(text, Code),
        is_endless=lambda text: max(map(len, text.split()), default=0) > LONGEST_WORD,
    )
    made.globals["icons"] = ICONS
    return made


def resource(name: str, room: str = "analyzer.report.writers") -> str:
    """Return the text of a file beside the templates of a package."""
    return resources.files(room).joinpath("templates", name).read_text("utf-8")


def _visible(value: object) -> object:
    """Show invisible and control characters as codes, before a template escapes the value."""
    return value if hasattr(value, "__html__") else terminal_safe(str(value))


def _dated(text: str) -> Svg:
    """Mark the dates and names of a text, so that no line ends inside of one, and where a path may be broken."""

    def marked(match: re.Match[str]) -> str:
        if match["path"]:
            return match[0].replace("/", "/<wbr>")
        text = match[0]
        if match["date"]:
            return f"<time>{text}</time>"
        kind = ' class="id"' if len(text) >= _LENGTH_OF_ID else ""
        return f"<bdi{kind}>{text}</bdi>" if len(text) <= LONGEST_WORD else text

    return Svg(_WHOLE.sub(marked, html.escape(terminal_safe(text), quote=False)))


def _attributes(filters: dict[str, Sequence[str]]) -> Svg:
    """Return the attributes that the filters of a page read, as JSON arrays of names."""
    return Svg("".join(f' data-{what}="{html.escape(json.dumps(values))}"' for what, values in filters.items()))


def _line(figure: Figure) -> Svg:
    """Draw the course of a key figure."""
    if sum(value is not None for value in figure.course) < 2:
        return Svg("")
    return sparkline(figure.course, f"{figure.name} a day, of the last 14 days", is_share=figure.is_share)
