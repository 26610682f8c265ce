"""Write documents as HTML files that need no other file and no network.

Invariants: the environment of the templates escapes every text, none is escaped by hand; a policy
forbids the network and all scripts except our own, by hash.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from analyzer.report.charts.elements import palette
from analyzer.report.document import Document
from analyzer.report.escape import terminal_safe

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def to_html(document: Document, title: str) -> str:
    """Write a document as a whole file; `title` is that of its tab."""
    return _template().render(document=document, title=title, style=style(), scripts=[])


@lru_cache(maxsize=1)
def _template() -> Template:
    return escaping_templates().get_template("document.html.jinja")


def escaping_templates() -> Environment:
    """Return the templates, which escape every text and fail on a name without a value."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("analyzer.report.writers"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(digest=_digest, block_name=lambda block: type(block).__name__)
    return templates


def style() -> str:
    """Return the style sheet of all pages."""
    return palette() + resource("style.css")


def resource(name: str) -> str:
    """Return the text of a file beside the templates."""
    return resources.files("analyzer.report.writers").joinpath("templates", name).read_text("utf-8")


def _visible(value: object) -> object:
    """Show invisible and control characters as codes, before a template escapes the value."""
    return value if hasattr(value, "__html__") else terminal_safe(str(value))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
