"""Results become what people and machines read, without SQL and statistics; nothing is printed or written here.

Names are loaded on first use: escaping a text needs no frames.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.report.documents.overview_json import render_json
    from analyzer.report.documents.overview_markdown import render_markdown
    from analyzer.report.escape import csv_cell, markdown_text, terminal_safe
    from analyzer.report.page.html import render_html
    from analyzer.report.page.made import Made
    from analyzer.report.rows import render_rows
    from analyzer.report.terminal.overview import render_text

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "parquet")
"""What the rows of a query can be written as."""
_HOMES = {
    "Asking": "analyzer.command_lines",
    "Made": "analyzer.report.page.made",
    "csv_cell": "analyzer.report.escape",
    "markdown_text": "analyzer.report.escape",
    "render_html": "analyzer.report.page.html",
    "render_json": "analyzer.report.documents.overview_json",
    "render_markdown": "analyzer.report.documents.overview_markdown",
    "render_rows": "analyzer.report.rows",
    "render_text": "analyzer.report.terminal.overview",
    "terminal_safe": "analyzer.report.escape",
}

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


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
