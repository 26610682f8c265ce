"""Templates that are alike: those that differ in values alone are merged; known ones near an unknown one are found.

Invariants: what is merged is merged because the whole set shows it, and neither the order nor the number of templates
makes a difference; equal likeness is decided by the text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from analyzer.classifier.fingerprint import SLOT, templates, tidy

NEEDED = {2: 8, 3: 5, 4: 5, 5: 5, 6: 3}
"""Constant words around a place → how many words in it show that they are values; beyond six as for six.

The more words stay, the less likely it is that two messages share them by chance. One word says nothing.
"""
MIN_COVERING = 3
"""So many constant words has a template that takes in others which its slots cover."""
MAX_WORDS = 80
"""Longer templates, such as traces, are left as they are."""
_FEWEST = min(NEEDED.values())
# Far beyond what logs show; hostile input costs no more than these.
_MAX_ROUNDS = 8
_MAX_COVERS = 64
_MAX_LOOKS = 2_000_000
_BREAK = "\0"
_MARKS = " ,;:=()[]{}\"'`|/@#!?"
_SEPARATE = str.maketrans({mark: f"{_BREAK}{mark}{_BREAK}" for mark in _MARKS})
_SEPARATORS = frozenset(_MARKS)

_Words = tuple[str, ...]
"""A template in pieces: words, slots and marks; joined they are the template again."""


def group(messages: Sequence[str]) -> list[str]:
    """The template of each message, in order; messages of one template are one group.

    First each message is masked for itself (`analyzer.classifier.fingerprint.templates`); then templates that the whole
    set shows to be one are merged, see `merge`. The order of the messages makes no difference.
    """
    single = templates(messages)
    merged = merge(single)
    return [merged[each] for each in single]


def merge(single: Iterable[str]) -> dict[str, str]:
    """Each template and the one that it is part of; its own where it is merged with none.

    Templates of equally many words that differ in one place are one when so many words stand in that place that they
    are values, see `NEEDED`. Where that merges nothing, a template that another one covers with its slots becomes that
    one, if three constant words remain; where that merges nothing either, two places may vary together. Again until
    nothing changes.
    """
    now = {each: each for each in set(single)}
    for _ in range(_MAX_ROUNDS):
        moved = _merged(set(now.values()))
        if not moved:
            break
        now = {first: moved.get(last, last) for first, last in now.items()}
    return now


def _merged(known: set[str]) -> dict[str, str]:
    """The templates that become another one; only at the end slots are taken together, which changes the shape."""
    shapes: defaultdict[_Words, list[_Words]] = defaultdict(list)
    for text in known:
        words = _split(text)
        if len(words) <= 2 * MAX_WORDS:
            shapes[tuple(word if word in _SEPARATORS else "" for word in words)].append(words)
    moved: dict[str, str] = {}
    for shape, alike in shapes.items():
        if len(alike) == 1:
            continue
        places = [place for place, mark in enumerate(shape) if not mark]
        now = {words: words for words in alike}
        for _ in range(_MAX_ROUNDS):
            left = list(set(now.values()))
            slots = _varying(left, places) or _covered(left) or _varying_in_pairs(left, places)
            if not slots:
                break
            opened = {
                words: tuple(SLOT if place in found else word for place, word in enumerate(words))
                for words, found in slots.items()
            }
            now = {first: opened.get(last, last) for first, last in now.items()}
        moved.update(("".join(first), tidy("".join(last))) for first, last in now.items() if first != last)
    return moved


def _varying(alike: list[_Words], places: list[int]) -> dict[_Words, set[int]]:
    """Places of each template in which the others that are equal elsewhere show so many words that they are values."""
    found: defaultdict[_Words, set[int]] = defaultdict(set)
    whole = [_digest(words) for words in alike]
    for place in places:
        rests = [total - hash((place, words[place])) for total, words in zip(whole, alike, strict=True)]
        for members in _shared(alike, rests):
            if len(members) >= _needed(members[0], place):
                for words in members:
                    found[words].add(place)
    return found


def _covered(alike: list[_Words]) -> dict[_Words, set[int]]:
    """The slots that another template has, and this one lacks, of the narrowest one that covers it."""
    covers: defaultdict[tuple[int, ...], set[_Words]] = defaultdict(set)
    for words in alike:
        slots = tuple(place for place, word in enumerate(words) if word == SLOT)
        if slots and _constants(words) >= MIN_COVERING:
            covers[slots].add(words)
    found: dict[_Words, set[int]] = {}
    for slots in sorted(covers, key=lambda slots: (len(slots), slots))[:_MAX_COVERS]:
        wanted = set(slots)
        for words in alike:
            if words not in found and words not in covers[slots]:
                cover = tuple(SLOT if place in wanted else word for place, word in enumerate(words))
                if cover in covers[slots]:
                    found[words] = wanted
    return found


def _varying_in_pairs(alike: list[_Words], places: list[int]) -> dict[_Words, set[int]]:
    """As `_varying`, for two places together, where each of them shows enough words."""
    found: defaultdict[_Words, set[int]] = defaultdict(set)
    variety = {place: len({words[place] for words in alike}) for place in places}
    lively = sorted(
        (place for place in places if variety[place] >= _FEWEST), key=lambda place: (-variety[place], place)
    )
    whole = [_digest(words) for words in alike]
    for first, second in islice(combinations(lively, 2), _MAX_LOOKS // len(alike)):
        rests = [
            total - hash((first, words[first])) - hash((second, words[second]))
            for total, words in zip(whole, alike, strict=True)
        ]
        for members in _shared(alike, rests):
            fewest = min(len({each[place] for each in members}) for place in (first, second))
            if fewest >= _needed(members[0], first, second):
                for words in members:
                    found[words] |= {first, second}
    return found


def _digest(words: _Words) -> int:
    """A sum over the places, so that taking one place out costs no look at the others."""
    return sum(map(hash, enumerate(words)))


def _shared(alike: list[_Words], rests: list[int]) -> Iterator[list[_Words]]:
    """The templates that have the same rest, where they are enough to show anything."""
    often = {rest for rest, count in Counter(rests).items() if count >= _FEWEST}
    if not often:
        return
    members: defaultdict[int, list[_Words]] = defaultdict(list)
    for rest, words in zip(rests, alike, strict=True):
        if rest in often:
            members[rest].append(words)
    yield from members.values()


def _needed(words: _Words, *places: int) -> float:
    """How many words must be seen in the places, going by the constant words around them."""
    around = _constants(word for place, word in enumerate(words) if place not in places)
    return NEEDED.get(min(around, max(NEEDED)), math.inf)


def _constants(words: Iterable[str]) -> int:
    return sum(word not in _SEPARATORS and SLOT not in word for word in words)


def _split(text: str) -> _Words:
    return tuple(part for part in text.translate(_SEPARATE).split(_BREAK) if part)


MIN_LIKENESS = 0.25
"""Below it, two texts share what all texts share."""
MIN_LIKENESS_FOR_REASON = 0.45
"""As near as this must the nearest one be to speak for a reason."""
MIN_SHARE_FOR_REASON = 0.6
"""So much of the likeness of the near ones must be with one reason."""
_NO_WORDS = str.maketrans(dict.fromkeys("0123456789<>*,;:.=()[]{}\"'`|/\\@#!?-+~&%$^…·", " "))


@dataclass(frozen=True, slots=True)
class KnownTemplate:
    """A template whose reason is known."""

    text: str
    sample: str
    """A text that has it."""
    reason: str
    rule: str
    errors: int
    """How many errors of the store say it; 0 for an example of a rule."""


@dataclass(frozen=True, slots=True)
class Near:
    """A known text beside an unknown one."""

    known: KnownTemplate
    likeness: float
    """Cosine of the words' weights, 0..1."""
    missing: tuple[str, ...]
    """Its heaviest words that the unknown text does not say."""


