"""Token counts in overflow texts: how many the request held, how many fit.

Invariant: `current` is the size of the request and `max` the most that the model takes, by the words beside a number,
in whichever order the text names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from analyzer.classifier.reading.facts import MESSAGE_CHARS
from analyzer.redaction.automata import LazyPattern

_MOST_NUMBERS = 40
_LEAST = 100
"""The smallest number that is read as a token count of an overflow."""
_NEAR = 100
"""Characters on either side of a number whose words describe it."""

# Python's own `re`: these look once at 2,000 characters, or at 100, and are quicker than RE2 there.
_NUMBER = LazyPattern(r"(?a)\d(?<![a-z0-9].)\d*(?:[,_]\d{3}\b)*(?:\.\d+)?(?:[km]\b)?")
"""A number that is not within a word: most digits are those of ids."""
_ASCII = str.maketrans("≤≥’", "<>'")
# Marks that end or compare become words; all other characters that are no letters become blanks.
_SPACED = {code: " " for code in range(128) if not chr(code).isalpha() and chr(code) != "_"}
_SPACED |= {ord(mark): f" {mark} " for mark in ";:,.()[]+/<>"} | {ord("\n"): " ; "}


class _Role(Enum):
    HELD = "what the request held"
    MOST = "what the model takes"
    OTHER = "something else: what the answer may take, by how much it is too much, a status, a size in bytes"


def _listed(*words: str) -> frozenset[str]:
    return frozenset(" ".join(words).split())


_HELD = _listed(
    "requested requests resulted resulting contains contained contain has have had used uses using sent got given gave",
    "passed actual received keep take n_keep n_prompt_tokens provided current current_tokens",
)
"""Before a number, the nearest of these and the next two groups decides."""
_MOST = _listed(
    "maximum max limit limits limited allowed supported supports support handle handles accepts accept capacity cap",
    "most up context window n_ctx less fewer within < exceeds exceed exceeding surpasses maxlength max_length",
    "max_model_len max_input_tokens max_prompt_tokens max_context_length context_window context_length context_size",
)
_OTHER = _listed(
    "output outputs completion completions draft generated response reserved",
    "max_tokens max_completion_tokens max_new_tokens max_output_tokens",
)
_ROLES = {
    word: role for role, words in ((_Role.HELD, _HELD), (_Role.MOST, _MOST), (_Role.OTHER, _OTHER)) for word in words
}
_HOLDERS = _listed(
    "prompt prompts input inputs request message messages conversation transcript history text document count total",
    "prompt_tokens input_tokens total_tokens prompt_token_count",
)
"""Names of what holds tokens. Before a number they mean the size of the request,
unless a word like `maximum` comes before them.
"""
_COMPLAINTS = _listed("exceeded reached overflow overflows overflowed long large big many")
"""Last words of a complaint; the number after it was too much, unless other words say more."""
_ENDS = _listed("; , . and but however while when whereas plus")
_TURNS = _listed("( ) [ ] : + / < > less fewer more than exceeds exceed exceeding has have")
"""Words after a number with which the text goes on to something else, or compares the number."""
_NO_COUNT = _listed("by id code status http line port version error")
"""Words right before a number that is no count, or that says by how much it is too much."""
_UNITS = _listed("mb kb gb mib kib bytes byte pixels px characters chars pages seconds ms percent usd")
_STATUS = (400, 599)
"""The range of numbers that are more often a status than a count."""
_GREATER = LazyPattern(
    r"(?a)>|\bexceed(?:s|ing)?\b|\bexceeded (?:the|its|our|your|a|max|maximum|limit|context)\b"
    r"|\b(?:longer|larger|greater|bigger|more|higher) than\b|\b(?:over|above|beyond)\b"
    r"|\btoo (?:large|long|big) (?:for|to)\b"
)
_SMALLER = LazyPattern(r"(?a)<|\b(?:less|smaller|shorter|lower|fewer) than\b|\bexceeded by\b")
_PART_OF = LazyPattern(
    r"(?a)^\)?[\t\n\f\r ]*(?:tokens?\)?[\t\n\f\r ]*)?(?:(?:used|requested)[\t\n\f\r ]*)?(?:(?:out )?of|/)[\t\n\f\r ]*"
    r"(?:(?:the|a|an|max|maximum|allowed|at most)[\t\n\f\r ]+)*\(?\Z"
)
_SUM = LazyPattern(r"(?a)^[^.;<>\d]*\+[^.;<>\d]*\Z")
_UP_TO_TURN = LazyPattern(r"[^;,.()\[\]+/<>:\n]*[;,.()\[\]+/<>:\n]?")
"""The text after a number up to the first mark that ends or turns."""
_JOINED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.#$@")
"""Characters right before a number that is a part of a name, in lower-case ASCII text."""
_WEAK, _STRONG, _TOTAL, _COMPARED = 1, 2, 3, 4


class _Count:
    """A number in a text, with the role that the words beside it give it."""

    __slots__ = ("after", "before", "role", "strength", "value")

    def __init__(self, value: int, before: str, after: str) -> None:
        self.value = value
        self.before = before
        """The text before the number, from the previous number on and at most `_NEAR` characters."""
        self.after = after
        self.role: _Role | None = None
        self.strength = 0


class _WordsAfter(NamedTuple):
    """The meaning of the words after a number."""

    role: _Role | None
    unit: bool
    """True for the unit of something else than tokens."""
    tokens: bool
    """True for the word `tokens`."""


def token_counts(*texts: str | None) -> tuple[int | None, int | None]:
    """Return `(current, max)` of the first text that names any; None for a missing one.

    For `input length and max_tokens exceed context limit: a + b > c` the request held a + b.
    """
    for text in texts:
        if text:
            text = text[:MESSAGE_CHARS].lower()
            if not text.isascii():
                text = text.translate(_ASCII).encode("ascii", "replace").decode()
            counts = _read(text)
            if counts != (None, None):
                return counts
    return None, None


def _read(text: str) -> tuple[int | None, int | None]:
    counts = list(_counts(text))
    if not counts:
        return None, None
    for count in counts:
        _judge(count)
    _compare(counts)
    held, most = _strongest(counts, _Role.HELD), _strongest(counts, _Role.MOST)
    rest = [count for count in counts if count.role is None]
    if len(rest) == 1 and (held is None) != (most is None):
        # One side is named, and one number is left: it is the other side.
        held, most = (rest[0].value, most) if held is None else (held, rest[0].value)
    return held, most


def _counts(text: str) -> Iterator[_Count]:
    """Yield the numbers that may count tokens, in order.

    Numbers in names, dates, versions and sums of money are left out.
    """
    spans: list[tuple[int, int, int]] = []
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if end - start == 1 or text[start - 1 : start] in _JOINED:
            continue
        value = _number(text[start:end])
        if value is not None and value >= _LEAST and _stands_alone(text, start, end):
            spans.append((start, end, value))
            if len(spans) == _MOST_NUMBERS:
                break
    for position, (start, end, value) in enumerate(spans):
        left = spans[position - 1][1] if position else 0
        right = spans[position + 1][0] if position + 1 < len(spans) else len(text)
        yield _Count(value, text[max(left, start - _NEAR) : start], text[end : min(right, end + _NEAR)])


def _stands_alone(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before and (before[-1] in _JOINED or (before[-1] == ":" and before[0].isdigit())):
        return False
    return not after or not (
        after[0].isalnum() or after[0] in "%_@" or (after[0] in "-:" and len(after) > 1 and after[1].isalnum())
    )


def _judge(count: _Count) -> None:
    """Give a number the role that the words before it name, else the words after it."""
    # The text before such a mark is not read; without it, texts that differ in an id share a cached answer.
    before = count.before
    mark = max(before.rfind(";"), before.rfind(","), before.rfind("."), before.rfind("\n"), 0)
    role, strength = _from_before(before[mark:])
    after = _from_after(_UP_TO_TURN.match(count.after)[0])
    if after.unit:
        count.role, count.strength = _Role.OTHER, _COMPARED
        return
    if _STATUS[0] <= count.value <= _STATUS[1] and strength < _STRONG and not after.tokens:
        count.role, count.strength = _Role.OTHER, _STRONG
        return
    if after.role is _Role.OTHER or (strength < _STRONG and after.role is not None):
        role, strength = after.role, _STRONG
    count.role, count.strength = role, strength


# Texts of one kind differ only in their numbers: the text between them is read once.
@lru_cache(maxsize=512)
def _from_before(text: str) -> tuple[_Role | None, int]:
    """Return the role that the words before a number name, and its strength; read backwards."""
    weak: _Role | None = None
    holder = total = False
    words = [word for word in _words(text) if word not in "([])"]
    for distance, word in enumerate(reversed(words)):
        if distance <= 1 and word in _NO_COUNT and not holder:
            return _Role.OTHER, _STRONG
        role = _ROLES.get(word)
        if role is _Role.OTHER:
            return role, _STRONG
        if weak is None:
            if role is not None:
                # `maximum total tokens` is a maximum, `requested a total` a total.
                return role, _TOTAL if total and role is _Role.HELD else _STRONG
            if word in _HOLDERS:
                holder, total = True, total or word == "total"
            elif word in _COMPLAINTS or word.endswith("_exceeded"):
                weak = _Role.HELD
        if word in _ENDS:
            break
    if holder:
        return _Role.HELD, _TOTAL if total else _STRONG
    return weak, _WEAK if weak else 0


@lru_cache(maxsize=512)
def _from_after(text: str) -> _WordsAfter:
    """Return the meaning of the words after a number."""
    words = _words(text)
    first = words[0] if words else ""
    return _WordsAfter(_role_after(words[:8]), first in _UNITS, first in ("token", "tokens"))


def _role_after(words: list[str]) -> _Role | None:
    for word in words:
        if word in _ENDS or word in _TURNS or word in _COMPLAINTS:
            return None
        role = _ROLES.get(word, _Role.HELD if word in _HOLDERS else None)
        if role is not None:
            return role
    return None


def _compare(counts: list[_Count]) -> None:
    """Give two numbers the roles that the sign or word between them names: `a > b`, `a exceeds b`, `a of b`."""
    others = {count.value for count in counts if count.role is _Role.OTHER}
    for index in range(len(counts) - 1, 0, -1):
        left, right = counts[index - 1], counts[index]
        if right.role is _Role.OTHER and right.strength < _COMPARED:
            continue
        first, second = _compared(right.before)
        if first is None:
            continue
        if first is _Role.HELD and index > 1 and _SUM.search(left.before):
            left.value += counts[index - 2].value
            left.role, counts[index - 2].role = None, _Role.OTHER
        if right.role is _Role.OTHER:
            left.role = _Role.OTHER  # of bytes, say
            continue
        if left.role is not _Role.OTHER and left.value not in others:
            left.role, left.strength = first, _COMPARED
        right.role, right.strength = second, _COMPARED


@lru_cache(maxsize=512)
def _compared(between: str) -> tuple[_Role | None, _Role | None]:
    """Return the roles of the numbers on both sides; None if nothing compares them."""
    if "." in between.rstrip(". ") or ";" in between or "\n" in between:
        return None, None
    if _SMALLER.search(between):
        return _Role.MOST, _Role.HELD
    if _GREATER.search(between) or _PART_OF.search(between):
        return _Role.HELD, _Role.MOST
    return None, None


def _strongest(counts: list[_Count], role: _Role) -> int | None:
    """Return the number with the strongest claim to a role; of equals, the first."""
    claims = [count for count in counts if count.role is role]
    return max(claims, key=lambda count: count.strength).value if claims else None


def _words(text: str) -> list[str]:
    return text.translate(_SPACED).split()


def _number(digits: str) -> int | None:
    text = digits.replace(",", "").replace("_", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
    try:
        return int(float(text.rstrip("km")) * factor) if len(text) <= 15 else None
    except ValueError:
        return None
