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
from typing import Any

from analyzer.readable import stand_in
from analyzer.readable import terminal_safe as terminal_safe

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "parquet")
"""What the rows of a query can be written as."""
_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]#|!~$"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BREAK = "\u200b"
"""A space without width: no program takes what stands on both sides of it for one name or one address."""
_BREAK_IN_MARKDOWN = "&#8203;"
_NAMED = re.compile(r"@(?=\S)|(?:#|!|\bGH-)(?=[0-9])", re.IGNORECASE)
"""What calls somebody, or is linked to an issue or a change: viewers look for it when all escapes are gone."""
_ADDRESS = re.compile(r"://|\bwww\.|\]\(", re.IGNORECASE)
_DOMAIN = re.compile(r"(?<=[^\W_])[.。．｡](?=[^\W\d_]{2})")
"""A point that chats take for one of a domain, also where no scheme stands before it."""
_CALL = re.compile(r"<(?=[!@#\w])")
"""What begins a call or a link in a chat that reads Slack's form."""
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


_JOB_COMMAND = re.compile(r"^([ \t]*):(?=:.*::)", re.MULTILINE)
"""What begins GitHub's `::name::`, which counts at the start of a line only."""
_JOB_MARK = re.compile(r"##(?=[\w.-]*\[)")
"""What begins `##[name]` and `##vso[name]` of Azure and `##teamcity[name]`, which count anywhere."""


def runner_safe(text: str) -> str:
    """Break up what runners of CI jobs take for commands of their own: a space goes into `::` and `##`."""
    return _JOB_MARK.sub("# #", _JOB_COMMAND.sub(r"\1: ", text))


def one_line(text: str) -> str:
    """The text on one line of a terminal: white space of any kind is one space."""
    return terminal_safe(" ".join(text.split()))


def json_text(value: object, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """JSON, with invisible and steering characters as escapes: the same data to a parser, harmless where it is shown.

    Raises:
        ValueError: it holds a NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    # JSON itself escapes what comes before these.
    plain = text.isascii() and "\x7f" not in text
    hidden = [] if plain else [each for each in set(text) if each > "~" and stand_in(each)]
    codes = {ord(each): f"\\u{ord(each):04x}" if each <= "\uffff" else json.dumps(each)[1:-1] for each in hidden}
    return _JOB_MARK.sub(r"#\\u0023", text.translate(codes) if codes else text)


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
    return unlinked(_entities(terminal_safe(text, keep="\n")))


def chat_code(text: str) -> str:
    """A command as code in a chat that reads Slack's form, which links nothing there: it can be copied as it is."""
    return chat_text(text) if "`" in text else f"`{_entities(one_line(text))}`"


def plain_text(text: str) -> str:
    """Make a text safe in plain text that a chat may show, which calls and links by its own marks."""
    return _CALL.sub(rf"<{_BREAK}", unlinked(one_line(text)))


def bare_markdown_text(text: str) -> str:
    """Safe in a chat that reads Markdown and shows HTML's entities as they are: no markup, nobody called, no link."""
    flat = terminal_safe(re.sub(r"[\r\n\t\u2028\u2029]+", " ", text))
    return _BARE.sub(r"\\\g<0>", unlinked(flat))


def bare_markdown_code(command: str) -> str:
    """A command for chats, in one that reads Markdown but shows no code: it is copied as it was."""
    return _BARE.sub(r"\\\g<0>", command)


def unlinked(text: str) -> str:
    """The text with a space without width in each name, number, address and domain that programs take for a link."""
    return _DOMAIN.sub(rf"\g<0>{_BREAK}", _ADDRESS.sub(_broken, _NAMED.sub(rf"\g<0>{_BREAK}", text)))


def each_text(value: Any) -> Any:
    """What JSON can hold, with each text in it, names included, on one line and safe to show anywhere."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {each_text(name): each_text(one) for name, one in value.items()}
    return [each_text(one) for one in value] if isinstance(value, list) else value


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _broken(match: re.Match[str]) -> str:
    """Behind its first character but for what begins with a name: `www.` is broken behind its point."""
    found = match[0]
    return found + _BREAK if found[-1] == "." else found[0] + _BREAK + found[1:]


def csv_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula: `'` goes before what would start one; numbers stay."""
    starts = text[:1] in _TAB_AND_RETURN or text.lstrip(_BEFORE_A_FORMULA)[:1] in _FORMULA_STARTS
    return f"'{text}" if starts and not _NUMBER.fullmatch(text) else text


def _unlisted(match: re.Match[str]) -> str:
    space, mark = match.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"
