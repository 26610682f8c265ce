"""What a record holds, as a row of a table says it: conditions that tell a format, or who writes it, from others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from analyzer.agent_stream import mapping

Record = Mapping[str, Any]
Test = Callable[[Record], bool]

_CONDITION = re.compile(r"(?P<no>!?)(?P<path>[\w$.]*)(?:(?P<how>[=^~:<])(?P<what>.+))?")
_TYPES: Mapping[str, tuple[type, str]] = {
    "text": (str, "a text"),
    "object": (dict, "an object"),
    "list": (list, "a list"),
    "number": (int, "a number"),
    "flag": (bool, "a boolean"),
}
_WORDS = {"^": "that begins with", "~": "that has in it"}


def has(*ways: str) -> Test:
    """Recognise a record that is as any of these ways say: conditions with spaces between them.

    `key` is there, dots lead into objects; `key=a,b` is one of these texts, or a number that is written so; `key^a`
    begins so, and `key~a` has that in it; `key:text` is of that type; `key<a,b` has no other keys than these, and the
    record itself has none where no key is named. `!` denies a condition; of several with `|` between one is enough.
    """
    tests = [[_any([_condition(each) for each in term.split("|")]) for term in way.split()] for way in ways]

    def recognises(record: Record) -> bool:
        # Loops, as a generator costs more than most of what it would ask: each head meets each format.
        for way in tests:
            for term in way:
                if not term(record):
                    break
            else:
                return True
        return False

    return recognises


def _any(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda record: any(test(record) for test in tests)


def _condition(written: str) -> Test:
    found = _CONDITION.fullmatch(written)
    assert found is not None, written
    *path, key = found["path"].split(".")
    test = _of_value(found["how"], found["what"], key)

    def holds(record: Record) -> bool:
        for name in path:
            record = mapping(record.get(name))
        return test(record)

    plain = holds if path else test
    return (lambda record: not plain(record)) if found["no"] else plain


def _of_value(how: str | None, what: str, key: str) -> Test:
    """The test of the object that has the key."""
    if how is None:
        return lambda record: key in record
    if how == "=":
        values = frozenset(what.split(","))
        return lambda record: isinstance(value := record.get(key), str | int) and str(value) in values
    if how == ":":
        kind = _TYPES[what][0]
        return lambda record: isinstance(record.get(key), kind)
    if how == "<":
        known = frozenset(what.split(","))
        return lambda record: (mapping(record.get(key)) if key else record).keys() <= known
    if how == "^":
        return lambda record: isinstance(value := record.get(key), str) and value.startswith(what)
    return lambda record: isinstance(value := record.get(key), str) and what in value


def described(*ways: str) -> str:
    """The ways of `has` in words, for the reference page."""
    return "; ".join(", ".join(" or ".join(map(_worded, term.split("|"))) for term in way.split()) for way in ways)


def _worded(written: str) -> str:
    found = _CONDITION.fullmatch(written)
    assert found is not None, written
    path, how, what = f"`{found['path']}`", found["how"], found["what"]
    if how == "<":
        return f"no other keys {'in ' + path if found['path'] else 'beside'}".removesuffix(" beside")
    words = path
    if how == "=":
        words = f"{path} = {'/'.join(f'`{value}`' for value in what.split(','))}"
    elif how == ":":
        words = f"{_TYPES[what][1]} {path}"
    elif how is not None:
        words = f"{path} {_WORDS[how]} `{what}`"
    return f"no {words.removeprefix('a ').removeprefix('an ')}" if found["no"] else words
