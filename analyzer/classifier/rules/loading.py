"""Rules files: read, checked, put together with the built-in rules.

Invariant: a ruleset that loads is sound; an unsound one is refused with its file, its line and the rule's id.

The built-in rules are also kept as `rules.json`, which loads faster and has the content of `rules.toml`.
"""

import json
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import re2

from analyzer import config_files
from analyzer.classifier.recovery_table import REASONS
from analyzer.classifier.rules.ruleset import BUILT_IN_NAME, EVIDENCE, LISTS, WORDS, Codes, Rule, Ruleset, make, options
from analyzer.classifier.rules.words import written_out
from analyzer.errors import RulesError, system_text

READ_BEFORE = os.path.join(os.path.dirname(__file__), "rules.json")


def read_before(content: bytes) -> Ruleset | None:
    """Return the kept ruleset of this text of `rules.toml`.

    None if the kept one was made of another text.
    """
    try:
        with open(READ_BEFORE, "rb") as handle:
            kept = json.loads(handle.read())
    except (OSError, ValueError):
        return None
    if kept["toml"] != text_number(content):
        return None
    return make(
        tuple(_kept_rule(entry, kept["shared"]) for entry in kept["rules"]),
        tuple(kept["status_patterns"]),
        tuple(kept["prose_patterns"]),
        kept["places"],
        kept["digest"],
        kept["words"],
        tuple(Codes(tuple(names), source, dated, _pairs(rules)) for names, source, dated, rules in kept["codes"]),
    )


def text_number(content: bytes) -> str:
    """Return the length and CRC-32 of the text of `rules.toml`, together with the words of languages."""
    content += read_rules(LANGUAGES)
    return f"{len(content)}-{zlib.crc32(content):08x}"


