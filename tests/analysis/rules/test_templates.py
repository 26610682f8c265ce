"""Merging of templates: what the whole set shows to be a value, whatever its order."""

from __future__ import annotations

import random
from collections import defaultdict
from statistics import mean

from hypothesis import given
from hypothesis import strategies as st

from analyzer.analysis.rules.similar_templates import group, merge
from benchmarks.fingerprint import scores
from benchmarks.loglines import corpus
from tests.growth import assert_linear

NAMES = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris"]
WORDS = st.sampled_from(
    ["open", "close", "the", "door", "<*>", "of", "room", "(", ")", ",", "a", "b", "c", "d", "e", "f"]
)


def test_masked_messages_are_one_group() -> None:
    """Numbers alone make no second group."""
    assert group(["shard 4 is parked", "shard 77 is parked"]) == ["shard <*> is parked"] * 2


def test_many_words_in_one_place_are_values() -> None:
    """Five users where all else is equal; the same without enough words beside them, or with too few users, are not."""
    said = [f"Failed password for invalid {name}" for name in NAMES[:5]]
    assert set(group(said)) == {"Failed password for invalid <*>"}
    assert len(set(group(said[:4]))) == 4
    assert len(set(group([f"{name} vanished" for name in NAMES]))) == len(NAMES)


def test_the_more_words_stay_the_fewer_values_are_needed() -> None:
    """Three do beside six constant words, eight beside two."""
    assert len(set(group([f"session was opened for the user {name}" for name in NAMES[:3]]))) == 1
    assert len(set(group([f"{name} shutdown succeeded" for name in NAMES[:7]]))) == 7
    assert len(set(group([f"{name} shutdown succeeded" for name in NAMES[:8]]))) == 1


def test_a_slot_covers_the_word_that_stands_in_its_place() -> None:
    """One value was a number, the other a word: the place holds values."""
    assert set(group(["Connection closed by node7", "Connection closed by amber"])) == {"Connection closed by <*>"}


def test_two_places_that_vary_together_are_found() -> None:
    """No two messages agree in all but one place, and still they are one."""
    said = [f"worker {one} lost its lease on {other}" for one, other in zip(NAMES, NAMES[::-1], strict=True)]
    assert set(group(said)) == {"worker <*> lost its lease on <*>"}


def test_two_states_are_no_values() -> None:
    """Opened and closed are two things to say."""
    said = [
        f"pam_unix: session {state} for user number {number}" for state in ("opened", "closed") for number in range(9)
    ]
    assert len(set(group(said))) == 2


@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=40), st.randoms(use_true_random=False))
def test_order_and_number_make_no_difference(texts: list[str], shuffle: random.Random) -> None:
    """The same set gives the same result."""
    known = merge(texts)
    again = [*texts, *texts[:3]]
    shuffle.shuffle(again)
    assert merge(again) == known
    assert set(known) == set(texts)


def test_the_corpus_is_grouped_as_well_as_documented() -> None:
    """Grouping accuracy and F1 over the systems of the corpus stay above what docs/how-to/unknowns.md promises."""
    by_system = defaultdict(list)
    for line in corpus(rounds=10):
        by_system[line.system].append(line)
    found = [scores([line.label for line in own], group([line.text for line in own])) for own in by_system.values()]
    assert mean(ga for ga, _ in found) > 0.93
    assert mean(fga for _, fga in found) > 0.85


def test_the_scorer_knows_a_right_group_from_a_wrong_one() -> None:
    """A group counts when it holds exactly the lines of one label."""
    assert scores([1, 1, 2, 2], ["a", "a", "b", "b"]) == (1.0, 1.0)
    assert scores([1, 1, 2, 2], ["a", "a", "b", "c"]) == (0.5, 0.4)
    assert scores([1, 1, 2, 2], ["a", "a", "a", "a"]) == (0.0, 0.0)


def test_many_different_messages_take_little_time() -> None:
    """Texts that share nothing, or everything but two places, do not make merging quadratic."""
    rng = random.Random(1)
    letters = "ghijklmnopqrstuvwxyz"
    word = lambda: "".join(rng.choices(letters, k=6))  # noqa: E731
    different = [" ".join(word() for _ in range(12)) for _ in range(3_000)]
    alike = [f"the {word()} of the {word()} is not in the list of things" for _ in range(10_000)]
    assert_linear(group, different[:750], different)
    assert_linear(group, alike[:2_500], alike)
