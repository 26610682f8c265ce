"""Private keys between their first and their last line, whatever stands before the lines of a key and behind them."""

from __future__ import annotations

from analyzer.redaction.automata import Late

# A form writes a blank as a plus sign, which no form of the text reads once that has been written into a URL.
BEGIN = r"-{4,5}[ +]?BEGIN[ +][A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?[ +]?-{4,5}"
END = BEGIN.replace("BEGIN", "END")
_APART = 160
"""Bytes between two lines of a key: numbers, the name of a file, a time, headers."""
_LONGEST = 32_768
_PARTS = Late(rb"[A-Za-z0-9+/]{12,}={0,2}|-{4,5}[ +]?(?:(BEGIN)|END)[ +][A-Z0-9 +]{0,60}-{4,5}")
_WORDS = Late(rb"[a-z/]+|[A-Z/]+|[0-9/]+|[A-Z]?[a-z/]+[0-9]*|[0-9a-f]{12,39}")
_LAST = Late(rb"[\r\n]{1,4}[^\r\nA-Za-z0-9+/]{0,40}[A-Za-z0-9+/]{1,11}={0,2}\s{0,8}\Z")
_DEEPER = Late(rb"\\[nrtu]|%0[aAdD9]|&#")
"""Ends of lines that are written as escapes: the key is read in the form in which they are none."""


def from_first_line(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """The key whose first line stands here; None where its lines are found in another form of the text."""
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
    """The same from its last line: a key whose first line was cut off."""
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
    """The private lines of a key of PuTTY, behind their number."""
    found = from_first_line(data, stop, stop)
    return found if found is not None and found[1] > stop else None


def _is_line(part: bytes) -> bool:
    """Whether a run of letters and digits is one of a key, and no word or path."""
    return len(part) >= 40 or _WORDS.fullmatch(part) is None
