"""Conditions on records, as rows of tables have them: they tell formats and authors apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from analyzer.agent_stream import mapping

Record = Mapping[str, Any]
Test = Callable[[Record], bool]

_CONDITION = re.compile(r"(?P<no>!?)(?P<path>[\w$.]*)(?:(?P<operator>[=^~:<])(?P<operand>.+))?")
_TYPES: Mapping[str, type] = {"text": str, "object": dict, "list": list, "number": int, "flag": bool}


def has(*ways: str) -> Test:
    """Return a test of records that holds if all conditions of one of the ways hold.

    A way is conditions with spaces between them. `key`: the key is there, dots lead into objects.
    `key=a,b`: the value is one of these texts, or a number that is written so. `key^a`: it begins
    with that. `key~a`: it has that in it. `key:text`: it is of that type. `key<a,b`: it has no
    other keys than these; `<a,b` is about the record itself. `!` denies a condition; of several
    conditions with `|` between them one has to hold.
    """
    tests = [[_any_of(term) for term in way.split()] for way in ways]

    def recognises(record: Record) -> bool:
        # Loops, as a generator costs more than most tests: every head is tested for every format.
        for way in tests:
            for term in way:
                if not term(record):
                    break
            else:
                return True
        return False

    return recognises


def _any_of(term: str) -> Test:
    """Return a test that holds if one of the conditions of a term holds."""
    tests = [_condition(condition) for condition in term.split("|")]
    return tests[0] if len(tests) == 1 else lambda record: any(test(record) for test in tests)


def _condition(condition: str) -> Test:
    match = _CONDITION.fullmatch(condition)
    assert match is not None, condition
    *path, key = match["path"].split(".")
    test = _of_value(match["operator"], match["operand"], key)

    def holds(record: Record) -> bool:
        for name in path:
            record = mapping(record.get(name))
        return test(record)

    plain = holds if path else test
    return (lambda record: not plain(record)) if match["no"] else plain


def _of_value(operator: str | None, operand: str, key: str) -> Test:
    """Return the test of the object that may have the key."""
    if operator is None:
        return lambda record: key in record
    if operator == "=":
        values = frozenset(operand.split(","))
        return lambda record: isinstance(value := record.get(key), str | int) and str(value) in values
    if operator == ":":
        kind = _TYPES[operand]
        return lambda record: isinstance(record.get(key), kind)
    if operator == "<":
        keys = frozenset(operand.split(","))
        return lambda record: (mapping(record.get(key)) if key else record).keys() <= keys
    if operator == "^":
        return lambda record: isinstance(value := record.get(key), str) and value.startswith(operand)
    return lambda record: isinstance(value := record.get(key), str) and operand in value
