"""An index from words to texts, by which the few of very many texts that may match a pattern are found.

Invariant: no text that matches is left out; what is named is still to be tried.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[0-9a-z]+")
_GAP = "\0"
_FOLDED = re.compile("[\u017f\u212a]")
"""Letters beyond ASCII that a pattern without case takes for `s` and `k`."""


class WordIndex:
    """The texts of some owners, which are known by their numbers, by the words in them."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._where: dict[str, array[int]] = {}
        self._always: list[int] = []
        self._count = 0
        for number, of_one in enumerate(texts):
            self._count += 1
            found: set[str] = set()
            for text in of_one:
                if not text.isascii() and _FOLDED.search(text):
                    self._always.append(number)
                found.update(_WORD.findall(_lowered(text)))
            for word in found:
                self._where.setdefault(word, array("l")).append(number)

    def may_match(self, constants: Sequence[str]) -> Iterable[int]:
        """The numbers, in order, of the owners with a text in which these constant parts may follow each other."""
        words = _needed(constants)
        if not words:
            return range(self._count)
        found = [self._where.get(word, _NOWHERE) for word in words]
        rarest = min(found, key=len)
        if not self._always:
            return rarest
        return sorted({*rarest, *self._always})


_NOWHERE = array("l")


def _needed(constants: Sequence[str]) -> list[str]:
    """The words that stand whole in the constant parts: the others may be the end or the beginning of longer ones."""
    joined = _lowered(_GAP.join(constants))
    if _FOLDED.search(joined):
        return []
    # A pattern begins and ends at the border of a word, if its constants begin and end with ASCII letters or digits.
    return [
        found[0]
        for found in _WORD.finditer(joined)
        if joined[found.start() - 1 : found.start()] != _GAP and joined[found.end() : found.end() + 1] != _GAP
    ]


def _lowered(text: str) -> str:
    """The text with ASCII letters in lower case; `str.lower` may make more than one letter of others."""
    return text.translate(_LOWER)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
