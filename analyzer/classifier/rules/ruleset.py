"""Rules as data: a rule, a ruleset named by the digest of its content, and its lookups and patterns.

Invariant: rules are tried in their order and the first that holds wins; the digest covers everything that decides.

All patterns of a ruleset are matched over a text in one pass, and a ruleset can be written as a complete TOML file.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import re2

from analyzer.classifier.reading.flattening import READING
from analyzer.classifier.recovery_table import RECOVERY

Match = Callable[[bytes], list[int]]
"""A function that returns the numbers of the patterns that a UTF-8 text matches, in no order."""


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_S_OR_K = re.compile(
    r"\\(?:x\{[^}]*\}|x[0-9A-Fa-f]{2}|[pP](?:\{[^}]*\}|.)|.)|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"
    r"|\(\?(?:P?<\w+>|[A-Za-z-]*[:)])|([sSkK])",
    re.DOTALL,
)
"""The letters s and k of a pattern, outside of classes, escapes and flags; group 1."""


def without_old_letters(pattern: str) -> str:
    """Change a pattern so that its s is no long s, and its k is no kelvin sign.

    Without case RE2 matches these two for the letters, at three instructions each. Flattened texts
    have none of them.
    """
    if "(?-" in pattern or "\\Q" in pattern:
        return pattern
    return _S_OR_K.sub(_both_cases, pattern)


def _both_cases(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f"(?-i:[{match[1].upper()}{match[1].lower()}])"


def ascii_matcher(patterns: Sequence[str]) -> Match:
    """Make a matcher for ASCII texts, without case. One byte is one character to it.

    The automaton is made while it matches, and every text that is new to it costs it new states: without the byte
    sequences of UTF-8 it makes half as many, and more of them fit into the caches of the processor.
    """
    latin = options()
    latin.encoding = re2.Options.Encoding.LATIN1
    # No ASCII text holds the character that replaces the others.
    plain = [_NOT_ASCII.sub(r"\\xff", pattern) for pattern in patterns]
    try:
        return _matcher(plain, latin)
    except re2.error:
        # For example a character by its number, which one byte cannot hold.
        return utf8_matcher(patterns)


def utf8_matcher(patterns: Sequence[str]) -> Match:
    """Make a matcher for any text, without case; its automaton is made at the first text."""

    @cache
    def made() -> Match:
        return _matcher([without_old_letters(pattern) for pattern in patterns], options())

    return lambda text: made()(text)


def _matcher(patterns: Sequence[str], options: Any) -> Match:
    together = re2.Set.SearchSet(options)
    for pattern in patterns:
        together.Add(pattern.encode())
    together.Compile()
    match: Match = together._set.Match  # `together.Match` would also convert texts
    return match


def options() -> Any:
    """Return new RE2 options, which every pattern of a rule is compiled with."""
    options = re2.Options()
    options.case_sensitive = False
    # A ceiling for the automaton that is built while matching, not an allocation.
    options.max_mem = 256 << 20
    options.log_errors = False
    return options


# Kinds of patterns: three of evidence, two of guards, two that belong to no rule.
LINE, SIGNAL, TEXT = "line", "signal", "text"
ONLY, NOT = "only_text", "not_text"
STATUS, PROSE = "status", "prose"

# The text that may come before an error on its line: bullets and quotes of terminals, then the names of wrappers.
_LINE_START = (
    r"(?m:^)[\s>*•⎿│|\[(\-–]*"
    r"(?:(?-i:[A-Za-z_.]*)(?:error|exception|fatal)\b(?-i:[ -9;-~]{0,12})[:(]\s*)*(?:\d{3} )?(?:"
)
_WORD_START, _WORD_END = r"\b(?:", r")\b"
_NUMBER_START = r"(?:^|[^0-9A-Za-z_])(?:"
"""The start of a name that begins with a minus, beside which there is no boundary of a word."""

LISTS = (
    "names", "types", "signals", "line", "text", "statuses", "subtypes", "terminal_reasons", "failure_reasons",
    "exit_codes", "only_status", "not_status", "only_text", "not_text", "only_providers",
)  # fmt: skip
"""Keys of a rule that decide and hold lists: evidence, then guards."""
WORDS = ("subjects", "complaints", "unless")
"""Keys of a rule that hold patterns of words; see `words`."""
EVIDENCE = (*LISTS[:10], "subjects")
GUARDS = (*LISTS[10:], "complaints", "unless")


BUILT_IN_NAME = "analyzer/classifier/rules/rules.toml"
"""Where built-in rules stand, as their places name it."""


class Rule(NamedTuple):
    """One entry of the file.

    It holds if any of its evidence is there and none of its guards objects.
    """

    id: str
    reason: str
    detail: str | None = None
    source: str = ""
    """The provider or program whose documented or observed behaviour this is."""
    dated: str = ""
    """The date of its newest source: `2026-05-04`, `2026-05` or `2026`; empty if no source says."""
    symptom: bool = False
    """A wrapper's complaint, which gives way to a rule that explains the cause."""
    strict_streams: bool = False
    """Output of a command counts only as a whole line, and only with a non-zero exit code."""
    weak: bool = False
    """True if its words are weak evidence: a subject and a complaint,
    which may mean something else.
    """
    names: tuple[str, ...] = ()
    """Code, type or exception class; case and separators do not matter."""
    types: tuple[str, ...] = ()
    """Only code or type, for names that are also those of catch-all classes."""
    signals: tuple[str, ...] = ()
    """Names that also count as words of a text."""
    line: tuple[str, ...] = ()
    """Patterns at the start of a line, after names of wrappers."""
    text: tuple[str, ...] = ()
    """Patterns anywhere in a short text."""
    statuses: tuple[int, ...] = ()
    subtypes: tuple[str, ...] = ()
    terminal_reasons: tuple[str, ...] = ()
    failure_reasons: tuple[str, ...] = ()
    exit_codes: tuple[int, ...] = ()
    only_status: tuple[int, ...] = ()
    not_status: tuple[int, ...] = ()
    only_text: tuple[str, ...] = ()
    not_text: tuple[str, ...] = ()
    only_providers: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    """Words of languages, one of which a sentence has; they are weak evidence."""
    complaints: tuple[str, ...] = ()
    """Words of languages, one of which the sentence has too."""
    unless: tuple[str, ...] = ()
    """Words of languages, none of which the sentence has."""
    examples: tuple[object, ...] = ()
    """Inputs for which this rule decides."""
    counter_examples: tuple[object, ...] = ()
    """Inputs that look similar and for which it does not decide."""


