"""Counts with their nouns, shares, durations, and texts that hide nothing, for every sentence that a person reads.

Invariant: a character hides by its properties in Unicode, as this interpreter knows them, not by a list of ours.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""General categories of what steers or takes no ink."""
_BLANK = re.compile(
    r"VARIATION SELECTOR|GRAPHEME JOINER|VOWEL INHERENT|NULL NOTEHEAD|FILLER$|(PATTERN|FULL|HALF) BLANK$"
)
"""Names of letters, marks and symbols that take no ink either, emoji's own selectors among them."""
_RESERVED = re.compile("[\u2060-\u206f\ufff0-\ufff8\U000e0000-\U000e0fff]")
"""Ranges that Unicode keeps for characters without ink (Default_Ignorable_Code_Point), whether assigned or not."""

_MESSAGE_OF_BODY = re.compile(
    r"""\bmessage\\{0,4}["']?\s?:\s?(?P<quote>\\{0,4}["'])(?P<message>.*?)(?:(?<!\\)(?P=quote)|\Z)""", re.DOTALL
)
"""The message that a body of JSON carries, also inside of a repr, or of a template that dropped the names' quotes."""
_ESCAPE = re.compile(r"""\\{1,8}(?:[nrt]|(?P<quote>["']))""")


def counted(number: int, one: str, many: str = "") -> str:
    """Return the number with its noun: `1 session`, `1,234 sessions`, and with `many` an irregular plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(share: float | None) -> str:
    """A share of 0..1 as `12.3%`: every share that a person reads has one decimal."""
    return "–" if share is None else f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    """A duration in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    units = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))
    large, size, small, part = next(unit for unit in units if whole >= unit[1])
    return f"{whole // size:,} {large} {whole % size // part} {small}"


def gist(text: str) -> str:
    """What a person reads first of an error's text: its body's message, else the text, on one line."""
    body = _MESSAGE_OF_BODY.search(text)
    shown = body["message"] if body and body["message"].strip() else text
    return " ".join(_ESCAPE.sub(lambda escape: escape["quote"] or " ", shown).split())


def terminal_safe(text: str, *, keep: str = "") -> str:
    r"""The text with every invisible or steering character shown as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    A space of another width becomes a plain one. `keep` names characters to leave alone: `"\n\t"` for text whose layout
    is our own. Text from a log keeps none, so that it cannot forge a second line.
    """
    if text.isascii() and text.isprintable():
        return text
    codes = {ord(each): shown for each in set(text) if each not in keep and (shown := stand_in(each)) is not None}
    return text.translate(codes) if codes else text


@lru_cache(maxsize=1 << 16)
def stand_in(character: str) -> str | None:
    """What stands for a character that hides, steers or is a space of its own; None for all others, which stay."""
    category = unicodedata.category(character)
    if category == "Zs":
        return None if character == " " else " "
    hidden = category in _HIDDEN or _RESERVED.match(character) or _BLANK.search(unicodedata.name(character, ""))
    return _visible(ord(character)) if hidden else None


def _visible(number: int) -> str:
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
