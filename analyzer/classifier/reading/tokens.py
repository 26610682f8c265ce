"""Token counts out of overflow texts: how many were asked for, how many fit.

Invariant: `current` is what the request held and `max` what the model takes, by the words beside a number, in whichever
order the text names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import re2

from analyzer.classifier.reading.facts import MESSAGE_CHARS
from analyzer.forking import kept_until_fork

_MOST_NUMBERS = 40
_LEAST = 100
"""Less than this is no count of tokens that anything overflows with."""
_NEAR = 100
"""Characters on either side of a number in which words speak for it."""

_NUMBER = r"\d+(?:[,_]\d{3}\b)*(?:\.\d+)?(?:[km]\b)?"
_ASCII = str.maketrans("≤≥’", "<>'")
# Marks that end or compare stand as words of their own; all else that is no letter is a gap.
_SPACED = {
    code: f" {chr(code)} " if chr(code) in ";:,.()[]+/<>" else " ; " if chr(code) == "\n" else " "
    for code in range(128)
    if not chr(code).isalpha() and chr(code) != "_"
}


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
"""Before a number, the nearest of these and the next two decides."""
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
"""What holds tokens. Before a number it stands for that, unless a word like `maximum` stands before it in turn."""
_COMPLAINTS = _listed("exceeded reached overflow overflows overflowed long large big many")
"""What a complaint ends in; the number behind it is what was too much, if nothing else says more."""
_ENDS = _listed("; , . and but however while when whereas plus")
_TURNS = _listed("( ) [ ] : + / < > less fewer more than exceeds exceed exceeding has have")
"""Behind a number: what follows is about something else, or compares it."""
_NO_COUNT = _listed("by id code status http line port version error")
"""Right before a number: it is no count, or says by how much it is too much."""
_UNITS = _listed("mb kb gb mib kib bytes byte pixels px characters chars pages seconds ms percent usd")
_STATUS = (400, 599)
"""Numbers that are more often a status than a count."""
_GREATER = (
    r">|\bexceed(?:s|ing)?\b|\bexceeded (?:the|its|our|your|a|max|maximum|limit|context)\b"
    r"|\b(?:longer|larger|greater|bigger|more|higher) than\b|\b(?:over|above|beyond)\b"
    r"|\btoo (?:large|long|big) (?:for|to)\b"
)
_SMALLER = r"<|\b(?:less|smaller|shorter|lower|fewer) than\b|\bexceeded by\b"
_PART_OF = (
    r"^\)?\s*(?:tokens?\)?\s*)?(?:used\s*|requested\s*)?(?:(?:out )?of|/)\s*"
    r"(?:(?:the|a|an|max|maximum|allowed|at most)\s+)*\(?$"
)
_SUM = r"^[^.;<>\d]*\+[^.;<>\d]*$"
_WEAK, _STRONG, _TOTAL, _COMPARED = 1, 2, 3, 4


class _Compiled(NamedTuple):
    number: Any
    greater: Any
    smaller: Any
    part_of: Any
    sum: Any


@dataclass(slots=True)
class _Count:
    """A number in a text, with the role that the words beside it give it."""

    value: int
    before: bytes
    """From the number before it, or not far away, up to it."""
    after: bytes
    role: _Role | None = None
    strength: int = 0


@kept_until_fork
def _compiled() -> _Compiled:
    return _Compiled(*(re2.compile(pattern.encode()) for pattern in (_NUMBER, _GREATER, _SMALLER, _PART_OF, _SUM)))


def token_counts(*texts: str | None) -> tuple[int | None, int | None]:
    """`(current, max)` of the first text that names any; None for what it leaves open.

    For `input length and max_tokens exceed context limit: a + b > c` the request held a + b.
    """
    for text in texts:
        if text:
            # One byte a character: RE2 is quick with bytes.
            found = _read(text[:MESSAGE_CHARS].lower().translate(_ASCII).encode("ascii", "replace"))
            if found != (None, None):
                return found
    return None, None


def _read(text: bytes) -> tuple[int | None, int | None]:
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


def _counts(text: bytes) -> Iterator[_Count]:
    """The numbers that may count tokens, in their order; not those in names, dates, versions and amounts of money."""
    compiled = _compiled()
    places: list[tuple[int, int, int]] = []
    for match in compiled.number.finditer(text):
        start, end = match.span()
        value = _number(text[start:end])
        if value is not None and value >= _LEAST and _stands_alone(text, start, end):
            places.append((start, end, value))
            if len(places) == _MOST_NUMBERS:
                break
    for index, (start, end, value) in enumerate(places):
        left = places[index - 1][1] if index else 0
        right = places[index + 1][0] if index + 1 < len(places) else len(text)
        yield _Count(value, text[max(left, start - _NEAR) : start], text[end : min(right, end + _NEAR)])


def _stands_alone(text: bytes, start: int, end: int) -> bool:
    before, after = text[max(0, start - 2) : start].decode(), text[end : end + 2].decode()
    if before and (before[-1].isalnum() or before[-1] in "-_.#$@" or (before[-1] == ":" and before[0].isdigit())):
        return False
    return not after or not (
        after[0].isalnum() or after[0] in "%_@" or (after[0] in "-:" and len(after) > 1 and after[1].isalnum())
    )


def _judge(count: _Count) -> None:
    """Give a number the role that the words before it name, else the words behind it."""
    role, strength = _from_before(_words(count.before))
    after = _words(count.after)
    if after[:1] and after[0] in _UNITS:
        count.role, count.strength = _Role.OTHER, _COMPARED
        return
    if _STATUS[0] <= count.value <= _STATUS[1] and strength < _STRONG and after[:1] not in (["token"], ["tokens"]):
        count.role, count.strength = _Role.OTHER, _STRONG
        return
    behind = _from_behind(after)
    if behind is _Role.OTHER or (strength < _STRONG and behind is not None):
        role, strength = behind, _STRONG
    count.role, count.strength = role, strength


def _from_before(words: list[str]) -> tuple[_Role | None, int]:
    """The role that the words before a number name, read backwards from it."""
    weak: _Role | None = None
    holder = total = False
    for place, word in enumerate(reversed([each for each in words if each not in "([])"])):
        if place <= 1 and word in _NO_COUNT and not holder:
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


def _from_behind(words: list[str]) -> _Role | None:
    """The role that the words behind a number name."""
    for word in words[:8]:
        if word in _ENDS or word in _TURNS or word in _COMPLAINTS:
            return None
        role = _ROLES.get(word, _Role.HELD if word in _HOLDERS else None)
        if role is not None:
            return role
    return None


def _compare(counts: list[_Count]) -> None:
    """Give two numbers the roles that the sign or word between them names: `a > b`, `a exceeds b`, `a of b`."""
    compiled = _compiled()
    others = {count.value for count in counts if count.role is _Role.OTHER}
    for index in range(len(counts) - 1, 0, -1):
        left, right = counts[index - 1], counts[index]
        if right.role is _Role.OTHER and right.strength < _COMPARED:
            continue
        between = right.before
        if b"." in between.rstrip(b". ") or b";" in between or b"\n" in between:
            continue
        if compiled.smaller.search(between):
            first, second = _Role.MOST, _Role.HELD
        elif compiled.greater.search(between) or compiled.part_of.search(between):
            first, second = _Role.HELD, _Role.MOST
            if index > 1 and compiled.sum.search(left.before):
                left.value += counts[index - 2].value
                left.role, counts[index - 2].role = None, _Role.OTHER
        else:
            continue
        if right.role is _Role.OTHER:
            left.role = _Role.OTHER  # of bytes, say
            continue
        if left.role is not _Role.OTHER and left.value not in others:
            left.role, left.strength = first, _COMPARED
        right.role, right.strength = second, _COMPARED


def _strongest(counts: list[_Count], role: _Role) -> int | None:
    """The number of the strongest claim to a role; of equals, the first."""
    claims = [count for count in counts if count.role is role]
    return max(claims, key=lambda count: count.strength).value if claims else None


def _words(text: bytes) -> list[str]:
    return text.decode().translate(_SPACED).split()


def _number(digits: bytes) -> int | None:
    text = digits.decode().replace(",", "").replace("_", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
    try:
        return int(float(text.rstrip("km")) * factor) if len(text) <= 15 else None
    except ValueError:
        return None
