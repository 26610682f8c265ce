"""Why an error got its reason: every rule with evidence, what it matched, its guards that objected, and why it won.

Invariant: the winner is the rule that `classify` names; an explanation uses the same functions and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from analyzer.classifier.engine import Classification, classify_facts
from analyzer.classifier.reading.extract import extract
from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.deciding import chain, evidence, holding, judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.loading import Rules, ruleset_for
from analyzer.classifier.rules.ruleset import Rule, Ruleset, make
from analyzer.classifier.rules.text_evidence import LOOSE_CHARS, Passage, mentions, succeeded
from analyzer.frozen import frozen


@frozen
class Match:
    """One rule with evidence on one level of an error."""

    rule: str
    reason: str
    detail: str | None
    level: int
    """0 is the error itself, 1 its cause, and so on."""
    position: int
    """Its position among the rules, from 1; the lowest wins."""
    matched: str
    """The evidence that it matched on."""
    held_back: str | None
    """The guard that objects; None if no guard does."""
    decides: bool


@frozen
class Explanation:
    """A classification with the evidence for and against it."""

    classification: Classification
    levels: tuple[Facts, ...]
    """The facts as the classifier saw them, outermost first, then their causes."""
    statuses: tuple[int | None, ...]
    """The status that the rules saw on each level: as given, else as a text states it."""
    matches: tuple[Match, ...]
    """The matches by level, then by the order of the rules."""
    why: tuple[str, ...]
    """Sentences that explain the decision."""


def explain(error: object, *, at: datetime | None = None, rules: Rules = None) -> Explanation:
    """Explain the classification of anything that `classify` takes."""
    facts = extract(error)
    ruleset = ruleset_for(rules)
    index = index_of(ruleset)
    decision, deciding, _, _ = judge(facts, index)
    levels = chain(facts)
    matches: list[Match] = []
    for depth, level in enumerate(levels):
        winner = decision.number if level is deciding else -1
        matches += _matches(index, level, depth, winner)
    return Explanation(
        classify_facts(facts, at=at, rules=ruleset),
        tuple(levels),
        tuple(holding(level, index)[2] for level in levels),
        tuple(matches),
        tuple(_why(index, levels, matches)),
    )


def _matches(index: Index, level: Facts, depth: int, winner: int) -> Iterator[Match]:
    rules, text_mask, status, *_ = holding(level, index)
    unguarded = _unguarded(index.ruleset)
    would_hold = holding(level, unguarded)[0] | rules
    for number, rule in enumerate(index.ruleset.rules):
        if would_hold >> number & 1:
            held_back = None if rules >> number & 1 else _objection(index, rule, number, text_mask, status, level)
            matched = evidence(unguarded, unguarded.decisions[number], level)
            yield Match(rule.id, rule.reason, rule.detail, depth, number + 1, matched, held_back, number == winner)


@lru_cache(maxsize=2)
def _unguarded(ruleset: Ruleset) -> Index:
    """Return the index of the rules without their guards,
    which shows what would hold if no guard objected.
    """
    bare = tuple(
        rule._replace(only_status=(), not_status=(), only_text=(), not_text=(), only_providers=(), unless=())
        for rule in ruleset.rules
    )
    return index_of(make(bare, ruleset.status_patterns, ruleset.prose_patterns, codes=ruleset.codes))


def _objection(index: Index, rule: Rule, number: int, text_mask: int, status: int | None, level: Facts) -> str:
    if rule.only_status and status not in rule.only_status:
        return f"only_status: the status is {'not known' if status is None else status}"
    if rule.not_status and status in rule.not_status:
        return f"not_status: the status is {status}"
    if text_mask >> 4 * index.width + number & 1:
        return "not_text: a text says what rules it out"
    if rule.only_text and not text_mask >> 3 * index.width + number & 1:
        return "only_text: no text says what it asks for"
    if rule.unless and not rule.only_providers:
        return "unless: a text has words that rule it out"
    return f"only_providers: the provider is {level.provider or 'not known'}"


def _why(index: Index, levels: list[Facts], matches: list[Match]) -> Iterator[str]:
    winner = next((match for match in matches if match.decides), None)
    if winner is None:
        yield from _why_none(index, levels, matches)
        return
    if index.ruleset.rules[winner.position - 1].subjects:
        yield "Nothing better decides, so words of languages were asked, sentence by sentence."
    rivals = [match for match in matches if match.level == winner.level and not match.held_back and not match.decides]
    if rivals:
        names = ", ".join(match.rule for match in rivals)
        yield (
            f"{winner.rule} is number {winner.position} of {len(index.ruleset.rules)} rules and comes before the "
            f"others that match: {names}."
        )
    else:
        yield f"{winner.rule} is the only rule that matches{' this level' if len(levels) > 1 else ''}."
    if winner.level:
        above = [match.rule for match in matches if match.level < winner.level and not match.held_back]
        wrapper = f"says only what a wrapper says ({', '.join(above)})" if above else "says nothing that a rule knows"
        yield f"The error itself {wrapper}, so the cause decides."
    elif any(match.level for match in matches):
        yield "A rule explains the error itself, so its causes were not asked."
    yield from _uncounted(index, levels[winner.level])


def _why_none(index: Index, levels: list[Facts], matches: list[Match]) -> Iterator[str]:
    if matches:
        yield "Every rule that matches is held back by a guard of its own."
    elif not succeeded(levels[0]):
        yield "No rule knows any of it."
    for level in levels:
        yield from _uncounted(index, level)


def _uncounted(index: Index, facts: Facts) -> Iterator[str]:
    """Yield sentences about the texts that did not count."""
    if succeeded(facts):
        yield "The run went well, so its words are no error's."
        return
    if mentions(facts, index):
        yield "A limit's line counts only as the last words of a failed command; here it is a mention."
    passages: list[Passage] = []
    holding(facts, index, passages)
    if any(index.weights[number] & index.prose for passage in passages for number in passage.numbers):
        yield "A text reads like a report of work or speaks about errors, so words and names in it do not count."
    if facts.message and len(facts.message) > LOOSE_CHARS and (facts.status or 0) < 400:
        yield f"The message is longer than {LOOSE_CHARS} characters, so only whole lines and names in it count."
