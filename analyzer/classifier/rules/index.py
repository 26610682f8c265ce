"""A ruleset as bit masks: a piece of evidence is the set of rules it speaks for, a decision a few integer operations.

Invariant: bit i stands for rule i, so the lowest bit of what is left is the first rule that holds.

The first texts of a process are matched without the automaton of all patterns, which takes 25 ms to make.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, NamedTuple, TypeVar

import re2

from analyzer.classifier.reading.reset_times import TIME_PATTERNS
from analyzer.classifier.recovery_table import decide, remediation
from analyzer.classifier.rules.ruleset import (
    LINE,
    NOT,
    ONLY,
    PROSE,
    SIGNAL,
    STATUS,
    TEXT,
    Match,
    Pattern,
    Rule,
    Ruleset,
    ascii_matcher,
    normal_name,
    options,
    utf8_matcher,
    without_old_letters,
)
from analyzer.redaction.automata import Late, kept_until_fork

_ID = Late(rb"[0-9]{1,40}(?![dhms][0-9])[A-Za-z]+[0-9][0-9A-Za-z]{4,}(?:-[0-9a-f]{4,12}\b)*")
"""Letters between digits, and more of both: an id, and no duration such as `1d10h20m30s`.

The first digits are bounded: each digit of a long number would be the begin of another search through all of it.
"""
_ANY_ID = b"0a0a0a0a"

BEYOND_ASCII = "\x80"
"""Stands among the words for any letter beyond ASCII: RE2 knows more pairs of those that differ in case alone."""
MOST = 16
"""Texts; for more of them the automaton is made."""


def first_texts(patterns: Sequence[Pattern], words: Sequence[Sequence[Sequence[str]]]) -> Callable[[bytes], list[int]]:
    """A matcher for UTF-8 texts: the numbers of the patterns that one matches, in their order.

    `words` are those of each part of each pattern, in lower case; none: every text is tried.
    """

    @cache
    def regex(text: str) -> Any:
        return re2.compile(without_old_letters(text).encode(), options())

    parts = [list(zip(known, each.parts, strict=True)) for known, each in zip(words, patterns, strict=True)]

    def match(text: bytes) -> list[int]:
        folded = text.decode("utf-8", "replace").lower()
        if not folded.isascii():
            folded += BEYOND_ASCII
        found: list[int] = []
        for number, alternatives in enumerate(parts):
            for known, part in alternatives:
                if known:
                    for word in known:
                        if word in folded:
                            break
                    else:
                        continue
                if regex(part).search(text) is not None:
                    found.append(number)
                    break
        return found

    return match


NO_RULE = "none"

Answer = tuple[str, str | None, bool, str, str]
"""`(reason, detail, retryable, action, rule)`."""

_Member = TypeVar("_Member")
_TIME = "time"
_SEGMENTS = (LINE, SIGNAL, TEXT, ONLY, NOT)
# Reasons for which it matters when to come back; a spent quota names its reset too.
_WITH_TIMES = frozenset(("rate_limited", "network_transient", "auth_error"))


class Decision(NamedTuple):
    """The answer that a rule gives to every error that it decides."""

    rule: Rule | None
    number: int
    """Index of the rule; -1 where none held."""
    symptom: bool
    answer: Answer
    remediation: str
    timed: bool
    """Whether it matters when to come back."""
    limited: bool
    counted: bool
    """Whether token counts matter."""


class Index:
    """The masks of one ruleset.

    What texts say is one integer: a segment of bits for each kind of pattern (`line`, `signal`, `text`, `only_text`,
    `not_text`), as wide as there are rules, then a bit each for a text that may name a time, for one that states a
    status, and for prose.
    """

    __slots__ = (
        "_without_ids",
        "by_code",
        "by_exit_code",
        "by_failure_reason",
        "by_machine_name",
        "by_name",
        "by_provider",
        "by_status",
        "by_subtype",
        "by_terminal_reason",
        "decisions",
        "final",
        "final_errors",
        "full",
        "guards",
        "judged",
        "lines",
        "match",
        "match_ascii",
        "mentions",
        "mentions_with_times",
        "not_prose",
        "nothing",
        "objecting",
        "only_text",
        "patterns",
        "prose",
        "provided",
        "ruleset",
        "silent",
        "stating",
        "status",
        "stream",
        "stream_failed",
        "strict",
        "timely",
        "unsure",
        "weights",
        "width",
        "words",
    )

    def __init__(self, ruleset: Ruleset) -> None:
        compiled, rules = ruleset.compiled, ruleset.rules
        self.ruleset = ruleset
        # New ones: a ruleset may come from before a fork, what it has compiled is as it were another process's.
        own = (Pattern(each.kind, each.rule, each.text, each.parts, each.rules) for each in compiled.patterns)
        self.patterns = [*own, *(Pattern(_TIME, -1, text) for text in TIME_PATTERNS)]
        texts = [pattern.text for pattern in self.patterns]
        self._without_ids = bool(compiled.words)
        if compiled.words:
            self._begin_with_few(compiled.words, texts)
        else:
            self._match_many(texts)
        self.width = len(rules)
        self.stating = frozenset(number for number, each in enumerate(self.patterns) if each.kind == STATUS)
        """The patterns that find a status in a text."""
        self.judged: dict[object, tuple[Decision, bool, str | None]] = {}
        """What `deciding` has answered, by all that the answer depends on."""
        self.decisions = [_decision(number, rule) for number, rule in enumerate(rules)]
        self.nothing = _decision(-1, None)
        self.silent = _decision(-1, None, "no_detail")
        self._weigh()
        self.by_name = _masks(compiled.names)
        self.by_machine_name = {
            name: self.by_name.get(name, 0) | _mask(compiled.types.get(name, ()))
            for name in (*compiled.names, *compiled.types)
        }
        """Names that hold in `code` and `type`: those of classes, and those of machines alone."""
        self.by_code = {
            name: {provider: 1 << number for provider, number in known.items()}
            for name, known in compiled.codes.items()
        }
        """Codes that providers document: the rule of each provider, "" for a provider that is not known."""
        self.by_subtype = _masks(compiled.subtypes)
        self.by_terminal_reason = _masks(compiled.terminal_reasons)
        self.by_failure_reason = _masks(compiled.failure_reasons)
        self.by_exit_code = _masks(compiled.exit_codes)
        self.by_status = _masks(compiled.statuses)
        self._guard()

    def found(self, text: bytes) -> Sequence[int]:
        """The numbers of the patterns that a text matches, in no order.

        Ids look alike to the built-in rules: a new one would be a new state of the automaton at each of its letters,
        and making these costs ten times what matching does. A user's rules may look for one.
        """
        if self._without_ids:
            text = _ID.sub(_ANY_ID, text)
        return (self.match_ascii(text) if text.isascii() else self.match(text)) or ()

    def _match_many(self, patterns: Sequence[str]) -> None:
        self.match_ascii: Match = ascii_matcher(patterns)
        self.match: Match = utf8_matcher(patterns)

    def _begin_with_few(self, words: Sequence[Sequence[Sequence[str]]], patterns: Sequence[str]) -> None:
        few = first_texts(self.patterns, words)
        numbers = count(1)

        def match(text: bytes) -> list[int]:
            if next(numbers) == MOST:
                self._match_many(patterns)
            return few(text)

        self.match = self.match_ascii = match

    def _weigh(self) -> None:
        width = self.width
        shift = {kind: position * width for position, kind in enumerate(_SEGMENTS)}
        self.full = (1 << width) - 1
        """All rules."""
        segment = {kind: self.full << shift[kind] for kind in _SEGMENTS}
        self.timely = 1 << (len(_SEGMENTS) * width)
        """Set where a text may name a time at which to come back."""
        self.status = self.timely << 1
        """Set where a text states a status."""
        self.prose = self.status << 1
        """Set where a text only speaks of errors."""
        special = {_TIME: self.timely, STATUS: self.status, PROSE: self.prose}
        self.weights: list[int] = [
            special.get(pattern.kind) or _mask(pattern.rules) << shift[pattern.kind] for pattern in self.patterns
        ]
        """Pattern number → its bit, or those of all rules that it guards."""
        everything = self.prose | self.status | (self.status - 1)
        self.not_prose = everything & ~(segment[TEXT] | self.status)
        self.words = everything & ~self.prose
        self.strict = self.words & ~segment[TEXT]
        self.lines = self.strict & ~segment[SIGNAL] & ~self.status
        strict_rules = _mask(n for n, rule in enumerate(self.ruleset.rules) if rule.strict_streams)
        self.final = strict_rules << shift[LINE]
        """What output says only by its last words."""
        self.guards = segment[ONLY] | segment[NOT]
        """What rules out or asks for, beside the evidence."""
        last = [pattern for rule in self.ruleset.rules if rule.strict_streams for pattern in rule.line]
        self.mentions = _longest(last)
        """Finds the words of `final` wherever they stand; None where no rule has any."""
        self.mentions_with_times = _longest(last, r"[^\n]*")
        """The same, up to the end of the line: what follows them is when they say to come back."""
        but_lines = sum(strict_rules << shift[kind] for kind in _SEGMENTS if kind != LINE)
        self.stream_failed = everything & ~but_lines
        self.stream = self.stream_failed & ~self.final
        """What output may say of a command that did not fail."""

    def _guard(self) -> None:
        rules = list(enumerate(self.ruleset.rules))
        self.only_text = _mask(number for number, rule in rules if rule.only_text)
        self.unsure = _mask(number for number, rule in rules if rule.weak)
        """Rules whose words are weak evidence."""
        self.final_errors = _mask(each.number for each in self.decisions if not each.answer[2])
        """Rules whose errors are not tried again."""
        self.provided = _mask(number for number, rule in rules if rule.only_providers)
        self.by_provider = _by_member((number, rule.only_providers) for number, rule in rules)
        wanting = _mask(number for number, rule in rules if rule.only_status)
        allowed = _by_member((number, rule.only_status) for number, rule in rules)
        refused = _by_member((number, rule.not_status) for number, rule in rules)
        self.objecting: dict[int | None, int] = {
            status: wanting & ~allowed.get(status, 0) | refused.get(status, 0) for status in (None, *allowed, *refused)
        }
        """Status → the rules that it rules out; a status that no rule names objects like no status."""

    def named(self, name: str, provider: str | None) -> int | None:
        """Mask of the rules that know a code or a type of this provider; None where nobody knows it.

        What the provider itself documents stands above what others mean by it; a number is only a number of theirs.
        """
        name = normal_name(name)
        known = self.by_code.get(name)
        if known is None:
            return self.by_machine_name.get(name)
        own = known.get((provider or "").lower())
        if provider and own is not None:
            return own
        if own is None and not name.isdigit():
            own = known.get("")
        machine = self.by_machine_name.get(name)
        return machine if own is None else own | (machine or 0)

    def ruled_out(self, status: int | None) -> int:
        """Mask of the rules that this status rules out."""
        found = self.objecting.get(status)
        return self.objecting[None] if found is None else found


def _longest(patterns: Sequence[str], behind: str = "") -> Any:
    if not patterns:
        return None
    given = options()
    given.longest_match = True
    return re2.compile(f"(?:{'|'.join(patterns)}){behind}".encode(), given)


def _decision(number: int, rule: Rule | None, detail: str | None = None) -> Decision:
    reason = "unknown" if rule is None else rule.reason
    detail = detail if rule is None else rule.detail
    return Decision(
        rule=rule,
        number=number,
        symptom=rule is not None and rule.symptom,
        answer=(reason, detail, *decide(reason, detail), NO_RULE if rule is None else rule.id),
        remediation=remediation(reason, detail),
        timed=rule is not None and reason in _WITH_TIMES,
        limited=reason == "rate_limited",
        counted=reason == "context_overflow",
    )


def _mask(numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _by_member(lists: Iterable[tuple[int, Iterable[_Member]]]) -> dict[_Member | None, int]:
    """Member → the mask of the numbers in whose list it is."""
    masks: dict[_Member | None, int] = {}
    for number, members in lists:
        for member in members:
            masks[member] = masks.get(member, 0) | 1 << number
    return masks


def _masks(table: Mapping[Any, Iterable[int]]) -> dict[Any, int]:
    return {key: _mask(numbers) for key, numbers in table.items()}


index_of = kept_until_fork(Index, most=8)
"""The index of a ruleset, made once."""
