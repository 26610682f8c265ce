"""The rules file as data: read, checked, named by the digest of its content, compiled for one pass over a text.

Invariant: a ruleset that loads is sound. Rules are tried in the order of the file and the first that holds wins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import re2

from analyzer.classifier.recovery import REASONS
from analyzer.errors import RulesError

# Kinds of patterns: three of evidence, two of guards, two that belong to no rule.
LINE, SIGNAL, TEXT = "line", "signal", "text"
ONLY, NOT = "only_text", "not_text"
STATUS, PROSE = "status", "prose"

# What may stand before an error on its line: bullets and quotes of terminals, then the names of wrappers.
_LINE_START = r"(?m:^)[\s>*•⎿│|\[(\-–]*(?:[A-Za-z_.]*(?:error|exception|fatal)\b[^:\n]{0,20}[:(]\s*)*(?:\d{3} )?(?:"
_WORD_START = r"(?:^|[^0-9A-Za-z_])(?:"
_WORD_END = r")(?:$|[^0-9A-Za-z_])"

_LISTS = (
    "names", "types", "signals", "line", "text", "statuses", "subtypes", "terminal_reasons", "exit_codes",
    "only_status", "not_status", "only_text", "not_text", "only_providers",
)  # fmt: skip
_EVIDENCE = ("names", "types", "signals", "line", "text", "statuses", "subtypes", "terminal_reasons", "exit_codes")
_KEYS = frozenset(
    (*_LISTS, "id", "reason", "detail", "source", "examples", "counter_examples", "symptom", "strict_streams")
)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One entry of the file. It holds when any of its evidence is there and none of its guards objects."""

    id: str
    reason: str
    detail: str | None = None
    source: str = ""
    """Whose documented or observed behaviour this is."""
    symptom: bool = False
    """A wrapper's complaint: it gives way to what the cause says."""
    strict_streams: bool = False
    """Output of a command counts only as a whole line, and only with a non-zero exit code."""
    names: tuple[str, ...] = ()
    """Code, type or exception class; case and separators do not matter."""
    types: tuple[str, ...] = ()
    """Code or type alone, for names that are also those of catch-all classes."""
    signals: tuple[str, ...] = ()
    """Names that also count as words of a text."""
    line: tuple[str, ...] = ()
    """Patterns at the start of a line, after names of wrappers."""
    text: tuple[str, ...] = ()
    """Patterns anywhere in a short text."""
    statuses: tuple[int, ...] = ()
    subtypes: tuple[str, ...] = ()
    terminal_reasons: tuple[str, ...] = ()
    exit_codes: tuple[int, ...] = ()
    only_status: tuple[int, ...] = ()
    not_status: tuple[int, ...] = ()
    only_text: tuple[str, ...] = ()
    not_text: tuple[str, ...] = ()
    only_providers: tuple[str, ...] = ()
    examples: tuple[object, ...] = ()
    """Inputs for which this rule comes first."""
    counter_examples: tuple[object, ...] = ()
    """Inputs that look alike and for which it does not."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """One compiled pattern of the set."""

    kind: str
    rule: int
    """Index of its rule; -1 for patterns that belong to all."""
    regex: Any


@dataclass(frozen=True, slots=True, eq=False)
class Ruleset:
    """Rules in order, and the digest that names them: the first 12 hex digits of the SHA-256 of what decides."""

    digest: str
    rules: tuple[Rule, ...]
    status_patterns: tuple[str, ...] = ()
    """Where a text states a status; group 1."""
    prose_patterns: tuple[str, ...] = ()
    """How a text begins that only speaks of errors."""
    compiled: Compiled = field(repr=False, compare=False, hash=False, default=None)  # type: ignore[assignment]

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ruleset) and other.digest == self.digest


class Compiled:
    """Lookups from evidence to rules, and the one set of all text patterns."""

    __slots__ = (
        "exit_codes",
        "names",
        "patterns",
        "set",
        "statuses",
        "subtypes",
        "terminal_reasons",
        "types",
        "wanted",
    )

    def __init__(self, rules: tuple[Rule, ...], status_patterns: Iterable[str], prose_patterns: Iterable[str]) -> None:
        self.names: dict[str, list[int]] = {}
        self.types: dict[str, list[int]] = {}
        self.statuses: dict[int, list[int]] = {}
        self.subtypes: dict[str, list[int]] = {}
        self.terminal_reasons: dict[str, list[int]] = {}
        self.exit_codes: dict[int, list[int]] = {}
        self.wanted: list[frozenset[str]] = []
        """The normal names of each rule."""
        self.patterns: list[Pattern] = []
        options = re2.Options()
        options.case_sensitive = False
        # A ceiling for the automaton that is built while matching, not an allocation.
        options.max_mem = 256 << 20
        options.log_errors = False
        self.set = re2.Set.SearchSet(options)
        for index, rule in enumerate(rules):
            self._index(index, rule)
            self._add_patterns(index, rule, options)
        for pattern in status_patterns:
            self._add(STATUS, -1, pattern, options)
        for pattern in prose_patterns:
            self._add(PROSE, -1, pattern, options)
        self.set.Compile()

    def _index(self, index: int, rule: Rule) -> None:
        self.wanted.append(frozenset(normal_name(name) for name in (*rule.names, *rule.types, *rule.signals)))
        tables: tuple[tuple[dict[Any, list[int]], Iterable[object]], ...] = (
            (self.names, {normal_name(name) for name in (*rule.names, *rule.signals)}),
            (self.types, {normal_name(name) for name in rule.types}),
            (self.statuses, rule.statuses),
            (self.subtypes, rule.subtypes),
            (self.terminal_reasons, rule.terminal_reasons),
            (self.exit_codes, rule.exit_codes),
        )
        for table, keys in tables:
            for key in keys:
                table.setdefault(key, []).append(index)

    def _add_patterns(self, index: int, rule: Rule, options: Any) -> None:
        if rule.signals:
            words = "|".join(_name_pattern(name) for name in rule.signals)
            self._add(SIGNAL, index, f"{_WORD_START}{words}{_WORD_END}", options)
        if rule.line:
            self._add(LINE, index, f"{_LINE_START}{'|'.join(rule.line)})", options)
        for kind, patterns in ((TEXT, rule.text), (ONLY, rule.only_text), (NOT, rule.not_text)):
            if patterns:
                self._add(kind, index, "|".join(f"(?:{pattern})" for pattern in patterns), options)

    def _add(self, kind: str, rule: int, pattern: str, options: Any) -> None:
        self.set.Add(pattern)
        self.patterns.append(Pattern(kind, rule, re2.compile(pattern.encode(), options)))


@lru_cache(maxsize=4_096)
def normal_name(name: str) -> str:
    """A name without case and separators; of a dotted name the last part. A leading minus stays."""
    if len(name) > 200:
        return ""
    last = name.rsplit(".", 1)[-1].rsplit(":", 1)[-1]
    letters = "".join(c for c in last.lower() if c.isalnum())
    return f"-{letters}" if last.startswith("-") else letters


def _name_pattern(name: str) -> str:
    words = [re2.escape(word) for word in name.replace("-", "_").split("_") if word]
    return ("-" if name.startswith("-") else "") + r"[_\-]?".join(words)


@lru_cache(maxsize=1)
def default_ruleset() -> Ruleset:
    """The rules that come with the package."""
    return load_ruleset(os.path.join(os.path.dirname(__file__), "rules.toml"))


def load_ruleset(path: str | os.PathLike[str]) -> Ruleset:
    """The rules of a TOML file. Raises RulesError for a file that cannot be read, or that no sound ruleset is in."""
    import tomllib  # 4 ms that only who classifies should pay

    try:
        with open(path, "rb") as handle:
            data = tomllib.load(handle)
    except OSError as error:
        raise RulesError(f"cannot read rules: {error}", "give the path of a TOML file with [[rule]] entries") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesError(f"rules are no valid TOML: {error}", f"look at {path}") from error
    return build_ruleset(data)


def build_ruleset(data: Mapping[str, Any]) -> Ruleset:
    """A ruleset out of parsed TOML. Raises RulesError with the rule's id."""
    entries = data.get("rule")
    if not isinstance(entries, list) or not entries:
        raise RulesError("no rules in the file", "add at least one [[rule]] entry")
    statuses, prose = _patterns(data, "status_patterns"), _patterns(data, "prose_patterns")
    for pattern in statuses:
        if re2.compile(pattern.encode()).groups != 1:
            raise RulesError(f"status pattern {pattern!r} has not one group", "group 1 is the three-digit status")
    rules = tuple(_rule(entry) for entry in entries)
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise RulesError(f"rule id {rule.id!r} stands twice", "ids name a rule in events and must be unique")
        seen.add(rule.id)
    return Ruleset(_digest(rules, statuses, prose), rules, statuses, prose, Compiled(rules, statuses, prose))


