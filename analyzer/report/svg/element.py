"""`Svg`: markup that is ready for the page, and the one function that makes it.

Invariant: what is not `Svg` is a text, and leaves with invisible characters as codes and everything else escaped.
"""

from __future__ import annotations

import html

from analyzer.report.escape import terminal_safe


class Svg(str):
    """Markup; templates put it in as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: str, **attributes: object) -> Svg:
    """An element. In the names of attributes `_` stands for `-`, and a last one is dropped; None leaves one out."""
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, Svg) else _text(child) for child in children)
    return Svg(f"<{tag}{named}>{inner}</{tag}>" if children else f"<{tag}{named}/>")


def title(text: str) -> Svg:
    """The tooltip of what it is put into; the line breaks of the text are our own, and stay."""
    return Svg(f"<title>{html.escape(terminal_safe(text, keep=chr(10)))}</title>")


def pixels(value: float) -> str:
    """A length or a coordinate to a tenth of a pixel, as short as it goes."""
    # Adding zero takes the sign from a zero.
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def _text(value: object) -> str:
    return html.escape(pixels(value) if isinstance(value, float) else terminal_safe(str(value)))
