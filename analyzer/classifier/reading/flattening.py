"""Texts of errors as rules read them: without the prefixes, frames, quotes and escapes that other programs added.

Invariant: facts are stored as they came; a text is flattened when it is judged, so that old facts are judged as new
ones. A flattened text says the same in the same order, one sentence a line, and flattening it again changes nothing
that a rule reads.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import re2

from analyzer.redaction.automata import LazyPattern, kept_until_fork, spans_in
from analyzer.redaction.unfolding import Form, forms, unfolded

READING = 3
"""The version of this reading; a change that reads any text differently makes another ruleset."""

_LEVEL = r"(?i:trace|debug|info|notice|warn(?:ing)?|error|err|fatal|critical|severe|panic)"
_DAY = r"\d{4}[-/.]\d\d[-/.]\d\d"
_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = rf"(?:{_DAY}(?:[T ]{_TIME})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?|{_TIME})"
_LOGGER = r"[A-Za-z_][\w-]*(?:[.:/][\w-]+)*"
_DOTTED = r"[a-z_][a-z0-9_-]*(?:[./][a-z0-9_-]+)+"
_BRACKETED = rf"\[(?!{_LEVEL}\])[\w.:/-]{{1,60}}\]"
_LOG = (
    # 2027-01-02T10:11:12.345Z [worker-3] ERROR openai.client: …; 10:11:12 | error | agent | …
    rf"\[?{_STAMP}\]?(?: ?[-|:] ?| )(?:{_BRACKETED}(?: ?[-|:] ?| ))?"
    rf"(?:(?:{_LOGGER} - )?\[?{_LEVEL}\]?(?: ?[-|:] ?| )"
    rf"(?:{_BRACKETED}(?: ?[-|:] ?| )|{_DOTTED}(?:: | ?[-|] )|{_LOGGER} \| )?)?"
    # Jan  2 10:11:12 host agent[712]: …
    r"|[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d [\w.-]+ [\w./-]+(?:\[\d+\])?: "
    # E0102 10:11:12.345678   71 client.go:45] …
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\] "
    # level=error msg="…"
    r"|(?:(?:time|ts|level|logger|caller|component)=(?:\"[^\"]*\"|\S+) )+(?:msg|message|err|error)="
    # [ERROR] [agent] …; [agent:error] …
    rf"|\[(?:[\w./-]{{1,40}}[:| ])?{_LEVEL}(?:[:| ][\w./-]{{1,40}})?\](?: ?[-|:] ?| )(?:{_BRACKETED}:? )?"
)
_WORKERS = (
    "agent|assistant|task|step|session|turn|worker|job|workflow|pipeline|run|conversation|chat|completion|generation|llm"
    "|query|prompt|stage|iteration"
)
_WORKER = rf"(?:(?:sub|main |the |your |this )?(?:{_WORKERS}))"
_AGENT = (
    rf"(?i:{_WORKER}"
    r"(?: (?:[\"'`][^\"'`\n]{1,40}[\"'`]|#?\d{1,6}|run|call|loop|turn|step|request|execution|process))?"
    r"(?: (?:has|was))? (?:failed|errored|stopped|ended|crashed|halted|failure|error)"
    r"(?: (?:with|due to|because of)(?: an?| the)?(?: error)?| after \d+ (?:attempts?|tries|retries))?: "
    r"|(?:error|failed|failure) (?:running|executing|calling|invoking|in|from|while running)"
    r" (?:the |an? )?(?:sub-?|main )?(?:agent|task|step|llm|model|provider)"
    r"(?: [\"'`]?[\w./-]{1,40}[\"'`]?)?: )"
)
_MARKS = "⎿⏺●•✗✘✖❌⛔🛑⚠️🔴›»▌▐➜→"
_FRAME = "│┃║▏▕┆┊|"
_BORDER = frozenset("─━═╌┄-=_*╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝├┤┠┨╠╣│┃║+| \t")
_DRAWN = frozenset("─━═╌┄╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝├┤┠┨╠╣│┃║")
_CORNERS = "─━═╌┄╭╮╰╯┌┐└┘┏┓┗┛╔╗╚╝├┤┠┨╠╣"

_FIRST_WORDS = frozenset(
    f"the your this main sub error failed failure sub-agent {_WORKERS.replace('|', ' ')} "
    f"sub{_WORKERS.replace('|', ' sub')}".split()
)
"""The first words of an agent's own prefix."""
_ESCAPED = r"\\[\\\"'nrtu/x]|&(?:#|quot;|amp;|lt;|gt;|nbsp;|apos;)|%[2-7][0-9a-fA-F]"

