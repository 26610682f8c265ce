"""The fewest words that mean an error alone, and what they catch once it is worded anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer.analysis.rules.drafts import Group, Recoveries, RuleDraft, Taken, draft
from analyzer.analysis.rules.similar_templates import Neighbours
from analyzer.analysis.rules.word_patterns import MAX_WORDINGS, WordIndex, compiled, has, shortest
from analyzer.classifier import default_ruleset
from benchmarks import rewordings

LIMITED = ("Lane quota used up: rate limit of heron reached", "rate_limited")
LIMITED_TOO = ("Rate limit: come back at dawn", "rate_limited")
OTHERS = (
    ("The billing quota of heron is closed", "auth_error"),
    ("Heron lane 7 has a malformed field", "validation"),
)


def patterns(
    text: str, reason: str = "rate_limited", known: tuple[tuple[str, str], ...] = (LIMITED, LIMITED_TOO, *OTHERS)
) -> list[str]:
    """The shortest wordings of one text."""
    said = WordIndex([one] for one, _ in known)
    return [each.pattern for each in shortest([text], reason, said, [meant for _, meant in known])]


def caught(before: str, after: str) -> bool:
    """Whether a wording of the one text is in the other."""
    return any(has(compiled(pattern), after) for pattern in patterns(before))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The rate limit of 40 calls is reached, come again", "Slow down: rate limited by the heron"),
        ("Rate limits reached for lane 4", "This rate (per minute) limit is over"),
        ("Our moored ferry sails nowhere tonight", "Error 9: moored ferry sails later"),
    ],
    ids=["other endings", "words between", "a run of three"],
)
def test_a_text_worded_anew_is_caught(before: str, after: str) -> None:
    """By two words that speak for the reason, whatever ends or parts them, or by three that nobody else says."""
    assert caught(before, after)


def test_nothing_of_another_reason_is_taken() -> None:
    """No wording is in a known text of another reason, however short it could be without that text."""
    text = "The billing quota of heron hit its rate limit"
    assert patterns(text)
    assert not any(has(compiled(pattern), other) for pattern in patterns(text) for other, _ in OTHERS)
    taken = ("Rate limit: billing closed", "auth_error")
    assert not any(
        has(compiled(pattern), taken[0]) for pattern in patterns(text, known=(LIMITED, LIMITED_TOO, *OTHERS, taken))
    )


def test_two_words_need_evidence_for_their_reason() -> None:
    """Words that fewer than two known texts of the reason have are no pair."""
    assert patterns("rate limit", known=()) == []
    assert patterns("rate limit", known=(LIMITED,)) == []
    assert len(patterns("rate limit", known=(LIMITED, LIMITED_TOO))) == 1


def test_what_differs_is_in_no_wording() -> None:
    """A word of one text alone is none of the group; words with digits are names; sentences are not joined."""
    texts = ["Ferry walrus moored rate limit", "Ferry badger moored rate limit"]
    said = WordIndex([[LIMITED[0]], [LIMITED_TOO[0]]])
    found = shortest(texts, "rate_limited", said, ["rate_limited"] * 2)
    assert found
    assert all("walrus" not in each.words for each in found)
    assert patterns("heron4x rate. Limit5 lane") == []


def test_wordings_are_few() -> None:
    """However long the text is."""
    text = " ".join(f"{word} rate limit reached" for word in ("ferry", "walrus", "badger", "marmot", "gannet") * 9)
    assert 0 < len(patterns(text)) <= MAX_WORDINGS


def test_a_draft_has_its_wordings_and_says_what_they_take() -> None:
    """They stand behind the pattern of the whole text; other unknown groups that have them are named."""
    other = Group("Gate rate limit", ["Gate rate limit"], 4)
    made = _draft([], wordings=[(r"\brate limit\b", [other])])
    assert made.to_dict()["rule"]["text"] == [made.text, r"\brate limit\b"]
    assert [(each.template, each.errors) for each in made.also] == [("Gate rate limit", 4)]
    assert (made.groups, made.errors) == (2, 7)


def test_no_reason_is_proposed_against_known_errors() -> None:
    """A draft that would take known errors of another reason waits for somebody; what speaks for one stays beside."""
    against = _draft([("Lane 7 rate limit", Taken("Lane <*> rate limit", "validation", "x", 2))], reason=None)
    assert against.reason is None
    assert against.evidence[0] == "no reason is proposed: it would take known errors of validation"
    assert against.evidence[1] == "retried 3 times in 2 sessions, 2 recovered"
    same = _draft([("Lane 7 rate limit", Taken("Lane <*> rate limit", "network_transient", "x", 2))], reason=None)
    assert (same.reason, same.weak) == ("network_transient", True)


def test_a_draft_that_takes_unknown_groups_of_another_leaning_is_refused() -> None:
    """Its own pattern makes it no rule, whoever chose the reason; a wording that does is left out."""
    other = Group("Lane <*> rate limit of the door", ["Lane 9 rate limit of the door"], 4)
    for leaning, refused in ((None, False), ("rate_limited", False), ("auth_error", True)):
        made = _draft([], others=[other], leaning=leaning)
        assert (made.refused is not None, made.ready) == (refused, not refused)
    assert made.refused == ("it takes unknown groups that lean to auth_error, not to rate_limited: narrow its pattern")
    assert _draft([], wordings=[(r"\brate limit\b", [other])], leaning="auth_error").wordings == ()


def _draft(
    known: list[tuple[str, Taken]],
    wordings: list[tuple[str, list[Group]]] | None = None,
    others: list[Group] | None = None,
    leaning: str | None = None,
    reason: str | None = "rate_limited",
) -> RuleDraft:
    made = draft(
        Group("Lane <*> rate limit", ["Lane 1 rate limit", "Lane 2 rate limit"], 3),
        others=lambda constants: others or [],
        known_texts=lambda constants: known,
        shortest=lambda texts, reason: wordings or [],
        near=Neighbours([]).near("Lane <*> rate limit", 5),
        leaning=lambda group: leaning,
        recoveries=Recoveries(3, 2, 2, 2, 0),
        source="a test",
        rules=default_ruleset(),
        taken_ids=set(),
        reason=reason,
    )
    assert made is not None
    return made


def test_the_benchmark_counts_what_is_caught_and_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In each half of the pairs, and with the texts of other reasons that the drafts take."""
    pairs, against = tmp_path / "pairs.jsonl", tmp_path / "labelled.jsonl"
    rows = [
        {"before": "Rate limit of lane reached", "after": "You are rate limited", "want": "rate_limited"},
        {"before": "Moored ferry sails nowhere", "after": "Nothing alike", "want": "validation"},
    ]
    pairs.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    against.write_text(json.dumps({"message": "The moored ferry sails nowhere", "expected": "auth_error"}), "utf-8")
    rewordings.main([str(pairs), "--against", str(against)])
    said = capsys.readouterr().out
    assert "even rows  whole texts catch 0 of 1 new wordings, with shortest wordings 1; " in said
    assert "all rows   whole texts catch 0 of 2 new wordings, with shortest wordings 1; " in said
    assert said.endswith("texts of another reason taken: 1\n")
