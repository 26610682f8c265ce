"""Templates that differ in a word that is a value after all: user names, hosts, states, which no mask can know.

Invariant: the result depends on the set of templates alone, not on their order or number; what is merged is merged
because the whole set shows it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from analyzer.classifier.fingerprint import SLOT, templates, tidy

MIN_VALUES = 5
"""So many words in one place, all else equal, are values."""
MIN_CONSTANTS = 3
"""So many words must stay: what is left of a shorter template says nothing."""
MAX_WORDS = 80
"""Longer templates, such as traces, are left as they are."""
_MAX_ROUNDS = 8
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

    Templates of equally many words that differ in one place are one, when at least five words stand in that place and at
    least three constant words remain; a place that holds a masked value in one of them needs no second one. Then
    the same for two places that vary together. Again until nothing changes.
    """
    now = {each: each for each in set(single)}
    for _ in range(_MAX_ROUNDS):
        moved = _round(set(now.values()))
        if not moved:
            break
        now = {first: moved.get(last, last) for first, last in now.items()}
    return now


def _round(known: set[str]) -> dict[str, str]:
    """The templates that become another one, by places that vary alone, else by two that vary together."""
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
        loose = _varying(alike, places) or _varying_in_pairs(alike, places)
        for words, open_places in loose.items():
            text = "".join(SLOT if place in open_places else word for place, word in enumerate(words))
            if (after := tidy(text)) != (before := "".join(words)):
                moved[before] = after
    return moved


def _varying(alike: list[_Words], places: list[int]) -> dict[_Words, set[int]]:
    """Places of each template in which the others that are equal elsewhere show so many words that they are values."""
    found: defaultdict[_Words, set[int]] = defaultdict(set)
    for place in places:
        rests: defaultdict[_Words, list[_Words]] = defaultdict(list)
        for words in alike:
            rests[words[:place] + words[place + 1 :]].append(words)
        for rest, members in rests.items():
            if len(members) > 1 and _constants(rest) >= MIN_CONSTANTS and _are_values({each[place] for each in members}):
                for words in members:
                    found[words].add(place)
    return found


def _varying_in_pairs(alike: list[_Words], places: list[int]) -> dict[_Words, set[int]]:
    found: defaultdict[_Words, set[int]] = defaultdict(set)
    if len(alike) < MIN_VALUES:
        return found
    open_places = [place for place in places if len({words[place] for words in alike}) >= MIN_VALUES]
    for index, first in enumerate(open_places):
        for second in open_places[index + 1 :]:
            rests: defaultdict[_Words, list[_Words]] = defaultdict(list)
            for words in alike:
                rests[words[:first] + words[first + 1 : second] + words[second + 1 :]].append(words)
            for rest, members in rests.items():
                values = [{each[place] for each in members} for place in (first, second)]
                if min(map(len, values)) >= MIN_VALUES and _constants(rest) >= MIN_CONSTANTS:
                    for words in members:
                        found[words] |= {first, second}
    return found


def _are_values(words: set[str]) -> bool:
    return len(words) >= MIN_VALUES or SLOT in words


def _constants(words: Iterable[str]) -> int:
    return sum(word not in _SEPARATORS and SLOT not in word for word in words)


def _split(text: str) -> _Words:
    return tuple(part for part in text.translate(_SEPARATE).split(_BREAK) if part)