class Neighbours:
    """An index of known texts, which gives those nearest to another text."""

    def __init__(self, known: Iterable[KnownTemplate]) -> None:
        self._known = sorted(known, key=lambda each: (each.text, each.reason, each.rule, each.sample))
        self._words = [words(each.text) for each in self._known]
        count = Counter(word for each in self._words for word in each)
        # Inverse document frequency, smoothed so that a word of every text still weighs a little.
        self._weight = {word: math.log((1 + len(self._known)) / number) + 0.1 for word, number in count.items()}
        self._unseen = math.log(1 + len(self._known)) + 0.1
        self._norms = [self._norm(each) for each in self._words]
        self._where: defaultdict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(self._words):
            for word in each:
                self._where[word].append(number)

    def near(self, text: str, limit: int) -> list[Near]:
        """The nearest ones, the nearest first."""
        own = words(text)
        shared: defaultdict[int, float] = defaultdict(float)
        for word in own:
            for number in self._where.get(word, ()):
                shared[number] += self._weight[word] ** 2
        norm = self._norm(own)
        ranked = sorted(
            ((weight / (norm * self._norms[number]), number) for number, weight in shared.items()),
            key=lambda pair: (-pair[0], pair[1]),
        )
        return [
            Near(self._known[number], likeness, self._missing(number, own))
            for likeness, number in ranked[:limit]
            if likeness >= MIN_LIKENESS
        ]

    def _missing(self, number: int, own: frozenset[str]) -> tuple[str, ...]:
        absent = sorted(self._words[number] - own, key=lambda word: (-self._weight[word], word))
        return tuple(absent[:4])

    def _norm(self, of_words: Iterable[str]) -> float:
        return math.sqrt(sum(self._weight.get(word, self._unseen) ** 2 for word in of_words)) or 1.0


def words(text: str) -> frozenset[str]:
    """The words of two letters and more, without case; slots, numbers and marks are none."""
    return frozenset(word for word in text.lower().translate(_NO_WORDS).split() if len(word) > 1)


def proposed(near: Sequence[Near]) -> tuple[str, float] | None:
    """The reason that the near ones speak for, and its share of their likeness; None where they are too far or torn."""
    votes: defaultdict[str, float] = defaultdict(float)
    for each in near:
        votes[each.known.reason] += each.likeness
    if not votes or near[0].likeness < MIN_LIKENESS_FOR_REASON:
        return None
    reason, weight = max(votes.items(), key=lambda pair: (pair[1], pair[0]))
    share = weight / sum(votes.values())
    return (reason, share) if share >= MIN_SHARE_FOR_REASON else None
