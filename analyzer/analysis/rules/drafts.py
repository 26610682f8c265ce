"""Draft a rule for a group of unknown errors: what it matches, what else it would take, and why.

Invariant: a draft matches every text of its group that it was made from, and lists all errors
beyond the group that it would take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from analyzer.analysis.rules.similar_templates import Near, proposed
from analyzer.analysis.rules.word_patterns import compiled, has
from analyzer.analysis.tables import json_ready
from analyzer.classifier import Ruleset, classify
from analyzer.classifier.fingerprint import SLOT
from analyzer.classifier.reading.extract import extract
from analyzer.classifier.reading.flattening import flat
from analyzer.classifier.rules.ruleset import Rule, make
from analyzer.frozen import frozen
from analyzer.readable import counted, percent

MAX_PATTERN_CHARS = 160
"""Most characters of constant words: a rule needs no more to match only its error."""
MIN_LETTERS = 8
"""Least letters of a pattern: one with fewer matches too much."""
EXAMPLE_CHARS = 300
LEAST_SESSIONS = 2
"""Least sessions in which a retry helped, as evidence for a reason."""
TRANSIENT = "network_transient"
_SHAPES = (
    (r"[0-9]+", r"\d+"),
    (r"[+-]?[0-9][0-9.,]*", r"[+-]?\d[\d.,]*"),
    (r"[+-]?[0-9][0-9.,]* ?[A-Za-z]+", r"[+-]?\d[\d.,]* ?[a-z]+"),
    (r"[0-9a-fA-F-]{8,}", r"[0-9a-f-]{8,}"),
    (r"\S+", r"\S+"),
)
"""Shapes of the values of a slot, and the pattern for each; other values match the rest of a
line."""
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_UNSEEN = re.compile(r"(?:[\x00-\x1f\x7f-\x9f]\[?|\s)+")
"""White space and control sequences of terminals, without their parameters: rules never see
these."""
_ANYTHING = r"[^\n]*"


@frozen
class Taken:
    """Errors outside the group that a draft would take."""

    template: str
    reason: str
    """`unknown` for another group of unknown errors."""
    rule: str
    """The rule that matches them now; `none` for unknown errors."""
    errors: int
    """0 for an example of a rule."""


@frozen
class RuleDraft:
    """A proposal for a rule, which a person reviews, edits and keeps."""

    id: str
    reason: str | None
    """None without evidence: a person has to choose."""
    text: str
    """RE2 pattern of its group's texts."""
    wordings: tuple[str, ...]
    """RE2 patterns of the fewest words that only the reason has, for when the error's wording
    changes."""
    source: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    evidence: tuple[str, ...]
    """The evidence for the reason, one sentence per item."""
    groups: int
    """The number of groups of unknown errors that it takes, its own included."""
    errors: int
    """The number of unknown errors that it takes."""
    also: tuple[Taken, ...]
    """Other groups of unknown errors that it takes."""
    collisions: tuple[Taken, ...]
    """Known errors that it would take from their rules."""
    weak: bool
    """True if the only evidence for the reason is that retries recovered."""
    refused: str | None
    """Why it is no rule, as a sentence: it takes unknown groups with evidence for another
    reason."""

    @property
    def ready(self) -> bool:
        """Return whether it has a reason and takes no group that leans to another reason."""
        return self.reason is not None and self.refused is None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; `rule` is the entry of a rules file."""
        return {
            "rule": {
                "id": self.id,
                "reason": self.reason,
                "text": [self.text, *self.wordings],
                **({"weak": True} if self.weak else {}),
                "source": self.source,
                "examples": list(self.examples),
                "counter_examples": list(self.counter_examples),
            },
            "evidence": list(self.evidence),
            "refused": self.refused,
            "coverage": {"groups": self.groups, "errors": self.errors, "also": json_ready(self.also)},
            "collisions": json_ready(self.collisions),
        }


@frozen
class Recoveries:
    """The outcomes of the calls that failed with the errors of an unknown group."""

    retried: int
    """Retry chains with an error of the group whose call was made again."""
    sessions: int
    """Sessions of these chains."""
    recovered: int
    """Chains of these that recovered."""
    recovered_sessions: int
    unretried: int
    """Chains that recovered though the call was not made again, so that no retry helped."""

    @property
    def reason(self) -> str | None:
        """Return `network_transient`, as a hint, if only retries helped in enough sessions."""
        helped = self.recovered_sessions >= LEAST_SESSIONS and not self.unretried
        return TRANSIENT if helped else None

    @property
    def sentence(self) -> str:
        """Return the evidence, as in "retried 41 times in 9 sessions, 38 recovered"."""
        retried = f"retried {counted(self.retried, 'time')} in {counted(self.sessions, 'session')}"
        return f"{retried}, {self.recovered:,} recovered"


@frozen
class Group:
    """The texts and number of a group of unknown errors."""

    template: str
    texts: Sequence[str]
    errors: int


def draft(
    group: Group,
    *,
    others: Callable[[Sequence[str]], Iterable[Group]],
    known_texts: Callable[[Sequence[str]], Iterable[tuple[str, Taken]]],
    shortest: Callable[[Sequence[str], str], Iterable[tuple[str, Iterable[Group]]]],
    near: Sequence[Near],
    leaning: Callable[[Group], str | None],
    recoveries: Recoveries | None,
    source: str,
    rules: Ruleset,
    taken_ids: set[str],
    reason: str | None = None,
) -> RuleDraft | None:
    """Draft a rule for a group; None if its texts share too few words for a pattern.

    `others` and `known_texts` return the other groups, and the known texts with their errors, that
    may contain the constant parts of a pattern; they may return too many. `shortest` returns the
    patterns of the fewest words of texts that only a reason has, each with the other groups that
    match it. `leaning` returns the reason for which a group has evidence. Without a `reason`, the
    draft gets that of `recoveries`, else that of the nearest known texts, but none if it would take
    known errors of another reason. A wording that takes unknown groups that lean to another reason
    is left out; a draft whose own pattern does is refused. The id of the draft is added to
    `taken_ids`.
    """
    # As the classifier will see them: unwrapped, and without control sequences of terminals.
    texts = [text for text in (extract(text).message for text in group.texts) if text]
    parts = constant_parts(group.template, [flat(text).decode("utf-8", "replace") for text in texts])
    if parts is None:
        return None
    pattern, constants = parts
    name = _name(group.template, taken_ids)
    regex = compiled(pattern)
    collisions = tuple(dict.fromkeys(error for text, error in known_texts(constants) if has(regex, text)))
    proposal, evidence = _reason(near, recoveries)
    weak = reason is None and recoveries is not None and proposal == recoveries.reason
    others_reasons = sorted({collision.reason for collision in collisions} - {proposal})
    if reason is None and proposal is not None and others_reasons:
        evidence = (f"no reason is proposed: it would take known errors of {', '.join(others_reasons)}", *evidence)
    elif reason is None:
        reason = proposal
    taken = [other for other in others(constants) if any(has(regex, text) for text in other.texts)]
    refused = None
    leanings = set(map(leaning, taken)) - {None, reason} if reason is not None else set()
    if leanings:
        listed = ", ".join(sorted(map(str, leanings)))
        refused = f"it takes unknown groups that lean to {listed}, not to {reason}: narrow its pattern"
    short: dict[str, list[Group]] = {}
    # A recovery is weak evidence: only the text itself becomes a pattern, no shorter wording.
    for wording, owners in shortest(texts, reason) if reason is not None and not weak else ():
        groups = list(owners)
        if all(leaning(other) in (None, reason) for other in groups):
            short[wording] = groups
    taken += [other for groups in short.values() for other in groups]
    also = tuple(dict.fromkeys(Taken(other.template, "unknown", "none", other.errors) for other in taken))
    rule = Rule(id=name, reason="validation", source=source, text=(pattern, *short))
    only_rule = make((rule,), rules.status_patterns, rules.prose_patterns)
    examples = _examples(texts, regex, only_rule)
    if len(examples) < 2:
        return None
    return RuleDraft(
        id=name,
        reason=reason,
        text=pattern,
        wordings=tuple(short),
        source=source,
        examples=examples,
        counter_examples=_counter_examples(near, examples, only_rule),
        evidence=evidence,
        groups=1 + len(also),
        errors=group.errors + sum(other.errors for other in also),
        also=also,
        collisions=collisions,
        weak=weak and reason is not None,
        refused=refused,
    )


def pattern_for(template: str, texts: Sequence[str]) -> str | None:
    """Return an RE2 pattern of a template's constant words that matches all texts, or None.

    Slots get the narrowest shape. If words and slots in their order do not match all texts, the
    pattern is the longest run of constant words that all texts have.
    """
    parts = constant_parts(template, texts)
    return parts[0] if parts else None


def constant_parts(template: str, texts: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """Return the pattern of `pattern_for` and its constant parts, in order; `texts` are flat."""
    constants = _trimmed_constants([_UNSEEN.sub(" ", part) for part in template.split(SLOT)])
    for space in (" ", r"\s+"):
        for gaps in (_slot_patterns(constants, texts, space), [_ANYTHING] * (len(constants) - 1)):
            if gaps is not None and (pattern := _pattern_of(constants, gaps, space)) and _matches_all(pattern, texts):
                return pattern, constants
    for part in sorted(constants, key=lambda text: (-len(text), text)):
        words = [part.strip(" ")]
        if (pattern := _pattern_of(words, [], r"\s+")) and _matches_all(pattern, texts):
            return pattern, words
    return None


def _trimmed_constants(constants: list[str]) -> list[str]:
    """Drop empty parts at the ends and cut the parts between words at `MAX_PATTERN_CHARS`."""
    kept: list[str] = []
    room = MAX_PATTERN_CHARS
    for part in constants:
        if not kept and not part.strip(" "):
            continue
        if len(part) > room:
            kept.append(part[:room].rpartition(" ")[0])
            break
        kept.append(part)
        room -= len(part)
    while kept and not kept[-1].strip(" "):
        kept.pop()
    if kept:
        kept[0], kept[-1] = kept[0].lstrip(" "), kept[-1].rstrip(" ")
    return kept


def _slot_patterns(constants: Sequence[str], texts: Sequence[str], space: str) -> list[str] | None:
    """Return the narrowest pattern per slot; None if not all texts have these parts in order."""
    if len(constants) < 2:
        return []
    pattern = compiled(r"([^\n]*?)".join(_escaped(part, space) for part in constants))
    matches = [pattern.search(text.encode("utf-8", "replace")) for text in texts]
    if not all(matches):
        return None
    columns = zip(*((value.decode("utf-8", "replace") for value in match.groups()) for match in matches), strict=True)
    return [_shape(values) for values in columns]


def _shape(values: Sequence[str]) -> str:
    for shape, pattern in _SHAPES:
        if all(compiled(shape).fullmatch(value.encode("utf-8", "replace")) for value in values):
            return pattern
    return _ANYTHING


def _pattern_of(constants: Sequence[str], gaps: Sequence[str], space: str) -> str | None:
    if sum(letter.isalpha() for part in constants for letter in part) < MIN_LETTERS:
        return None
    pattern = _escaped(constants[0], space)
    for gap, part in zip(gaps, constants[1:], strict=True):
        pattern += gap + _escaped(part, space)
    first, last = constants[0][0], constants[-1][-1]
    before, after = (r"\b" if letter.isascii() and letter.isalnum() else "" for letter in (first, last))
    return f"{before}{pattern}{after}"


def _escaped(part: str, space: str) -> str:
    """Escape words as a pattern for single quotes: apostrophes and invisible characters by code."""
    pattern = _SPECIAL.sub(r"\\\g<0>", part)
    codes: dict[str, str | int | None] = {" ": space}
    for letter in set(pattern):
        if letter == "'" or not letter.isprintable():
            codes[letter] = rf"\x{{{ord(letter):x}}}"
    return pattern.translate(str.maketrans(codes))


def _matches_all(pattern: str, texts: Iterable[str]) -> bool:
    regex = compiled(pattern)
    return all(has(regex, text) for text in texts)


def _examples(texts: Iterable[str], regex: Any, only_rule: Ruleset) -> tuple[str, ...]:
    """Return two different texts that the rule decides; a single one is repeated after `Error:`."""
    chosen: list[str] = []
    for text in texts:
        short = text if len(text) <= EXAMPLE_CHARS else _matching_line(text, regex)
        if short not in chosen and not _is_unmatched(short, only_rule):
            chosen.append(short)
        if len(chosen) == 2:
            return tuple(chosen)
    wrapped = [f"Error: {chosen[0]}"] if chosen else []
    return tuple(chosen + [text for text in wrapped if not _is_unmatched(text, only_rule)])


def _matching_line(text: str, regex: Any) -> str:
    """Return the line of a long text that matches; the beginning if the match spans lines."""
    return next((line for line in text.split("\n") if has(regex, line)), text)[:EXAMPLE_CHARS]


def _counter_examples(near: Sequence[Near], examples: Sequence[str], only_rule: Ruleset) -> tuple[str, ...]:
    """Return texts that the rule must not match: the nearest known one, and a report of success."""
    samples = [neighbour.template.sample[:EXAMPLE_CHARS] for neighbour in near]
    reports = [f"Fixed: {examples[0]}", f"Fixed the cause of: {examples[0]}", "All is well"]
    chosen = (next((text for text in texts if _is_unmatched(text, only_rule)), None) for texts in (samples, reports))
    return tuple(text for text in chosen if text is not None)


def _is_unmatched(text: str, only_rule: Ruleset) -> bool:
    """Return whether the rule does not match a text that is not empty."""
    return bool(text) and classify(text, rules=only_rule).rule == "none"


def _reason(near: Sequence[Near], recoveries: Recoveries | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the reason of a draft, and the sentences that are the evidence for it."""
    lines = [
        f"{neighbour.template.reason}, likeness {neighbour.likeness:.2f}: {neighbour.template.text}"
        + (
            f" (rule {neighbour.template.rule}, {neighbour.template.errors:,} errors)"
            if neighbour.template.errors
            else f" ({neighbour.template.rule})"
        )
        for neighbour in near[:3]
    ]
    if recoveries is not None and recoveries.retried:
        lines.insert(0, recoveries.sentence)
        if recoveries.reason is not None:
            return recoveries.reason, tuple(lines)
    proposal = proposed(near)
    if proposal is None:
        return None, ("no known text is near enough to name a reason", *lines)
    return proposal[0], (
        f"{percent(proposal[1])} of the likeness of the nearest known texts is with {proposal[0]}",
        *lines,
    )


def _name(template: str, taken: set[str]) -> str:
    """Make an unused id from the first words of the template, and add it to `taken`."""
    letters = "".join(
        letter if letter.isascii() and letter.isalpha() else " " for letter in template.replace(SLOT, " ")
    )
    chosen = [word for word in letters.lower().split() if len(word) > 2][:5]
    base = "_".join(chosen)[:60] or "drafted_rule"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