_PREFIX = LazyPattern(rf"\A(?:{_LOG}|{_AGENT})")
_PREFIX_OF_LOG = LazyPattern(rf"\A(?:{_LOG})")
_QUOTES = LazyPattern(
    r"""(?s)\A(?:([\w.]*)\()?[bru]?(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.|(?<=\w)'(?=\w))*)'|`([^`]*)`),?(\))?\Z"""
)
"""Quotes around a whole text; group 1 is the class name of a repr."""
_EMPTY_NAMES = ("", "Exception", "Error", "RuntimeError", "BaseException", "str")
_TITLES = ("error", "errors", "warning", "fatal", "failure", "api error", "fatal error", "exception")
_FRAMES = LazyPattern(
    r"\A(?:\s*at (?:async |new )?(?:\S+ \(.*\)|\S+\(.*\).*|\S*:\d+:\d+\)?|<anonymous>)"
    r"|\s*File \"[^\"]*\", line \d+.*|Traceback \(most recent call last\):|\s*\.\.\. \d+ (?:more|common).*"
    r"|(?:During handling of the above|The above exception was the).*|\s*[\^~]+\s*|\s+\S+\.(?:go|rs):\d+.*"
    r"|\s+\d+: (?:0x[0-9a-f]+ - )?[\w<>:.&' ]+|\s*[│|] +(?:❱ *)?\d+ [│|].*)\Z"
)
_FRAMES_BEGIN = frozenset(" aFTD.^~│|")
_SINK = LazyPattern(r"\A(?:goroutine \d+ \[|stack backtrace:|Stack trace:\s*\Z)")
_ENDED = (".", "!", "?", ":", ";", "}", "]", "。", "！", "？")
_FIELD = LazyPattern(r"\A[\w.-]{1,40}: ")
_DENIED = LazyPattern(
    rb"""["']?\b(?!(?i:\w*error|message|msg|reason|details?)\b)[A-Za-z_]\w{2,40}["']?\s?[:=]\s?(?:[Ff]alse|undefined|null|None)"""
    rb"""(?=\s*(?:[,;})\]\n]|\Z)),?"""
)
"""A field of an object that says no, or nothing: `timedOut: false` is no timeout."""
_NOTHING = (b"alse", b"undefined", b"null", b"None")
_LEAST_WIDTH, _WIDEST = 36, 200
_MOST_LAYERS = 4
_OPENING = frozenset("\"'`[|+ ")
_CLOSING = frozenset("\"'`), ")
_AFTER_A_YEAR = frozenset("-/.")

_CHARACTERS = {
    **dict.fromkeys(map(ord, "‘’‚‛′ʼ＇´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″＂«»"), '"'),
    **dict.fromkeys(
        map(ord, "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f"), " "
    ),
    **dict.fromkeys(map(ord, "\u205f\u3000\t"), " "),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\ufe0f\x00"), None),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012"), "-"),
    ord("\u017f"): "s",
    ord("\u212a"): "k",
    **dict.fromkeys(map(ord, "\u2028\u2029\x85\x0b\x0c\r"), "\n"),
}
_ASCII_CHARACTERS = tuple(chr(code) for code in _CHARACTERS if code < 128)
_DRESSING = frozenset(map(chr, _CHARACTERS)) | frozenset(_MARKS + _FRAME) | _DRAWN
"""Characters, printable or not, that show that something was put around a text."""
_HUMPS = LazyPattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@kept_until_fork
def _searches(pattern: str) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    compiled = re2.compile(pattern.encode(), options)
    return lambda text: spans_in(compiled, text)