def _kept_rule(entry: Mapping[str, Any], shared: Sequence[str]) -> Rule:
    """Make a rule of its kept form, in which a number stands for a pattern that several rules have."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    for key in (*PATTERNS, *WORDS):
        if key in values:
            values[key] = tuple(shared[item] if type(item) is int else item for item in values[key])
    return Rule(**values)


def _pairs(rules: Mapping[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((rule, tuple(codes)) for rule, codes in rules.items())


Rules = str | os.PathLike[str] | Ruleset | None
"""The types of a parameter `rules`, of which `ruleset_for` makes a ruleset."""

BUILT_IN = os.path.join(os.path.dirname(__file__), "rules.toml")
LANGUAGES = os.path.join(os.path.dirname(__file__), "languages.toml")
_MOST_STEPS = 200_000
"""The most RE2 instructions of a file's own patterns together;
the built-in rules take a quarter of that.
"""

_FLAGS = ("symptom", "strict_streams", "weak")
_SAMPLES = ("examples", "counter_examples")
_NUMBERS = ("statuses", "only_status", "not_status", "exit_codes")
PATTERNS = ("line", "text", "only_text", "not_text")
_KEYS = frozenset((*LISTS, *WORDS, *_FLAGS, *_SAMPLES, "id", "reason", "detail", "source", "dated", "disabled"))
_SHARED = ("status_patterns", "prose_patterns")
_ALONE = "alone"
"""The key of a file that is complete: it does not extend the built-in rules."""
_PACK = "pack"
"""The key that names the pack, a file in the same folder, between a file and the built-in rules."""
_ABOUT = ("version", "date", "sources")
"""Keys that describe a pack. Any rules file may have them."""
_CODES = "codes"
"""The key of tables of codes that providers document: `providers`,
`source`, `dated`, and the codes of each rule.
"""
_LISTS = "lists"
"""The key of named lists of patterns:
`"@name"` in a rule of the same file means all patterns of that list.
"""
_NAMED_LIST = re.compile(r"@[A-Za-z_]\w*")
_HEAD = (_CODES, _LISTS, _ALONE, _PACK, *_ABOUT, *_SHARED)


class _File(NamedTuple):
    """One rules file: its parsed content, and the lines of its entries."""

    name: str
    data: Mapping[str, Any]
    lines: tuple[str, ...]
    """The lines of the file; none for data that came without a file."""
    headers: tuple[int, ...]
    """The line of each `[[rule]]`, counted from 1."""
    steps: list[int]
    """RE2 instructions of all patterns up to each one that was read."""

    def place(self, entry: int | None = None, words: str = "") -> str:
        """Return `file:line` of an entry, or of its first line that holds `words`."""
        if entry is None or entry >= len(self.headers):
            return self.name
        first = self.headers[entry]
        last = self.headers[entry + 1] - 1 if entry + 1 < len(self.headers) else len(self.lines)
        for number in range(first, last + 1):
            if words and words in self.lines[number - 1]:
                return f"{self.name}:{number}"
        return f"{self.name}:{first}"

    def refuse(self, message: str, hint: str, entry: int | None = None, words: str = "") -> RulesError:
        """Make the error that names this file and the line."""
        place = self.place(entry, words)
        return RulesError(f"{place}: {message}" if place else message, hint)


@lru_cache(maxsize=1)
def default_ruleset() -> Ruleset:
    """Return the rules that come with the package."""
    content = read_rules(BUILT_IN)
    return read_before(content) or read_anew(content)


@lru_cache(maxsize=1)
def words_of_languages() -> Mapping[str, list[str]]:
    """Return the lists of words that every rules file may name: a pattern for each language."""
    languages = _parse(read_rules(LANGUAGES), "analyzer/classifier/rules/languages.toml").data["languages"]
    words: dict[str, list[str]] = {}
    for patterns in languages.values():
        for name, pattern in patterns.items():
            words.setdefault(name, []).append(pattern)
    return words


def read_anew(content: bytes) -> Ruleset:
    """Parse and check this text of the built-in `rules.toml`."""
    return _ruleset(_parse(content, BUILT_IN_NAME))


def load_ruleset(path: str | os.PathLike[str]) -> Ruleset:
    """Load the rules of one TOML file and no others.

    Raises:
        RulesError: the file cannot be read, or its ruleset is not sound.
    """
    return _ruleset(_parse(read_rules(path), os.fspath(path)))


def parse_ruleset(text: str) -> Ruleset:
    """Load the rules of a TOML text and no others.

    Raises:
        RulesError: its ruleset is not sound.
    """
    return _ruleset(_parse(text.encode(), "rules"))


def ruleset_for(rules: Rules) -> Ruleset:
    """Return the ruleset that a caller names: a loaded one, the path of a file, or None for the built-in rules.

    A file extends the built-in rules: its new rules come first, a rule with a built-in id replaces that rule. An entry
    `id = "…"`, `disabled = true` removes a built-in rule; a file with `alone = true` is used without the built-in
    rules. If a file names a pack, the pack extends the built-in rules first, and the file then extends both. The same
    content is loaded once.

    Raises:
        RulesError: a file cannot be read, or the rules together are not sound.
    """
    if rules is None:
        return default_ruleset()
    return rules if isinstance(rules, Ruleset) else ruleset_of(read_rules(rules), os.fspath(rules))


def ruleset_of(content: bytes, path: str, pack: bytes | None = None) -> Ruleset:
    """Return the ruleset of the text of a rules file that is, or would be, at this path.

    `pack` is the text of its pack; None reads it from the disk.

    Raises:
        RulesError: as `ruleset_for`.
    """
    below = pack_of(content, path)
    if below is None:
        return _combined(content, path, b"", "")
    return _combined(content, path, read_rules(below) if pack is None else pack, below)


@lru_cache(maxsize=8)
def pack_of(content: bytes, path: str) -> str | None:
    """Return the path of the pack that the text of a rules file names; None if it names none.

    Raises:
        RulesError: it is no TOML, or the name is not that of a file in the same folder.
    """
    if _PACK.encode() not in content:
        return None
    file = _parse(content, path)
    name = file.data.get(_PACK)
    if not name and isinstance(name, str | None):
        return None
    if not isinstance(name, str) or os.path.basename(name) != name:
        raise file.refuse(f"pack is no name of a file beside this one: {name!r}", 'write pack = "house.pack-1.toml"')
    if file.data.get(_ALONE) is True:
        raise file.refuse("`alone` and `pack` are in one file", "a file with alone = true has no pack below it")
    return os.path.join(os.path.dirname(path), name)


class Pack(NamedTuple):
    """The description of a pack of rules."""

    version: str
    """Numbers with dots between them; a later pack has a higher one."""
    date: str
    """The day, month or year in which it was made."""
    sources: tuple[str, ...]
    """The providers and programs whose errors its rules know."""
    rules: int
    """The number of entries, including those that disable a rule."""

    @property
    def order(self) -> tuple[int, ...]:
        """Return the version as numbers: 1.10 comes after 1.9, and 1.0 is 1."""
        numbers = [int(number) for number in self.version.split(".")]
        while numbers[1:] and not numbers[-1]:
            numbers.pop()
        return tuple(numbers)


def pack_in(content: bytes, name: str) -> Pack:
    """Return the description of a pack from its text.

    Raises:
        RulesError: it is no TOML, has no description, or names a pack of its own.
    """
    file = _parse(content, name)
    if _PACK in file.data:
        raise file.refuse("a pack builds on the built-in rules, not on another pack", "take the line out")
    missing = [key for key in _ABOUT if key not in file.data]
    if missing:
        hint = 'a pack begins with version = "1", date = "2026-11-25" and sources = ["…"]'
        raise file.refuse(f"it is no pack of rules: it says no {missing[0]}", hint)
    entries = _entries(file, required=not any(key in file.data for key in (*_SHARED, _CODES)))
    return Pack(file.data["version"], file.data["date"], tuple(file.data["sources"]), len(entries))


def build_ruleset(data: Mapping[str, Any]) -> Ruleset:
    """Make a ruleset from parsed TOML. Raises RulesError with the rule's id."""
    return _ruleset(_File("", data, (), (), []))


