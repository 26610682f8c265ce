"""Texts out of their dress: escapes of JSON, Python, shells, URLs, HTML and terminals are taken off, layer by layer.

`forms` is for whoever reads texts, redaction and the classifier's rules alike: it gives a text and each of its forms,
and `Form.origin` leads from a part of a form back to the text.

Invariant: every place of a form leads back to the place of the given text that it was read from, and a text within a
longer one passes through the same forms as alone.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate

from analyzer.redaction.automata import LazyPattern, regex

MAX_FORMS = 12
"""Forms of one text. Backslashes double with each text that quotes another one: few texts have more than four forms."""
_MAX_CACHED = 4_096
"""Escapes of one kind whose meaning is kept."""

_HTML_CHARACTERS = {
    b"quot": b'"', b"apos": b"'", b"amp": b"&", b"lt": b"<", b"gt": b">", b"nbsp": b" ", b"Tab": b"\t",
    b"NewLine": b"\n", b"colon": b":", b"equals": b"=", b"sol": b"/", b"bsol": b"\\", b"commat": b"@", b"percnt": b"%",
    b"num": b"#", b"shy": b"",
    b"lowbar": b"_", b"period": b".", b"comma": b",", b"semi": b";", b"plus": b"+", b"quest": b"?", b"grave": b"`",
    b"lbrace": b"{", b"rbrace": b"}", b"lbrack": b"[", b"rbrack": b"]", b"lpar": b"(", b"rpar": b")", b"dollar": b"$",
}  # fmt: skip
"""Characters of ASCII that HTML has names for: <https://html.spec.whatwg.org/multipage/named-characters.html>."""
_HTML_NAMES = b"|".join(_HTML_CHARACTERS)
# One layer of quoting: of `\\n` the first reading gives `\n`, the second one the end of a line.
_BACKSLASHES = (
    rb"\\(?:[\\\"'/`abtnvfre!#$%&()*+,\-.:;<=>?@\[\]^_{|}~ \t\x1b]|\r?\n(?:[ \t]+(?=[0-9A-Za-z]))?"
    rb"|0000[0-7][0-9a-fA-F] ?|[2-7][0-9a-fA-F] "  # of CSS
    rb"|u+[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[ux]\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{2}|[0-3]?[0-7]{1,2})"
)
# A percent sign and an ampersand are read at once, however often they are escaped.
# Beyond ASCII a URL has UTF-8: `%DB_PASSWORD%` is a variable.
_BYTES = LazyPattern(rb"%(?:25)*([0-9a-fA-F]{2})")
_NUMBERS = (
    rb"%(?:25)*[0-7][0-9a-fA-F]\+?|%(?:25)*[c-fC-F][0-9a-fA-F](?:%(?:25)*[89abAB][0-9a-fA-F]){1,3}"
    rb"|&(?:amp;|#38;|#[xX]26;)*(?:" + _HTML_NAMES + rb"|#[xX][0-9a-fA-F]{1,6});"
    rb"|&(?:amp;|#38;|#[xX]26;)*#[0-9]{1,7};?|%u[0-9a-fA-F]{4}"
)
_TERMINAL = (
    rb"\x1b[\[(][0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\r\n]{0,2000}(?:\x07|\x1b\\)|\x1b[0-Z\\-~]|\xc2\x9b[0-?]*[ -/]*[@-~]"
)
_INVISIBLE = rb"\x00|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf|\xc2\xad"
# Marks of highlighting, which may stand in the middle of a word.
_TAGS = "a|b|big|code|del|em|font|hi|highlight|hit|hl|i|ins|kbd|mark|match|samp|small|span|strong|sub|sup|tt|u|var|wbr"
_HIGHLIGHTS = rb"</?(?:%s)(?:[ \t\r\n][^<>]{0,200})?/?>" % _TAGS.encode()
# A word of a header of mail that says in which letters it is written, and the gap to the next one.
_WORD_OF_MAIL = rb"=\?[\w\-]{2,20}\?[QqBb]\?[^?\s]{1,400}\?="
_ENCODED_WORDS = LazyPattern(
    b"(" + _WORD_OF_MAIL + rb"(?:(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n)?[ \t]{1,4}(?=" + _WORD_OF_MAIL + b"))?)"
)
# What cmd and PowerShell escape within a word.
_SHELLS = rb"(?<=\w)(?:\^(?:[&|<>()%!=,;_\-.:/@\"+~{}]|\r?\n)|`[_\-.+/=@%&:$!?~{}()])"
# The end of a line, a tab or an equals sign in PowerShell, in syslog, of `cat -v` and in mail; a line that mail breaks.
_LINE_ESCAPES = rb"`[nrt](?=[\w\-])|#0(?:1[1-5]|33)|\^[IJM\[]|=(?:0[9AD]|3[ADF]|22|5F|2[BCDEF]|\r?\n(?=\w))"
# Quotes within quotes of a shell, of CSV and SQL; the pieces of a text in code; a blank in a form.
_QUOTES_INSIDE = (
    rb"'\"'\"'|\"\"(?=\w)|''(?=\w)|\"[ \t]{0,8}\r?\n[ \t]{0,40}\"|'[ \t]{0,8}\r?\n[ \t]{0,40}'"
    rb"|\+(?=\S{0,100}%[0-9a-fA-F]{2})"
)
FOLDED = LazyPattern(_BACKSLASHES + b"|" + _NUMBERS)
"""What is another character in another form of the text."""
_OTHERS = (
    rf"%(?:[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}})|&(?:{_HTML_NAMES.decode()}|#[0-9xX])|"
    r"\x1b|\x00|\xc2[\x9b\xad]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa4]|\xef\xbb\xbf"
)
UNFOLDABLE = "|".join(
    (
        # Of the escapes of JSON only those that nobody has to write: who searches raw JSON allows for the others.
        r"\\u00(?:00|1[bB]|2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F]|9[bB]|[aA][dD])",
        r"\\u20(?:0[b-fB-F]|2[a-eA-E]|6[0-4])|\\u[fF][eE][fF][fF]|\\u(?:\{|u)|\\\\u[0-9a-fA-F]{4}",
        r"\\(?:U00|x(?:[0-9a-fA-F]{2}|\{)|[0-3][0-7]|0000[0-7]|[2-7][0-9a-fA-F] |e\[)",
        r"\\(?:[!#$%&()*+,\-./:;<=>?@\]^_{|}~ ]|\r?\n)",
        r"#0(?:1[1-5]|33)|\^[IJM\[]",
        rf"[\w\-./:=$](?:<|\\u003[cC])(?:/|\\/)?(?:{_TAGS})(?:[\s>/]|\\[rnt/]|\\u003[eE])",
        r"=(?:5F|2[BCDEF]|3[DF]|\r?\n\w|(?:\\r)?\\n\w)|(?:=|\\u003[dD])\?[\w\-]+\?[QqBb]\?",
        r"\w(?:\^[&|<>()%!=,;_\-.:/@+~{}]|`[_\-.+/=@$:])[\w=]",
        rf"\\u0026(?:{_HTML_NAMES.decode()}|#[0-9xX])",
        r"bytes_?[vV]alue",
        _OTHERS,
    )
)
"""RE2 over bytes: what a text holds that is written otherwise than JSON has to write it."""


