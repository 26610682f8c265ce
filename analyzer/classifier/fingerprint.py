"""Templates of messages, which leave out their values, and the id that a template has on every machine.

Invariant: a template depends on its message only, on no other message, order or run; `PASSES` and two lengths are the
whole definition, and the database derives its own expression from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import re2

VERSION = 1
"""A part of every id, because other passes make other ids."""
SLOT = "<*>"
"""The sign that replaces a value."""
MAX_CHARS = 1_000
"""The characters of a message that make its template; output,
traces and quoted pages follow after them.
"""
MAX_TEMPLATE_CHARS = 500
"""The longest template. Where `MAX_CHARS` cuts a message depends on the length of its values; the
template ends before that, so that a text with longer or shorter values keeps its template.
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
    """A pattern, and the text that replaces its matches."""

    pattern: str
    """An RE2 pattern."""
    replacement: str
    needs: str = ""
    """Characters that every match holds and that no pass adds:
    a message without them skips the pass.
    """


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
"""The passes in their order, over one line of single spaces.

No pattern tells one digit from another. The first `_WORDWISE` passes match no space.
"""
_WORDWISE = 3

_SAME_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_MOST_KNOWN = 200_000
"""Words and lines that one call remembers, so that hostile input cannot fill the memory."""


def template(message: str) -> str:
    """Replace numbers, ids, names in quotes, paths, addresses,
    times and sizes by `<*>`, on one line.
    """
    return templates((message,))[0]


def fingerprint(message: str) -> str:
    """Return the id of the message's template, as in the column `fingerprint` of the view `errors`."""
    return fingerprint_of(template(message))


def fingerprint_of(of_template: str) -> str:
    """Return the version of the passes, `-`,
    and 12 hexadecimal digits of the SHA-256 of a template.
    """
    from hashlib import sha256  # 3 ms that only its callers should pay

    return f"{VERSION}-{sha256(of_template.encode('utf-8', 'replace')).hexdigest()[:12]}"


def templates(messages: Iterable[str]) -> list[str]:
    """Return the template of each message, in order.

    Messages that differ only in digits have one template, so digits are made equal first, and a line that was masked
    before is looked up. Words are masked one by one, because most of them come again and again.
    """
    words: dict[bytes, bytes] = {}
    lines: dict[bytes, str] = {}
    drafts: dict[bytes, str] = {}
    out: list[str] = []
    for message in messages:
        line = message[:MAX_CHARS].encode("utf-8", "replace").translate(_SAME_DIGIT)
        masked_line = lines.get(line)
        if masked_line is None:
            parts = line.split()
            for position, word in enumerate(parts):
                masked = words.get(word)
                if masked is None:
                    if len(words) >= _MOST_KNOWN:
                        words.clear()
                    masked = words[word] = _passed(word, 0, _WORDWISE)
                parts[position] = masked
            draft = b" ".join(parts)
            masked_line = drafts.get(draft)
            if masked_line is None:
                masked_line = drafts[draft] = tidy(draft.decode("utf-8", "replace"))[:MAX_TEMPLATE_CHARS]
            if len(lines) >= _MOST_KNOWN:
                lines.clear()
                drafts.clear()
            lines[line] = masked_line
        out.append(masked_line)
    return out


def tidy(of_template: str) -> str:
    """Merge slots with the units, dates and lists around them."""
    return _passed(of_template.encode("utf-8", "replace"), _WORDWISE, len(PASSES)).decode("utf-8", "replace")


def _passed(text: bytes, first: int, last: int) -> bytes:
    for regex, replacement, needs in _compiled()[first:last]:
        if needs in text:
            text = _replaced(text, regex, replacement)
    return text


def _replaced(text: bytes, regex: Any, replacement: bytes) -> bytes:
    """Replace as `regex.sub` does, in a third of its time for a replacement without groups."""
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
