"""What a message says without its values: a template, and the id that it has on every machine.

Invariant: a template depends on its message alone, on no other message, order or run; `PASSES` and two lengths are the
whole definition, and the database derives its own expression from the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import re2

VERSION = 1
"""Goes into every id: other passes make other ids."""
SLOT = "<*>"
"""Stands for a value."""
MAX_CHARS = 1_000
"""So much of a message is looked at for its template; what follows is output, traces, quoted pages."""
MAX_TEMPLATE_CHARS = 500
"""So much of what is left is the template. The message breaks off where its values happen to be long or short; the
template breaks off before that, so that one text with values of other lengths stays one template.
"""

_TOP_LEVEL = (
    "com|org|edu|gov|mil|dev|ai|cloud|local|localdomain|internal|lan|corp|"
    "au|br|ca|ch|cn|cz|de|dk|es|eu|fr|hk|hu|il|jp|kr|mx|nl|nz|pl|pt|ro|ru|se|sg|tr|tw|uk|us|za"
)
_EXTENSIONS = (
    "bak|cfg|conf|cpp|crt|css|csv|db|dll|docx?|exe|gif|gz|html?|ini|ipynb|jar|java|jpe?g|js|jsonl?|jsx|key|lock|log|md|"
    "parquet|pdf|pem|pid|png|properties|py|rb|rs|sh|so|sock|sqlite|sql|svg|tar|tmp|toml|tsx?|txt|war|xlsx?|xml|ya?ml|zip"
)
_UNITS = (
    "[KMGTP]?i?[Bb](?:its?|ytes?)?|bytes?|[kmgt]b|k|ns|us|µs|ms|s|m|h|d|nanos(?:econds)?|micros(?:econds)?|"
    "millis(?:econds)?|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|AM|PM|am|pm|UTC|GMT"
)
_DAYS = "(?:Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri|Sat|Sun|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTHS = (
    "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|January|February|March|April|June|July|August|September|"
    "October|November|December)"
)

_VALUES = (
    # https://api.example.com/v1/x?y=z
    r"[A-Za-z][A-Za-z0-9+.\-]*://(?:[^\s\"'<>()\[\]{}|,;]*[\w/=&%#~\-])?",
    # who@example.com
    r"[\w.+%\-]+@[\w\-]+(?:\.[\w\-]+)+",
    # what redaction left
    r"\[REDACTED:\w+:\w+\]",
    # one quoted word; several are a text of their own, with words that stay
    r"\"[^\s\"]*\w[^\s\"]*\"",
    r"\B'[^\s']*\w[^\s']*'\B",
    r"`[^\s`]*\w[^\s`]*`",
    # C:\x, \\host\x, /var/x, a/b/c, a/b.py, b.py
    r"\b[A-Za-z]:\\[^\s\"'<>|]*",
    r"\\\\[\w.\-]+\\[^\s\"'<>|]*",
    r"\B/[\w.@%+~$#:=/\-]*[\w/$]",
    r"\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Za-z_/]+",
    r"[\w@.\-]+(?:/[\w@.\-]+){2,}/?",
    r"\w[\w@.\-]*(?:/[\w@.\-]+)*\.(?:" + _EXTENSIONS + r")\b",
    # ab:cd:ef:ab:cd:ef, fe80::a:b
    r"\b(?:[0-9a-fA-F]{1,4}:){3,7}(?:[0-9a-fA-F]{1,4})?\b",
    # host.example.com, host.example:8080
    r"[A-Za-z][\w\-]*(?:\.[A-Za-z][\w\-]*)+:[0-9]+",
    r"[A-Za-z][\w\-]*(?:\.[\w\-]+)*\.(?:" + _TOP_LEVEL + r")\b",
    # any word with a digit in it and what is tied to it: 12, <1, 0x1f, blk_-12, v1.2-rc, 10.0.0.1:80, 08:00, aGk3eA==
    r"<?[+\-]?(?:[A-Za-z_]+[._/+~\-]+)*[A-Za-z_]*[0-9]\w*(?:[._@/+~#%\-]+\w+|:+[0-9]\w*)*(?:={1,2}\B)?",
    # hexadecimal without a digit, by chance
    r"\b(?:[0-9a-f]{8,}|[0-9A-F]{8,})\b",
    r"\b(?:true|false|null|nil|undefined|NaN|True|False|None|TRUE|FALSE|NULL)\b",
)


class Pass(NamedTuple):
    """A pattern, and what replaces its matches."""

    pattern: str
    """RE2."""
    replacement: str
    needs: str = ""
    """Characters that every match holds, and that no pass brings in: a message without them is spared the pass."""


PASSES: tuple[Pass, ...] = (
    # A key in JSON is no value.
    Pass(r"\"(\w+)\":", r"\1:", '":'),
    Pass("|".join(_VALUES), SLOT),
    # name=value, name=Value{12}
    Pass(r"=(?:<\*>|[^\s,;&()\[\]{}'\"<>|=])+(?:\([^\s()]*\)|\[[^\s\[\]]*\]|\{[^\s{}]*\})?", f"={SLOT}", "="),
    # name="more than a word"
    Pass(r"=(?:\"[^\"]*\"|'[^']*')", f"={SLOT}", "="),
    # The same size is 900 bytes or 1.2 KB, the same wait 90 s or 2 min.
    Pass(rf"<\*>(?: ?(?:{_UNITS})\b|%)", SLOT),
    Pass(rf"\b(?:{_DAYS},? )?{_MONTHS}\.?,? <\*>|\b{_DAYS},? <\*>", SLOT),
    # A value may be missing, and a list is one value, however long it is.
    Pass(r" \(\)", f" ({SLOT})", "()"),
    Pass(r"([(\[{])(?:[\w.<>*\-]+, ?)+[\w.<>*\-]+([)\]}])", rf"\1{SLOT}\2"),
    Pass(r"<\*>(?:(?:, ?|[ ;:|/+x\-])?<\*>)+", SLOT),
)
"""One after the other, over one line of single spaces.