class Form:
    """A text as it is given, or as it was read from another form."""

    __slots__ = ("_pieces", "_starts", "data", "parent")

    def __init__(
        self, data: bytes, parent: Form | None = None, pieces: tuple[Sequence[bytes], Sequence[bytes]] = ((), ())
    ) -> None:
        self.data = data
        self.parent = parent
        self._pieces = pieces
        """What the parent consists of, and this: by turns a text of both, and one that was replaced."""
        self._starts: tuple[list[int], list[int]] | None = None

    def replaced(self, pieces: list[bytes], meanings: Sequence[bytes]) -> Form:
        """Return this form with other texts for every second one of the pieces that it consists of."""
        others = pieces.copy()
        others[1::2] = meanings
        return Form(b"".join(others), self, (pieces, others))

    def origin(self, start: int, stop: int) -> tuple[int, int]:
        """Return where a part of this form, at least one byte long, stands in the given text."""
        form = self
        while form.parent is not None:
            if form._starts is None:
                form._starts = _starts(form._pieces[0]), _starts(form._pieces[1])
            before, now = form._starts
            first, last = bisect_right(now, start) - 1, bisect_right(now, stop - 1) - 1
            start = before[first] + (0 if first % 2 else start - now[first])
            stop = before[last + 1] if last % 2 else before[last] + stop - now[last]
            form = form.parent
        return start, stop


