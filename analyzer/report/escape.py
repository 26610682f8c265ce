"""Make text of a log safe for the medium that shows it.

Everything in a log is hostile: callers, paths, even reasons.

Invariant: no renderer writes a value that came from a log without one of these; the templates of
the page put `terminal_safe` before their own escape.
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
"""The formats in which the rows of a query can be written."""
_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]#|!~$"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_BREAK = "\u200b"
"""A space without width: no program reads the text on both sides of it as a single name or
address."""
_BREAK_IN_MARKDOWN = "&#8203;"
_NAMED = re.compile(r"@(?=\S)|(?:#|!|\bGH-)(?=[0-9])", re.IGNORECASE)
"""The beginning of a mention, or of a link to an issue or a change: viewers look for it after
removing all escapes."""
_ADDRESS = re.compile(r"://|\bwww\.|\]\(", re.IGNORECASE)
_DOMAIN = re.compile(r"(?<=[^\W_])[.。．｡](?=[^\W\d_]{2})")
"""A point that chats read as part of a domain, even without a scheme before it."""
_CALL = re.compile(r"<(?=[!@#\w])")
"""The beginning of a mention or a link in a chat that reads Slack's form."""
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
"""The beginning of GitHub's `::name::`, which counts at the start of a line only."""
_JOB_MARK = re.compile(r"##(?=[\w.-]*\[)")
"""The beginning of `##[name]` and `##vso[name]` of Azure and `##teamcity[name]`, which count
anywhere."""


def runner_safe(text: str) -> str:
    """Put a space into `::` and `##`, with which texts could give commands to CI runners."""
    return _JOB_MARK.sub("# #", _JOB_COMMAND.sub(r"\1: ", text))


def one_line(text: str) -> str:
    """Put a text on one line, safe for a terminal: white space of any kind becomes one space."""
    return terminal_safe(" ".join(text.split()))


def json_text(value: object, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """Write a value as JSON, with invisible and control characters as escapes.

    A parser reads the same data, and a terminal that shows the text comes to no harm.

    Raises:
        ValueError: the value holds a NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    # JSON itself escapes the characters below "~".
    plain = text.isascii() and "\x7f" not in text
    hidden = [] if plain else [character for character in set(text) if character > "~" and stand_in(character)]
    codes = {}
    for character in hidden:
        # Above U+FFFF a character is a pair of surrogates.
        code = f"\\u{ord(character):04x}" if character <= "\uffff" else json.dumps(character)[1:-1]
        codes[ord(character)] = code
    return _JOB_MARK.sub(r"#\\u0023", text.translate(codes) if codes else text)


def jsonl_text(values: Iterable[object]) -> str:
    """Write values as JSON lines, every line as `json_text` writes it.

    Raises:
        ValueError: a value holds a NaN or an infinity.
    """
    import jsonlines  # takes 38 ms, which only JSON lines need

    lines = io.StringIO()
    with jsonlines.Writer(lines, dumps=json_text) as writer:
        writer.write_all(values)
    return lines.getvalue()


def markdown_text(text: str) -> str:
    """Make a text safe in a Markdown paragraph, list item or table cell.

    It has one line, and no markup, link or HTML.
    """
    flat = terminal_safe(re.sub(r"[\r\n\t\u2028\u2029]+", " ", text))
    # Viewers turn names, issue numbers and addresses into mentions and links without any markup, even escaped ones;
    # in a mail address the domain follows the sign.
    escaped = _NAMED.sub(rf"\g<0>{_BREAK}", flat).translate(_MARKDOWN).replace(_BREAK, _BREAK_IN_MARKDOWN)
    unlinked = _WWW.sub(r"\1&#46;", escaped.replace("://", "&#58;//"))
    return _LIST_START.sub(_unlisted, unlinked)


def chat_text(text: str) -> str:
    """Make a text safe in a chat that reads Slack's form: no mention, no link."""
    return unlinked(_entities(terminal_safe(text, keep="\n")))


def chat_code(text: str) -> str:
    """Write a command as code for a chat that reads Slack's form.

    Such a chat links nothing in code, so that the command can be copied.
    """
    return chat_text(text) if "`" in text else f"`{_entities(one_line(text))}`"


def plain_text(text: str) -> str:
    """Make a text safe in plain text that a chat may show, where `<` begins a mention or a link."""
    return _CALL.sub(rf"<{_BREAK}", unlinked(one_line(text)))


def bare_markdown_text(text: str) -> str:
    """Make a text safe in a chat that reads Markdown: no markup, mention or link.

    Such a chat shows HTML's entities as they are, so that the text has none.
    """
    flat = terminal_safe(re.sub(r"[\r\n\t\u2028\u2029]+", " ", text))
    return _BARE.sub(r"\\\g<0>", unlinked(flat))


def bare_markdown_code(command: str) -> str:
    """Escape a command for a chat that reads Markdown but shows no code.

    It can be copied as it was.
    """
    return _BARE.sub(r"\\\g<0>", command)


def unlinked(text: str) -> str:
    """Put a space without width into all texts that programs would turn into links.

    These are names, numbers, addresses and domains.
    """
    return _DOMAIN.sub(rf"\g<0>{_BREAK}", _ADDRESS.sub(_broken, _NAMED.sub(rf"\g<0>{_BREAK}", text)))


def each_text(value: Any) -> Any:
    """Put every text of a JSON value, keys included, on one line that is safe to show anywhere."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {each_text(name): each_text(item) for name, item in value.items()}
    return [each_text(item) for item in value] if isinstance(value, list) else value


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _broken(match: re.Match[str]) -> str:
    """Break an address after its first character, `www.` after its point."""
    text = match[0]
    return text + _BREAK if text[-1] == "." else text[0] + _BREAK + text[1:]


def csv_cell(text: str) -> str:
    """Make a text safe in a spreadsheet: `'` goes before a text that would be a formula.

    Numbers stay.
    """
    starts = text[:1] in _TAB_AND_RETURN or text.lstrip(_BEFORE_A_FORMULA)[:1] in _FORMULA_STARTS
    return f"'{text}" if starts and not _NUMBER.fullmatch(text) else text


def _unlisted(match: re.Match[str]) -> str:
    space, mark = match.groups()
    return f"{space}{mark}\\" if mark.isdigit() else f"{space}\\{mark}"
