"""Log text → text that is safe where it is shown. Everything in a log is hostile: callers, paths, even reasons.

Invariant: no renderer writes a value that came from a log without one of these.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls (C0, DEL, C1), format characters (bidi overrides, zero width), surrogates, line and paragraph separators."""
_MARKDOWN = re.compile(r"([\\`*_\[\]#|!~$])")
_LIST_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
_STEERING = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""What JSON itself leaves as it is: DEL, C1, zero width, bidi marks, line separators."""
_FORMULA_STARTS = "=+-@\t\r＝＋－＠"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def terminal_safe(text: str, *, keep: str = "") -> str:
    r"""The text with every invisible or steering character shown as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    `keep` names characters to leave alone: `"\n\t"` for text whose layout is our own. Text from a log keeps none, so
    that it cannot forge a second line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if character in keep or unicodedata.category(character) not in _INVISIBLE else _visible(character)
        for character in text
    )


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON, with invisible and steering characters as escapes: the same data to a parser, harmless on a terminal.

    Raises:
        ValueError: it holds a NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return text if text.isascii() else _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def html_text(text: str) -> str:
    """Safe between tags and inside quoted attributes."""
    return html.escape(terminal_safe(text), quote=True)


def markdown_text(text: str) -> str:
    """Safe in a paragraph, a list item or a table cell: no markup, no link, no HTML, one line."""
    flat = terminal_safe(re.sub(r"[\r\n\t\u2028\u2029]+", " ", text))
    escaped = _MARKDOWN.sub(r"\\\1", flat).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Bare addresses become links without any markup.
    unlinked = escaped.replace("://", "&#58;//").replace("www.", "www&#46;")
    return _LIST_START.sub(_unlisted, unlinked)


def csv_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: `'` goes before what would start one; numbers stay."""
    bare = text.lstrip(" \n\"'\u00a0")
    starts = bool(bare) and bare[0] in _FORMULA_STARTS
    return f"'{text}" if starts and not _NUMBER.fullmatch(text) else text


def _visible(character: str) -> str:
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _unlisted(match: re.Match[str]) -> str:
    space, mark = match.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"
