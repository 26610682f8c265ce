"""What texts go through on their way into a log: one row a dress, each a function of the text that it is put on."""

from __future__ import annotations

import html
import json
import quopri
import re
import shlex
import textwrap
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from analyzer.redaction.unfolding import forms

MARK = re.compile(r"\[REDACTED:[a-z_]+:[0-9a-f]{8}\]")
Dress = Callable[[str], str]


def _each(form: str) -> Dress:
    """Every character written by its number."""
    return lambda text: "".join(form.format(ord(each)) for each in text)


def _signs(form: str) -> Dress:
    """Every character but letters and digits written by its number."""
    return lambda text: "".join(each if each.isalnum() else form.format(ord(each)) for each in text)


def _bytes(form: str, *, signs: bool = False) -> Dress:
    """Every byte written by its number, or those alone that are no letters and digits."""
    return lambda text: "".join(
        chr(each) if signs and chr(each).isalnum() and each < 128 else form.format(each) for each in text.encode()
    )


def _coloured(code: str) -> Dress:
    """Words in colour, and a search's highlight in the middle of each."""
    return lambda text: " ".join(
        f"{code}[1;31m{each[:6]}{code}[m{code}[K{each[6:]}{code}[0m" for each in text.split(" ")
    )


def _parted(sign: str) -> Dress:
    """Something behind every thirtieth character."""
    return lambda text: sign.join(text[start : start + 30] for start in range(0, len(text), 30))


def _numbered(form: str) -> Dress:
    """Something in front of each line."""
    return lambda text: "\n".join(form.format(number) + line for number, line in enumerate(text.split("\n"), 1))


def _highlighted(start: str, stop: str) -> Dress:
    """Marks of a search around the first letters of each word."""
    return lambda text: " ".join(f"{start}{each[:6]}{stop}{each[6:]}" for each in text.split(" "))


def _escaped(sign: str) -> Dress:
    """A sign before each one within a word."""
    return lambda text: re.sub(r"(?<=\w)[_\-.+/=@%&:]", lambda found: sign + found[0], text)


def _wrapped(width: int, before: int) -> Dress:
    """Lines as a terminal breaks them, behind a column of dots."""
    return lambda text: "\n".join(
        part for line in text.split("\n") for part in _parts(f"{'.' * before} {line}" if line else line, width) or [""]
    )