class Codes(NamedTuple):
    """The codes and types that one provider documents, and the rule of each."""

    providers: tuple[str, ...]
    """Its names in logs, in lower case; the first is its own."""
    source: str
    dated: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]
    """The id of a rule and its codes."""


Uses = tuple[tuple[str, int], ...]
"""The places of a pattern: its kind in a rule, and the index of the rule (-1 for patterns of no rule)."""


class Pattern:
    """One pattern of the set. It is compiled on first use: few are needed apart from the others."""

    __slots__ = ("_regex", "parts", "text", "uses")

    def __init__(self, uses: Uses, text: str, parts: tuple[str, ...] = ()) -> None:
        self.uses = uses
        """A pattern that stands in several rules is matched once."""
        self.text = text
        """An RE2 pattern, matched without case."""
        self.parts = parts or (text,)
        """Patterns that together match the same texts."""
        self._regex: Any = None

    @property
    def regex(self) -> Any:
        """Return the compiled pattern.

        Raises:
            re2.error: it is too large.
        """
        if self._regex is None:
            self._regex = re2.compile(without_old_letters(self.text).encode(), options())
        return self._regex


class Ruleset(NamedTuple):
    """Rules in order, and their digest:
    the first 12 hex digits of the SHA-256 of everything that decides.
    """

    digest: str
    rules: tuple[Rule, ...]
    status_patterns: tuple[str, ...]
    """Patterns of texts that state a status; group 1."""
    prose_patterns: tuple[str, ...]
    """Patterns of the beginning of a text that only speaks of errors."""
    places: Mapping[str, str]
    """Id of a rule → `file:line` of its entry."""
    codes: tuple[Codes, ...]
    """The codes that providers document, looked up for a code or a type."""
    compiled: "Compiled"

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ruleset) and other.digest == self.digest