def flat(text: str) -> bytes:
    """Return a message as rules read it, in UTF-8."""
    return _without_denied_fields(text.encode()) if _is_bare(text) else _flat_bytes(text)


@lru_cache(maxsize=1_024)
def _flat_bytes(text: str) -> bytes:
    return _without_denied_fields(_flattened(text).encode("utf-8", "replace"))


def _without_denied_fields(text: bytes) -> bytes:
    """Remove the fields that say no from a flattened text."""
    if any(word in text for word in _NOTHING):
        text = _DENIED.sub(b"", text)
    return text


def _is_bare(text: str) -> bool:
    """Return true if nothing was put around a text.

    Most errors are like that, and flattening them would be slow.
    """
    if "\n" in text or not text.isprintable() or "  " in text or "\\" in text or "&" in text or "%" in text:
        return False
    if not text.isascii() and not _DRESSING.isdisjoint(text):
        return False
    if text[:1] in _OPENING or _may_have_prefix(text):
        return False
    last = text[-1:]
    return last not in _CLOSING or (last == ")" and '("' not in text and "('" not in text)


def _may_have_prefix(line: str) -> bool:
    """Return true if a line may begin with the prefix of a log or an agent, by its first letters."""
    if not line[:1].isalpha():
        return line[:1] == "[" or line[4:5] in _AFTER_A_YEAR or line[2:3] == ":"
    if (
        not line[:12].replace(" ", "").isalpha()
        and (  # most texts begin with letters only, and none of these can hold for them
            line[1:2].isdigit() or "=" in line[:10] or (line[3:4] == " " and line[4:5].isdigit())
        )
    ):
        return True
    return ": " in line and line[:16].split(" ", 1)[0].lower() in _FIRST_WORDS


@lru_cache(maxsize=64)
def flat_output(text: str) -> bytes:
    """Return the output of a command as rules read it, line for line.

    Quotes and frames stay, because they show that an error is only mentioned.
    """
    raw = text.encode("utf-8", "replace")
    if _searches(r"\S  |[^\x20-\x7e\n]|(?m:^)[\[\dA-Z]\S{0,3}\d|(?m:^)\[|(?m:^)(?:time|ts|level)=")(raw) is None:
        return raw
    return "\n".join(map(_flat_line_of_output, text.translate(_CHARACTERS).split("\n"))).encode("utf-8", "replace")


def _flat_line_of_output(line: str) -> str:
    if "  " in line:
        inner = line.lstrip(" ")
        line = line[: len(line) - len(inner)] + " ".join(inner.split(" ") if "  " not in inner else inner.split())
    prefix = _PREFIX_OF_LOG.match(line)
    return line[prefix.end() :] if prefix is not None and prefix.end() < len(line) else line


def words_of(name: str) -> str:
    """Return the words of a name, in lower case:
    `OPENAI_RATE_LIMIT` and `OpenaiRateLimit` are `openai rate limit`.
    """
    return " ".join(_HUMPS.findall(name[:120])).lower()


def unescaped(text: str) -> str:
    """Remove the quotes around a whole text, the name and brackets of its repr, and their escapes."""
    for _ in range(_MOST_LAYERS):
        quoted = _QUOTES.match(text) if text[-1:] in _CLOSING else None
        if quoted is not None and (quoted[1] is None) == (quoted[5] is None):
            name, *quotations, _ = quoted.groups()
            inner = next(quotation for quotation in quotations if quotation is not None)
            name = "" if name in (None, *_EMPTY_NAMES) else f"{name}: "
        elif '{\\"' in text:
            name, inner = "", text
        else:
            return text
        if "\\" in inner:
            form = unfolded(Form(inner.encode("utf-8", "replace")))
            inner = inner if form is None else form.data.decode("utf-8", "replace")
        text = f"{name}{inner.strip()}"
    return text