@lru_cache(maxsize=8)
def _combined(content: bytes, path: str, pack: bytes, pack_path: str) -> Ruleset:
    base = default_ruleset()
    if pack_path:
        pack_in(pack, pack_path)
        base = _extended(_parse(pack, pack_path), base)
    return _extended(_parse(content, path), base)


def _extended(own: _File, base: Ruleset) -> Ruleset:
    """Return the rules of a file together with those that it extends."""
    if own.data.get(_ALONE) is True:
        return _ruleset(own)
    entries = _entries(own, required=not any(key in own.data for key in (*_SHARED, _PACK, _CODES)))
    names = {rule.id for rule in base.rules}
    added: dict[str, tuple[Rule, str]] = {}
    replaced: dict[str, tuple[Rule, str] | None] = {}
    for number, entry in enumerate(entries):
        name = _id(own, number, entry)
        if name in added or name in replaced:
            raise own.refuse(f"rule {name!r} stands twice", "ids are unique", number)
        if entry.get("disabled") is True:
            _check_disabled(own, number, entry, name, names)
            replaced[name] = None
        elif name in names:
            replaced[name] = _rule(own, number, entry), own.place(number)
        else:
            added[name] = _rule(own, number, entry), own.place(number)
    kept = {rule.id: replaced.get(rule.id, (rule, base.places[rule.id])) for rule in base.rules}
    chosen = [(name, kept_rule) for name, kept_rule in (*added.items(), *kept.items()) if kept_rule is not None]
    if not chosen:
        raise own.refuse("no rules are left", "leave at least one rule enabled")
    return _checked(
        own,
        tuple(rule for _, (rule, _) in chosen),
        (*base.status_patterns, *_status_patterns(own)),
        (*base.prose_patterns, *_patterns(own, "prose_patterns")),
        {name: place for name, (_, place) in chosen},
        base.codes,
    )


def _ruleset(file: _File) -> Ruleset:
    rules: dict[str, Rule] = {}
    places: dict[str, str] = {}
    for number, entry in enumerate(_entries(file, required=True)):
        name = _id(file, number, entry)
        if name in rules:
            raise file.refuse(f"rule {name!r} stands twice", "ids are unique", number)
        if "disabled" in entry:
            raise file.refuse(f"rule {name!r} is disabled, but there is no such rule below it", "take it out", number)
        rules[name] = _rule(file, number, entry)
        places[name] = file.place(number)
    status, prose = _status_patterns(file), _patterns(file, "prose_patterns")
    return _checked(file, tuple(rules.values()), status, prose, places)