class Compiled:
    """Lookups from evidence to rules, and all text patterns, one for each rule and kind."""

    def __init__(
        self,
        rules: tuple[Rule, ...],
        status_patterns: Iterable[str],
        prose_patterns: Iterable[str],
        words: Sequence[Sequence[Sequence[str]]] = (),
        codes: Iterable[Codes] = (),
    ) -> None:
        self.words = words
        """For each part of each pattern, those of the index last: words of which every match has at least one.

        Empty if they were not computed (`rules.json` has them for the built-in rules).
        """
        self.names: dict[str, list[int]] = {}
        self.types: dict[str, list[int]] = {}
        self.statuses: dict[int, list[int]] = {}
        self.subtypes: dict[str, list[int]] = {}
        self.terminal_reasons: dict[str, list[int]] = {}
        self.failure_reasons: dict[str, list[int]] = {}
        self.exit_codes: dict[int, list[int]] = {}
        self.wanted: list[set[str]] = []
        """The normal names of each rule."""
        self.codes: dict[str, dict[str, int]] = {}
        """The normal name of a code → provider → number of the rule;
        "" if it means the same to all providers.
        """
        self.patterns: list[Pattern] = []
        uses: dict[str, list[tuple[str, int]]] = {}
        for index, rule in enumerate(rules):
            self._index(index, rule)
            if rule.signals:
                start = _NUMBER_START if any(name.startswith("-") for name in rule.signals) else _WORD_START
                self._add(((SIGNAL, index),), start, [_name_pattern(name) for name in rule.signals], _WORD_END)
            if rule.line:
                self._add(((LINE, index),), _LINE_START, rule.line, ")")
            for kind, patterns in ((TEXT, rule.text), (ONLY, rule.only_text), (NOT, rule.not_text)):
                for pattern in dict.fromkeys(patterns):
                    uses.setdefault(pattern, []).append((kind, index))
        together: dict[Uses, list[str]] = {}
        for pattern, places in uses.items():
            together.setdefault(tuple(places), []).append(f"(?:{pattern})")
        for shared, texts in together.items():
            self._add(shared, "", texts, "")
        self._add_codes({rule.id: index for index, rule in enumerate(rules)}, codes)
        self.patterns += (Pattern(((STATUS, -1),), pattern) for pattern in status_patterns)
        self.patterns += (Pattern(((PROSE, -1),), pattern) for pattern in prose_patterns)

    def _index(self, index: int, rule: Rule) -> None:
        self.wanted.append({normal_name(name) for name in (*rule.names, *rule.types, *rule.signals)})
        tables: tuple[tuple[dict[Any, list[int]], Iterable[object]], ...] = (
            (self.names, {normal_name(name) for name in (*rule.names, *rule.signals)}),
            (self.types, {normal_name(name) for name in rule.types}),
            (self.statuses, rule.statuses),
            (self.subtypes, rule.subtypes),
            (self.terminal_reasons, rule.terminal_reasons),
            (self.failure_reasons, rule.failure_reasons),
            (self.exit_codes, rule.exit_codes),
        )
        for table, keys in tables:
            for key in keys:
                table.setdefault(key, []).append(index)

    def _add_codes(self, numbers: Mapping[str, int], tables: Iterable[Codes]) -> None:
        for table in tables:
            for rule, codes in table.rules:
                number = numbers[rule]
                names = [normal_name(code) for code in codes]
                self.wanted[number].update(names)
                for name in names:
                    by_provider = self.codes.setdefault(name, {})
                    for provider in table.providers:
                        by_provider[provider] = number
        for name, by_provider in self.codes.items():
            # Three digits may be something else than a provider's own code, such as an HTTP status.
            if len(set(by_provider.values())) == 1 and not (name.isdigit() and len(name) == 3):
                by_provider[""] = next(iter(by_provider.values()))

    def _add(self, uses: Uses, prefix: str, patterns: Sequence[str], suffix: str) -> None:
        parts = tuple(f"{prefix}{pattern}{suffix}" for pattern in patterns)
        self.patterns.append(Pattern(uses, f"{prefix}{'|'.join(patterns)}{suffix}", parts))