def _starts(pieces: Sequence[bytes]) -> list[int]:
    return [0, *accumulate(map(len, pieces))]


def unfolded(form: Form) -> Form | None:
    """Return the text with one layer of escapes taken off; None for one that has none."""
    for pattern, trace, read in _LAYERS:
        if regex(trace).search(form.data) is None:  # some times as quick
            continue
        pieces = pattern.split(form.data)
        if len(pieces) > 1:
            other = form.replaced(pieces, [*map(_meanings(read).__getitem__, pieces[1::2])])
            if other.data != form.data:
                return _without_encoded_words(other)
    return None


# Not those of keys and of base64, 64, 70 and 76, whose last line would take what stands behind it.
_WIDTHS = (72, 78, 79, 80, 90, 96, 100, 110, 120, 132, 140, 150, 160, 180, 200)
_FULL_WIDTH = b"|".join(rb"(?<=[\n\"'][^\n]{%d})|(?<=\A[^\n]{%d})" % (width, width) for width in _WIDTHS)
_LINE_ENDS = LazyPattern(rb"\r?\n(?=[\w\-+/=.])")
_WRAPPED = LazyPattern(rb"(?<=[\w\-+/=.:])(?:" + _FULL_WIDTH + rb")")


def unwrapped(form: Form) -> Form | None:
    """Return the text without line ends where a terminal broke words; None where no line is that long."""
    data, end = form.data, 0
    pieces: list[bytes] = []
    # From the ends of lines, which are few: the widths would be tried behind every letter.
    for line_end in _LINE_ENDS.finditer(data):
        start = line_end.start()
        if _WRAPPED.match(data, start) is not None:
            pieces += (data[end:start], line_end.group())
            end = line_end.end()
    return form.replaced([*pieces, data[end:]], [b""] * (len(pieces) // 2)) if pieces else None


def goes_on(data: bytes, at: int) -> bool:
    """Return true if an escape stands for nothing, or for what may belong to the word before it."""
    if data[at - 1 : at] == b"=" and data[at : at + 1] in (b"\r", b"\n"):
        at -= 1
    for pattern, _trace, read in _LAYERS:
        escape = pattern.match(data, at)
        if escape is not None:
            meaning = read(escape.group())
            meaning = _decoded(meaning) if _OTHER_ESCAPE.fullmatch(meaning) is not None else meaning
            if meaning in (b"\n", b"\r"):  # a terminal may have broken it
                return data[escape.end() : escape.end() + 1] not in b" \t\r\n\"'"
            return not meaning.strip(b"\x00") or meaning[:1].isalnum() or meaning[:1] in b"_-+/=.!$@#~^*%"
    return _LINE_ENDS.match(data, at) is not None and _WRAPPED.match(data, at) is not None


def read_first(data: bytes) -> Form:
    """Return the first form of a text: the encoded words of mail in it are read."""
    return _without_encoded_words(Form(data))


def _without_encoded_words(form: Form) -> Form:
    pieces = _ENCODED_WORDS.split(form.data) if b"=?" in form.data else [form.data]
    return form.replaced(pieces, [*map(_decoded_word, pieces[1::2])]) if len(pieces) > 1 else form


def _decoded_word(word: bytes) -> bytes:
    """Return the text of an encoded word: <https://www.rfc-editor.org/rfc/rfc2047>."""
    _charset, coding, content, _rest = word.split(b"?", 4)[1:]
    try:
        return a2b_base64(content + b"==") if coding in b"bB" else a2b_qp(content, header=True)
    except ValueError:
        return word


def forms(data: bytes) -> Iterator[Form]:
    """Yield the text itself, and each of its forms."""
    form: Form | None = read_first(data)
    for _ in range(MAX_FORMS):
        if form is None:
            return
        yield form
        form = unfolded(form)


class _Meanings(dict[bytes, bytes]):
    """What escapes stand for, each of them read once."""

    def __init__(self, read: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, escape: bytes) -> bytes:
        meaning = self._read(escape)
        if len(self) < _MAX_CACHED:
            self[escape] = meaning
        return meaning


@cache
def _meanings(read: Callable[[bytes], bytes]) -> _Meanings:
    return _Meanings(read)


_CONTROLS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r", b"e": b"\x1b"}


def _unescaped(escape: bytes) -> bytes:
    """Return the text that a backslash and the bytes of its escape stand for."""
    kind, rest = escape[1:2], escape[2:]
    if escape[:1] == b"'":
        return b"'"
    if rest and (kind in b"uU" or rest[:1] == b"{"):
        return _character(int(rest.strip(b"u{}"), 16)) or escape
    if kind == b"x":
        return bytes([int(rest, 16)])
    if kind.isdigit():
        css = len(escape) > 5 or escape.endswith(b" ")
        return bytes([int(escape[1:], 16 if css else 8)])
    return b"" if kind in b"\r\n" else _CONTROLS.get(kind, kind)


_ESCAPE_MEANINGS = {
    b"+": b" ", b"'\"'\"'": b"'", b'""': b'"', b"''": b"'", b"`n": b"\n", b"`r": b"\r", b"`t": b"\t",
    b"#011": b"\t", b"#012": b"\n", b"#013": b"\v", b"#014": b"\f", b"#015": b"\r", b"#033": b"\x1b",
    b"^I": b"\t", b"^J": b"\n", b"^M": b"\r", b"^[": b"\x1b",
    b"=09": b"\t", b"=0A": b"\n", b"=0D": b"\r", b"=3D": b"=", b"=3A": b":", b"=22": b'"',
    b"=5F": b"_", b"=2B": b"+", b"=2C": b",", b"=2D": b"-", b"=2E": b".", b"=2F": b"/", b"=3F": b"?",
}  # fmt: skip


def _decoded(escape: bytes) -> bytes:
    """Return the text that an escape of a URL or of HTML stands for.

    An escape of a terminal, which parts words, gives a NUL; what cannot be seen, a NUL among it, gives nothing.
    """
    if escape.startswith(b"%u"):
        return _character(int(escape[2:], 16))
    if escape.startswith(b"%"):
        return bytes(int(digits, 16) for digits in _BYTES.findall(escape)) + b" " * escape.endswith(b"+")
    if escape[:1] in b"\"'`#^=+":
        return _ESCAPE_MEANINGS.get(escape) or (escape[1:].strip() if escape[:1] in b"^`" else b"")
    if escape.startswith(b"&"):
        name = escape.rstrip(b";").replace(b"&", b";").split(b";")[-1]
        if name.startswith(b"#"):
            return _character(int(name[2:], 16) if name[1:2] in b"xX" else int(name[1:])) or escape
        return _HTML_CHARACTERS[name]
    return b"\x00" if escape.startswith((b"\x1b", b"\xc2\x9b", b"<")) else b""


def _character(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b""


_BACKSLASH_ESCAPE = LazyPattern(rb"('\\''|" + _BACKSLASHES + b")")
_OTHER_ESCAPE = LazyPattern(
    b"(" + b"|".join((_NUMBERS, _TERMINAL, _INVISIBLE, _SHELLS, _LINE_ESCAPES, _HIGHLIGHTS, _QUOTES_INSIDE)) + b")"
)
_TRACE = (
    rf"{_OTHERS}|\"\"\w|''\w|'\"'\"'|[\"'][ \t]{{0,8}}\r?\n[ \t]{{0,40}}[\"']|`[nrt][\w\-]|#0(?:1[1-5]|33)|\^[IJM\[]"
    rf"|=(?:0[9AD]|3[ADF]|22|5F|2[BCDEF]|\r?\n\w|\?)|</?(?:{_TAGS})[\s>/]|\w[\^`]"
)
_LAYERS = ((_BACKSLASH_ESCAPE, r"\\", _unescaped), (_OTHER_ESCAPE, _TRACE, _decoded))


_ESCAPES = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Escapes of JSON: a whole pair, one half (the group), or any other."""


def mended(line: bytes) -> bytes:
    """Return JSON with U+FFFD for each escaped half, of the same length; the same object where there is none."""
    if b"\\u" not in line:
        return line
    halves = [escape.span() for escape in _ESCAPES.finditer(line) if escape[1] is not None]
    if not halves:
        return line
    whole = bytearray(line)
    for start, end in halves:
        whole[start:end] = rb"\ufffd"
    return bytes(whole)


def readable(text: str) -> str:
    """Return the text as UTF-8 can hold it: two halves that belong together are their character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
