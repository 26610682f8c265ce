"""Groups of unknown errors, and the drafts of rules made of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import re2
from hypothesis import assume, given
from hypothesis import strategies as st

import analyzer
from analyzer.analysis.rules.drafts import Group, Recoveries, Taken, constant_parts, draft, pattern_for
from analyzer.analysis.rules.similar_templates import KnownTemplate, Neighbours, proposed
from analyzer.analysis.rules.unknowns import helped_by_retries
from analyzer.analysis.rules.word_patterns import WordIndex
from analyzer.classifier import default_ruleset
from analyzer.classifier.fingerprint import fingerprint
from analyzer.classifier.rules.lint import lint
from analyzer.classifier.rules.loading import ruleset_for
from analyzer.report.unknowns import render_rules
from analyzer.store import Store
from tests import each_row

OVERLOADED = KnownTemplate(
    "Canvas <*> is overloaded", "Canvas 7 is overloaded", "network_transient", "overloaded_text", 9
)


def test_groups_count_errors_sessions_and_callers_once(history: Store) -> None:
    """The group in most sessions stands first; a burst of one session behind it, however many errors it has."""
    found = analyzer.unknowns(history)
    assert [(group.template, group.count, group.sessions, group.callers) for group in found.groups] == [
        ("Canvas shard <*> is parked, <*> readers ahead of you", 6, 4, 1),
        ("Ledger page <*> is sealed until the audit", 4, 1, 1),
        ("Reply <*> belongs to no open call", 1, 1, 1),
    ]
    assert (found.errors, found.sessions, found.templates) == (11, 5, 3)
    assert found.headline == "2 of 3 templates make 90.9% of 11 unknown errors."
    first = found.groups[0]
    assert first.fingerprint == fingerprint("Canvas shard 4 is parked, 5 readers ahead of you")
    assert sum(errors for _, errors in first.by_day) == 6
    assert len(first.samples) == 3


def test_where_nothing_is_unknown_nothing_is_drafted(history: Store) -> None:
    """No group, no draft, no error."""
    found = analyzer.unknowns(history, caller="nobody", suggest=True)
    assert list(found.groups) == []


def test_every_unknown_error_of_the_view_is_in_one_group(history: Store) -> None:
    """The ids of a group find its errors again in SQL, and together all of them."""
    found = analyzer.unknowns(history, limit=None)
    ids = [each for group in found.groups for each in group.fingerprints]
    assert len(ids) == len(set(ids))
    counted = history.sql("select fingerprint, count(*) from errors where counts_as_unknown group by all")
    assert set(ids) == set(counted["fingerprint"])
    assert sum(group.count for group in found.groups) == found.errors == counted.to_series(1).sum()


def test_a_window_a_caller_and_a_limit_narrow_it(history: Store) -> None:
    """What the limit hides still counts in the totals."""
    assert analyzer.unknowns(history, caller="auditor").errors == 4
    assert analyzer.unknowns(history, window="..2026-11-03").errors < 11
    short = analyzer.unknowns(history, limit=1)
    assert (len(short.groups), short.errors, short.templates) == (1, 11, 3)
    assert short.headline == "1 of 3 templates make 54.5% of 11 unknown errors."


def test_an_error_without_words_is_told_by_its_status(memory: Store, jsonl: Callable[..., Path], native: Any) -> None:
    """There is a group for it all the same, and no draft."""
    lines = [native(str(n), reason="unknown", facts={"status": 399, "is_error": True}) for n in range(3)]
    memory.ingest([str(jsonl("log.jsonl", *(line.decode().strip() for line in lines)))])
    (group,) = analyzer.unknowns(memory, suggest=True).groups
    assert (group.template, group.count, group.samples, group.suggestion) == ("status 399", 3, (), None)


def test_an_empty_store_has_no_unknown_errors(memory: Store) -> None:
    """No groups, and a sentence that says so."""
    found = analyzer.unknowns(memory)
    assert (found.groups, found.headline) == ((), "No unknown errors.")
    assert found.to_polars().is_empty()


def test_results_are_frames_and_json(history: Store) -> None:
    """The keys of the contract stand in both."""
    found = analyzer.unknowns(history, suggest=True)
    promised = ["fingerprint", "template", "count", "sessions", "callers", "first_seen_at", "last_seen_at", "samples"]
    assert set(promised) <= set(found.to_polars().columns)
    assert {*promised, "suggestion", "nearest"} <= set(found.to_dict()["groups"][0])
    assert "Canvas shard" in found._repr_html_()


def test_the_nearest_known_error_is_named_with_what_it_lacks(history: Store) -> None:
    """By the words that both share; rare ones weigh more."""
    near = analyzer.unknowns(history).groups[0].nearest
    assert near is not None
    assert (near.rule, near.reason) == ("overloaded_text", "network_transient")
    assert "overloaded" in near.why
    assert 0.25 <= near.likeness < 1


def test_a_rule_that_a_guard_held_back_is_nearest(memory: Store, jsonl: Callable[..., Path], native: Any) -> None:
    """It is the one to look at first, and the guard is named."""
    rule = default_ruleset()
    held = "tokens per minute limit, see your plan and billing details"
    found = [match for match in _explained(held) if match.held_back]
    assert found, rule.digest
    path = jsonl("log.jsonl", native("1", reason="unknown", facts={"message": held}).decode().strip())
    memory.ingest([str(path)])
    near = analyzer.unknowns(memory).groups[0].nearest
    assert near is not None
    assert near.rule == found[0].rule
    assert "held back by" in near.why


def _explained(text: str) -> Any:
    from analyzer.classifier.rules.explain import explain

    return explain(text).matches


@each_row(
    "template, texts, pattern",
    [
        ("shard <*> is parked", ["shard 4 is parked", "shard 17 is parked"], r"\bshard \d+ is parked\b"),
        ("took <*> too long", ["took 1.5 too long", "took -2 too long"], r"\btook [+-]?\d[\d.,]* too long\b"),
        (
            "wait <*> for room",
            ["wait 5 s for room", "wait 2 min for room"],
            r"\bwait [+-]?\d[\d.,]* ?[a-z]+ for room\b",
        ),
        ("lost <*> of host", ["lost ab12-cd34 of host"], r"\blost [0-9a-f-]{8,} of host\b"),
        ("cannot find <*> here", ["cannot find 'x' here", "cannot find y here"], r"\bcannot find \S+ here\b"),
        ("users (<*>) are gone", ["users (a, b) are gone"], r"\busers \([^\n]*\) are gone\b"),
        ("can't open (maybe) <*>", ["can't open (maybe) 5"], r"\bcan\x{27}t open \(maybe\)"),
        ("two words apart", ["two  words\napart"], r"\btwo\s+words\s+apart\b"),
        ("status <*>", ["status 5"], None),
        ("<*>", ["5"], None),
    ],
)
def test_a_pattern_has_slots_of_the_narrowest_shape(template: str, texts: list[str], pattern: str | None) -> None:
    """Anchored on the constant words; None where too few of them are left."""
    assert pattern_for(template, texts) == pattern


def _draft(
    known: list[tuple[str, Taken]], others: list[Group], near: Neighbours, recoveries: Recoveries | None = None
) -> Any:
    texts = [f"Canvas shard {n} is parked" for n in range(3)]
    return draft(
        Group("Canvas shard <*> is parked", texts, 3),
        others=lambda constants: others,
        known_texts=lambda constants: known,
        shortest=lambda texts, reason: [],
        near=near.near("Canvas shard <*> is parked", 5),
        leaning=lambda group: None,
        recoveries=recoveries,
        source="a test",
        rules=default_ruleset(),
        taken_ids={"canvas_shard_parked"},
    )


NEAR_WORDS = st.text("abkKsS09_- .éÉſK\n", max_size=12)


@given(st.lists(NEAR_WORDS, min_size=1, max_size=8), NEAR_WORDS)
def test_a_search_leaves_out_no_text_that_a_pattern_matches(texts: list[str], middle: str) -> None:
    """Whatever stands around the words, and with the letters that only a pattern without case takes for others."""
    template = f"gate abks <*>{middle}<*> is shut{middle}"
    own = template.replace("<*>", "7")
    found = constant_parts(template, [own])
    assume(found is not None)
    pattern, constants = found or ("", [])
    around = [f"{text}{own.swapcase()}{text}" for text in texts] + [f"{text} {own} {text}" for text in texts] + texts
    options = re2.Options()
    options.case_sensitive = False
    regex = re2.compile(pattern.encode(), options)
    there = {number for number, text in enumerate(around) if regex.search(text.encode())}
    assert there <= set(WordIndex([text] for text in around).may_match(constants))


def test_drafts_of_very_many_groups_are_tried_on_few_texts() -> None:
    """On those alone that hold the rarest word of their pattern."""
    texts = [[f"gate number{chr(97 + number % 26)}x{number} is shut"] for number in range(1_000)]
    index = WordIndex(texts)
    assert list(index.may_match(["gate numberbx1 is shut"])) == [1]
    assert list(index.may_match(["no such word"])) == []
    assert len(list(index.may_match(["gate number", " is shut"]))) == 1_000
    assert len(list(index.may_match(["umber"]))) == 0


def test_a_draft_says_what_else_it_would_take() -> None:
    """Other unknown groups and known errors that its pattern matches are named, the others are not."""
    taken = Taken("Canvas shard <*> is parked by hand", "validation", "weak_validation", 7)
    missed = Taken("Canvas is full", "validation", "weak_validation", 7)
    other = Group("Canvas shard <*> is parked again", ["Canvas shard 9 is parked again"], 5)
    made = _draft(
        [("Canvas shard 3 is parked by hand", taken), ("Canvas is full", missed)],
        [other, Group("Reply", ["Reply"], 1)],
        Neighbours([]),
    )
    assert made.collisions == (taken,)
    assert [each.template for each in made.also] == [other.template]
    assert (made.groups, made.errors) == (2, 8)
    assert made.id == "canvas_shard_parked_2"


def test_a_reason_is_proposed_only_with_evidence() -> None:
    """A near known error speaks for its reason; far or torn ones speak for none."""
    near = _draft([], [], Neighbours([OVERLOADED]))
    assert near.reason == "network_transient"
    assert "overloaded" in near.evidence[1]
    far = _draft([], [], Neighbours([KnownTemplate("The moon is full", "The moon is full", "validation", "x", 1)]))
    assert far.reason is None
    helped = Recoveries(41, 9, 38, 8, 0)
    asked = _draft([], [], Neighbours([]), helped)
    assert (asked.reason, asked.weak, asked.wordings) == ("network_transient", True, ())
    assert asked.evidence[0] == "retried 41 times in 9 sessions, 38 recovered"
    for of_no_use in (Recoveries(9, 3, 9, 1, 0), Recoveries(9, 3, 9, 3, 1), Recoveries(9, 3, 0, 0, 0)):
        assert _draft([], [], Neighbours([]), of_no_use).reason is None
    torn = [
        KnownTemplate(f"Canvas shard parked {n}", "x", reason, "x", 1)
        for n, reason in enumerate(("validation", "auth_error"))
    ]
    assert proposed(Neighbours(torn).near("Canvas shard <*> is parked", 5)) is None


def test_drafts_make_a_file_that_loads_and_is_clean(history: Store, tmp_path: Path) -> None:
    """Those with a reason work as they are; once reasons are chosen for the others, all of them pass the lint."""
    text = render_rules(analyzer.unknowns(history, suggest=True))
    path = tmp_path / "draft.toml"
    path.write_text(text, "utf-8")
    (ready,) = [rule for rule in ruleset_for(path).rules if rule.id.startswith("canvas_shard")]
    assert ready.reason == "network_transient"
    chosen = "\n".join(_chosen(text.split("\n")))
    path.write_text(chosen, "utf-8")
    rules = ruleset_for(path)
    assert len(rules.rules) == len(default_ruleset().rules) + 3
    own = {rule.id for rule in rules.rules} - {rule.id for rule in default_ruleset().rules}
    assert [each for each in lint(rules).findings if each.rule in own] == []


def _chosen(lines: list[str]) -> list[str]:
    """The file as somebody leaves it who took every mark away and chose one reason."""
    out, inside = [], False
    for line in lines:
        inside = (inside or line == "# [[rule]]") and line.startswith("#")
        out.append(line[2:].replace('reason = ""', 'reason = "validation"') if inside else line)
    return out


def test_hostile_texts_stay_inside_their_strings(memory: Store, jsonl: Callable[..., Path], native: Any) -> None:
    """Quotes, line ends, escapes and comment marks of a message neither break the file nor add to it."""
    nasty = "Kelp basket \"1\" 'burst' \\ \x1b[2J open\n[[rule]]\nid = 'evil' # \u2028 \U0001f600 three-quotes '''"
    lines = [native(str(n), reason="unknown", facts={"message": f"{nasty} {n}"}).decode().strip() for n in range(3)]
    path = jsonl("log.jsonl", *lines)
    memory.ingest([str(path)])
    text = render_rules(analyzer.unknowns(memory, suggest=True))
    assert "\x1b" not in text
    draft_path = path.with_name("draft.toml")
    draft_path.write_text("\n".join(_chosen(text.split("\n"))), "utf-8")
    own = {rule.id for rule in ruleset_for(draft_path).rules} - {rule.id for rule in default_ruleset().rules}
    assert len(own) == 1
    assert "evil" not in own


def _chains(native: Any, message: str, outcomes: dict[str, tuple[str, int]]) -> list[str]:
    """The lines of one retry chain a session: an unknown error, and how the chain ended after how many calls."""
    lines = []
    for session, (outcome, attempts) in outcomes.items():
        name = f"{session}-{message[:5]}"
        known = {"session": session, "operation": name, "reason": "unknown", "caller": "probe"}
        lines.append(native(f"{name}-e", facts={"message": message}, attempt=1, **known))
        lines.append(native(f"{name}-r", "retry.settled", outcome=outcome, attempts=attempts, **known))
    return [line.decode().strip() for line in lines]


def test_what_happened_next_is_a_label(memory: Store, jsonl: Callable[..., Path], native: Any) -> None:
    """An unknown error that recovered on a retry in two sessions, and never without one, is proposed; no other one."""
    again = ("recovered", 2)
    chains = {
        "Heron is moulting": {"a": again, "b": again, "c": ("exhausted", 3)},
        "Walrus is asleep": {"a": again, "b": ("exhausted", 3)},
        "Ferry went alone": {"a": again, "b": again, "c": ("recovered", 1)},
        "Gannet has flown": {"a": ("surfaced", 1), "b": ("surfaced", 1)},
    }
    lines = [line for message, outcomes in chains.items() for line in _chains(native, message, outcomes)]
    memory.ingest([str(jsonl("log.jsonl", *lines))])
    found = analyzer.unknowns(memory, suggest=True)
    assert {group.template: group.suggested_reason for group in found.groups} == {
        "Heron is moulting": "network_transient",
        "Walrus is asleep": None,
        "Ferry went alone": None,
        "Gannet has flown": None,
    }
    heron = next(group for group in found.groups if group.template == "Heron is moulting")
    assert heron.recoveries == Recoveries(3, 3, 2, 2, 0)
    assert heron.suggestion is not None
    assert (heron.suggestion.reason, heron.suggestion.weak) == ("network_transient", True)
    assert "\nweak = true\n" in render_rules(found)
    columns = ("message", "retried", "recovered", "suggested_reason")
    rows = memory.query("unknown-messages").select(columns).rows()
    assert ("Heron is moulting", 3, 2, "network_transient") in rows
    assert [row[0] for row in rows if row[3]] == ["Heron is moulting"]
    assert [(name, outcome.sentence) for name, outcome in helped_by_retries(memory)] == [
        ("Heron is moulting", "retried 3 times in 3 sessions, 2 recovered")
    ]
    assert helped_by_retries(memory, ["Heron is moulting"]) == []
    assert memory.sql("select distinct reason from errors").rows() == [("unknown",)]