@lru_cache(maxsize=4_096)
def normal_name(name: str) -> str:
    """Return a name without case and separators; of a dotted name the last part.

    A leading minus stays.
    """
    if len(name) > 200:
        return ""
    last = name.rsplit(".", 1)[-1].rsplit(":", 1)[-1]
    letters = last.lower().replace("_", "").replace("-", "")
    if not letters.isalnum():
        letters = "".join(c for c in letters if c.isalnum())
    return f"-{letters}" if last.startswith("-") else letters


def _name_pattern(name: str) -> str:
    words = (word for word in name.replace("-", "_").split("_") if word)
    words = (word if word.isalnum() and word.isascii() else re2.escape(word) for word in words)
    return ("-" if name.startswith("-") else "") + r"[_\-]?".join(words)


def make(
    rules: tuple[Rule, ...],
    status_patterns: tuple[str, ...] = (),
    prose_patterns: tuple[str, ...] = (),
    places: Mapping[str, str] | None = None,
    digest: str = "",
    words: Sequence[Sequence[Sequence[str]]] = (),
    codes: tuple[Codes, ...] = (),
) -> Ruleset:
    """Make a ruleset of checked rules; `digest` and `words` save computing them."""
    compiled = Compiled(rules, status_patterns, prose_patterns, words, codes)
    digest = digest or _digest(rules, status_patterns, prose_patterns, codes)
    return Ruleset(digest, rules, status_patterns, prose_patterns, places or {}, codes, compiled)


def _digest(
    rules: tuple[Rule, ...],
    status_patterns: tuple[str, ...],
    prose_patterns: tuple[str, ...],
    codes: tuple[Codes, ...],
) -> str:
    from hashlib import sha256  # 3 ms that only loading rules should cost

    content = [
        [
            *(rule.id, rule.reason, rule.detail, rule.symptom, rule.strict_streams),
            *(getattr(rule, key) for key in LISTS),
            # Only if it is weak: the digests of rules from before this field stay the same.
            *(["weak"] if rule.weak else []),
            *([rule.subjects, rule.complaints, rule.unless] if rule.subjects else []),
        ]
        for rule in rules
    ]
    # Stored verdicts hold what the recovery table advises, so a change of the table makes another ruleset.
    advice = [[reason, row.retryable, row.action] for reason, row in RECOVERY.items()]
    tables = [[table.providers, table.rules] for table in codes]
    everything = [content, status_patterns, prose_patterns, advice, tables, READING]
    text = json.dumps(everything, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:12]


def ruleset_text(ruleset: Ruleset) -> str:
    """Write a ruleset as TOML, every rule in order.

    `ruleset_for` on such a file gives the same digest.
    """
    lines = [f"# Ruleset {ruleset.digest}, complete: the built-in rules of its day are among these.", "alone = true"]
    lines += [f"{key} = {_value(list(getattr(ruleset, key)))}" for key in ("status_patterns", "prose_patterns")]
    for table in ruleset.codes:
        lines += ["", "[[codes]]", f"providers = {_value(list(table.providers))}"]
        lines += [f"source = {_value(table.source)}", f"dated = {_value(table.dated)}"]
        lines.append(f"rules = {_value({rule: list(codes) for rule, codes in table.rules})}")
    for rule in ruleset.rules:
        lines += ["", "[[rule]]"]
        for name, value in zip(Rule._fields, rule, strict=True):
            if value != Rule._field_defaults.get(name):
                lines.append(f"{name} = {_value(list(value) if isinstance(value, tuple) else value)}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + "}"
    # JSON and TOML write texts, numbers and flags alike, except one control character that JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
