"""Find the fewest words that only one error has, and index texts by words for matching patterns.

Invariants: the words are in every text of their group, and in no known text of another reason. The
index leaves out no text that matches; the texts that it returns must still be tried.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import re2

from analyzer.frozen import frozen

MAX_PAIRS, MAX_WORDINGS = 5, 8
"""Most pairs of words, and most wordings, of one draft: more than a person reads."""
LEAST_KNOWN = 2
"""Least known texts of a reason that must have a pair of words."""
MAX_BETWEEN = 2
"""Most words between two words of a pair, such as names and numbers."""
_LEAST_LETTERS = {2: 8, 3: 12}
"""Least letters of two words, and of three and more."""
_LONGEST = 5
_MAX_WORDS = 60
"""Most words of a sentence that are used: later words rarely name the error."""
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
"""Words that too many messages have."""


@frozen
class ShortWording:
    """A few words, and the pattern that matches them."""

    pattern: str
    """RE2."""
    words: tuple[str, ...]

    @property
    def forms(self) -> list[tuple[str, ...]]:
        """Return the forms in which each word may be in a text."""
        return [tuple(stem + ending for ending in endings) for stem, endings in map(_stem, self.words)]


def shortest(
    texts: Sequence[str], reason: str, known_texts: WordIndex, reasons: Sequence[str]
) -> tuple[ShortWording, ...]:
    """Return the shortest wordings that all `texts` have and no known text of another reason has.

    Two words are enough if `LEAST_KNOWN` known texts of the reason have them too; without such
    evidence it takes three words in a row. `reasons` are the reasons of the owners of
    `known_texts`.
    """
    wordings: list[ShortWording] = []
    for words, in_a_row in _candidates(texts[0]):
        if len(wordings) >= (MAX_WORDINGS if in_a_row else MAX_PAIRS):
            continue
        if any(set(shorter.words) <= set(words) for shorter in wordings):
            continue
        wording = ShortWording(_pattern(words, 0 if in_a_row else MAX_BETWEEN), words)
        regex = compiled(wording.pattern)
        if not all(has(regex, text) for text in texts):
            continue
        having = [reasons[number] for number in known_texts.owners(wording)]
        if set(having) <= {reason} and (in_a_row or len(having) >= LEAST_KNOWN):
            wordings.append(wording)
    return tuple(wordings)


def _candidates(text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield words of a sentence, and whether they are a run: pairs first, then runs by length."""
    # Patterns ignore case, and a word with a digit in it is a name or a number.
    sentences = [_WORD.findall(part.lower()) for part in _SENTENCE_END.split(text)]
    sentences = [sentence[:_MAX_WORDS] for sentence in sentences]
    seen = set()
    for sentence in sentences:
        for start in range(len(sentence)):
            for pair in combinations(sentence[start : start + MAX_BETWEEN + 2], 2):
                if pair not in seen and all(map(_is_telling, pair)) and sum(map(len, pair)) >= _LEAST_LETTERS[2]:
                    seen.add(pair)
                    yield pair, False
    for size in range(3, _LONGEST + 1):
        for sentence in sentences:
            for start in range(len(sentence) - size + 1):
                run = tuple(sentence[start : start + size])
                if _is_telling(run[0]) and _is_telling(run[-1]) and all(word.isalpha() for word in run):
                    telling = [word for word in run if _is_telling(word)]
                    if len(telling) >= 3 and sum(map(len, telling)) >= _LEAST_LETTERS[3]:
                        yield run, True


def _is_telling(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in _SMALL


def _stem(word: str) -> tuple[str, tuple[str, ...]]:
    """Return the stem of a word and the endings that it may have; short words have only one."""
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
    """Compile an RE2 pattern that ignores case, as the patterns of rules do."""
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


_ASCII_WORD = re.compile(r"[0-9a-z]+")
_GAP = "\0"
_FOLDED = re.compile("[\u017f\u212a]")
"""Letters beyond ASCII that match `s` and `k` if case is ignored."""


class WordIndex:
    """An index of the numbered owners of texts, by the words in the texts: finds texts without trying all."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._texts = [tuple(of_owner) for of_owner in texts]
        self._where: defaultdict[str, set[int]] = defaultdict(set)
        self._always: set[int] = set()
        for number, of_owner in enumerate(self._texts):
            for text in of_owner:
                if not text.isascii() and _FOLDED.search(text):
                    self._always.add(number)
                for word in _ASCII_WORD.findall(_lowered(text)):
                    self._where[word].add(number)

    def may_match(self, constants: Sequence[str]) -> Iterable[int]:
        """Return the numbers, in order, of owners with texts that may have these parts in order."""
        owners = [self._owners([word]) for word in _needed(constants)]
        if not owners:
            return range(len(self._texts))
        rarest: set[int] = min(owners, key=len)
        return sorted(rarest)

    def owners(self, wording: ShortWording) -> Iterator[int]:
        """Yield the numbers of the owners with a text that has the wording, in order."""
        regex = compiled(wording.pattern)
        for number in sorted(set.intersection(*map(self._owners, wording.forms))):
            if any(has(regex, text) for text in self._texts[number]):
                yield number

    def _owners(self, words: Iterable[str]) -> set[int]:
        """Return the owners with any of the words, and those whose texts have letters that match others."""
        return self._always.union(*(self._where.get(word, ()) for word in words))


def _needed(constants: Sequence[str]) -> list[str]:
    """Return the whole words of the constant parts: words at a gap may be parts of longer ones."""
    joined = _lowered(_GAP.join(constants))
    if _FOLDED.search(joined):
        return []
    # A pattern begins and ends at a word boundary if its constants begin and end with ASCII
    # letters or digits.
    return [
        match[0]
        for match in _ASCII_WORD.finditer(joined)
        if joined[match.start() - 1 : match.start()] != _GAP and joined[match.end() : match.end() + 1] != _GAP
    ]


def _lowered(text: str) -> str:
    """Lower only ASCII letters; `str.lower` may turn one letter into several."""
    return text.translate(_LOWER)


_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
