"""Text of a log becomes safe for where it is shown. Everything in a log is hostile: callers, paths, even reasons.

Invariant: no renderer writes a value that came from a log without one of these; the templates of the page put
`terminal_safe` before their own escape.
"""

from __future__ import annotations

import io
import json
import re
import string
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

_FORMATTING = (
    "\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""DEL and C1, format characters (bidi marks, zero width), fillers and tags that take no ink, surrogates, separators."""
_INVISIBLE = re.compile(f"[\x00-\x1f{_FORMATTING}]")
_STEERING = re.compile(f"[{_FORMATTING}]")
"""What JSON itself leaves as it is."""
_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]#|!~$"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BREAK = "\u200b"
"""A space without width: no program takes what stands on both sides of it for one name or one address."""
_BREAK_IN_MARKDOWN = "&#8203;"
_NAMED = re.compile(r"@(?=\S)|(?:#|!|\bGH-)(?=[0-9])", re.IGNORECASE)
"""What calls somebody, or is linked to an issue or a change: viewers look for it when all escapes are gone."""
_ADDRESS = re.compile(r"://|\bwww\.|\]\(", re.IGNORECASE)
_BARE = re.compile(r"[\\`*_\[\]#|~<>]")
_LIST_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
_WWW = re.compile(r"\b(www)\.", re.IGNORECASE)
_FORMULA_STARTS = frozenset("=+-@＝＋－＠−﹢﹣﹦﹫")
_TAB_AND_RETURN = frozenset("\t\r")
_BEFORE_A_FORMULA = (
    string.whitespace + "\"'`‘’‚“”„«»\u00a0\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)
"""White space and quotation marks, which a spreadsheet may drop when it reads a cell."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def terminal_safe(text: str, *, keep: str = "") -> str:
    r"""The text with every invisible or steering character shown as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    `keep` names characters to leave alone: `"\n\t"` for text whose layout is our own. Text from a log keeps none, so
    that it cannot forge a second line.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_visible_codes(keep)) if _INVISIBLE.search(text) else text


def one_line(text: str) -> str:
    """The text on one line of a terminal: white space of any kind is one space."""
    return terminal_safe(" ".join(text.split()))


def json_text(value: object, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """JSON, with invisible and steering characters as escapes: the same data to a parser, harmless on a terminal.

    Raises:
        ValueError: it holds a NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    return text.translate(_json_codes()) if _STEERING.search(text) else text


def jsonl_text(values: Iterable[object]) -> str:
    """JSON lines, each as `json_text` writes it.

    Raises:
        ValueError: one holds a NaN or an infinity.
    """
    import jsonlines  # 38 ms, for whoever asks for lines alone

    lines = io.StringIO()
    with jsonlines.Writer(lines, dumps=json_text) as writer:
        writer.write_all(values)
    return lines.getvalue()


def markdown_text(text: str) -> str:
    """Safe in a paragraph, a list item or a table cell: no markup, no link, no HTML, one line."""
    flat = terminal_safe(re.sub(r"[\r\n\t\u2028\u2029]+", " ", text))
    # Names, numbers of issues and addresses become mentions and links without any markup, and even where they are
    # escaped: of a mail address, its domain is what follows the sign.
    escaped = _NAMED.sub(rf"\g<0>{_BREAK}", flat).translate(_MARKDOWN).replace(_BREAK, _BREAK_IN_MARKDOWN)
    unlinked = _WWW.sub(r"\1&#46;", escaped.replace("://", "&#58;//"))
    return _LIST_START.sub(_unlisted, unlinked)


def chat_text(text: str) -> str:
    """Safe in a message to a chat that reads Slack's form: nobody is called, and nothing in it is a link."""
    escaped = terminal_safe(text, keep="\n").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ADDRESS.sub(_broken, _NAMED.sub(rf"\g<0>{_BREAK}", escaped))


def bare_markdown_text(text: str) -> str:
    """Safe in a chat that reads Markdown and shows HTML's entities as they are: no markup, nobody called, no link."""
    flat = terminal_safe(re.sub(r"[\r\n\t\u2028\u2029]+", " ", text))
    return _BARE.sub(r"\\\g<0>", _ADDRESS.sub(_broken, _NAMED.sub(rf"\g<0>{_BREAK}", flat)))


def _broken(match: re.Match[str]) -> str:
    """Behind its first character but for what begins with a name: `www.` is broken behind its point."""
    found = match[0]
    return found + _BREAK if found[-1] == "." else found[0] + _BREAK + found[1:]


def csv_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: `'` goes before what would start one; numbers stay."""
    starts = text[:1] in _TAB_AND_RETURN or text.lstrip(_BEFORE_A_FORMULA)[:1] in _FORMULA_STARTS
    return f"'{text}" if starts and not _NUMBER.fullmatch(text) else text


# Tables, because a text may consist of nothing else: one pass takes 50 ms a megabyte at worst, a substitution 300.
@lru_cache(maxsize=4)
def _visible_codes(keep: str) -> dict[int, str]:
    return {ord(each): _visible(ord(each)) for each in _members(_INVISIBLE) if each not in keep}


@lru_cache(maxsize=1)
def _json_codes() -> dict[int, str]:
    codes = {ord(each): json.dumps(each)[1:-1] for each in _members(_STEERING)}
    # The one of them that is ASCII, which JSON does not escape.
    return codes | {0x7F: "\\u007f"}


def _members(pattern: re.Pattern[str]) -> list[str]:
    return pattern.findall("".join(map(chr, (*range(0x20000), *range(0xE0000, 0xE1000)))))


def _visible(number: int) -> str:
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _unlisted(match: re.Match[str]) -> str:
    space, mark = match.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"