def _patterns(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    patterns = data.get(key, [])
    if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
        raise RulesError(f"{key} is no list of strings", "write a list of RE2 patterns")
    for pattern in patterns:
        if _checked(key, pattern).search(b"") is not None:
            raise RulesError(f"pattern {pattern!r} of {key} matches everything", "make it say something")
    return tuple(patterns)


def _rule(entry: object) -> Rule:
    if not isinstance(entry, dict):
        raise RulesError("a rule is no table", "write [[rule]]")
    name = entry.get("id")
    if not isinstance(name, str) or not name or name == "none":
        raise RulesError(f"a rule has no usable id: {name!r}", "give each rule a short unique id")
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        error = RulesError.unknown_value(f"key in rule {name!r}", unknown[0], _KEYS)
        raise RulesError(error.message, error.hint)
    if entry.get("reason") not in REASONS:
        error = RulesError.unknown_value(f"reason in rule {name!r}", str(entry.get("reason")), REASONS)
        raise RulesError(error.message, error.hint)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key in ("examples", "counter_examples", *_LISTS):
            if not isinstance(value, list):
                raise RulesError(f"{key} of rule {name!r} is no list", "write it in brackets")
            values[key] = tuple(_expanded(name, key, value))
        elif key in ("symptom", "strict_streams"):
            values[key] = value is True
        elif not isinstance(value, str):
            raise RulesError(f"{key} of rule {name!r} is no text", "write it in quotes")
        else:
            values[key] = value
    _lint(name, values)
    return Rule(**values)


def _lint(name: str, values: Mapping[str, Any]) -> None:
    if not any(values.get(key) for key in _EVIDENCE):
        raise RulesError(f"rule {name!r} looks at nothing", f"give it one of {', '.join(_EVIDENCE)}")
    if not values.get("source"):
        raise RulesError(f"rule {name!r} names no source", "say whose behaviour it knows")
    if len(values.get("examples", ())) < 2 or not values.get("counter_examples"):
        raise RulesError(f"rule {name!r} has too few examples", "give two examples and one counter-example")
    for key in ("line", "text", "only_text", "not_text"):
        for pattern in values.get(key, ()):
            if _checked(name, pattern).search(b"") is not None:
                raise RulesError(f"pattern {pattern!r} of rule {name!r} matches everything", "make it say something")


def _checked(name: str, pattern: str) -> Any:
    try:
        return re2.compile(pattern.encode())
    except re2.error as error:
        raise RulesError(
            f"pattern {pattern!r} of rule {name!r} is no RE2 pattern: {error}", "see RE2's syntax"
        ) from error


def _expanded(name: str, key: str, values: list[Any]) -> Iterable[object]:
    """List values, checked; `"5xx"` and `"500-599"` become their numbers."""
    wants_int = key in ("statuses", "only_status", "not_status", "exit_codes")
    for value in values:
        if key in ("examples", "counter_examples"):
            yield value
        elif not wants_int:
            if not isinstance(value, str) or not value:
                raise RulesError(f"{key} of rule {name!r} holds {value!r}", "only texts may stand there")
            yield value
        elif isinstance(value, int):
            yield value
        elif isinstance(value, str) and value.endswith("xx") and value[:1].isdigit():
            yield from range(int(value[0]) * 100, int(value[0]) * 100 + 100)
        else:
            raise RulesError(f"{key} of rule {name!r} holds {value!r}", 'write a number, or "5xx"')


def _digest(rules: tuple[Rule, ...], status_patterns: tuple[str, ...], prose_patterns: tuple[str, ...]) -> str:
    from hashlib import sha256  # 3 ms that only who loads rules should pay

    decides = [
        [rule.id, rule.reason, rule.detail, rule.symptom, rule.strict_streams, *(getattr(rule, key) for key in _LISTS)]
        for rule in rules
    ]
    text = json.dumps([decides, status_patterns, prose_patterns], ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:12]
