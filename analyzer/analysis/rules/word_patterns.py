"""The fewest words of an error that mean it alone, and an index from words to the texts that may match a pattern.

Invariants: the words are in every text of their group, and in no known text of another reason. The index leaves out no
text that matches; what it names is still to be tried.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import re2

MAX_PAIRS, MAX_WORDINGS = 5, 8
"""Of one draft, pairs of words and all: more than a person reads."""
LEAST_KNOWN = 2
"""Known texts of a reason that have a pair of words which alone means it."""
MAX_BETWEEN = 2
"""Words that may come to stand between two words, as names and numbers do."""
_LEAST_LETTERS = {2: 8, 3: 12}
"""Of two words, and of three and more."""
_LONGEST = 5
_MAX_WORDS = 60
"""Of a text: what comes later is seldom what an error is."""
_ENDINGS = ("", "s", "ed", "ing")
_WORD = re.compile(r"[A-Za-z0-9]+")
_SENTENCE_END = re.compile(r"[.!?\n]")
_BETWEEN = r"[^\w.!?\n]{1,4}"
_SMALL = frozenset(
    _WORD.findall(
        "about after again and any are been before being but can could error failed for from had has have her "
        "here his how into its later learn may moment more not now off one our out please than that the their "
        "them then there they this too use very was were what when which while will with you your "
    )
)
"""Words that every second message has."""


@dataclass(frozen=True, slots=True)
class ShortWording:
    """A few words, and what has them."""

    pattern: str
    """RE2."""
    words: tuple[str, ...]

    @property
    def forms(self) -> list[tuple[str, ...]]:
        """Return each word as it may stand in a text."""
        return [tuple(stem + ending for ending in endings) for stem, endings in map(_stem, self.words)]


class SaidWords:
    """Texts of some owners by their words: those that may have a wording are found without a look at the others."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._texts = [tuple(of_one) for of_one in texts]
        self._where: defaultdict[str, set[int]] = defaultdict(set)
        for number, of_one in enumerate(self._texts):
            for text in of_one:
                for word in _WORD.findall(text.lower()):
                    self._where[word].add(number)

    def owners(self, wording: ShortWording) -> Iterator[int]:
        """Return the numbers of the owners with a text that has the wording, in their order."""
        none = frozenset[int]()
        found = [none.union(*(self._where.get(form, none) for form in forms)) for forms in wording.forms]
        regex = compiled(wording.pattern)
        for number in sorted(found[0].intersection(*found[1:])):
            if any(has(regex, text) for text in self._texts[number]):
                yield number


def shortest(texts: Sequence[str], reason: str, known: SaidWords, reasons: Sequence[str]) -> tuple[ShortWording, ...]:
    """Return the shortest wordings that all `texts` have and that no known text of another reason has.

    Two words are enough where `LEAST_KNOWN` known texts of the reason have them, too; without such evidence it takes
    three words in a row. `reasons` are those of the owners of `known`.
    """
    found: list[ShortWording] = []
    for words, in_a_row in _candidates(texts[0]):
        if len(found) >= (MAX_WORDINGS if in_a_row else MAX_PAIRS):
            continue
        if any(set(each.words) <= set(words) for each in found):
            continue
        wording = ShortWording(_pattern(words, 0 if in_a_row else MAX_BETWEEN), words)
        regex = compiled(wording.pattern)
        if not all(has(regex, text) for text in texts):
            continue
        having = [reasons[number] for number in known.owners(wording)]
        if set(having) <= {reason} and (in_a_row or len(having) >= LEAST_KNOWN):
            found.append(wording)
    return tuple(found)


def _candidates(text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Words of one sentence in their order: pairs first, then runs, the shorter ones first."""
    # Capitals are kept in no pattern, but a word with a digit in it is a name or a number.
    sentences = [_WORD.findall(part.lower()) for part in _SENTENCE_END.split(text)]
    sentences = [sentence[:_MAX_WORDS] for sentence in sentences]
    seen = set()
    for sentence in sentences:
        for start in range(len(sentence)):
            for pair in combinations(sentence[start : start + MAX_BETWEEN + 2], 2):
                if pair not in seen and all(map(_tells, pair)) and sum(map(len, pair)) >= _LEAST_LETTERS[2]:
                    seen.add(pair)
                    yield pair, False
    for size in range(3, _LONGEST + 1):
        for sentence in sentences:
            for start in range(len(sentence) - size + 1):
                run = tuple(sentence[start : start + size])
                if _tells(run[0]) and _tells(run[-1]) and all(word.isalpha() for word in run):
                    telling = [word for word in run if _tells(word)]
                    if len(telling) >= 3 and sum(map(len, telling)) >= _LEAST_LETTERS[3]:
                        yield run, True


def _tells(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in _SMALL


def _stem(word: str) -> tuple[str, tuple[str, ...]]:
    """The word without its ending, and the endings that it may have: a short word has that of its own alone."""
    for ending in _ENDINGS[1:]:
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) > 4:
            return word.removesuffix(ending), _ENDINGS
    return word, _ENDINGS if len(word) > 3 else ("",)


def _pattern(words: Sequence[str], between: int) -> str:
    gap = _BETWEEN + (rf"(?:\w+{_BETWEEN}){{0,{between}}}" if between else "")
    stems = map(_stem, words)
    return rf"\b{gap.join(stem + ('(?:s|ed|ing)?' if len(endings) > 1 else '') for stem, endings in stems)}\b"


def has(regex: Any, text: str) -> bool:
    """Return whether the text has what the pattern matches."""
    return regex.search(text.encode("utf-8", "replace")) is not None


@cache
def compiled(pattern: str) -> Any:
    """Return an RE2 pattern that takes no notice of case, as those of rules do."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


_ASCII_WORD = re.compile(r"[0-9a-z]+")
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
                found.update(_ASCII_WORD.findall(_lowered(text)))
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
        for found in _ASCII_WORD.finditer(joined)
        if joined[found.start() - 1 : found.start()] != _GAP and joined[found.end() : found.end() + 1] != _GAP
    ]


def _lowered(text: str) -> str:
    """The text with ASCII letters in lower case; `str.lower` may make more than one letter of others."""
    return text.translate(_LOWER)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
