"""A ruleset as bit masks: a piece of evidence is a set of rules, and a decision takes a few integer operations.

Invariant: bit i is rule i, so the lowest bit of a mask is the first rule that holds.

The first texts of a process are matched without the automaton of all patterns, which takes 25 ms to make.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import Any, NamedTuple, TypeVar

import re2

from analyzer.classifier.reading.reset_times import TIME_PATTERNS
from analyzer.classifier.recovery_table import decide, remediation
from analyzer.classifier.rules.ruleset import (
    BUILT_IN_NAME,
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
from analyzer.classifier.rules.words import Words
from analyzer.redaction.automata import LazyPattern, kept_until_fork

_ID = LazyPattern(rb"[0-9]{1,40}(?![dhms][0-9])[A-Za-z]+[0-9][0-9A-Za-z]{4,}(?:-[0-9a-f]{4,12}\b)*")
"""Letters between digits, and more of both: an id, and no duration such as `1d10h20m30s`.

The first digits are bounded: from each digit of a long number another search would go through all of it.
"""
_ANY_ID = b"0a0a0a0a"

BEYOND_ASCII = "\x80"
"""The word for any letter beyond ASCII: RE2 knows more pairs of letters that differ only in case."""
MOST = 16
"""The texts that are matched one pattern at a time; for more of them the automaton is made."""


def first_texts(patterns: Sequence[Pattern], words: Sequence[Sequence[Sequence[str]]]) -> Callable[[bytes], list[int]]:
    """Make a matcher that returns the numbers of the patterns that a UTF-8 text matches, in order.

    `words` are the lower-case words of each part of each pattern, of which every match holds one; a part without words
    is tried on every text.
    """

    @cache
    def regex(text: str) -> Any:
        return re2.compile(without_old_letters(text).encode(), options())

    parts = [list(zip(own, pattern.parts, strict=True)) for own, pattern in zip(words, patterns, strict=True)]

    def match(text: bytes) -> list[int]:
        folded = text.decode("utf-8", "replace").lower()
        if not folded.isascii():
            folded += BEYOND_ASCII
        numbers: list[int] = []
        for number, alternatives in enumerate(parts):
            for own, part in alternatives:
                if own:
                    for word in own:
                        if word in folded:
                            break
                    else:
                        continue
                if regex(part).search(text) is not None:
                    numbers.append(number)
                    break
        return numbers

    return match


def ascii_texts(patterns: Sequence[Pattern], words: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """Return each pattern without the parts that ASCII texts never match; `words` are those of `first_texts`."""
    return [
        "|".join(
            part for own, part in zip(alternatives, pattern.parts, strict=True) if not own or any(map(str.isascii, own))
        )
        or _NEVER
        for alternatives, pattern in zip(words, patterns, strict=True)
    ]


_NEVER = r"[^\x00-\xff]"
"""A pattern that no ASCII text matches."""

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
    """The index of the rule; -1 if none held."""
    symptom: bool
    answer: Answer
    remediation: str
    timed: bool
    """True if it matters when to come back."""
    limited: bool
    counted: bool
    """True if token counts matter."""


class Index:
    """The masks of one ruleset.

    The evidence of texts is one integer: a segment with a bit per rule for each kind of pattern (`line`, `signal`,
    `text`, `only_text`, `not_text`), then a bit each for a text that may name a time, for one with the mark of a
    program's report, for one that states a status, and for prose.
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
        "held",
        "house",
        "judged",
        "last_worded",
        "lines",
        "match",
        "match_ascii",
        "mentions",
        "mentions_with_times",
        "not_prose",
        "nothing",
        "numbers_in_name",
        "objecting",
        "only_text",
        "patterns",
        "prose",
        "provided",
        "report",
        "ruleset",
        "silent",
        "stating",
        "status",
        "stream",
        "stream_failed",
        "strict",
        "telling",
        "text_shift",
        "timely",
        "unsure",
        "weights",
        "width",
        "worded",
        "words",
    )

    def __init__(self, ruleset: Ruleset) -> None:
        compiled, rules = ruleset.compiled, ruleset.rules
        self.ruleset = ruleset
        # New patterns: those of a ruleset from before a fork may be compiled, and belong to the other process.
        own = (Pattern(pattern.uses, pattern.text, pattern.parts) for pattern in compiled.patterns)
        self.patterns = [*own, *(Pattern(((_TIME, -1),), text) for text in TIME_PATTERNS)]
        self._without_ids = bool(compiled.words)
        if compiled.words:
            self._match_few(compiled.words)
        else:
            self._match_many(())
        self.width = len(rules)
        self.stating = frozenset(number for number, pattern in enumerate(self.patterns) if pattern.uses[0][0] == STATUS)
        """The patterns that match a status in a text."""
        self.telling = frozenset(number for number, pattern in enumerate(self.patterns) if pattern.uses[0][0] == PROSE)
        """The patterns of texts that only speak of errors."""
        self.held: dict[object, Any] = {}
        """What holds without words of languages, by all evidence that it depends on."""
        self.judged: dict[object, tuple[Decision, bool, str | None]] = {}
        """The answers of `deciding`, by the same evidence and the rules whose words are there."""
        self.decisions = [_decision(number, rule) for number, rule in enumerate(rules)]
        self.nothing = _decision(-1, None)
        self.silent = _decision(-1, None, "no_detail")
        self._weigh()
        self.numbers_in_name = lru_cache(maxsize=1_024)(self.numbers_in)
        """Return the numbers of the patterns that the words of a name match; names come again and again."""
        self.by_name = _masks(compiled.names)
        self.by_machine_name = {
            name: self.by_name.get(name, 0) | _mask(compiled.types.get(name, ()))
            for name in (*compiled.names, *compiled.types)
        }
        """Rules by a name in `code` and `type`: names of classes, and names that only machines use."""
        self.by_code = {
            name: {provider: 1 << number for provider, number in numbers.items()}
            for name, numbers in compiled.codes.items()
        }
        """Codes that providers document → provider → mask of its rule; "" is any other provider."""
        self.by_subtype = _masks(compiled.subtypes)
        self.by_terminal_reason = _masks(compiled.terminal_reasons)
        self.by_failure_reason = _masks(compiled.failure_reasons)
        self.by_exit_code = _masks(compiled.exit_codes)
        self.by_status = _masks(compiled.statuses)
        self._guard()
        self.last_worded = max((1 << number for number, rule in enumerate(rules) if rule.subjects), default=0)
        """The bit of the last rule that asks for words of languages."""
        self.worded = Words(rules)
        """The rules that ask for words of languages, which `deciding` asks last."""

    def numbers_in(self, text: bytes) -> Sequence[int]:
        """Return the numbers of the patterns that a text matches, in no order.

        The built-in rules match a text with its ids made equal: each letter of a new id would be a new state of the
        automaton, which costs ten times what matching does. A user's rules may look for an id.
        """
        if self._without_ids:
            text = _ID.sub(_ANY_ID, text)
        return (self.match_ascii(text) if text.isascii() else self.match(text)) or ()

    def _match_many(self, words: Sequence[Sequence[Sequence[str]]]) -> None:
        texts = [pattern.text for pattern in self.patterns]
        self.match_ascii: Match = ascii_matcher(ascii_texts(self.patterns, words) if words else texts)
        self.match: Match = utf8_matcher(texts)

    def _match_few(self, words: Sequence[Sequence[Sequence[str]]]) -> None:
        few = first_texts(self.patterns, words)
        numbers = count(1)

        def match(text: bytes) -> list[int]:
            if next(numbers) == MOST:
                self._match_many(words)
            return few(text)

        self.match = self.match_ascii = match

    def _weigh(self) -> None:
        width = self.width
        shift = {kind: position * width for position, kind in enumerate(_SEGMENTS)}
        self.text_shift = shift[TEXT]
        self.full = (1 << width) - 1
        """All rules."""
        segment = {kind: self.full << shift[kind] for kind in _SEGMENTS}
        self.timely = 1 << (len(_SEGMENTS) * width)
        """The bit of a text that may name a time at which to come back."""
        self.report = self.timely << 1
        """The bit of a text that a program wrote when something failed."""
        self.status = self.report << 1
        """The bit of a text that states a status."""
        self.prose = self.status << 1
        """The bit of a text that only speaks of errors."""
        special = {_TIME: self.timely, STATUS: self.status, PROSE: self.prose}
        self.weights: list[int] = [
            _mask((shift[kind] + rule) for kind, rule in pattern.uses if rule >= 0) or special[pattern.uses[0][0]]
            for pattern in self.patterns
        ]
        """Pattern number → the bits of its rules."""
        everything = self.prose | self.status | (self.status - 1)
        self.not_prose = everything & ~(segment[TEXT] | segment[SIGNAL] | self.status)
        self.words = everything & ~self.prose
        self.strict = self.words & ~segment[TEXT]
        self.lines = self.strict & ~segment[SIGNAL] & ~self.status
        strict_rules = _mask(n for n, rule in enumerate(self.ruleset.rules) if rule.strict_streams)
        self.final = strict_rules << shift[LINE]
        """The bits that output sets only by its last words."""
        self.guards = segment[ONLY] | segment[NOT]
        """The segments that rule out or require, beside the evidence."""
        last = [pattern for rule in self.ruleset.rules if rule.strict_streams for pattern in rule.line]
        self.mentions = _longest_matcher(last)
        """A matcher of the words of `final` wherever they are; None if no rule has any."""
        self.mentions_with_times = _longest_matcher(last, r"[^\n]*")
        """The same up to the end of the line, which says when to come back."""
        but_lines = sum(strict_rules << shift[kind] for kind in _SEGMENTS if kind != LINE)
        self.stream_failed = everything & ~but_lines
        self.stream = self.stream_failed & ~self.final
        """The bits that output of a command sets if the command did not fail."""

    def _guard(self) -> None:
        rules = list(enumerate(self.ruleset.rules))
        self.only_text = _mask(number for number, rule in rules if rule.only_text)
        self.unsure = _mask(number for number, rule in rules if rule.weak or rule.subjects)
        """Rules whose words are weak evidence."""
        places = [self.ruleset.places.get(rule.id, BUILT_IN_NAME) for _, rule in rules]
        self.house = _mask(number for number, place in enumerate(places) if not place.startswith(BUILT_IN_NAME))
        """Rules of a user, who wrote them for the texts of the user's own programs."""
        self.final_errors = _mask(decision.number for decision in self.decisions if not decision.answer[2])
        """Rules whose errors are not tried again."""
        self.provided = _mask(number for number, rule in rules if rule.only_providers)
        self.by_provider = _by_member((number, rule.only_providers) for number, rule in rules)
        wanting = _mask(number for number, rule in rules if rule.only_status)
        allowed = _by_member((number, rule.only_status) for number, rule in rules)
        refused = _by_member((number, rule.not_status) for number, rule in rules)
        self.objecting: dict[int | None, int] = {
            status: wanting & ~allowed.get(status, 0) | refused.get(status, 0) for status in (None, *allowed, *refused)
        }
        """Status → the rules that it rules out;
        a status that no rule names rules out the same as no status.
        """

    def named(self, name: str, provider: str | None) -> int | None:
        """Return the mask of the rules that know a code or a type of this provider; None if no rule knows it.

        The provider's own documentation has priority over other meanings; a number counts only for its own provider.
        """
        name = normal_name(name)
        masks = self.by_code.get(name)
        if masks is None:
            return self.by_machine_name.get(name)
        own = masks.get((provider or "").lower())
        if provider and own is not None:
            return own
        if own is None and not name.isdigit():
            own = masks.get("")
        machine = self.by_machine_name.get(name)
        return machine if own is None else own | (machine or 0)

    def ruled_out(self, status: int | None) -> int:
        """Return the mask of the rules that this status rules out."""
        return self.objecting.get(status, self.objecting[None])


def _longest_matcher(patterns: Sequence[str], suffix: str = "") -> Any:
    if not patterns:
        return None
    longest = options()
    longest.longest_match = True
    return re2.compile(f"(?:{'|'.join(patterns)}){suffix}".encode(), longest)


def _decision(number: int, rule: Rule | None, detail: str | None = None) -> Decision:
    reason = "unknown" if rule is None else rule.reason
    detail = detail if rule is None else rule.detail
    return Decision(
        rule=rule,
        number=number,
        symptom=rule is not None and (rule.symptom or bool(rule.subjects)),
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
    """Return the mask of the numbers whose list holds a member, by member."""
    masks: dict[_Member | None, int] = {}
    for number, members in lists:
        for member in members:
            masks[member] = masks.get(member, 0) | 1 << number
    return masks


def _masks(table: Mapping[Any, Iterable[int]]) -> dict[Any, int]:
    return {key: _mask(numbers) for key, numbers in table.items()}


index_of = kept_until_fork(Index, most=8)
"""The index of a ruleset, made once per process."""
