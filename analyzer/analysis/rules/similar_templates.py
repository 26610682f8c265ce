"""Merge templates that differ only in values, and find the known templates near an unknown one.

Invariants: templates are merged because of the whole set of them, and neither their order nor their
number makes a difference; ties of likeness are decided by the text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice

from analyzer.classifier.fingerprint import SLOT, templates, tidy
from analyzer.frozen import frozen

NEEDED = {2: 8, 3: 5, 4: 5, 5: 5, 6: 3}
"""Constant words around a place → how many different words in it make them values; more than six
count as six.  The more words are constant, the less likely two messages share them by chance. One
word is no evidence. """
MIN_COVERING = 3
"""Least constant words of a template that absorbs others which its slots cover."""
MAX_WORDS = 80
"""Most words of a template that is merged: longer ones, such as traces, are left as they are."""
_FEWEST = min(NEEDED.values())
# Far more than logs need; they limit the cost of hostile input.
_MAX_ROUNDS = 8
_MAX_COVERS = 64
_MAX_LOOKS = 2_000_000
_BREAK = "\0"
_MARKS = " ,;:=()[]{}\"'`|/@#!?"
_SEPARATE = str.maketrans({mark: f"{_BREAK}{mark}{_BREAK}" for mark in _MARKS})
_SEPARATORS = frozenset(_MARKS)

_Words = tuple[str, ...]
"""A template in pieces: words, slots and marks; joined, they are the template again."""


def group(messages: Sequence[str]) -> list[str]:
    """Return the template of each message, in order; messages of one template are one group.

    First each message is masked by itself (`analyzer.classifier.fingerprint.templates`); then
    templates that the whole set shows to be the same are merged, see `merge`. The order of the
    messages makes no difference.
    """
    single = templates(messages)
    merged = merge(single)
    return [merged[template] for template in single]


def merge(single: Iterable[str]) -> dict[str, str]:
    """Return each template with the template it is merged into; itself if it is not merged.

    Templates with equally many words that differ in one place are merged if that place has so many
    different words that they are values, see `NEEDED`. If that merges nothing, a template that
    another one covers with its slots becomes that one, if three constant words remain; if that
    merges nothing either, two places may vary together. This is repeated until nothing changes.
    """
    merged = {template: template for template in set(single)}
    for _ in range(_MAX_ROUNDS):
        moves = _moves(set(merged.values()))
        if not moves:
            break
        merged = {original: moves.get(current, current) for original, current in merged.items()}
    return merged


def _moves(texts: set[str]) -> dict[str, str]:
    """Return the templates that become another one; adjacent slots are joined only at the end."""
    shapes: defaultdict[_Words, list[_Words]] = defaultdict(list)
    for text in texts:
        words = _split(text)
        if len(words) <= 2 * MAX_WORDS:
            shapes[tuple(word if word in _SEPARATORS else "" for word in words)].append(words)
    moves: dict[str, str] = {}
    for shape, alike in shapes.items():
        if len(alike) == 1:
            continue
        places = [place for place, mark in enumerate(shape) if not mark]
        current = {words: words for words in alike}
        for _ in range(_MAX_ROUNDS):
            left = list(set(current.values()))
            slots = _varying(left, places) or _covered(left) or _varying_pairs(left, places)
            if not slots:
                break
            opened = {
                words: tuple(SLOT if place in opened_places else word for place, word in enumerate(words))
                for words, opened_places in slots.items()
            }
            current = {first: opened.get(last, last) for first, last in current.items()}
        moves.update(("".join(first), tidy("".join(last))) for first, last in current.items() if first != last)
    return moves


def _varying(alike: list[_Words], places: list[int]) -> dict[_Words, set[int]]:
    """Return per template the places where templates equal elsewhere have enough words."""
    varying: defaultdict[_Words, set[int]] = defaultdict(set)
    whole = [_digest(words) for words in alike]
    for place in places:
        rests = [total - hash((place, words[place])) for total, words in zip(whole, alike, strict=True)]
        for members in _with_same_rest(alike, rests):
            if len(members) >= _needed(members[0], place):
                for words in members:
                    varying[words].add(place)
    return varying


def _covered(alike: list[_Words]) -> dict[_Words, set[int]]:
    """Return per template the slots of the narrowest other template that covers it."""
    covers: defaultdict[tuple[int, ...], set[_Words]] = defaultdict(set)
    for words in alike:
        slots = tuple(place for place, word in enumerate(words) if word == SLOT)
        if slots and _constants(words) >= MIN_COVERING:
            covers[slots].add(words)
    opened: dict[_Words, set[int]] = {}
    for slots in sorted(covers, key=lambda slots: (len(slots), slots))[:_MAX_COVERS]:
        wanted = set(slots)
        for words in alike:
            if words not in opened and words not in covers[slots]:
                cover = tuple(SLOT if place in wanted else word for place, word in enumerate(words))
                if cover in covers[slots]:
                    opened[words] = wanted
    return opened


def _varying_pairs(alike: list[_Words], places: list[int]) -> dict[_Words, set[int]]:
    """Return per template two places that vary together, each with enough words."""
    varying: defaultdict[_Words, set[int]] = defaultdict(set)
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
        for members in _with_same_rest(alike, rests):
            fewest = min(len({words[place] for words in members}) for place in (first, second))
            if fewest >= _needed(members[0], first, second):
                for words in members:
                    varying[words] |= {first, second}
    return varying


def _digest(words: _Words) -> int:
    """Hash words as a sum over places, so that a place can be taken out without the others."""
    return sum(map(hash, enumerate(words)))


def _with_same_rest(alike: list[_Words], rests: list[int]) -> Iterator[list[_Words]]:
    """Yield the groups of templates with the same rest, if they have enough members for a merge."""
    often = {rest for rest, count in Counter(rests).items() if count >= _FEWEST}
    if not often:
        return
    members: defaultdict[int, list[_Words]] = defaultdict(list)
    for rest, words in zip(rests, alike, strict=True):
        if rest in often:
            members[rest].append(words)
    yield from members.values()


def _needed(words: _Words, *places: int) -> float:
    """Return how many words the places must have, going by the constant words around them."""
    around = _constants(word for place, word in enumerate(words) if place not in places)
    return NEEDED.get(min(around, max(NEEDED)), math.inf)


def _constants(words: Iterable[str]) -> int:
    return sum(word not in _SEPARATORS and SLOT not in word for word in words)


def _split(text: str) -> _Words:
    return tuple(part for part in text.translate(_SEPARATE).split(_BREAK) if part)


MIN_LIKENESS = 0.25
"""Least likeness of neighbours: below it, two texts share only what all texts share."""
MIN_LIKENESS_FOR_REASON = 0.45
"""Least likeness of the nearest text, as evidence for a reason."""
MIN_SHARE_FOR_REASON = 0.6
"""Least part of the neighbours' likeness that one reason must have."""
_NO_WORDS = str.maketrans(dict.fromkeys("0123456789<>*,;:.=()[]{}\"'`|/\\@#!?-+~&%$^…·", " "))


