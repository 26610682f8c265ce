"""A draft of a rule for a group of unknown errors: what it matches, what else it would take, what speaks for a reason.

Invariant: a draft matches every text of its group that it was made from, and names all it would take beyond the group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analyzer.analysis.rules.similar_templates import Near, proposed
from analyzer.analysis.rules.word_patterns import compiled, has
from analyzer.analysis.tables import json_ready
from analyzer.classifier import Ruleset, classify
from analyzer.classifier.fingerprint import SLOT
from analyzer.classifier.reading.extract import extract
from analyzer.classifier.reading.flattening import flat
from analyzer.classifier.rules.ruleset import Rule, make
from analyzer.readable import counted, percent

MAX_PATTERN_CHARS = 160
"""Of constant words; a rule needs no more to mean only this."""
MIN_LETTERS = 8
"""A pattern with fewer means too much."""
EXAMPLE_CHARS = 300
LEAST_SESSIONS = 2
"""Sessions in which a retry helped, before that speaks for a reason."""
TRANSIENT = "network_transient"
_SHAPES = (
    (r"[0-9]+", r"\d+"),
    (r"[+-]?[0-9][0-9.,]*", r"[+-]?\d[\d.,]*"),
    (r"[+-]?[0-9][0-9.,]* ?[A-Za-z]+", r"[+-]?\d[\d.,]* ?[a-z]+"),
    (r"[0-9a-fA-F-]{8,}", r"[0-9a-f-]{8,}"),
    (r"\S+", r"\S+"),
)
"""What all values of a slot may look like, and the pattern for it; anything else is the rest of a line."""
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_UNSEEN = re.compile(r"(?:[\x00-\x1f\x7f-\x9f]\[?|\s)+")
"""White space, and what steers a terminal, up to the number that a slot stands for: rules never see these."""
_ANYTHING = r"[^\n]*"


@dataclass(frozen=True, slots=True)
class Taken:
    """Errors beyond the group that a draft would take."""

    template: str
    reason: str
    """`unknown` for another group of unknown errors."""
    rule: str
    """The rule that knows them now; `none` for unknown ones."""
    errors: int
    """0 for an example of a rule."""


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A proposal for a rule, which a person reads, mends and keeps."""

    id: str
    reason: str | None
    """None without evidence for one: somebody has to choose."""
    text: str
    """RE2 pattern of its group's texts."""
    wordings: tuple[str, ...]
    """RE2 patterns of the fewest words that mean the reason alone, for when the error is worded anew."""
    source: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]
    evidence: tuple[str, ...]
    """What speaks for the reason, a sentence each."""
    groups: int
    """Groups of unknown errors that it takes, its own included."""
    errors: int
    """Unknown errors that it takes."""
    also: tuple[Taken, ...]
    """Other groups of unknown errors that it takes."""
    collisions: tuple[Taken, ...]
    """Known errors that it would take from their rules."""
    weak: bool
    """Whether nothing but what happened next speaks for the reason."""
    refused: str | None
    """Why it is no rule, a sentence: it takes unknown groups that something speaks for another reason of."""

    @property
    def ready(self) -> bool:
        """Whether it has a reason and takes nothing that leans to another one."""
        return self.reason is not None and self.refused is None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `rule` is the entry of a rules file."""
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


@dataclass(frozen=True, slots=True)
class Recoveries:
    """What happened after the errors of an unknown group: the log knows whether a retry helped."""

    retried: int
    """Retry chains with an error of the group in which the call was made again."""
    sessions: int
    """Sessions of these."""
    recovered: int
    """Chains of these that recovered."""
    recovered_sessions: int
    unretried: int
    """Chains that recovered though the call was not made again: then it is not the retry that helps."""

    @property
    def reason(self) -> str | None:
        """`network_transient` where retries helped in enough sessions, and nothing else did; they decide nothing."""
        helped = self.recovered_sessions >= LEAST_SESSIONS and not self.unretried
        return TRANSIENT if helped else None

    @property
    def sentence(self) -> str:
        """The evidence, as in "retried 41 times in 9 sessions, 38 recovered"."""
        said = f"retried {counted(self.retried, 'time')} in {counted(self.sessions, 'session')}"
        return f"{said}, {self.recovered:,} recovered"


@dataclass(frozen=True, slots=True)
class Group:
    """A group of unknown errors, as a draft needs it."""

    template: str
    texts: Sequence[str]
    errors: int


def draft(
    group: Group,
    *,
    others: Callable[[Sequence[str]], Iterable[Group]],
    known: Callable[[Sequence[str]], Iterable[tuple[str, Taken]]],
    shortest: Callable[[Sequence[str], str], Iterable[tuple[str, Iterable[Group]]]],
    near: Sequence[Near],
    leaning: Callable[[Group], str | None],
    recoveries: Recoveries | None,
    source: str,
    rules: Ruleset,
    taken_ids: set[str],
    reason: str | None = None,
) -> RuleDraft | None:
    """A draft for one group; None where its texts share no words that a pattern could hold on to.

    `others` and `known` give the other groups, and the known texts with what they are, that may have the constant parts
    of a pattern; they need not look closely. `shortest` gives the patterns of the fewest words of texts that mean a
    reason, each with the other groups that have it; `leaning` the reason that something speaks for in a group. The
    `reason`, where none is given, is that of `recoveries`, else of the nearest known texts; none where the draft would
    take known errors of another one. A wording that takes unknown groups of another leaning is left out, and a draft
    whose own pattern does is refused.
    The id of the draft is added to `taken_ids`.
    """
    # As the classifier will see them: opened, and without what steers a terminal.
    texts = [text for text in (extract(each).message for each in group.texts) if text]
    found_pattern = constant_parts(group.template, [flat(text).decode("utf-8", "replace") for text in texts])
    if found_pattern is None:
        return None
    pattern, constants = found_pattern
    name = _name(group.template, taken_ids)
    regex = compiled(pattern)
    collisions = tuple(dict.fromkeys(what for text, what in known(constants) if has(regex, text)))
    proposal, evidence = _reason(near, recoveries)
    weak = reason is None and recoveries is not None and proposal == recoveries.reason
    others_reasons = sorted({each.reason for each in collisions} - {proposal})
    if reason is None and proposal is not None and others_reasons:
        evidence = (f"no reason is proposed: it would take known errors of {', '.join(others_reasons)}", *evidence)
    elif reason is None:
        reason = proposal
    taken = [each for each in others(constants) if any(has(regex, text) for text in each.texts)]
    refused = None
    if reason is not None and (
        leanings := sorted({each for each in map(leaning, taken) if each not in (None, reason)})
    ):
        refused = (
            f"it takes unknown groups that lean to {', '.join(map(str, leanings))}, not to {reason}: narrow its pattern"
        )
    short: dict[str, list[Group]] = {}
    # What recovered is no wording of a reason that anybody wrote: its own text alone speaks for it.
    for wording, having in shortest(texts, reason) if reason is not None and not weak else ():
        of_wording = list(having)
        if all(leaning(each) in (None, reason) for each in of_wording):
            short[wording] = of_wording
    taken += [each for of_one in short.values() for each in of_one]
    also = tuple(dict.fromkeys(Taken(each.template, "unknown", "none", each.errors) for each in taken))
    rule = Rule(id=name, reason="validation", source=source, text=(pattern, *short))
    alone = make((rule,), rules.status_patterns, rules.prose_patterns)
    examples = _examples(texts, regex, alone)
    if len(examples) < 2:
        return None
    return RuleDraft(
        id=name,
        reason=reason,
        text=pattern,
        wordings=tuple(short),
        source=source,
        examples=examples,
        counter_examples=_counter_examples(near, examples, alone),
        evidence=evidence,
        groups=1 + len(also),
        errors=group.errors + sum(each.errors for each in also),
        also=also,
        collisions=collisions,
        weak=weak and reason is not None,
        refused=refused,
    )


def pattern_for(template: str, texts: Sequence[str]) -> str | None:
    """An RE2 pattern out of the constant words of a template, with slots of the narrowest shape; it matches all texts.

    Where words and slots in their order do not, the longest run of constant words that all texts have stands alone.
    """
    found = constant_parts(template, texts)
    return found[0] if found else None


def constant_parts(template: str, texts: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """The pattern of `pattern_for`, and the constant parts in it, in their order; texts are as rules see them, flat."""
    constants = _bounded([_UNSEEN.sub(" ", part) for part in template.split(SLOT)])
    for space in (" ", r"\s+"):
        for gaps in (_gaps(constants, texts, space), [_ANYTHING] * (len(constants) - 1)):
            if gaps is not None and (pattern := _joined(constants, gaps, space)) and _holds(pattern, texts):
                return pattern, constants
    for part in sorted(constants, key=lambda each: (-len(each), each)):
        alone = [part.strip(" ")]
        if (pattern := _joined(alone, [], r"\s+")) and _holds(pattern, texts):
            return pattern, alone
    return None


def _bounded(constants: list[str]) -> list[str]:
    """The constant parts without empty ones at the ends, up to MAX_PATTERN_CHARS; the last is cut between words."""
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


def _gaps(constants: Sequence[str], texts: Sequence[str], space: str) -> list[str] | None:
    """The narrowest pattern for the values of each slot; None where not all texts have these parts in their order."""
    if len(constants) < 2:
        return []
    pattern = compiled(r"([^\n]*?)".join(_spelled(part, space) for part in constants))
    found = [pattern.search(text.encode("utf-8", "replace")) for text in texts]
    if not all(found):
        return None
    columns = zip(*((value.decode("utf-8", "replace") for value in match.groups()) for match in found), strict=True)
    return [_shape(values) for values in columns]


def _shape(values: Sequence[str]) -> str:
    for shape, pattern in _SHAPES:
        if all(compiled(shape).fullmatch(value.encode("utf-8", "replace")) for value in values):
            return pattern
    return _ANYTHING


def _joined(constants: Sequence[str], gaps: Sequence[str], space: str) -> str | None:
    if sum(letter.isalpha() for part in constants for letter in part) < MIN_LETTERS:
        return None
    pattern = _spelled(constants[0], space)
    for gap, part in zip(gaps, constants[1:], strict=True):
        pattern += gap + _spelled(part, space)
    first, last = constants[0][0], constants[-1][-1]
    before, after = (r"\b" if each.isascii() and each.isalnum() else "" for each in (first, last))
    return f"{before}{pattern}{after}"


def _spelled(part: str, space: str) -> str:
    """Constant words as a pattern that fits in single quotes: apostrophes and what is not seen by their numbers."""
    return "".join(
        space if letter == " " else letter if letter.isprintable() and letter != "'" else rf"\x{{{ord(letter):x}}}"
        for letter in _SPECIAL.sub(r"\\\g<0>", part)
    )


def _holds(pattern: str, texts: Iterable[str]) -> bool:
    regex = compiled(pattern)
    return all(has(regex, text) for text in texts)


def _examples(texts: Iterable[str], regex: Any, alone: Ruleset) -> tuple[str, ...]:
    """Two different texts that the rule alone decides; of a single one the second is it with `Error:` before it."""
    chosen: list[str] = []
    for text in texts:
        short = text if len(text) <= EXAMPLE_CHARS else _line(text, regex)
        if short not in chosen and not _spared(short, alone):
            chosen.append(short)
        if len(chosen) == 2:
            return tuple(chosen)
    wrapped = [f"Error: {chosen[0]}"] if chosen else []
    return tuple(chosen + [each for each in wrapped if not _spared(each, alone)])


def _line(text: str, regex: Any) -> str:
    """The line of a long text that the pattern is in; the beginning where it spans lines."""
    return next((line for line in text.split("\n") if has(regex, line)), text)[:EXAMPLE_CHARS]


def _counter_examples(near: Sequence[Near], examples: Sequence[str], alone: Ruleset) -> tuple[str, ...]:
    """Two texts that the rule must not match: the nearest known one, and a report of success in the same words."""
    known = [each.known.sample[:EXAMPLE_CHARS] for each in near]
    reports = [f"Fixed: {examples[0]}", f"Fixed the cause of: {examples[0]}", "All is well"]
    found = (next((each for each in texts if _spared(each, alone)), None) for texts in (known, reports))
    return tuple(each for each in found if each is not None)


def _spared(text: str, alone: Ruleset) -> bool:
    return bool(text) and classify(text, rules=alone).rule == "none"


def _reason(near: Sequence[Near], recoveries: Recoveries | None) -> tuple[str | None, tuple[str, ...]]:
    """The reason of a draft, and the sentences that speak for it."""
    lines = [
        f"{each.known.reason}, likeness {each.likeness:.2f}: {each.known.text}"
        + (f" (rule {each.known.rule}, {each.known.errors:,} errors)" if each.known.errors else f" ({each.known.rule})")
        for each in near[:3]
    ]
    if recoveries is not None and recoveries.retried:
        lines.insert(0, recoveries.sentence)
        if recoveries.reason is not None:
            return recoveries.reason, tuple(lines)
    found = proposed(near)
    if found is None:
        return None, ("nothing known is near enough to speak for a reason", *lines)
    return found[0], (f"{percent(found[1])} of the likeness of the nearest known texts is with {found[0]}", *lines)


def _name(template: str, taken: set[str]) -> str:
    """An id of the first words of the template."""
    letters = "".join(each if each.isascii() and each.isalpha() else " " for each in template.replace(SLOT, " "))
    chosen = [word for word in letters.lower().split() if len(word) > 2][:5]
    base = "_".join(chosen)[:60] or "drafted_rule"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    taken.add(name)
    return name
