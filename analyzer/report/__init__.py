"""Findings → what people and machines read. No SQL, no statistics; nothing is printed or written here."""

from analyzer.report.escape import csv_cell, html_text, markdown_text, terminal_safe
from analyzer.report.html import render_html
from analyzer.report.jsonfile import render_json
from analyzer.report.markdown import render_markdown
from analyzer.report.rows import FORMATS, render_rows
from analyzer.report.text import render_text

__all__ = [
    "FORMATS",
    "csv_cell",
    "html_text",
    "markdown_text",
    "render_html",
    "render_json",
    "render_markdown",
    "render_rows",
    "render_text",
    "terminal_safe",
]
