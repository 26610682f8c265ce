"""Private keys between their first and their last line, whatever stands before the lines of a key and behind them."""

from __future__ import annotations

import re

from analyzer.redaction.automata import LazyPattern
from analyzer.redaction.values import is_random

# A form writes a blank as a plus sign, which no form of the text reads once that has been written into a URL.
BEGIN = r"-{4,5}[ +]?BEGIN[ +][A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?[ +]?-{4,5}"
END = BEGIN.replace("BEGIN", "END")
_APART = 160
"""Bytes between two lines of a key: numbers, the name of a file, a time, headers."""
_LONGEST = 32_768
_PARTS = LazyPattern(rb"[A-Za-z0-9+/]{12,}={0,2}|-{4,5}[ +]?(?:(BEGIN)|END)[ +][A-Z0-9 +]{0,60}-{4,5}")
_WORDS = LazyPattern(rb"[a-z/]+|[A-Z/]+|[0-9/]+|[A-Z]?[a-z/]+[0-9]*|[0-9a-f]{12,39}")
_LAST = LazyPattern(rb"[\r\n]{1,4}[^\r\nA-Za-z0-9+/]{0,40}[A-Za-z0-9+/]{1,11}={0,2}\s{0,8}\Z")
_DEEPER = LazyPattern(rb"\\[nrtu]|%0[aAdD9]|&#")
"""Ends of lines that are written as escapes: the key is read in the form in which they are none."""


def from_first_line(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Return the key whose first line is at `start`; None where its lines are found in another form of the text."""
    end = stop
    for part in _PARTS.finditer(data, stop, stop + _LONGEST):
        if part.start() > end + _APART or part.group(1) is not None:
            break
        if _DEEPER.search(data, end, part.start()) is not None:
            return None
        if part.group().startswith(b"-"):
            return start, part.end()
        if _is_line(part.group()):
            end = part.end()
    last = _LAST.match(data, end) if end > stop else None
    return start, last.end() if last is not None else end


def up_to_last_line(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Return the key whose last line is at `start`: its first line was cut off."""
    least = max(0, start - _LONGEST)
    least = max(least, data.rfind(b"-----", least, start))
    begin = start
    for part in reversed([*_PARTS.finditer(data, least, start)]):
        if part.end() + _APART < begin or _DEEPER.search(data, part.end(), begin) is not None:
            break
        if _is_line(part.group()):
            begin = part.start()
    return (begin, stop) if begin < start else None


def behind_number_of_lines(data: bytes, _start: int, stop: int) -> tuple[int, int] | None:
    """Return the private lines of a key of PuTTY, after their number."""
    key = from_first_line(data, stop, stop)
    return key if key is not None and key[1] > stop else None


# Keys are written in lines of 64 characters, those of OpenSSH in lines of 70; mail and images in lines of 76.
_FULL = "[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?"
_END = r"(?:[ \t]{0,8}\r?\n|\a?[ \t]{1,8})"  # an end of a line in CSS is read as `\a` and a blank
LINES = rf"{_FULL}{_END}(?:[^\n]{{0,80}}?{_FULL}{_END})*[^\n]{{0,80}}?{_FULL}"
# Begins where a capital follows a small letter, which few words have: each beginning costs states of the prefilter.
_CASES = "(?:[A-Z0-9+/]*[a-z][a-z0-9+/]*[A-Z])"
LINES_TRACE = rf"[a-z][A-Z]{_CASES}{{7}}[A-Za-z0-9+/]*(?:[`\a\r\n]|\\[^\"]|[ \t]+{_CASES}{{4}})"
# A difference has `+` before each line.
_LINES = LazyPattern(
    rb"(?:(?<![A-Za-z0-9+/])|(?<=\n\+)|(?<=\A\+))(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70})(?![A-Za-z0-9+/=])"
)
_REST = LazyPattern(rb"[ \t]{0,8}\r?\n[ \t]{0,8}([A-Za-z0-9+/]{4,69}={0,2})[ \t]{0,8}(?=[\r\n]|\Z)")
_COLOURED = LazyPattern(rb"(?:\x00|(?:\x1b|033|x1b)\[[0-9;]{0,12})[A-Za-z0-9+/]{12,72}[ \t]{0,8}\r?\n[^\n]{0,80}\Z")
_LABEL = LazyPattern(rb"-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----")


def from_the_middle(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Return three lines or more of a key without its ends; None for those of a certificate or of a public key."""
    lines: list[re.Match[bytes]] = []
    for line in _LINES.finditer(data, start, stop + _LONGEST):
        end = lines[-1].end() if lines else start
        if line.start() > (end + _APART if lines else stop) or b"-----" in data[end : line.start()]:
            break
        if len(lines) >= _FEWEST or is_random(line.group()):
            lines.append(line)
    if len(lines) < _FEWEST or len({len(line.group()) for line in lines}) > 1:
        return None
    if _COLOURED.search(data, max(0, start - _APART * 2), lines[0].start()) is not None:
        return None  # all of them are whole in the form without colours
    for label in (
        *(
            match
            for match in [*_LABEL.finditer(data, max(0, start - _APART), start)][-1:]
            if match.group(1) == b"BEGIN"
        ),
        *(
            match
            for match in [_LABEL.search(data, lines[-1].end(), lines[-1].end() + _APART)]
            if match is not None and match.group(1) == b"END"
        ),
    ):
        if b"PRIVATE" not in label.group(2):
            return None
    end = lines[-1].end()
    rest = _REST.match(data, end)
    return lines[0].start(), rest.end(1) if rest is not None and _is_line(rest.group(1)) else end


_FEWEST = 3
"""Lines."""


def _is_line(part: bytes) -> bool:
    """Return true for letters and digits of a key, false for a word or a path."""
    return len(part) >= 40 or _WORDS.fullmatch(part) is None
