"""Results become what people and machines read, without SQL and statistics; nothing is printed or written here.

Names are loaded on first use: escaping a text needs no frames.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analyzer.report.escape import FORMATS

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.report.escape import csv_cell, markdown_text, terminal_safe
    from analyzer.report.overview import render_json, render_markdown, render_text
    from analyzer.report.page.html import Made, render_html
    from analyzer.report.rows import render_rows

_HOMES = {
    "Asking": "analyzer.command_lines",
    "Made": "analyzer.report.page.html",
    "csv_cell": "analyzer.report.escape",
    "markdown_text": "analyzer.report.escape",
    "render_html": "analyzer.report.page.html",
    "render_json": "analyzer.report.overview",
    "render_markdown": "analyzer.report.overview",
    "render_rows": "analyzer.report.rows",
    "render_text": "analyzer.report.overview",
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