def _checked(
    file: _File,
    rules: tuple[Rule, ...],
    status: tuple[str, ...],
    prose: tuple[str, ...],
    places: Mapping[str, str],
    base_codes: tuple[Codes, ...] = (),
) -> Ruleset:
    tables = (*_without(base_codes, places), *_codes(file, places))
    ruleset = make(rules, status, prose, places, codes=tables)
    own = {rule.id for rule in rules if places[rule.id].startswith(file.name)}
    try:
        for pattern in ruleset.compiled.patterns:
            if any(rule >= 0 and rules[rule].id in own for _, rule in pattern.uses):
                re2.compile(pattern.text.encode(), options())
    except re2.error as error:
        raise file.refuse(f"the patterns of a rule are too much for RE2 together: {error}", "split the rule") from error
    return ruleset


def _codes(file: _File, rule_ids: Iterable[str]) -> tuple[Codes, ...]:
    """Check the tables of codes in a file and return them."""
    tables = file.data.get(_CODES, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.refuse("codes are no tables", "write [[codes]]")
    return tuple(_table(file, table, rule_ids) for table in tables)


def _table(file: _File, table: Mapping[str, Any], rule_ids: Iterable[str]) -> Codes:
    names, source, dated, rules = (table.get(key) for key in ("providers", "source", "dated", "rules"))
    who = f"the codes of {names[0]!r}" if isinstance(names, list) and names else "a table of codes"
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n == n.lower() for n in names):
        raise file.refuse(f"{who} has no providers", 'write providers = ["their name in lower case"]')
    if not isinstance(source, str) or not source or not isinstance(dated, str) or not _is_date(dated):
        raise file.refuse(f"{who} have no source with a date", 'write source = "…" and dated = "2026-05-04"')
    if not isinstance(rules, dict) or not rules or len(table) > 4:
        raise file.refuse(f"{who} name no rules, or more than that", 'write rules = { rate_limit_name = ["1302"] }')
    seen: set[str] = set()
    for rule, codes in rules.items():
        if rule not in rule_ids:
            error = RulesError.unknown_value(f"rule in {who}", rule, rule_ids)
            raise file.refuse(error.message, error.hint)
        if not isinstance(codes, list) or not codes or not all(isinstance(code, str) and code for code in codes):
            raise file.refuse(f"{who}: {rule} has no list of texts", 'write them in quotes, as ["1302"]')
        twice = sorted(seen & set(codes)) or sorted({code for code in codes if codes.count(code) > 1})
        if twice:
            raise file.refuse(f"{who} say {twice[0]!r} twice", "a code is evidence for one rule")
        seen |= set(codes)
    return Codes(tuple(names), source, dated, _pairs(rules))


def _without(tables: Iterable[Codes], places: Mapping[str, str]) -> Iterable[Codes]:
    """Yield the tables without the codes of rules that were removed."""
    for table in tables:
        rules = tuple(pair for pair in table.rules if pair[0] in places)
        yield table if len(rules) == len(table.rules) else table._replace(rules=rules)


def read_rules(path: str | os.PathLike[str]) -> bytes:
    """Read a file of rules.

    Raises:
        RulesError: it cannot be read, is larger than `config_files.MOST_BYTES`, or is no file.
    """
    try:
        return config_files.content(path)
    except (OSError, ValueError) as error:
        raise RulesError(
            f"cannot read rules {os.fspath(path)}: {system_text(error)}",
            "give the path of a TOML file with [[rule]] entries",
        ) from error


def _parse(content: bytes, name: str) -> _File:
    try:
        data = config_files.toml(content)
        text = content.decode("utf-8-sig")
    except ValueError as error:
        # Wrong TOML, wrong UTF-8, or a number with more digits than Python reads.
        line = re.search(r"\(at line (\d+)", str(error))
        place = f"{name}:{line[1]}" if line is not None else name
        raise RulesError(
            f"{place}: rules are no valid TOML: {error}", "patterns stand best in single quotes"
        ) from error
    lines = text.split("\n")
    return _File(name, data, tuple(lines), tuple(_headers(lines)), [])


def _headers(lines: list[str]) -> Iterable[int]:
    """Yield the lines of `[[rule]]`, which tomllib does not report.

    Lines in multi-line strings are no headers.
    """
    quote = ""
    for number, line in enumerate(lines, 1):
        if not quote and re.match(r"\s*\[\[\s*[\"']?rule[\"']?\s*\]\]", line):
            yield number
        for mark in re.findall(r"'''|\"\"\"", line):
            if not quote:
                quote = mark
            elif quote == mark:
                quote = ""