def _flattened(text: str) -> str:
    text = unescaped(text.strip())
    raw = text.encode("utf-8", "replace") if "\\" in text or "&" in text or "%" in text else b""
    if raw and _searches(_ESCAPED)(raw) is not None:
        for form in forms(raw):
            raw = form.data
        text = raw.decode("utf-8", "replace")
    if not text.isascii() or any(character in text for character in _ASCII_CHARACTERS):
        text = text.translate(_CHARACTERS)  # translating each character is slow
    if "\n" not in text:
        return unescaped(_bare(text))
    lines = _without_stacks(text.split("\n"))
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines[1:] if line.strip()), default=0)
    return unescaped("\n".join(_rejoined([_bare(line) for line in lines], min(indent, 8))))


def _bare(line: str) -> str:
    """Remove frames, marks, prefixes and repeated blanks from a line; the rows of a table stay."""
    line = line.strip()
    if not line:
        return ""
    if line[0] in _FRAME and line[-1] in _FRAME and len(line) > 1 and "|" not in line[1:-1]:
        line = line[1:-1].strip()
    elif line[0] in "│┃║▏▌":
        line = line[1:].strip()
    if line and _BORDER.issuperset(line) and ("|" not in line or not _DRAWN.isdisjoint(line)):
        return ""
    if line and (line[0] in _CORNERS or line[-1] in _CORNERS):
        line = line.strip(_CORNERS).strip()
        line = "" if line.lower() in _TITLES else line
    line = line.lstrip(_MARKS).lstrip() if line and line[0] in _MARKS else line
    if "  " in line:
        line = " ".join(line.split())
    for _ in range(2):
        prefix = _PREFIX.match(line) if _may_have_prefix(line) else None
        if prefix is None or prefix.end() >= len(line):
            break
        line = line[prefix.end() :].lstrip()
    return line


def _without_stacks(lines: list[str]) -> list[str]:
    """Remove the frames of stacks, which say where a program was and not what happened to it."""
    kept: list[str] = []
    in_frame = False
    for line in lines:
        begin = line[:1]
        if kept and begin in "gsS" and _SINK.match(line) is not None:
            break
        if begin in _FRAMES_BEGIN and _FRAMES.match(line) is not None:
            in_frame = line.lstrip().startswith("File ")
        elif in_frame and line.startswith("   "):
            in_frame = False  # the line of source below it
        else:
            in_frame = False
            kept.append(line)
    return kept if any(line.strip() for line in kept) else lines


def _rejoined(lines: list[str], indent: int) -> list[str]:
    """Join lines that a program wrapped at its width, and drop blank lines.

    A wrapping program fills its lines: the first word of the next line would not have fitted.
    """
    done: list[str] = []
    block: list[str] = []
    for line in (*lines, ""):
        if line:
            block.append(line)
        elif block:
            done += _joined(block, indent)
            block = []
    return done


def _joined(block: list[str], indent: int) -> list[str]:
    width = max(_LEAST_WIDTH, *map(len, block)) - indent
    if len(block) < 2 or width > _WIDEST:
        return block
    done = [block[0]]
    for before, line in pairwise(block):
        goes_on = line[0].islower()
        # A sentence that goes on may have lost a part of its first line.
        room = width * 3 // 4 if goes_on and not before.endswith(_ENDED) else width
        full = len(before) + 1 + len(line.split(" ", 1)[0]) > room
        if full and (goes_on or not before.endswith(_ENDED)) and _FIELD.match(line) is None:
            done[-1] += f" {line}"
        else:
            done.append(line)
    return done
