"""Counts with their nouns, shares, durations, and texts that hide nothing, for every sentence that a person reads.

Invariant: whether a character is invisible follows from its Unicode properties, not from a list of ours.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""General categories of characters that steer the output or leave no ink."""
_BLANK = re.compile(
    r"VARIATION SELECTOR|GRAPHEME JOINER|VOWEL INHERENT|NULL NOTEHEAD|FILLER$|(PATTERN|FULL|HALF) BLANK$"
)
"""Names of letters, marks and symbols that leave no ink either, emoji's selectors among them."""
_RESERVED = re.compile("[\u2060-\u206f\ufff0-\ufff8\U000e0000-\U000e0fff]")
"""Ranges that Unicode keeps for characters without ink (Default_Ignorable_Code_Point), whether assigned or not."""

_MESSAGE_OF_BODY = re.compile(
    r"""\bmessage\\{0,4}["']?\s?:\s?(?P<quote>\\{0,4}["'])(?P<message>.*?)(?:(?<!\\)(?P=quote)|\Z)""", re.DOTALL
)
"""The message of a JSON body, also in a repr, or in a template without quotes around names."""
_ESCAPE = re.compile(r"""\\{1,8}(?:[nrt]|(?P<quote>["']))""")


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return the number with its noun: `1 session`, `1,234 sessions`, and with `plural` an irregular one."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def part_of(number: int, whole: int, singular: str) -> str:
    """Return how many of all there are: `2 of 3 callers`, and `all 3 callers` if none is missing."""
    return f"{'all' if number == whole > 1 else f'{number:,} of'} {counted(whole, singular)}"


def percent(share: float | None) -> str:
    """Format a share of 0..1 as `12.3%`, with one decimal; None is `–`."""
    return "–" if share is None else f"{100 * share:.1f}%"


def dollars(usd: float) -> str:
    """Format US dollars as `$1,234.50`; less than a cent with two digits that count, as `$0.0012`."""
    return f"${usd:,.2f}" if usd == 0 or abs(usd) >= 0.01 else f"${usd:.2g}" if abs(usd) >= 0.0001 else f"${usd:.1e}"


def duration(seconds: float) -> str:
    """Format a duration in seconds by its two largest units: `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    units = (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1))
    large, size, small, part = next(unit for unit in units if whole >= unit[1])
    return f"{whole // size:,} {large} {whole % size // part} {small}"


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters; `…` replaces the end of a longer one."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def gist(text: str) -> str:
    """Return the message of the body in an error's text, else the text, on one line."""
    body = _MESSAGE_OF_BODY.search(text)
    shown = body["message"] if body and body["message"].strip() else text
    return " ".join(_ESCAPE.sub(lambda escape: escape["quote"] or " ", shown).split())


def terminal_safe(text: str, *, keep: str = "") -> str:
    r"""Show every invisible or steering character of a text as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    A space of another width becomes a plain one. `keep` names characters to leave alone: `"\n\t"` for text whose layout
    is our own. Text from a log keeps none, so that it cannot forge a second line.
    """
    if text.isascii() and text.isprintable():
        return text
    codes = {}
    for character in set(text).difference(keep):
        if (shown := stand_in(character)) is not None:
            codes[ord(character)] = shown
    return text.translate(codes) if codes else text


@lru_cache(maxsize=1 << 16)
def stand_in(character: str) -> str | None:
    """Return the visible text for a character that is invisible, steers or is an unusual space.

    None for all other characters, which stay as they are.
    """
    category = unicodedata.category(character)
    if category == "Zs":
        return None if character == " " else " "
    hidden = category in _HIDDEN or _RESERVED.match(character) or _BLANK.search(unicodedata.name(character, ""))
    return _visible(ord(character)) if hidden else None


def _visible(number: int) -> str:
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