def _parts(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def _of_header(text: str) -> str:
    """As RFC 2047 writes what is no letter and no digit."""
    return "".join(
        chr(each) if chr(each).isalnum() and each < 128 else "_" if each == 32 else f"={each:02X}"
        for each in text.encode()
    )


def after(*dresses: Dress) -> Dress:
    """One dress upon the other, the first one next to the text."""

    def dress(text: str) -> str:
        for each in dresses:
            text = each(text)
        return text

    return dress


def _json(text: str) -> str:
    return json.dumps({"message": text})


def _quoted_bytes(text: str) -> str:
    return f"output={text.encode()!r}"


DRESSES: dict[str, Dress] = {
    "none": str,
    "JSON": _json,
    "JSON of a serializer that escapes what HTML means something by": lambda text: (
        json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("=", "\\u003d")
    ),
    "JSON with slashes escaped": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON with signs by number": _signs("\\u{:04x}"),
    "JSON with all by number": _each("\\u{:04X}"),
    "JSON in JSON": after(_json, _json),
    "JSON in JSON in JSON": after(_json, _json, _json),
    "Python's repr": repr,
    "Python's repr of bytes": _quoted_bytes,
    "Python's repr of a repr": after(repr, repr),
    "bytes by number": _bytes("\\x{:02x}"),
    "signs as bytes by number": _bytes("\\x{:02X}", signs=True),
    "octal numbers": _bytes("\\{:03o}"),
    "octal numbers of signs": _bytes("\\{:03o}", signs=True),
    "JavaScript's braces": _signs("\\u{{{:x}}}"),
    "URL": quote,
    "URL with slashes, too": lambda text: quote(text, safe=""),
    "form": lambda text: f"q=%22{quote_plus(text)}%22",
    "URL in a URL": after(quote, quote),
    "URL with all by number": _bytes("%{:02X}"),
    "HTML": html.escape,
    "HTML in HTML": after(html.escape, html.escape),
    "HTML with decimals": _each("&#{};"),
    "HTML with hexadecimals": _signs("&#x{:X};"),
    "colours": _coloured("\x1b"),
    "colours in JSON": after(_coloured("\x1b"), _json),
    "colours as a shell writes them": _coloured("\\033"),
    "colours as a repr writes them": _coloured("\\x1b"),
    "shell, quoted": shlex.quote,
    "shell, escaped": lambda text: "".join(
        each if each.isalnum() or each == "\n" or ord(each) > 127 else f"\\{each}" for each in text
    ),
    "line ends as text": lambda text: text.replace("\n", "\\r\\n"),
    "tabs as text": lambda text: text.replace("\n", "\\t"),
    "repr of bytes in JSON": after(_quoted_bytes, _json),
    "JSON in a repr": after(_json, repr),
    "JSON in a repr in JSON": after(_json, repr, _json),
    "JSON in a URL": after(_json, quote),
    "URL in JSON": after(quote, _json),
    "URL in JSON in a URL": after(quote, _json, lambda text: quote(text, safe="")),
    "HTML in JSON": after(html.escape, _json),
    "JSON in HTML": after(_json, html.escape),
    "JSON in HTML in JSON": after(_json, html.escape, _json),
    "colours in a repr of bytes in JSON": after(_coloured("\x1b"), _quoted_bytes, _json),
    "shell's octal numbers in JSON": after(_bytes("\\{:03o}", signs=True), _json),
    "Perl's braces": _signs("\\x{{{:x}}}"),
    "the escapes of old scripts": _signs("%u{:04X}"),
    "line ends of syslog": lambda text: text.replace("\n", "#012").replace("\t", "#011"),
    "line ends of cat -v": lambda text: text.replace("\n", "^J").replace("\t", "^I"),
    "line numbers": _numbered("{:6d}\t"),
    "line numbers and arrows": _numbered("{}→"),
    "a search's file names": _numbered("keys/id.pem:{}:"),
    "a difference": _numbered("+"),
    "a quotation": _numbered("> "),
    "a table's border": _numbered("| "),
    "indented": lambda text: textwrap.indent(text, "        "),
    "line numbers in JSON": after(_numbered("{:6d}\t"), _json),
}

CUTTING: dict[str, Dress] = {
    "zero-width spaces": _parted("\u200b"),
    "word joiners in JSON": after(_parted("\u2060"), _json),
    "soft hyphens in HTML": _parted("&shy;"),
    "colours in the middle": _parted("\x1b[m\x1b[K"),
    "CSS": _signs("\\{:x} "),
    "CSS, filled up": _signs("\\{:06x}"),
    "cmd": _escaped("^"),
    "PowerShell": _escaped("`"),
    "HTML's highlights": _highlighted("<em>", "</em>"),
    "a search's highlights in JSON": after(_highlighted("<span class=hit>", "</span>"), _json),
    "HTML's highlights, escaped": after(_highlighted("<b>", "</b>"), html.escape),
    "mail, quoted printable": lambda text: quopri.encodestring(text.encode()).decode(),
    "a header of mail": lambda text: " ".join(f"=?utf-8?q?{_of_header(each)}?=" for each in _parts(text, 40)),
    "a header of mail in base64": lambda text: "\n ".join(
        f"=?UTF-8?B?{b64encode(each.encode()).decode()}?=" for each in _parts(text, 40)
    ),
    "broken at 80 columns": _wrapped(80, 20),
    "line ends of PowerShell": lambda text: text.replace("\n", "`n").replace("\t", "`t"),
    "UTF-16 read as bytes": lambda text: text.encode("utf-16-le").decode("latin-1"),
    "a link in a terminal": lambda text: f"\x1b]8;;file:///x\x1b\\{text}\x1b]8;;\x1b\\",
}
"""Dresses in which secrets with a shape of their own are found, and not all that their place alone gives away."""

BROKEN: dict[str, tuple[Dress, float]] = {
    "early at 80 columns": (_wrapped(80, 44), 0.92),
    "early at 132 columns in JSON": (after(_wrapped(132, 94), _json), 0.92),
}
"""Lines that a terminal breaks within the first characters of a secret, and the least share of families that go."""


def pieces(secret: str) -> list[str]:
    """Eight characters each of a secret, from every place in it; of a key in armour, of its lines alone."""
    lines = [line for line in secret.split("\n") if "PRIVATE KEY" not in line]
    return [line[place : place + 8] for line in lines for place in range(max(1, len(line) - 7))]


def survives(secret: str, text: str) -> bool:
    """Whether a piece of the secret stands in a text, in any form of it."""
    bare = MARK.sub("\0", text)
    read = [form.data.decode("utf-8", "replace") for form in forms(bare.encode("utf-8", "replace"))]
    return any(piece in each for piece in pieces(secret) for each in (bare, *read))