def _entries(file: _File, *, required: bool) -> list[dict[str, Any]]:
    unknown = sorted(set(file.data) - {"rule", *_HEAD})
    if unknown:
        error = RulesError.unknown_value("key", unknown[0], ("rule", *_HEAD))
        raise file.refuse(error.message, error.hint)
    lists = file.data.get(_LISTS, {})
    if not isinstance(lists, dict) or not all(isinstance(patterns, list) for patterns in lists.values()):
        raise file.refuse("lists are no lists of patterns", "write [lists] and, below it, local = ['\\bsegfault\\b']")
    _check_about(file)
    entries = file.data.get("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise file.refuse("a rule is no table", "write [[rule]]")
    if required and not entries:
        raise file.refuse("no rules in the file", "add at least one [[rule]] entry")
    return entries


def _check_about(file: _File) -> None:
    """Refuse a malformed version, date or list of sources."""
    version, date, sources = (file.data.get(key) for key in _ABOUT)
    if version is not None and not (
        isinstance(version, str) and re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}", version)
    ):
        raise file.refuse(f"version is none: {version!r}", 'write numbers with dots, as version = "1.2"')
    if date is not None and not (isinstance(date, str) and _is_date(date)):
        raise file.refuse(f"date is none: {date!r}", 'write date = "2026-05-04", "2026-05" or "2026"')
    if sources is not None and not (
        isinstance(sources, list) and sources and all(isinstance(source, str) and source.strip() for source in sources)
    ):
        raise file.refuse(f"sources are none: {sources!r}", 'write sources = ["whose behaviour the rules know"]')


def _id(file: _File, number: int, entry: Mapping[str, Any]) -> str:
    name = entry.get("id")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,79}", name) or name == "none":
        raise file.refuse(f"a rule has no usable id: {name!r}", "give each rule a short unique id", number, "id")
    return name


def _check_disabled(file: _File, number: int, entry: Mapping[str, Any], name: str, names: Iterable[str]) -> None:
    more = sorted(set(entry) - {"id", "disabled"})
    if more:
        raise file.refuse(f"rule {name!r} is disabled and still has {more[0]!r}", "leave only id and disabled", number)
    if name not in names:
        error = RulesError.unknown_value("built-in rule", name, names)
        raise file.refuse(error.message, error.hint, number, "id")


def _rule(file: _File, number: int, entry: Mapping[str, Any]) -> Rule:
    name = entry["id"]
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        error = RulesError.unknown_value(f"key in rule {name!r}", unknown[0], _KEYS)
        raise file.refuse(error.message, error.hint, number, unknown[0])
    if entry.get("reason") not in REASONS:
        error = RulesError.unknown_value(f"reason in rule {name!r}", str(entry.get("reason")), REASONS)
        raise file.refuse(error.message, error.hint, number, "reason")
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key in (*_SAMPLES, *LISTS, *WORDS):
            if not isinstance(value, list):
                raise file.refuse(f"{key} of rule {name!r} is no list", "write it in brackets", number, key)
            values[key] = tuple(value if key in _SAMPLES else _expanded(file, number, key, value))
        elif key in (*_FLAGS, "disabled"):
            if not isinstance(value, bool):
                raise file.refuse(f"{key} of rule {name!r} is no flag", "write true or false", number, key)
            if key != "disabled":
                values[key] = value
        elif not isinstance(value, str):
            raise file.refuse(f"{key} of rule {name!r} is no text", "write it in quotes", number, key)
        else:
            values[key] = value
    _check(file, number, values)
    return Rule(**values)


def _check(file: _File, number: int, values: Mapping[str, Any]) -> None:
    name = values["id"]
    if not any(values.get(key) for key in EVIDENCE):
        raise file.refuse(f"rule {name!r} looks at nothing", f"give it one of {', '.join(EVIDENCE)}", number)
    if not values.get("source"):
        raise file.refuse(f"rule {name!r} names no source", "say whose behaviour it knows", number)
    if "dated" in values and not _is_date(values["dated"]):
        raise file.refuse(
            f"dated of rule {name!r} is no date: {values['dated']!r}",
            'write "2026-05-04", "2026-05" or "2026"',
            number,
            "dated",
        )
    if len(values.get("examples", ())) < 2 or not values.get("counter_examples"):
        raise file.refuse(
            f"rule {name!r} has too few examples", "give two examples and one counter-example", number, "examples"
        )
    for key in PATTERNS:
        for pattern in values.get(key, ()):
            _check_pattern(file, f"rule {name!r}", pattern, number)
    for key in WORDS:
        for pattern in values.get(key, ()):
            _check_words(file, name, pattern, number)


