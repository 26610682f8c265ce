"""Turn results into text for people and machines, without SQL, statistics, printing or writing.

Names are loaded on first use: escaping a text needs no frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.lazy import face

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.report.escape import FORMATS, csv_cell, markdown_text, terminal_safe
    from analyzer.report.overview import render_json, render_markdown, render_text
    from analyzer.report.page.html import Made, render_html
    from analyzer.report.rows import render_rows

__getattr__, __dir__ = face(
    __name__,
    {
        "analyzer.command_lines": "Asking",
        "page.html": "Made render_html",
        "escape": "FORMATS csv_cell markdown_text terminal_safe",
        "overview": "render_json render_markdown render_text",
        "rows": "render_rows",
    },
)

__all__ = [
    "FORMATS",
    "Asking",
    "Made",
    "csv_cell",
    "markdown_text",
    "render_html",
    "render_json",
    "render_markdown",
    "render_rows",
    "render_text",
    "terminal_safe",
]