No pattern tells one digit from another. The first `_WORDWISE` passes match no space.
"""
_WORDWISE = 3

_SAME_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_MOST_KNOWN = 200_000
"""Words and lines remembered within one call, so that hostile input cannot fill the memory."""


def template(message: str) -> str:
    """The message with `<*>` for numbers, ids, names in quotes, paths, addresses, times and sizes, on one line."""
    return templates((message,))[0]


def fingerprint(message: str) -> str:
    """The id of the message's template, as in the column `fingerprint` of the view `errors`."""
    return fingerprint_of(template(message))


def fingerprint_of(of_template: str) -> str:
    """Version of the passes, `-`, and the first 12 hexadecimal digits of the SHA-256 of the template."""
    from hashlib import sha256  # 3 ms that only who asks for it should pay

    return f"{VERSION}-{sha256(of_template.encode('utf-8', 'replace')).hexdigest()[:12]}"


def templates(messages: Iterable[str]) -> list[str]:
    """The template of each, in order.

    Messages that differ in digits alone have one template, so digits are made equal first and what is known by then is
    not masked again; words are masked one by one, because most of them come again and again.
    """
    words: dict[bytes, bytes] = {}
    lines: dict[bytes, str] = {}
    drafts: dict[bytes, str] = {}
    out: list[str] = []
    for message in messages:
        line = message[:MAX_CHARS].encode("utf-8", "replace").translate(_SAME_DIGIT)
        found = lines.get(line)
        if found is None:
            parts = line.split()
            for place, word in enumerate(parts):
                masked = words.get(word)
                if masked is None:
                    if len(words) >= _MOST_KNOWN:
                        words.clear()
                    masked = words[word] = _passed(word, 0, _WORDWISE)
                parts[place] = masked
            draft = b" ".join(parts)
            found = drafts.get(draft)
            if found is None:
                found = drafts[draft] = tidy(draft.decode("utf-8", "replace"))[:MAX_TEMPLATE_CHARS]
            if len(lines) >= _MOST_KNOWN:
                lines.clear()
                drafts.clear()
            lines[line] = found
        out.append(found)
    return out


def tidy(of_template: str) -> str:
    """The template after slots were put into it: units, dates and lists around them are part of them."""
    return _passed(of_template.encode("utf-8", "replace"), _WORDWISE, len(PASSES)).decode("utf-8", "replace")


def _passed(text: bytes, first: int, last: int) -> bytes:
    for regex, replacement, needs in _compiled()[first:last]:
        if needs in text:
            text = _replaced(text, regex, replacement)
    return text


def _replaced(text: bytes, regex: Any, replacement: bytes) -> bytes:
    """As `regex.sub`, in a third of its time where the replacement is a plain one."""
    pieces: list[bytes] = []
    end = 0
    for match in regex.finditer(text):
        start, stop = match.span()
        pieces += (text[end:start], match.expand(replacement) if b"\\" in replacement else replacement)
        end = stop
    if not pieces:
        return text
    pieces.append(text[end:])
    return b"".join(pieces)


@cache
def _compiled() -> tuple[tuple[Any, bytes, bytes], ...]:
    options = re2.Options()
    # A ceiling for the automaton, not an allocation.
    options.max_mem = 64 << 20
    return tuple(
        (re2.compile(pattern.encode(), options), replacement.encode(), needs.encode())
        for pattern, replacement, needs in PASSES
    )