def _check_words(file: _File, name: str, pattern: str, number: int) -> None:
    try:
        written_out(pattern)
    except ValueError as error:
        message = f"words {pattern!r} of rule {name!r} are no few plain texts"
        hint = "words have alternatives, letters that may be missing and one gap: (?:key|clés?)[^\\n]*gone"
        raise file.refuse(message, hint, number, pattern) from error


def _is_date(text: str) -> bool:
    """Return true for a day, a month or a year of the calendar."""
    from datetime import date  # not needed for the kept rules

    if not re.fullmatch(r"\d{4}(?:-\d\d){0,2}", text, re.ASCII):
        return False
    try:
        date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        return False
    return True


def _expanded(file: _File, number: int, key: str, values: list[Any]) -> Iterable[object]:
    """Yield the checked values of a list.

    `"5xx"` becomes its hundred numbers, `"@name"` a named list's patterns.
    """
    name = file.data["rule"][number]["id"]
    has_lists = key in (*PATTERNS, *WORDS)
    named = {value: value[1:] for value in map(str, values) if has_lists and _NAMED_LIST.fullmatch(value)}
    lists = file.data.get(_LISTS, {}) if key in PATTERNS or not named else words_of_languages()
    if wrong := next((value for value, ours in named.items() if ours not in lists), None):
        error = RulesError.unknown_value(f"list of patterns in rule {name!r}:", wrong, [f"@{ours}" for ours in lists])
        raise file.refuse(error.message, f"{error.hint}; '[@]' is the sign itself", number, wrong)
    for value in chain.from_iterable(lists[named[value]] if value in named else [value] for value in values):
        if key not in _NUMBERS:
            if not isinstance(value, str) or not value:
                raise file.refuse(f"{key} of rule {name!r} holds {value!r}", "only texts may stand there", number, key)
            yield value
        elif isinstance(value, int) and not isinstance(value, bool):
            yield value
        elif isinstance(value, str) and re.fullmatch(r"[1-9]xx", value):
            yield from range(int(value[0]) * 100, int(value[0]) * 100 + 100)
        else:
            raise file.refuse(f"{key} of rule {name!r} holds {value!r}", 'write a number, or "5xx"', number, key)


def _patterns(file: _File, key: str) -> tuple[str, ...]:
    patterns = file.data.get(key, [])
    if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
        raise file.refuse(f"{key} is no list of strings", "write a list of RE2 patterns")
    if "@about" in patterns:
        patterns = [*(pattern for pattern in patterns if pattern != "@about"), *words_of_languages()["about"]]
    for pattern in patterns:
        _check_pattern(file, key, pattern)
    return tuple(patterns)


def _status_patterns(file: _File) -> tuple[str, ...]:
    patterns = _patterns(file, "status_patterns")
    for pattern in patterns:
        if re2.compile(pattern.encode()).groups != 1:
            raise file.refuse(f"status pattern {pattern!r} has not one group", "group 1 is the three-digit status")
    return patterns


def _check_pattern(file: _File, owner: str, pattern: str, number: int | None = None) -> None:
    options = re2.Options()
    options.log_errors = False
    try:
        program = re2.compile(pattern.encode(), options)
        is_empty_match = program.search(b"") is not None
    except re2.error as error:
        why = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else error
        message = f"pattern {pattern!r} of {owner} is no RE2 pattern: {why}"
        raise file.refuse(message, "RE2 has no look-around and no back-references", number, pattern) from error
    file.steps.append(program.programsize + (file.steps[-1] if file.steps else 0))
    if file.steps[-1] > _MOST_STEPS:
        message = f"the patterns up to {pattern!r} of {owner} are too much for RE2 together"
        hint = "repeat less: [a-z]{1,200} is two hundred times [a-z], and [a-z]+ is one"
        raise file.refuse(message, hint, number, pattern)
    if is_empty_match:
        raise file.refuse(
            f"pattern {pattern!r} of {owner} matches everything", "make it say something", number, pattern
        )