@frozen
class KnownTemplate:
    """A template whose reason is known."""

    text: str
    sample: str
    """A text that has it."""
    reason: str
    rule: str
    errors: int
    """The errors of the store that have it; 0 for an example of a rule."""


@frozen
class Near:
    """A known text near an unknown one."""

    template: KnownTemplate
    likeness: float
    """Cosine of the words' weights, 0..1."""
    missing: tuple[str, ...]
    """Its heaviest words that the unknown text lacks."""


class Neighbours:
    """An index of known texts, for the texts nearest to another one."""

    def __init__(self, templates: Iterable[KnownTemplate]) -> None:
        self._templates = sorted(
            templates, key=lambda template: (template.text, template.reason, template.rule, template.sample)
        )
        self._words = [words(template.text) for template in self._templates]
        count = Counter(word for text_words in self._words for word in text_words)
        # Inverse document frequency, smoothed so that a word of every text still weighs a little.
        self._weight = {word: math.log((1 + len(self._templates)) / number) + 0.1 for word, number in count.items()}
        self._unseen = math.log(1 + len(self._templates)) + 0.1
        self._norms = [self._norm(text_words) for text_words in self._words]
        self._where: defaultdict[str, list[int]] = defaultdict(list)
        for number, text_words in enumerate(self._words):
            for word in text_words:
                self._where[word].append(number)

    def near(self, text: str, limit: int) -> list[Near]:
        """Return up to `limit` known texts with enough likeness, nearest first."""
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
            Near(self._templates[number], likeness, self._missing(number, own))
            for likeness, number in ranked[:limit]
            if likeness >= MIN_LIKENESS
        ]

    def _missing(self, number: int, own: frozenset[str]) -> tuple[str, ...]:
        absent = sorted(self._words[number] - own, key=lambda word: (-self._weight[word], word))
        return tuple(absent[:4])

    def _norm(self, of_words: Iterable[str]) -> float:
        return math.sqrt(sum(self._weight.get(word, self._unseen) ** 2 for word in of_words)) or 1.0


def words(text: str) -> frozenset[str]:
    """Return the words of two letters and more in lower case, without slots, numbers and marks."""
    return frozenset(word for word in text.lower().translate(_NO_WORDS).split() if len(word) > 1)


def proposed(near: Sequence[Near]) -> tuple[str, float] | None:
    """Return the reason of most near texts and its share of their likeness; None if unclear."""
    votes: defaultdict[str, float] = defaultdict(float)
    for neighbour in near:
        votes[neighbour.template.reason] += neighbour.likeness
    if not votes or near[0].likeness < MIN_LIKENESS_FOR_REASON:
        return None
    reason, weight = max(votes.items(), key=lambda pair: (pair[1], pair[0]))
    share = weight / sum(votes.values())
    return (reason, share) if share >= MIN_SHARE_FOR_REASON else None
