"""Made-up secrets of each family, written after its pattern: another one for each seed."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from analyzer.redaction.families import Family
from analyzer.redaction.values import GUARDS

_LETTERS = string.ascii_letters + string.digits
_BEYOND = 8
"""Characters more than a pattern asks for, at most."""
_TRIES = 200
_BEGINNING = [(kinds.AT, kinds.AT_BEGINNING)]


def made_up(family: Family, seed: int) -> tuple[str, str]:
    """A text that the family is to find, and the secret in it."""
    random_of = random.Random(f"{family.name} {family.pattern} {seed}")
    pattern = _parser.parse(family.pattern.replace("(?i)", ""))
    for _ in range(_TRIES):
        writer = _Writer(random_of)
        writer.write(pattern)
        text = "".join(writer.pieces)
        secret = writer.group.strip() or text.strip()
        # Where a word ends is for the pattern to say.
        if re.search(family.pattern, text) and GUARDS[family.guard](secret.encode()):
            return text, secret
    raise AssertionError(f"no text of {family.name} is one for its guard")


class _Writer:
    """Writes what a pattern finds: letters and digits where it leaves the choice, and as few repetitions as it may."""

    def __init__(self, random_of: random.Random) -> None:
        self.random_of = random_of
        self.pieces: list[str] = []
        self.group = ""
        """What the first group has taken."""

    def write(self, items: Iterable[tuple[Any, Any]]) -> None:
        for kind, value in items:
            if kind is kinds.LITERAL:
                self.pieces.append(chr(value))
            elif kind is kinds.IN:
                self.pieces.append(self.random_of.choice(_of_class(value)))
            elif kind is kinds.NOT_LITERAL or kind is kinds.ANY:
                self.pieces.append(self.random_of.choice(_LETTERS))
            elif kind is kinds.BRANCH:
                # Not the beginning of a text: something is put before it.
                self.write(self.random_of.choice([each for each in value[1] if [*each][:1] != _BEGINNING] or value[1]))
            elif kind is kinds.SUBPATTERN:
                before = len(self.pieces)
                self.write(value[-1])
                if value[0] == 1:
                    self.group = "".join(self.pieces[before:])
            elif kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
                least, most, repeated = value
                for _ in range(self.random_of.randint(least, min(most, least + _BEYOND))):
                    self.write(repeated)


def _of_class(members: list[tuple[Any, Any]]) -> str:
    """Letters and digits of a class of characters, where it has some; a blank of one of white space."""
    if (kinds.NEGATE, None) in members:
        return " " if (kinds.RANGE, (ord("0"), ord("9"))) in members else _LETTERS
    found = {chr(value) for kind, value in members if kind is kinds.LITERAL}
    for kind, value in members:
        if kind is kinds.RANGE:
            found |= {chr(each) for each in range(value[0], value[1] + 1)}
        elif kind is kinds.CATEGORY and value is kinds.CATEGORY_SPACE:
            found.add(" ")
        elif kind is kinds.CATEGORY and value is kinds.CATEGORY_NOT_SPACE:
            found |= set(_LETTERS)
    return "".join(sorted(found & set(_LETTERS) or found))
